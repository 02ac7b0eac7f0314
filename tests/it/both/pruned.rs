//! Objects that a revision no longer holds.

use rewild::model::{AppName, AppState, CommitId, Request, Suspension};
use serde_json::{Value, json};

use super::{Plain, config, has_version, says};
use crate::world::{Ground, World};

const CLAIM: &str = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n";

/// §8.2: kinds that are never pruned, and the incarnation as a precondition.
pub(super) async fn what_holds_data_stays_and_what_somebody_made_anew_is_left_alone<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "pruned" };
    let all = ["kept", "gone", "made", "stays"].map(|name| config(name, "1"));
    let stays = all[3].replace("{name: stays}", "{name: stays, annotations: {rewild.dev/prune: keep}}");
    let keep = ("kept.yaml", all[0].as_str());
    let first = plain
        .push(&[keep, ("gone.yaml", &all[1]), ("made.yaml", &all[2]), ("stays.yaml", &stays), ("claim.yaml", CLAIM)])
        .await;
    plain.done(&first).await;
    let claim = plain.path("v1", "persistentvolumeclaims", "data");
    let before = plain.uid(&claim).await;
    // In one commit with the suspension nothing is put back before it is made anew.
    let suspension = Suspension { reason: "hands".into(), until: String::new() };
    let suspend = Request::Suspend { app: crate::world::app(plain.name), suspension };
    world.done(suspend).await;
    let made = plain.path("v1", "configmaps", "made");
    let labels = world.get(&made).await.unwrap()["metadata"]["labels"].clone();
    world.try_delete(&made).await;
    let copy = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"version": "theirs"},
        "metadata": {"name": "made", "labels": labels, "annotations": {"meta.helm.sh/release-name": "theirs"}}});
    world.make("/api/v1/namespaces/pruned/configmaps", copy).await;
    world.done(Request::Resume { app: crate::world::app(plain.name) }).await;
    plain.stands_for("ForeignOwner", &["ConfigMap/made belongs to Helm"]).await;
    assert_eq!(plain.config("made").await["data"]["version"], json!("theirs"), "labels can be copied");
    plain.push(&[keep]).await;
    plain
        .until("what git no longer holds is gone", &plain.path("v1", "configmaps", "gone"), |live| live.is_null())
        .await;
    plain.healthy().await;
    assert_eq!(plain.config("made").await["data"]["version"], json!("theirs"), "labels select no victim");
    assert_eq!(plain.config("stays").await["data"]["version"], json!("1"), "its author keeps it");
    assert_eq!(plain.uid(&claim).await, before, "a claim is never pruned");
    assert_eq!(plain.config("kept").await["data"]["version"], json!("1"));
}

/// §8.2: what another tool has taken over is nobody's to delete but its own, until somebody says that it stays.
pub(super) async fn what_another_tool_took_over_is_not_deleted<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "overtaken" };
    let [kept, taken, gone] = ["kept", "taken", "gone"].map(|name| config(name, "1"));
    let kept = ("kept.yaml", kept.as_str());
    let first = plain.push(&[kept, ("taken.yaml", &taken), ("gone.yaml", &gone)]).await;
    plain.done(&first).await;
    let path = plain.path("v1", "configmaps", "taken");
    let before = plain.uid(&path).await;
    let label = json!({"metadata": {"labels": {"kustomize.toolkit.fluxcd.io/name": "theirs"}}});
    world.patch_as("flux", &path, label).await;
    let second = plain.push(&[kept]).await;
    let says = ["it belongs to Flux by now, by its label kustomize.toolkit.fluxcd.io/name"];
    plain.stands_for("ApplyFailed", &says).await;
    plain.until("the rest is gone", &plain.path("v1", "configmaps", "gone"), Value::is_null).await;
    assert_eq!(plain.uid(&path).await, before);
    let keep = json!({"metadata": {"annotations": {"rewild.dev/prune": "keep"}}});
    world.patch_as("flux", &path, keep).await;
    world.look_again(plain.name).await;
    plain.done(&second).await;
    assert_eq!(plain.uid(&path).await, before);
}

