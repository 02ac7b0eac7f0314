//! Values of Secrets that are planted wherever they pass: none of them is in a plan, a result, an event, a metric, the archive or a message.
//!
//! Not here: logs of the daemon (`tests/live/story.rs`), keys of shared certificates (`shared.rs`), git itself (`tests/it/line/waiting.rs`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{Plain, config, has_version, says, wild};
use crate::world::{Ground, World};

/// In `data`.
const DATA: &str = "planted-apple-Kd83";
/// In `stringData`.
const STRING: &str = "planted-birch-Lw02";
/// In what cannot be changed, before and after.
const FROZEN: &str = "planted-cedar-Xq71";
const THAWED: &str = "planted-daisy-Mv55";
/// In what is pruned.
const PRUNED: &str = "planted-elder-Nn19";
/// In what is refused by its form.
const UNREADABLE: &str = "planted-fennel-Pz40";
/// In what is refused by its meaning.
const SENSELESS: &str = "planted-grape-Rt67";
/// Written by hand over a value.
const EDITED: &str = "planted-hazel-Sb28";
/// Written by hand beside one.
const ADDED: &str = "planted-iris-Tj94";
/// Set by a command, twice.
const TOKEN: &str = "planted-juniper-Uc36";
const ROTATED: &str = "planted-kale-Vh80";
/// Written by hand into an annotation.
const NOTED: &str = "planted-lemon-Wy13";
const PLANTS: [&str; 12] =
    [DATA, STRING, FROZEN, THAWED, PRUNED, UNREADABLE, SENSELESS, EDITED, ADDED, TOKEN, ROTATED, NOTED];
const MANIFEST: &str =
    "name: planted\nis: planted\nversion: \"1\"\ndescription: an app with secrets\ndefaultSecrets:\n- key: token\n";
/// What tells people of an app and of what was done.
const COMMANDS: [&str; 15] = [
    "wild app diff planted",
    "wild app diff planted -o json",
    "wild app tree planted",
    "wild app events planted -o json",
    "wild doctor planted",
    "wild doctor planted -o json",
    "wild plan planted -o json",
    "wild plan planted",
    "wild app show planted -o json",
    "wild app status planted -o json",
    "wild drift list -o json",
    "wild drift show planted",
    "wild operation list -o json",
    "wild operation archive -o json",
    "wild status -o json",
];

fn secret(name: &str, more: &str) -> String {
    format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\n{more}\n")
}

fn encoded(text: &str) -> String {
    STANDARD.encode(text)
}

/// Returns the files of the app; what is frozen has a value, and what is away is not there.
fn files(frozen: &str, away: &[&str]) -> Vec<(&'static str, String)> {
    let web = super::workload("Deployment", "web", ("web", "1"), "").replace(
        "\"}\n",
        "\", env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: planted-secrets, key: token}}}]}\n",
    );
    let all = vec![
        ("data.yaml", secret("data", &format!("data: {{k: {}}}", encoded(DATA)))),
        ("string.yaml", secret("string", &format!("stringData: {{k: {STRING}}}"))),
        ("frozen.yaml", secret("frozen", &format!("immutable: true\nstringData: {{k: {frozen}}}"))),
        ("pruned.yaml", secret("pruned", &format!("stringData: {{k: {PRUNED}}}"))),
        ("copied.yaml", config("copied", "1")),
        ("web.yaml", web),
        ("manifest.yaml", MANIFEST.to_owned()),
    ];
    all.into_iter().filter(|(file, _)| !away.contains(file)).collect()
}

async fn push<C: Ground>(plain: &Plain<'_, C>, files: &[(&'static str, String)]) -> rewild::model::CommitId {
    let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (*file, text.as_str())).collect();
    plain.push(&files).await
}

/// What the cluster tells of objects is shown with the values that it holds hidden.
async fn told<C: Ground>(plain: &Plain<'_, C>) {
    let event = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "web.1"},
        "eventTime": "2026-11-21T12:00:00.000000Z", "reportingController": "example.org/witness", "reportingInstance": "one",
        "action": "Look", "reason": "Overheard", "type": "Warning", "note": format!("it says {ROTATED} aloud"),
        "regarding": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "planted", "name": "web"}});
    plain.world.make("/apis/events.k8s.io/v1/namespaces/planted/events", event).await;
    let shown = ["Overheard", "Deployment/web: it says (hidden) aloud", "applied"];
    says(plain.world, "wild app events planted", &shown).await;
}

