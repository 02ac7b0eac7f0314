//! Tests on real parts: etcd, API server, controllers, kwok, kustomize, gomplate, helm, sops, Gitea, Keycloak.
//!
//! `parts` starts them; every other file is a group of tests. A part is found by the variable `WILD_PART_<NAME>`, which
//! `tests/run` sets; without it a test is skipped and says so, unless `WILD_REQUIRE_PARTS=1` makes that a failure. To run some by hand:
//!
//! ```text
//! for line in $(tests/parts/build); do part=${line%%=*}; export "WILD_PART_${part^^}=${line#*=}"; done
//! cargo test --test live -- cluster
//! ```
//!
//! Not here: how the programs are built (`tests/parts/build`).

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends at the first surprise")]

mod answers;
#[path = "../it/both/mod.rs"]
mod both;
mod charts;
mod cluster;
mod clusters;
#[path = "../it/commits.rs"]
mod commits;
mod credentials;
mod data;
mod directory;
mod drawn;
mod engine;
#[path = "../it/line/farewell.rs"]
mod farewell;
mod faults;
mod finish;
mod forge;
mod ground;
mod hands;
#[path = "../it/line/data.rs"]
mod held_data;
mod home;
mod input;
mod keycloak;
mod kinds;
mod leaving;
mod logs;
mod merges;
mod oracle;
mod order;
mod ownership;
mod partial;
mod parts;
#[path = "../it/proxy.rs"]
#[expect(dead_code, reason = "some of it is for the sandbox alone")]
mod proxy;
mod random;
#[path = "../it/line/restarts.rs"]
mod restarts;
mod rights;
mod scripts;
#[path = "../it/scripts_api/mod.rs"]
mod scripts_api;
mod sops;
mod starter;
mod statuses;
mod story;
mod values;
mod weather;
#[path = "../it/world.rs"]
#[expect(
    dead_code,
    clippy::panic,
    reason = "some of it is for the sandbox alone, and a test ends at the first surprise"
)]
mod world;