/// §8.2: a claim and a namespace whose author let them go go once a person agreed; the volume outlives its claim.
pub(super) async fn what_its_author_let_go_goes_once_a_person_agreed<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "letgo" };
    // With a namespace in its kustomization every Namespace of an app is called like that.
    let push = async |files: &[(&str, &str)]| {
        let names: Vec<&str> = files.iter().map(|(file, _)| *file).collect();
        let list = format!("resources: [{}]\n", names.join(", "));
        let mut all = vec![("apps/letgo/kustomization.yaml".to_owned(), list)];
        let placed = |text: &str| {
            text.replace("{name: ", "{namespace: letgo, name: ").replace("namespace: letgo, name: letgo", "name: letgo")
        };
        all.extend(files.iter().map(|(file, text)| (format!("apps/letgo/{file}"), placed(text))));
        let all: Vec<(&str, Option<&str>)> =
            all.iter().map(|(path, text)| (path.as_str(), Some(text.as_str()))).collect();
        world.push("letgo", &all).await
    };
    let claim = CLAIM.replace("{name: data}", "{name: holdings, annotations: {rewild.dev/prune: allow}}");
    let extra =
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: letgo-extra, annotations: {rewild.dev/prune: allow}}\n";
    let kept = config("kept", "1");
    let kept = ("kept.yaml", kept.as_str());
    let first = push(&[kept, ("claim.yaml", &claim), ("extra.yaml", extra)]).await;
    plain.done(&first).await;
    let path = plain.path("v1", "persistentvolumeclaims", "holdings");
    let volume = plain.live("v1", "persistentvolumeclaims", "holdings").await["spec"]["volumeName"].clone();
    let volume = format!("/api/v1/persistentvolumes/{}", volume.as_str().unwrap());
    let before = plain.uid(&path).await;
    plain.push(&[kept]).await;
    plain
        .stands_for("DeletionNeedsApproval", &["2 of 4 objects", "takes content with it that git does not hold"])
        .await;
    world.look_again(plain.name).await;
    assert_eq!(plain.uid(&path).await, before, "one word is not enough");
    what_would_go_along_is_told(world, volume.rsplit('/').next().unwrap()).await;
    // The command that the refusal names is one.
    let hint = world.state(plain.name).await.unwrap().hint;
    says(world, &hint, &["PersistentVolumeClaim/holdings (letgo)"]).await;
    plain.until("the claim is gone", &path, Value::is_null).await;
    plain.until("the namespace is gone", "/api/v1/namespaces/letgo-extra", Value::is_null).await;
    let held = world.get(&volume).await.unwrap();
    assert_eq!(held["spec"]["persistentVolumeReclaimPolicy"], json!("Retain"), "the data outlives its claim");
    plain.healthy().await;
    assert_eq!(plain.config("kept").await["data"]["version"], json!("1"));
}

/// §8.3: whoever is to agree sees what goes along, although nothing of it stands in git.
async fn what_would_go_along_is_told<C: Ground>(world: &World<C>, volume: &str) {
    let volume = format!("PersistentVolumeClaim/holdings takes its volume {volume} with it, by its policy Delete");
    let expected = [volume.as_str()];
    says(world, "wild doctor letgo", &expected).await;
    says(world, "wild plan letgo -o json", &["\"of\": \"volume\"", "\"on\": \"revision\""]).await;
    let when = "> goes on when a commit or a person's word changes that";
    says(world, "wild plan letgo", &[&expected[..], &[when]].concat()).await;
}

/// §2.1, §8.2: a namespace that two apps need is one app's, and stays as long as one of them needs it.
pub(super) async fn a_namespace_of_two_apps_is_written_by_one_of_them<C: Ground>(world: &World<C>) {
    const PATH: &str = "/api/v1/namespaces/common";
    let [first, second] = ["commonone", "commontwo"].map(|name| Plain { world, name });
    for plain in [&first, &second] {
        let done = plain.push_into("common", &[("config.yaml", &config(plain.name, "1"))]).await;
        plain.done(&done).await;
    }
    let before = world.get(PATH).await.unwrap()["metadata"].clone();
    for plain in [&first, &second, &first, &second] {
        world.look_again(plain.name).await;
    }
    assert_eq!(world.get(PATH).await.unwrap()["metadata"], before, "it goes to and fro");
    let files = ["kustomization.yaml", "config.yaml"].map(|file| format!("apps/{}/{file}", first.name));
    let gone: Vec<(&str, Option<&str>)> = files.iter().map(|file| (file.as_str(), None)).collect();
    world.push(&format!("no more\n\nWild-Delete: {0}\nWild-Delete-Data: delete", first.name), &gone).await;
    world.until("the first app is gone", async || world.state(first.name).await.is_none()).await;
    world.look_again(second.name).await;
    second.healthy().await;
    let now = world.get(PATH).await.unwrap();
    assert!(now["metadata"]["uid"] == before["uid"] && now["metadata"]["deletionTimestamp"].is_null(), "{now}");
    let left = world.get("/api/v1/namespaces/common/configmaps/commontwo").await.unwrap();
    assert!(has_version("1")(&left), "{left}");
}

/// Two apps of one namespace, and what moves from one to the other.
struct Move<'a, C: Ground> {
    from: Plain<'a, C>,
    to: Plain<'a, C>,
}

