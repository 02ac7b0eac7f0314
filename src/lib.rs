//! Rewild keeps a Kubernetes cluster as its git repository says, and the repository up to date with its upstream app directory.

pub mod apply;
pub mod base;
pub mod broadcast;
pub mod compile;
pub mod daemon;
pub mod forge;
pub mod git;
pub mod health;
pub mod kustomize;
pub mod merge;
pub mod model;
pub mod observe;
pub mod package;
pub mod pipeline;
pub mod plan;
pub mod record;
pub mod sandbox;
pub mod schema;
pub mod settings;
pub mod store;
pub mod target;
pub mod template;
pub mod yaml;
