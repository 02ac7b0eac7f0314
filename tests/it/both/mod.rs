//! What the engine does about objects that a server refuses, keeps, changes or gives to others: on the sandbox and on a real cluster.
//!
//! Each check is about apps of its own, so that many run side by side in one world. Also read by `tests/live/engine.rs`. Not here: the worlds
//! that the checks run in (`tests/it/line/both.rs`, `tests/live/engine.rs`).

mod again;
mod anew;
mod away;
mod budget;
mod cancelled;
mod contested;
mod depends;
mod ended;
mod events;
mod extra;
mod fifty;
mod given;
mod health;
mod judged;
mod kept;
mod noted;
mod owners;
mod planted;
mod pruned;
mod rerun;
mod shared;
mod sorts;
mod streamed;
mod taken;
mod told;

pub(crate) use cancelled::cancel;

use std::ffi::OsString;
use std::panic::AssertUnwindSafe;
use std::path::Path;

use futures::FutureExt;
use futures::future::join_all;
use rewild::cli::{self, Captured, Surroundings};
use rewild::model::{CommitId, Request};
use serde_json::{Value, json};

use crate::proxy::Proxy;
use crate::world::{Ground, World, app};

/// What the settings of an instance must say for these checks, beside what every world has.
const SETTINGS: &str = "recovery: {after: 1s}
editors: [console]
ignore:
- {kind: ConfigMap, name: shared, paths: [/data/theirs], managers: [tuner]}
tls: {shared: [cert-manager/both-tls]}
health:
- {kind: NetworkPolicy, degraded: {path: /metadata/labels/state, equals: [broken]}}
apps:
  anew: {grants: {kinds: [PriorityClass, IngressClass, RuntimeClass, StorageClass]}}
  takenaway: {extra: remove}
  sorts: {drift: report}
  yielding: {conflicts: yield, handover: [{path: /data/tuned, manager: tuner}]}
  blocking: {conflicts: block}
  given: {grants: {kinds: [ValidatingWebhookConfiguration]}}
  letgo: {grants: {kinds: [Namespace]}}
  depends: {grants: {finalizers: [example.org/hold]}}
  named: {grants: {finalizers: [example.org/hold]}}
  taken: {grants: {namespaces: [taken]}}
  owned: {grants: {namespaces: [owned]}}
  commonone: {grants: {namespaces: [common]}}
  commontwo: {grants: {namespaces: [common]}}
  movedto: {grants: {namespaces: [movedfrom]}}
  takento: {grants: {namespaces: [takenfrom]}}
  movedfrom: {grants: {namespaces: [movedfrom]}}
  takenfrom: {grants: {namespaces: [takenfrom]}}
  rivala: {grants: {namespaces: [rivala]}}
  rivalb: {grants: {namespaces: [rivala]}}
  definitions: {grants: {kinds: [CustomResourceDefinition]}}
  unspoken: {grants: {kinds: [CustomResourceDefinition]}}
  ownkind: {grants: {kinds: [CustomResourceDefinition]}}
";

/// Writes the settings that the checks need.
pub(crate) async fn prepare<C: Ground>(world: &World<C>) {
    world.set(SETTINGS).await;
}

/// Letters of what a failed check says, where all are told together.
const SHOWN: usize = 2_000;

/// Runs the checks that need a world without any other app.
pub(crate) async fn check_alone<C: Ground>(world: &World<C>) {
    if is_wanted("fifty") {
        fifty::of_fifty_objects_two_bad_ones_hold_no_other_back(world).await;
    }
}

/// Runs all other checks in a world that is prepared.
pub(crate) async fn check_all<C: Ground>(world: &mut World<C>) {
    check_side_by_side(world).await;
    budget::a_revision_that_takes_a_little_from_every_app_waits_for_a_person_where_all_is_too_much(world).await;
    away::a_cluster_that_answers_again_is_brought_what_it_missed(world).await;
    check_deletions(world).await;
    cancelled::what_a_person_ends_stays_as_it_is_until_somebody_says_so(world).await;
    if is_wanted("rewound") {
        kept::nothing_goes_because_an_upstream_went_back(world).await;
    }
    events::what_becomes_of_apps_is_told_in_the_cluster_where_somebody_wants_it(world).await;
    ended::a_namespace_is_freed_only_where_the_settings_let_it(world).await;
    taken::nothing_is_said_to_be_changed_that_was_not(world).await;
}