impl<C: Ground> Move<'_, C> {
    /// Pushes both apps in one commit: who holds which files of these.
    async fn push(&self, from: &[(&str, &str)], to: &[(&str, &str)]) -> CommitId {
        let mut changes: Vec<(String, Option<String>)> = Vec::new();
        for (app, own, others) in [(self.from.name, from, to), (self.to.name, to, from)] {
            let names: Vec<&str> = own.iter().map(|(name, _)| *name).collect();
            let list = format!("namespace: {}\nresources: [{}]\n", self.from.name, names.join(", "));
            changes.push((format!("apps/{app}/kustomization.yaml"), Some(list)));
            changes.extend(own.iter().map(|(name, text)| (format!("apps/{app}/{name}"), Some((*text).to_owned()))));
            let gone = others.iter().filter(|(name, _)| !names.contains(name));
            changes.extend(gone.map(|(name, _)| (format!("apps/{app}/{name}"), None)));
        }
        let changes: Vec<(&str, Option<&str>)> =
            changes.iter().map(|(path, text)| (path.as_str(), text.as_deref())).collect();
        self.from.world.push("both apps", &changes).await
    }

    /// Suspends or resumes one of the apps.
    async fn ask(&self, app: &str, request: impl Fn(AppName) -> Request) {
        self.from.world.done(request(crate::world::app(app))).await;
    }

    /// Returns the incarnations of what moves, and the volume of the claim.
    async fn identity(&self) -> [Value; 3] {
        let claim = self.from.live("v1", "persistentvolumeclaims", "data").await;
        let config = self.from.config("moves").await;
        [config["metadata"]["uid"].clone(), claim["metadata"]["uid"].clone(), claim["spec"]["volumeName"].clone()]
    }

    /// Moves a config map with an edit and a claim, while one of the apps stands still at first.
    async fn moves(&self, first: &str) {
        let second = if first == self.from.name { self.to.name } else { self.from.name };
        let (stays, here) = (config("stays", "1"), config("here", "1"));
        let before = [config("moves", "1"), config("moves", "2")];
        let (own, other) = (("stays.yaml", stays.as_str()), ("here.yaml", here.as_str()));
        let all = self.push(&[own, ("moves.yaml", &before[0]), ("claim.yaml", CLAIM)], &[other]).await;
        self.from.done(&all).await;
        self.to.done(&all).await;
        let identity = self.identity().await;
        assert!(identity[..2].iter().all(Value::is_string), "{identity:?}");
        let suspension = || Suspension { reason: "order".into(), until: String::new() };
        self.ask(second, |app| Request::Suspend { app, suspension: suspension() }).await;
        let moved = self.push(&[own], &[other, ("moves.yaml", &before[1]), ("claim.yaml", CLAIM)]).await;
        (if first == self.from.name { &self.from } else { &self.to }).done(&moved).await;
        assert_eq!(self.identity().await, identity, "whoever comes first deletes nothing");
        self.ask(second, |app| Request::Resume { app }).await;
        self.to.done(&moved).await;
        self.from.done(&moved).await;
        self.from.until("the edit arrives", &self.from.path("v1", "configmaps", "moves"), has_version("2")).await;
        self.from.world.look_again(self.from.name).await;
        self.from.done(&moved).await;
        assert_eq!(self.identity().await, identity);
        for path in
            [self.from.path("v1", "configmaps", "moves"), self.from.path("v1", "persistentvolumeclaims", "data")]
        {
            let live = self.from.world.get(&path).await.unwrap();
            assert_eq!(live["metadata"]["labels"]["rewild.dev/app"], json!(self.to.name), "{live}");
        }
        let is_of = |state: &AppState, app: &str, short: &str| {
            assert_eq!(
                state.objects.iter().any(|it| it.object.short() == short),
                app == self.to.name,
                "{app}: {short}"
            );
        };
        for app in [self.from.name, self.to.name] {
            let state = self.from.world.state(app).await.unwrap();
            is_of(&state, app, "ConfigMap/moves");
            is_of(&state, app, "PersistentVolumeClaim/data");
        }
    }
}

/// §8.2: what moves to another app in one revision keeps its incarnation and its data, whichever app comes first.
pub(super) async fn an_object_goes_from_one_app_to_another<C: Ground>(world: &World<C>) {
    let of = |from, to| Move { from: Plain { world, name: from }, to: Plain { world, name: to } };
    let (given, taken) = (of("movedfrom", "movedto"), of("takenfrom", "takento"));
    tokio::join!(given.moves("movedfrom"), taken.moves("takento"));
}

/// §8.2: what two apps want at once stays with the one that has it, and the other says so until one of them lets go.
pub(super) async fn what_two_apps_want_is_told<C: Ground>(world: &World<C>) {
    let two = Move { from: Plain { world, name: "rivala" }, to: Plain { world, name: "rivalb" } };
    let (own, other) = (config("own", "1"), config("other", "1"));
    let [mine, theirs] = [config("rival", "1"), config("rival", "2")];
    let (own, other) = (("own.yaml", own.as_str()), ("other.yaml", other.as_str()));
    let first = two.push(&[own, ("rival.yaml", &mine)], &[other]).await;
    two.from.done(&first).await;
    two.to.done(&first).await;
    let before = two.from.config("rival").await;
    two.push(&[own, ("rival.yaml", &mine)], &[other, ("rival.yaml", &theirs)]).await;
    two.to.stands_for("OwnedByApp", &["ConfigMap/rival belongs to app rivala, which wants it too"]).await;
    assert_eq!(two.from.config("rival").await["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(two.from.config("rival").await["data"]["version"], json!("1"));
    let last = two.push(&[own], &[other, ("rival.yaml", &theirs)]).await;
    two.to.done(&last).await;
    two.from.done(&last).await;
    let after = two.from.config("rival").await;
    assert_eq!((&after["metadata"]["uid"], &after["data"]["version"]), (&before["metadata"]["uid"], &json!("2")));
}
