//! All apps onto an empty cluster, and then one field of each app: we, a bare loop that sends the same bytes, and kubectl; each on a
//! fresh control plane, in turns.
//!
//! Every time ends when watches have shown all objects. They stand beside every contender, because they cost the server something. Not
//! here: what happens to apps that are there (`life.rs`).

use std::future::Future;
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::Size;
use crate::client::between;
use crate::contenders::{Sent, changed, kubectl, send_all, send_by_app, sent, write_objects};
use crate::figures::{Samples, count, ratio};
use crate::instance::Home;
use crate::rig::{Listed, Rig, until_installed, until_updated};

/// What one contender needs.
#[derive(Default)]
struct Times {
    install: Samples,
    /// What of it is git's push of the files, which only we need.
    push: Samples,
    /// Processor time of the control plane during the install, which nobody can do without.
    served: Samples,
    /// The same until its controllers have done what follows from the install.
    settled: Samples,
    update: Samples,
    update_push: Samples,
    unchanged: Samples,
}

/// Runs the rounds and prints times and ratios.
pub(crate) fn run(size: &Size) {
    let apps = size.apps;
    let [mut ours, mut bare, mut by_app, mut theirs] = std::array::from_fn(|_| Times::default());
    let mut healthy = Samples::default();
    for round in 0..size.rounds {
        let (first, second) = {
            let rig = Rig::start();
            let (home, daemon) = rig.with_daemon(Listed::No);
            home.write_apps(apps, "1");
            home.commit("install");
            let before = rig.runtime.block_on(rig.api.requests());
            let (begun, spent) = (Instant::now(), rig.spent());
            let (installed, pushed) = timed_push(&rig.runtime, until_installed(&rig.api, apps), &home);
            ours.install.add(installed);
            ours.push.add(pushed);
            rig.runtime.block_on(async {
                daemon.until("", succeeded).await;
                healthy.add(begun.elapsed());
                ours.served.add(rig.spent() - spent);
                daemon.until_quiet().await;
                rig.until_settled().await;
                ours.settled.add(rig.spent() - spent);
            });
            if round == 0 {
                let after = rig.runtime.block_on(rig.api.requests());
                count("  requests for kinds of the apps", format!("{:?}", between(&before, &after)));
                count("  passes", format!("{:?}", rig.runtime.block_on(daemon.passes())));
                count("  processor time of the daemon", format!("{:?}", daemon.processor_time()));
            }
            let first = rig.runtime.block_on(sent(&rig.api, apps));
            home.write_apps(apps, "2");
            home.commit("update");
            let spent = daemon.processor_time();
            let (updated, pushed) = timed_push(&rig.runtime, until_updated(&rig.api, apps, "2"), &home);
            ours.update.add(updated);
            ours.update_push.add(pushed);
            if round == 0 {
                count(
                    "  processor time of the daemon for the update",
                    format!("{:?}", daemon.processor_time() - spent),
                );
            }
            rig.runtime.block_on(daemon.until_quiet());
            let (again, asked) = (home.commit_the_same("again"), rig.runtime.block_on(daemon.requests()));
            let seen = daemon.until("", |instance| instance["head"] == again.as_str() && succeeded(instance));
            ours.unchanged.add(timed(&rig.runtime, seen, || home.push()));
            let asked = rig.runtime.block_on(daemon.requests()).zip(asked).map(|(after, before)| after - before);
            count("  unchanged, wild: requests", format!("{asked:?}"));
            (first, rig.runtime.block_on(sent(&rig.api, apps)))
        };
        let update = changed(&first, &second);
        by_stage((&first, &update, &second), &mut bare);
        in_our_order(&first, &mut by_app);
        of_kubectl(apps, &mut theirs);
        // After each round, because all of them take long.
        count("install: rounds", format!("{} of {}", round + 1, size.rounds));
        print(apps, [&ours, &bare, &by_app, &theirs], &healthy);
    }
}

/// Lets the bare loop send what we sent, what of it changed, and all of it again.
fn by_stage((first, update, second): (&Sent, &Sent, &Sent), times: &mut Times) {
    let rig = Rig::start();
    let (api, runtime, spent, apps) = (&rig.api, &rig.runtime, rig.spent(), first.len());
    let send = |objects| move || runtime.block_on(send_all(api, objects));
    times.install.add(timed(runtime, until_installed(api, apps), send(first)));
    times.served.add(rig.spent() - spent);
    runtime.block_on(rig.until_settled());
    times.settled.add(rig.spent() - spent);
    times.update.add(timed(runtime, until_updated(api, apps, "2"), send(update)));
    times.unchanged.add(timed(runtime, async {}, send(second)));
}

