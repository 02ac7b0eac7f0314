//! The pure modules as a crate of their own, under the name of the real one, so that what is written for one works with the other.
//!
//! Not here: what is tried (`targets.rs`), the laws (in the modules themselves).

#[path = "../../src/base/mod.rs"]
pub mod base;
#[path = "../../src/compile/mod.rs"]
pub mod compile;
#[path = "git.rs"]
pub mod git;
#[path = "../../src/health/mod.rs"]
pub mod health;
#[path = "../../src/kustomize/mod.rs"]
pub mod kustomize;
#[path = "../../src/merge/mod.rs"]
pub mod merge;
#[path = "../../src/model/mod.rs"]
pub mod model;
#[path = "../../src/package/mod.rs"]
pub mod package;
#[path = "../../src/plan/mod.rs"]
pub mod plan;
#[path = "../../src/schema/mod.rs"]
pub mod schema;
#[path = "../../src/template/mod.rs"]
pub mod template;
#[path = "../../src/yaml/mod.rs"]
pub mod yaml;