/// Returns whether a check is among those that `WILD_CHECKS` names, if it names any.
fn is_wanted(name: &str) -> bool {
    let wanted = std::env::var("WILD_CHECKS").unwrap_or_default();
    wanted.is_empty() || wanted.split(',').any(|it| it == name)
}

/// Runs the checks of single apps; one that fails lets the others end.
async fn check_side_by_side<C: Ground>(world: &World<C>) {
    let checks: Vec<(&str, Check<'_>)> = vec![
        ("made anew", anew::what_holds_nothing_is_made_anew_by_itself(world).boxed_local()),
        ("asked", anew::what_runs_is_made_anew_only_when_a_person_says_so(world).boxed_local()),
        ("never", anew::what_holds_data_and_what_its_author_keeps_is_never_made_anew(world).boxed_local()),
        (
            "held",
            ended::a_namespace_that_a_person_holds_is_freed_and_one_that_a_program_holds_is_not(world).boxed_local(),
        ),
        ("left", ended::what_a_namespace_still_holds_goes_if_a_person_holds_it_or_agrees(world).boxed_local()),
        ("lodging", ended::a_namespace_with_what_others_own_stays(world).boxed_local()),
        ("at once", again::an_app_that_is_deleted_and_added_at_once_is_a_new_one(world).boxed_local()),
        ("several", again::what_several_people_ask_of_one_app_at_once_is_all_done(world).boxed_local()),
        ("depends", depends::an_object_waits_for_what_it_depends_on_and_goes_before_it(world).boxed_local()),
        ("added", extra::what_people_add_is_told_and_left(world).boxed_local()),
        ("taken away", extra::what_people_add_is_taken_away(world).boxed_local()),
        ("yielding", contested::what_a_program_holds_stays_with_it_and_is_told(world).boxed_local()),
        ("blocking", contested::what_a_program_holds_holds_the_object_back(world).boxed_local()),
        ("given", given::what_others_may_hold_stays_with_them(world).boxed_local()),
        ("reported", given::what_is_held_or_only_reported_is_left_alone_and_told(world).boxed_local()),
        ("health", health::an_app_is_as_well_as_its_objects(world).boxed_local()),
        ("waits", judged::what_was_applied_is_put_back_while_what_is_new_waits(world).boxed_local()),
        ("unbuilt", judged::what_was_applied_is_put_back_while_a_revision_does_not_build(world).boxed_local()),
        ("suspended", judged::nothing_of_a_suspended_app_is_written(world).boxed_local()),
        ("answered", judged::drift_is_put_back_left_or_taken_over_as_a_person_says(world).boxed_local()),
        ("emptied", kept::nothing_goes_because_git_is_empty_or_an_app_is_gone_from_it(world).boxed_local()),
        ("stepwise", kept::a_person_agrees_once_to_what_goes_in_stages(world).boxed_local()),
        ("swapped", kept::nothing_goes_because_enough_came_along(world).boxed_local()),
        ("resting", kept::a_suspension_ends_when_it_says(world).boxed_local()),
        ("oversized", kept::what_is_too_large_is_refused_with_its_file(world).boxed_local()),
        ("moments", judged::hooks_run_at_their_moments_and_at_no_other(world).boxed_local()),
        ("recorded", noted::what_was_done_is_recorded(world).boxed_local()),
        ("staged", noted::kinds_are_written_stage_by_stage(world).boxed_local()),
        ("burst", noted::a_burst_of_commits_costs_one_pass(world).boxed_local()),
        ("owned", owners::what_is_somebody_elses_is_named_and_not_touched(world).boxed_local()),
        ("holders", owners::a_field_is_taken_from_people_and_programs_and_not_from_tools(world).boxed_local()),
        ("planted", planted::no_value_of_a_secret_is_told_or_kept(world).boxed_local()),
        ("pruned", pruned::what_holds_data_stays_and_what_somebody_made_anew_is_left_alone(world).boxed_local()),
        ("overtaken", pruned::what_another_tool_took_over_is_not_deleted(world).boxed_local()),
        ("let go", pruned::what_its_author_let_go_goes_once_a_person_agreed(world).boxed_local()),
        ("common", pruned::a_namespace_of_two_apps_is_written_by_one_of_them(world).boxed_local()),
        ("moved", pruned::an_object_goes_from_one_app_to_another(world).boxed_local()),
        ("rivals", pruned::what_two_apps_want_is_told(world).boxed_local()),
        ("rerun", rerun::a_job_runs_again_only_when_a_person_asks(world).boxed_local()),
        ("sorts", sorts::each_sort_of_change_is_told_as_what_it_is(world).boxed_local()),
        ("shared", shared::a_shared_certificate_is_copied_and_follows_its_source(world).boxed_local()),
        ("streamed", streamed::what_happens_to_an_app_is_told_as_it_happens(world).boxed_local()),
        ("taken", taken::what_nobody_owns_is_taken_over_with_consent_and_every_field_of_it(world).boxed_local()),
        ("merged", taken::what_a_server_filled_in_stands_in_the_way_of_nothing(world).boxed_local()),
        ("refused", taken::what_is_refused_before_any_request_is_told(world).boxed_local()),
        ("told", told::what_a_server_refuses_is_told_in_its_words(world).boxed_local()),
        ("counted", told::passes_are_counted(world).boxed_local()),
        ("unknown", told::who_brings_a_kind_that_is_unknown_is_named(world).boxed_local()),
        ("requires", told::an_app_waits_for_what_it_requires(world).boxed_local()),
    ];
    let checks = checks.into_iter().filter(|(name, _)| is_wanted(name));
    let ends = checks.map(async |(name, check)| {
        let panic = AssertUnwindSafe(check).catch_unwind().await.err()?;
        let says = panic.downcast_ref::<String>().map_or("no text", String::as_str);
        // Its first words once more behind all that is shown: the end of a long output is what is read.
        Some(format!("{name}: {}", says.chars().take(SHOWN).collect::<String>()))
    });
    let failed: Vec<String> = join_all(ends).await.into_iter().flatten().collect();
    assert!(failed.is_empty(), "{}\nthese failed:\n{}", world.show().await, failed.join("\n"));
}