/// §18, I9.
pub(super) async fn no_value_of_a_secret_is_told_or_kept<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "planted" };
    let first = push(&plain, &files(FROZEN, &[])).await;
    plain.stands_for("SecretMissing", &["apps.planted.token"]).await;
    let mut said = wild(world, "wild secret set apps.planted.token", TOKEN).await;
    plain.done(&first).await;
    by_hand(&plain).await;
    // What cannot be changed is made anew, what is wanted no more goes into the archive.
    let second = push(&plain, &files(THAWED, &["pruned.yaml", "copied.yaml"])).await;
    plain.done(&second).await;
    plain.until("what is pruned is gone", &plain.path("v1", "secrets", "pruned"), serde_json::Value::is_null).await;
    said.push_str(&wild(world, "wild secret set apps.planted.token", ROTATED).await);
    let rotated = json!(encoded(ROTATED));
    let own = plain.path("v1", "secrets", "planted-secrets");
    plain.until("the new value is applied", &own, |live| live["data"]["token"] == rotated).await;
    refused(&plain).await;
    told(&plain).await;
    for line in COMMANDS {
        let told = wild(world, line, "").await;
        assert!(!told.is_empty(), "{line} says nothing");
        said.push_str(&told);
    }
    said.push_str(&world.kept().await);
    let (_, notes) = world.git(&["log", "-p", "--format=%B", "refs/notes/wild"]);
    said.push_str(&notes);
    assert!(
        said.contains("Secret/pruned") || said.contains("\"pruned\""),
        "it was not looked at where Secrets are told of"
    );
    for plant in PLANTS {
        for text in [plant.to_owned(), encoded(plant)] {
            let found = said.split_once(&text).map(|(before, after)| {
                let before: String = before.chars().rev().take(300).collect();
                format!("{}…{}", before.chars().rev().collect::<String>(), after.chars().take(300).collect::<String>())
            });
            assert!(found.is_none(), "{text} is shown: {found:?}");
        }
    }
}

/// What people do to them in the cluster.
async fn by_hand<C: Ground>(plain: &Plain<'_, C>) {
    let world = plain.world;
    let [data, pruned] = ["data", "pruned"].map(|name| plain.path("v1", "secrets", name));
    world.patch(&pruned, json!({"metadata": {"annotations": {"note": NOTED}}})).await;
    world.patch(&data, json!({"data": {"k": encoded(EDITED), "extra": encoded(ADDED)}})).await;
    let right = json!(encoded(DATA));
    plain.until("the value is put back", &data, |live| live["data"]["k"] == right).await;
    // A value that is ours, written where everybody may read.
    let copied = plain.path("v1", "configmaps", "copied");
    world.patch(&copied, json!({"data": {"version": TOKEN, "more": TOKEN}})).await;
    plain.until("the copy is put back", &copied, has_version("1")).await;
    world.patch(&copied, json!({"metadata": {"annotations": {"rewild.dev/hold-until": "2099-01-01T00:00:00Z"}}, "data": {"version": TOKEN}})).await;
    let is_told = async || {
        let state = world.state(plain.name).await;
        state.is_some_and(|state| state.drift.iter().any(|drift| drift.object.name == "copied"))
    };
    world.until("what is held is told", is_told).await;
}

/// What a server does not take, with its own words about it.
async fn refused<C: Ground>(plain: &Plain<'_, C>) {
    let away = ["pruned.yaml", "copied.yaml"];
    let secret_of = |name: &str| format!("Secret {}/{name}", plain.name);
    // Key and reason are told, by us where the server would name no key, and by the server where it knows better.
    for (name, more, reason, told) in [
        ("unreadable", format!("data: {{k: \"{UNREADABLE}!\"}}"), "InvalidObject", "has data.k, which is no base64"),
        ("numeric", "stringData: {port: 5432123}".to_owned(), "InvalidObject", "has data.port, which is no text"),
        ("listed", format!("data: [{UNREADABLE}]"), "InvalidObject", "has data or stringData, which is no map"),
        ("senseless", format!("immutable: {SENSELESS}"), "ApplyFailed", ".immutable: expected boolean"),
        (
            "misspelt",
            format!("stringdata: {{k: {SENSELESS}}}"),
            "ApplyFailed",
            ".stringdata: field not declared in schema",
        ),
        (
            "misnamed",
            format!("stringData: {{\"my key\": {SENSELESS}}}"),
            "ApplyFailed",
            "data[my key]: a valid config key",
        ),
    ] {
        let mut all = files(THAWED, &away);
        all.push(("bad.yaml", secret(name, &more)));
        push(plain, &all).await;
        let of_whom = if reason == "ApplyFailed" { secret_of(name) } else { format!("apps/{}/bad.yaml", plain.name) };
        plain.stands_for(reason, &[&of_whom, told]).await;
    }
    let last = push(plain, &files(THAWED, &away)).await;
    plain.done(&last).await;
}