/// Lets the bare loop send what we sent, in our order.
fn in_our_order(first: &Sent, times: &mut Times) {
    let rig = Rig::start();
    let (api, runtime, spent) = (&rig.api, &rig.runtime, rig.spent());
    let send = || runtime.block_on(send_by_app(api, first));
    times.install.add(timed(runtime, until_installed(api, first.len()), send));
    times.served.add(rig.spent() - spent);
    runtime.block_on(rig.until_settled());
    times.settled.add(rig.spent() - spent);
}

/// Lets kubectl apply the same objects, another version of them, and that again.
fn of_kubectl(apps: usize, times: &mut Times) {
    let rig = Rig::start();
    let (api, runtime) = (&rig.api, &rig.runtime);
    let (file, spent) = (write_objects(&rig.scratch, apps, "1"), rig.spent());
    times.install.add(timed(runtime, until_installed(api, apps), || kubectl(&rig.plane, &file)));
    times.served.add(rig.spent() - spent);
    runtime.block_on(rig.until_settled());
    times.settled.add(rig.spent() - spent);
    let file = write_objects(&rig.scratch, apps, "2");
    times.update.add(timed(runtime, until_updated(api, apps, "2"), || kubectl(&rig.plane, &file)));
    times.unchanged.add(timed(runtime, async {}, || kubectl(&rig.plane, &file)));
}

fn print(apps: usize, [ours, bare, by_app, theirs]: [&Times; 4], healthy: &Samples) {
    println!(
        "install: {apps} apps x (Namespace, ServiceAccount, ConfigMap, Service, Deployment at 0), then one field of each; ours from the push on"
    );
    ours.install.print("  install, wild");
    ours.push.print("  install, wild: the push alone");
    healthy.print("  install, wild: commit status success");
    bare.install.print("  install, bare loop, 16 in flight, stage by stage");
    by_app.install.print("  install, bare loop, 16 in flight, app by app");
    theirs.install.print("  install, kubectl apply --server-side");
    ours.served.print("  install, wild: processor time of the cluster");
    bare.served.print("  install, bare loop, stage by stage: the same");
    by_app.served.print("  install, bare loop, app by app: the same");
    theirs.served.print("  install, kubectl: the same");
    ours.settled.print("  install, wild: the same until all is settled");
    bare.settled.print("  install, bare loop, stage by stage: the same");
    by_app.settled.print("  install, bare loop, app by app: the same");
    theirs.settled.print("  install, kubectl: the same");
    ratio("  install, wild / bare loop, stage by stage", ours.install.median(), bare.install.median());
    ratio("  install, wild / bare loop, app by app", ours.install.median(), by_app.install.median());
    ratio(
        "  install, wild behind the push / bare loop, app by app",
        ours.install.median() - ours.push.median(),
        by_app.install.median(),
    );
    ratio("  install, kubectl / bare loop, stage by stage", theirs.install.median(), bare.install.median());
    ratio("  install, kubectl / wild", theirs.install.median(), ours.install.median());
    ours.update.print("  update, wild");
    ours.update_push.print("  update, wild: the push alone");
    bare.update.print("  update, bare loop of what changed");
    theirs.update.print("  update, kubectl apply --server-side of all");
    ratio("  update, wild / bare loop", ours.update.median(), bare.update.median());
    let behind = ours.update.median() - ours.update_push.median();
    ratio("  update, wild behind the push / bare loop", behind, bare.update.median());
    ratio("  update, kubectl / wild", theirs.update.median(), ours.update.median());
    ours.unchanged.print("  unchanged, wild: push of the same files to commit status success");
    bare.unchanged.print("  unchanged, bare loop");
    theirs.unchanged.print("  unchanged, kubectl apply --server-side");
    ratio("  unchanged, kubectl / wild", theirs.unchanged.median(), ours.unchanged.median());
}

/// Returns whether the newest commit is said to be in the cluster.
fn succeeded(instance: &serde_json::Value) -> bool {
    let mut statuses = instance["statuses"].as_array().into_iter().flatten();
    statuses.any(|status| status["state"] == "success")
}

/// Returns how long a push takes until everything of it was seen, and how long git needed for it.
fn timed_push(runtime: &Runtime, seen: impl Future<Output = ()>, home: &Home) -> (Duration, Duration) {
    let mut pushed = Duration::ZERO;
    let all = timed(runtime, seen, || {
        let begun = Instant::now();
        home.push();
        pushed = begun.elapsed();
    });
    (all, pushed)
}

/// Returns how long some work takes until it is done and everything of it was seen.
fn timed(runtime: &Runtime, seen: impl Future<Output = ()>, work: impl FnOnce() + Send) -> Duration {
    let begun = Instant::now();
    thread::scope(|scope| {
        let working = scope.spawn(work);
        runtime.block_on(seen);
        working.join().unwrap();
    });
    begun.elapsed()
}