/// Runs the checks that count deletions.
async fn check_deletions<C: Ground>(world: &mut World<C>) {
    let proxy = Proxy::start_with(&world.cluster.url(), world.cluster.client()).await;
    world.restart_through(proxy.url()).await;
    futures::join!(
        again::an_app_whose_namespace_is_going_already_goes_with_it(world, &proxy),
        ended::the_namespace_of_a_deleted_app_goes_when_a_person_agrees(world, &proxy),
    );
    world.restart().await;
}

type Check<'a> = std::pin::Pin<Box<dyn Future<Output = ()> + 'a>>;

/// An app of plain files in a namespace of its own name.
pub(crate) struct Plain<'a, C: Ground> {
    pub(crate) world: &'a World<C>,
    pub(crate) name: &'static str,
}

impl<C: Ground> Plain<'_, C> {
    /// Pushes all files of the app.
    pub(crate) async fn push(&self, files: &[(&str, &str)]) -> CommitId {
        self.push_into(self.name, files).await
    }

    /// Pushes all files of the app, whose objects lie in a namespace.
    pub(crate) async fn push_into(&self, namespace: &str, files: &[(&str, &str)]) -> CommitId {
        let names: Vec<&str> = files.iter().map(|(file, _)| *file).filter(|file| *file != "manifest.yaml").collect();
        let list = format!("namespace: {namespace}\nresources: [{}]\n", names.join(", "));
        let mut all = vec![(format!("apps/{}/kustomization.yaml", self.name), list)];
        all.extend(files.iter().map(|(file, text)| (format!("apps/{}/{file}", self.name), (*text).to_owned())));
        let changes: Vec<(&str, Option<&str>)> =
            all.iter().map(|(path, text)| (path.as_str(), Some(text.as_str()))).collect();
        self.world.push(&format!("{}: plain files", self.name), &changes).await
    }

    /// Returns the path of an object of the app's namespace.
    pub(crate) fn path(&self, api: &str, plural: &str, name: &str) -> String {
        let root = if api.contains('/') { "apis" } else { "api" };
        format!("/{root}/{api}/namespaces/{}/{plural}/{name}", self.name)
    }

    /// Reads an object of the app's namespace; null if it is not there.
    pub(crate) async fn live(&self, api: &str, plural: &str, name: &str) -> Value {
        self.world.get(&self.path(api, plural, name)).await.unwrap_or_default()
    }

    /// Reads a config map of the app; null if it is not there.
    pub(crate) async fn config(&self, name: &str) -> Value {
        self.live("v1", "configmaps", name).await
    }

    /// Returns the incarnation of what lies at a path; null if nothing does.
    pub(crate) async fn uid(&self, path: &str) -> Value {
        self.world.get(path).await.unwrap_or_default()["metadata"]["uid"].clone()
    }

    pub(crate) async fn uids(&self, paths: &[String]) -> Vec<Value> {
        let mut uids = Vec::new();
        for path in paths {
            uids.push(self.uid(path).await);
        }
        uids
    }

    /// Waits until the app stands still for a reason and says this of it.
    pub(crate) async fn stands_for(&self, reason: &str, says: &[&str]) {
        self.world
            .until(&format!("{} stands still for {reason}: {says:?}", self.name), async || {
                self.world.state(self.name).await.is_some_and(|state| {
                    state.reason == reason && says.iter().all(|text| state.needs_you.contains(text))
                })
            })
            .await;
    }

    /// Agrees to the deletions for which the app stands still, by the command that it names.
    pub(crate) async fn agree(&self) {
        self.stands_for("DeletionNeedsApproval", &[]).await;
        let hint = self.world.state(self.name).await.unwrap().hint;
        says(self.world, &hint, &["deleted"]).await;
    }

    /// Waits until a commit, or one after it, is applied and the app is well.
    pub(crate) async fn done(&self, commit: &CommitId) {
        let holds =
            |applied: &CommitId| self.world.git(&["merge-base", "--is-ancestor", commit.as_str(), applied.as_str()]).0;
        self.world
            .until(&format!("{} is applied as in {commit:?} and healthy", self.name), async || {
                self.world.state(self.name).await.is_some_and(|state| {
                    let is_well = state.intent == "applied" && state.health == "healthy";
                    is_well && state.applied.as_ref().is_some_and(holds)
                })
            })
            .await;
    }

    /// Waits until the app is well, whatever of it was applied last.
    pub(crate) async fn healthy(&self) {
        self.world.healthy(self.name).await;
    }

    /// Waits for an object.
    pub(crate) async fn until(&self, what: &str, path: &str, holds: impl Fn(&Value) -> bool) {
        let met = async || holds(&self.world.get(path).await.unwrap_or_default());
        self.world.until(&format!("{}: {what}", self.name), met).await;
    }

    /// Asks for a deployment that may make these objects anew.
    pub(crate) async fn allow(&self, objects: &[&str]) {
        let recreate = objects.iter().map(|object| (*object).to_owned()).collect();
        self.world.ask(Request::Deploy { app: app(self.name), approve: None, recreate, adopt: false }).await;
    }
}

