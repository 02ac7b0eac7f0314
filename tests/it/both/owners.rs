//! Objects and fields that are somebody else's: each mark of another tool, each manager that holds a field, as a table.
//!
//! Not here: what nobody owns and a person gives away (`taken.rs`), labels of ours that somebody copied (`tests/live/hands.rs`), what the
//! settings leave to others (`given.rs`, `contested.rs`).

use rewild::model::{CommitId, Effect, Outcome, apply_set};
use rewild::pipeline;
use rewild::plan::Blocked;
use rewild::store::OperationFilter;
use serde_json::{Value, json};

use super::{Plain, config, has_version};
use crate::world::{Ground, World, app};

/// What shows that an object is not ours.
#[derive(Clone, Copy)]
enum Mark {
    Label(&'static str, &'static str),
    Annotation(&'static str),
    Applier(&'static str),
    /// Another object, as its controller.
    Owner,
    /// All labels of an object of this app, and whose they are.
    Ours(&'static str),
}

const FOREIGN: &str = "ForeignOwner";

/// §3.5: what there is before us, the reason for which it is left alone, and what is said of it.
const ROWS: [(Mark, &str, &[&str]); 17] = [
    (
        Mark::Label("kustomize.toolkit.fluxcd.io/name", "x"),
        FOREIGN,
        &["Flux", "label kustomize.toolkit.fluxcd.io/name"],
    ),
    (Mark::Label("helm.toolkit.fluxcd.io/name", "x"), FOREIGN, &["Flux", "label helm.toolkit.fluxcd.io/name"]),
    (Mark::Applier("kustomize-controller"), FOREIGN, &["Flux", "field manager kustomize-controller"]),
    (Mark::Applier("helm-controller"), FOREIGN, &["Flux", "field manager helm-controller"]),
    (
        Mark::Annotation("argocd.argoproj.io/tracking-id"),
        FOREIGN,
        &["Argo CD", "annotation argocd.argoproj.io/tracking-id"],
    ),
    (Mark::Label("argocd.argoproj.io/instance", "x"), FOREIGN, &["Argo CD", "label argocd.argoproj.io/instance"]),
    (Mark::Applier("argocd-controller"), FOREIGN, &["Argo CD", "field manager argocd-controller"]),
    (Mark::Annotation("meta.helm.sh/release-name"), FOREIGN, &["Helm", "annotation meta.helm.sh/release-name"]),
    (Mark::Label("kapp.k14s.io/app", "x"), FOREIGN, &["kapp", "label kapp.k14s.io/app"]),
    (Mark::Label("kluctl.io/discriminator", "x"), FOREIGN, &["kluctl", "label kluctl.io/discriminator"]),
    (Mark::Annotation("configmanagement.gke.io/managed"), FOREIGN, &["Config Sync", "configmanagement.gke.io/managed"]),
    (Mark::Annotation("objectset.rio.cattle.io/id"), FOREIGN, &["Fleet", "annotation objectset.rio.cattle.io/id"]),
    (Mark::Label("kro.run/owned", "true"), FOREIGN, &["kro", "label kro.run/owned"]),
    (
        Mark::Label("rewild.dev/instance", "a2b3c4d5e6"),
        FOREIGN,
        &["Rewild instance a2b3c4d5e6", "label rewild.dev/instance"],
    ),
    (
        Mark::Label("applyset.kubernetes.io/part-of", "applyset-theirs-v1"),
        FOREIGN,
        &["ApplySet applyset-theirs-v1", "label applyset.kubernetes.io/part-of"],
    ),
    (Mark::Ours("nobody"), "OwnedByApp", &["belongs to app nobody"]),
    (Mark::Owner, FOREIGN, &["belongs to ConfigMap/controller"]),
];

/// Sends an apply as another program does.
async fn apply_as<C: Ground>(world: &World<C>, manager: &str, path: &str, body: Value) {
    let url = format!("{}{path}?fieldManager={manager}&force=true", world.cluster.url());
    let sent = world.cluster.client().patch(url).header("Content-Type", "application/apply-patch+yaml");
    let answer = sent.body(body.to_string()).send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
}

/// Makes what a row says and returns its name.
async fn make<C: Ground>(plain: &Plain<'_, C>, number: usize, mark: Mark, owner: &Value) -> String {
    let (world, name) = (plain.world, format!("theirs-{number}"));
    let body = |more: Value| {
        let mut metadata = json!({"name": name});
        for (key, value) in more.as_object().unwrap() {
            metadata[key] = value.clone();
        }
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"version": "theirs"}})
    };
    let list = plain.path("v1", "configmaps", "");
    let list = list.trim_end_matches('/');
    let instance = world.handle.instance();
    let more = match mark {
        Mark::Applier(manager) => {
            apply_as(world, manager, &plain.path("v1", "configmaps", &name), body(json!({}))).await;
            return name;
        }
        Mark::Label(key, value) => json!({"labels": {key: value}}),
        Mark::Annotation(key) => json!({"annotations": {key: "x"}}),
        Mark::Owner => json!({"ownerReferences": [owner]}),
        Mark::Ours(app) => {
            let set = apply_set::id(&apply_set::parent_id(&instance.id, "wild-system"));
            json!({"labels": {"rewild.dev/instance": instance.id.as_str(), "rewild.dev/app": app, "applyset.kubernetes.io/part-of": set}})
        }
    };
    world.make(list, body(more)).await;
    name
}

/// Returns what the plan of an app holds back.
async fn held_back<C: Ground>(plain: &Plain<'_, C>) -> Vec<Blocked> {
    let preview = pipeline::preview(plain.world.handle.instance(), &app(plain.name), None).await;
    preview.unwrap().plan.unwrap().blocked
}

