//! All apps onto an empty cluster: we, a bare loop that sends the same bytes, and kubectl; each on a fresh control plane, in turns.
//!
//! Not here: what happens to apps that are there (`life.rs`).

use std::time::Instant;

use crate::Size;
use crate::client::between;
use crate::contenders::{kubectl, send_all, sent, write_objects};
use crate::daemon::Listed;
use crate::figures::{Samples, count, ratio};
use crate::rig::{Rig, until_installed};

/// Runs the rounds and prints times and ratios.
pub(crate) fn run(size: &Size) {
    let apps = size.apps;
    let [mut ours, mut healthy, mut bare, mut bare_again, mut theirs, mut theirs_again] =
        std::array::from_fn(|_| Samples::default());
    for round in 0..size.rounds {
        let recorded = {
            let rig = Rig::start();
            let (home, daemon) = rig.with_daemon(Listed::No);
            home.write_apps(apps);
            home.commit("install");
            let before = rig.runtime.block_on(rig.api.requests());
            home.push();
            let begun = Instant::now();
            rig.runtime.block_on(async {
                until_installed(&rig.api, apps).await;
                ours.add(begun.elapsed());
                let succeeded = |instance: &serde_json::Value| {
                    let mut statuses = instance["statuses"].as_array().into_iter().flatten();
                    statuses.any(|status| status["state"] == "success")
                };
                daemon.until("", succeeded).await;
                healthy.add(begun.elapsed());
                daemon.until_quiet().await;
            });
            if round == 0 {
                let after = rig.runtime.block_on(rig.api.requests());
                count("  requests for kinds of the apps", format!("{:?}", between(&before, &after)));
                count("  passes", format!("{:?}", rig.runtime.block_on(daemon.passes())));
                count("  processor time of the daemon", format!("{:?}", daemon.processor_time()));
            }
            rig.runtime.block_on(sent(&rig.api, apps))
        };
        {
            let rig = Rig::start();
            bare.add(rig.runtime.block_on(send_all(&rig.api, &recorded)));
            bare_again.add(rig.runtime.block_on(send_all(&rig.api, &recorded)));
        }
        {
            let rig = Rig::start();
            let file = write_objects(&rig.scratch, apps);
            theirs.add(kubectl(&rig.plane, &file));
            theirs_again.add(kubectl(&rig.plane, &file));
        }
    }
    println!(
        "install: {apps} apps x (Namespace, ServiceAccount, ConfigMap, Service, Deployment at 0), from the push on"
    );
    ours.print("  wild: last object is there");
    healthy.print("  wild: commit status success");
    bare.print("  bare loop, 16 in flight");
    theirs.print("  kubectl apply --server-side");
    bare_again.print("  bare loop, unchanged");
    theirs_again.print("  kubectl apply --server-side, unchanged");
    ratio("  wild / bare loop", ours.median(), bare.median());
    ratio("  kubectl / wild", theirs.median(), ours.median());
}