/// A Deployment, a StatefulSet, a DaemonSet or a ReplicaSet with its labels, an image and more of its spec.
pub(crate) fn workload(kind: &str, name: &str, (label, image): (&str, &str), more: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n  selector: {{matchLabels: {{app: {label}}}}}\n{more}  template:\n    \
         metadata: {{labels: {{app: {label}}}}}\n    spec:\n      containers:\n      - {{name: main, image: \"registry.example.invalid/main:{image}\"}}\n"
    )
}

/// The same with pods that no node takes.
pub(crate) fn nowhere(workload: &str) -> String {
    workload.replace("      containers:", "      nodeSelector: {no: node}\n      containers:")
}

/// Runs a command line with something on standard input; returns all that it says. It has a stack of its own: it polls the whole line.
pub(crate) async fn wild<C: Ground>(world: &World<C>, line: &str, given: &str) -> String {
    let (daemon, runtime) = (world.daemon.clone(), tokio::runtime::Handle::current());
    let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
    let mut out = Captured { given: given.to_owned(), ..Captured::default() };
    let run = move || {
        let mut environment = Surroundings::bare(Path::new("/"));
        environment.daemon = Some(daemon);
        runtime.block_on(cli::run(words, environment, &mut out));
        format!("{}{}", out.data, out.notes)
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

/// Runs a command line and expects all of this in what it says.
pub(crate) async fn says<C: Ground>(world: &World<C>, line: &str, expected: &[&str]) {
    let said = wild(world, line, "").await;
    let missing: Vec<&&str> = expected.iter().filter(|text| !said.contains(**text)).collect();
    assert!(missing.is_empty(), "{line} does not say {missing:#?}:\n{said}");
}

pub(crate) fn config(name: &str, version: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{version: \"{version}\"}}\n")
}

pub(crate) fn has_version(version: &str) -> impl Fn(&Value) -> bool {
    let version = json!(version);
    move |object| object["data"]["version"] == version
}

/// Waits until one object of the app has a health, and a sentence with this in it.
pub(crate) async fn is_told<C: Ground>(plain: &Plain<'_, C>, object: &str, health: &str, says: &str) {
    plain
        .world
        .until(&format!("{object} is {health}: {says}"), async || {
            let Some(state) = plain.world.state(plain.name).await else { return false };
            let mut all = state.objects.iter().filter(|it| it.object.short() == object);
            all.any(|it| it.health == health && it.reason.contains(says))
        })
        .await;
}