/// §3.5: each is left alone, with the tool and its mark named, and the rest of the app is applied.
pub(super) async fn what_is_somebody_elses_is_named_and_not_touched<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "owned" };
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": plain.name}});
    world.make("/api/v1/namespaces", namespace).await;
    let controller = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "controller"}});
    world.make("/api/v1/namespaces/owned/configmaps", controller).await;
    let uid = plain.uid(&plain.path("v1", "configmaps", "controller")).await;
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "controller", "uid": uid, "controller": true});
    let mut before = Vec::new();
    for (number, (mark, ..)) in ROWS.into_iter().enumerate() {
        let name = make(&plain, number, mark, &owner).await;
        before.push(plain.config(&name).await);
    }
    let all: Vec<String> = (0..ROWS.len()).map(|number| config(&format!("theirs-{number}"), "ours")).collect();
    let (all, free) = (all.join("---\n"), config("free", "1"));
    plain.push(&[("all.yaml", &all), ("free.yaml", &free)]).await;
    plain.until("the rest is applied", &plain.path("v1", "configmaps", "free"), has_version("1")).await;
    world.look_again(plain.name).await;
    let held = held_back(&plain).await;
    for (number, ((_, reason, says), before)) in ROWS.into_iter().zip(before).enumerate() {
        let name = format!("theirs-{number}");
        let about = held.iter().find(|it| it.object.as_ref().is_some_and(|id| id.name == name));
        assert!(about.is_some(), "{name} is not held back: {held:#?}");
        let about = about.unwrap();
        assert_eq!(about.reason, reason, "{about:?}");
        assert!(says.iter().all(|text| about.message.contains(text)), "{says:?}: {about:?}");
        assert_eq!(plain.config(&name).await, before, "{name} was touched");
    }
    assert_eq!(held.len(), ROWS.len(), "{held:#?}");
    let state = world.state(plain.name).await.unwrap();
    assert!(state.intent != "applied", "{state:#?}");
}

/// §4.4: managers that hold a field which a revision brings, and the tool whose they are. Of all others the field is taken, with a word.
const HOLDERS: [(&str, Option<&str>); 8] = [
    ("kustomize-controller", Some("Flux")),
    ("helm-controller", Some("Flux")),
    ("argocd-controller", Some("Argo CD")),
    ("kubectl-edit", None),
    ("kubectl-client-side-apply", None),
    ("k9s", None),
    // The settings name this one.
    ("console", None),
    ("tuner", None),
];

/// Pushes a config map for each holder.
async fn push<C: Ground>(plain: &Plain<'_, C>, version: &str, more: &str) -> CommitId {
    let maps = HOLDERS.map(|(holder, _)| {
        let metadata = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: held-{holder}}}\n");
        format!("{metadata}data: {{version: \"{version}\"{more}}}\n")
    });
    plain.push(&[("all.yaml", &maps.join("---\n"))]).await
}

/// Returns what came of each object in the first pass that was held back.
async fn outcomes<C: Ground>(plain: &Plain<'_, C>) -> Vec<Outcome> {
    let instance = plain.world.handle.instance();
    let filter = OperationFilter { app: Some(app(plain.name)), ..OperationFilter::default() };
    let mut all = instance.store.operations(&instance.id, &filter).await.unwrap();
    all.reverse();
    for operation in all {
        let outcomes = instance.store.outcomes(&operation.id).await.unwrap();
        if outcomes.iter().any(|outcome| outcome.effect == Effect::Blocked) {
            return outcomes;
        }
    }
    Vec::new()
}

/// §4.4: a field that another GitOps tool holds holds its object back; what people and programs hold is taken, and who held it is told.
pub(super) async fn a_field_is_taken_from_people_and_programs_and_not_from_tools<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "holders" };
    let first = push(&plain, "1", "").await;
    plain.done(&first).await;
    for (holder, _) in HOLDERS {
        let path = plain.path("v1", "configmaps", &format!("held-{holder}"));
        world.patch_as(holder, &path, json!({"data": {"more": "theirs"}})).await;
    }
    let name = |holder: &str| format!("held-{holder}");
    let version = |live: &Value| live["metadata"]["resourceVersion"].clone();
    let mut before = Vec::new();
    for (holder, _) in HOLDERS {
        before.push(version(&plain.config(&name(holder)).await));
    }
    push(&plain, "2", ", more: git").await;
    plain.stands_for(FOREIGN, &[]).await;
    let outcomes = outcomes(&plain).await;
    for ((holder, tool), before) in HOLDERS.into_iter().zip(before) {
        let live = plain.config(&name(holder)).await;
        let of = outcomes.iter().find(|outcome| outcome.object.name == name(holder)).unwrap();
        let (effect, data) = match tool {
            Some(tool) => {
                assert!(of.message.contains(tool), "{of:?}");
                assert_eq!(version(&live), before, "{holder}");
                (Effect::Blocked, json!({"version": "1", "more": "theirs"}))
            }
            None => (Effect::Configured, json!({"version": "2", "more": "git"})),
        };
        assert_eq!((of.effect, &live["data"]), (effect, &data), "{holder}: {of:?}");
        assert!(of.message.contains(holder), "{holder}: {}", of.message);
        if tool.is_none() {
            let said = [
                format!("takes data.more over from {holder} (theirs → git), which took it at 20"),
                format!("; to leave it: wild drift ignore holders ConfigMap/held-{holder} data.more"),
            ];
            assert!(said.iter().all(|text| of.message.contains(text)), "{holder}: {}", of.message);
        }
    }
}
