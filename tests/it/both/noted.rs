//! What stays of passes: the rows of what was done, and how few passes a burst costs.

use rewild::model::{Effect, ErrorClass, Operation, OperationOutcome, OperationState, Reason, Trigger};
use rewild::store::OperationFilter;

use super::{Plain, config, workload};
use crate::world::{Ground, World, app};

/// Wake-ups of one burst.
const WAKES: usize = 200;

/// Returns the rows of an app, oldest first, once all of them have ended.
async fn rows<C: Ground>(plain: &Plain<'_, C>, least: usize) -> Vec<Operation> {
    let instance = plain.world.handle.instance();
    let filter = OperationFilter { app: Some(app(plain.name)), ..OperationFilter::default() };
    let rows = async || instance.store.operations(&instance.id, &filter).await.unwrap();
    let ended = async || {
        let rows = rows().await;
        rows.len() >= least && rows.iter().all(|row| row.ended.is_some())
    };
    plain.world.until(&format!("{} has {least} operations that ended", plain.name), ended).await;
    let mut rows = rows().await;
    rows.reverse();
    rows
}

/// §13: a row for each pass that writes, with what came of each object, and none for one that writes nothing.
pub(super) async fn what_was_done_is_recorded<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "recorded" };
    let outcomes = async |row: &Operation| {
        let all = world.handle.instance().store.outcomes(&row.id).await.unwrap();
        all.into_iter().map(|it| (it.object.short(), it.effect, it.error)).collect::<Vec<_>>()
    };
    let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.done(&first).await;
    world.look_again(plain.name).await;
    let all = rows(&plain, 1).await;
    assert_eq!(all.len(), 1, "{all:#?}");
    let row = &all[0];
    assert_eq!((row.verb.as_str(), row.trigger.as_str(), row.actor.as_str()), ("reconcile", "reconcile", "wild"));
    assert_eq!((row.state, row.outcome), (OperationState::Succeeded, Some(OperationOutcome::Changed)));
    assert!(row.commit.is_some() && row.request.is_none(), "{row:#?}");
    let created = |object: &str| (object.to_owned(), Effect::Created, None);
    assert_eq!(outcomes(row).await, [created("Namespace/recorded"), created("ConfigMap/config")]);
    let bad = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 70000}]}\n";
    plain.push(&[("config.yaml", &config("config", "2")), ("bad.yaml", bad)]).await;
    plain.stands_for("ApplyFailed", &["spec.ports[0].port"]).await;
    let all = rows(&plain, 2).await;
    let row = &all[1];
    assert_eq!((row.state, row.outcome), (OperationState::Failed, Some(OperationOutcome::Changed)), "{row:#?}");
    let failed = ("Service/web".to_owned(), Effect::Failed, Some(ErrorClass::User));
    assert_eq!(outcomes(row).await, [("ConfigMap/config".to_owned(), Effect::Configured, None), failed]);
    let last = plain.push(&[("config.yaml", &config("config", "2"))]).await;
    plain.done(&last).await;
}

/// §2.3: what comes at once costs one pass, and a wake-up without news writes nothing.
pub(super) async fn a_burst_of_commits_costs_one_pass<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "burst" };
    let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.done(&first).await;
    // Others push as well, so what is refused is put behind theirs.
    let script = "for version in $(seq 2 30); do\n  \
                  sed -i \"s/version: \\\"[0-9]*\\\"/version: \\\"$version\\\"/\" apps/burst/config.yaml\n  \
                  git commit -q -a -m \"burst $version\"\ndone\n\
                  until git push -q; do git pull -q --rebase; done\n";
    world.in_a_clone(script);
    let path = plain.path("v1", "configmaps", "config");
    plain.until("the last version is there", &path, super::has_version("30")).await;
    for _ in 0..WAKES {
        world.handle.wake(Trigger { app: Some(app(plain.name)), reason: Reason::Scheduled });
    }
    world.look_again(plain.name).await;
    plain.healthy().await;
    let passes = rows(&plain, 2).await;
    assert_eq!(passes.len(), 2, "{passes:#?}");
    assert!(passes.iter().all(|row| row.state == OperationState::Succeeded), "{passes:#?}");
    assert!(passes[0].ended.unwrap() <= passes[1].started, "one after the other: {passes:#?}");
}

/// §5.1: what is needed is there before what needs it, in whatever order the files name them; versions of both servers rise with every write.
pub(super) async fn kinds_are_written_stage_by_stage<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "staged" };
    let route = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: NAME}\nspec: {defaultBackend: {service: {name: web, port: {number: 80}}}}\n";
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n";
    let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web}\n";
    let [one, two] = ["one", "two"].map(|name| route.replace("NAME", name));
    let [web, more] = ["web", "more"].map(|name| workload("Deployment", name, (name, "1"), ""));
    let (a, b) = (config("a", "1"), config("b", "1"));
    let files = [("a.yaml", &*one), ("b.yaml", &*two), ("c.yaml", &*web), ("d.yaml", &*more)];
    let needed = [("e.yaml", service), ("f.yaml", account), ("g.yaml", &*a), ("h.yaml", &*b)];
    let commit = plain.push(&[files, needed].concat()).await;
    plain.done(&commit).await;
    let first = rows(&plain, 1).await.remove(0);
    let outcomes = world.handle.instance().store.outcomes(&first.id).await.unwrap();
    let mut written: Vec<(u64, String)> = outcomes
        .into_iter()
        .filter(|outcome| outcome.effect == Effect::Created)
        .map(|outcome| (outcome.observed.unwrap().resource_version.parse().unwrap(), outcome.object.kind.clone()))
        .collect();
    written.sort();
    let stage = |kind: &str| match kind {
        "Namespace" => 0,
        "ServiceAccount" | "ConfigMap" | "Service" => 2,
        "Deployment" => 4,
        _ => 5,
    };
    let stages: Vec<i32> = written.iter().map(|(_, kind)| stage(kind)).collect();
    assert_eq!(stages, [0, 2, 2, 2, 2, 4, 4, 5, 5], "{written:#?}");
}
