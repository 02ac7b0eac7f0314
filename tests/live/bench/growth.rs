//! The same work at a hundredth, a tenth and all of the largest number of apps, on the in-memory API server: how its cost grows with them.
//!
//! Where a cost is a power of the number of apps, the fitted exponent is that power: 1 means that each app costs the same however many there
//! are. The server runs in this process and is no part of the memory that is shown. Not here: how fast a real API server takes the objects
//! (`install.rs`).

use std::time::{Duration, Instant};

use rewild::sandbox::{Sandbox, Settings};
use tokio::runtime::Runtime;

use crate::Size;
use crate::client::Api;
use crate::daemon::Daemon;
use crate::figures::count;
use crate::instance::Home;
use crate::parts::Scratch;
use crate::rig::until_installed;

/// Most bytes of objects: ten times what the largest instance needs by default.
const MAX_OBJECT_BYTES: usize = 4 * 1024 * 1024 * 1024;

/// What one number of apps cost.
struct Cost {
    apps: usize,
    install: Duration,
    install_spent: Duration,
    install_requests: u64,
    again: Duration,
    again_spent: Duration,
    again_requests: u64,
    memory_kib: u64,
}

/// Runs all sizes, the smallest first, and prints what each cost and how that grows.
pub(crate) fn run(size: &Size) {
    rustls::crypto::ring::default_provider().install_default().ok();
    let mut costs = Vec::new();
    for apps in [size.largest / 100, size.largest / 10, size.largest] {
        let runtime = Runtime::new().unwrap();
        let cost = measure(&runtime, apps);
        print(&cost);
        costs.push(cost);
    }
    let fit = |what: &str, value: fn(&Cost) -> f64| {
        let points: Vec<(f64, f64)> = costs.iter().map(|cost| (cost.apps as f64, value(cost))).collect();
        count(&format!("growth: exponent of {what}"), format!("{:.2}", exponent(&points)));
    };
    fit("the install", |cost| cost.install.as_secs_f64());
    fit("its processor time", |cost| cost.install_spent.as_secs_f64());
    fit("its requests", |cost| cost.install_requests as f64);
    fit("the same again", |cost| cost.again.as_secs_f64());
    fit("its processor time", |cost| cost.again_spent.as_secs_f64());
    fit("anonymous memory", |cost| cost.memory_kib as f64);
}

fn measure(runtime: &Runtime, apps: usize) -> Cost {
    let settings = Settings { max_object_bytes: MAX_OBJECT_BYTES, ..Settings::default() };
    let sandbox = runtime.block_on(Sandbox::start(settings)).unwrap();
    let scratch = Scratch::new("growth").unwrap();
    let kubeconfig = scratch.path().join("kubeconfig");
    std::fs::write(&kubeconfig, sandbox.kubeconfig()).unwrap();
    let home = Home::make(&scratch);
    let daemon = Daemon::start(&scratch, &kubeconfig, &home);
    runtime.block_on(daemon.until("", |instance| instance["ready"].is_null()));
    let api = Api::at(sandbox.url());
    home.write_apps(apps, "1");
    home.commit("install");
    let (begun, spent) = (Instant::now(), daemon.processor_time());
    home.push();
    runtime.block_on(until_installed(&api, apps));
    let install = begun.elapsed();
    runtime.block_on(daemon.until_quiet());
    let install_spent = daemon.processor_time() - spent;
    let memory_kib = daemon.anonymous_kib();
    let install_requests = runtime.block_on(daemon.requests()).unwrap();
    home.write(
        ".wild/config.yaml",
        "apiVersion: rewild.dev/v1\nkind: Instance\ninstanceId: bench00001\nreconcile: {interval: 20m}\n",
    );
    home.commit("touch the settings");
    let before = runtime.block_on(daemon.passes()).unwrap();
    let (begun, spent) = (Instant::now(), daemon.processor_time());
    home.push();
    runtime.block_on(daemon.until_passed(before.ended + u64::try_from(apps).unwrap()));
    let (again, again_spent) = (begun.elapsed(), daemon.processor_time() - spent);
    let again_requests = runtime.block_on(daemon.requests()).unwrap() - install_requests;
    drop(daemon);
    runtime.block_on(sandbox.stop());
    Cost { apps, install, install_spent, install_requests, again, again_spent, again_requests, memory_kib }
}

fn print(cost: &Cost) {
    println!("growth: {} apps of five objects each", cost.apps);
    let Cost { apps: _, install, install_spent, install_requests, .. } = cost;
    count("  install", format!("{install:.2?}, processor time {install_spent:.2?}, {install_requests} requests"));
    let Cost { again, again_spent, again_requests, .. } = cost;
    count("  same again", format!("{again:.2?}, processor time {again_spent:.2?}, {again_requests} requests"));
    count("  anonymous memory after the install, MiB", format!("{:.1}", cost.memory_kib as f64 / 1024.0));
}

/// Returns the slope of the line that fits the logarithms best, by least squares.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.max(f64::MIN_POSITIVE).ln())).collect();
    let mean = |read: fn(&(f64, f64)) -> f64| logs.iter().map(read).sum::<f64>() / logs.len() as f64;
    let (x, y) = (mean(|log| log.0), mean(|log| log.1));
    let slope: f64 = logs.iter().map(|log| (log.0 - x) * (log.1 - y)).sum();
    slope / logs.iter().map(|log| (log.0 - x).powi(2)).sum::<f64>()
}
