//! A world whose cluster is a real control plane.
//!
//! Not here: worlds on the sandbox (`tests/it/world.rs`, whose code this is), a world of processes (`home.rs`).

use std::sync::Arc;

use crate::parts::ControlPlane;
use crate::world::{Ground, World};

/// The control plane that worlds share.
#[derive(Clone)]
pub(crate) struct Plane(pub(crate) Arc<ControlPlane>);

impl Ground for Plane {
    fn url(&self) -> String {
        self.0.address()
    }

    fn kubeconfig(&self) -> String {
        std::fs::read_to_string(self.0.kubeconfig()).unwrap()
    }

    fn client(&self) -> reqwest::Client {
        self.0.client()
    }
}

/// Starts a world on the control plane, whose instance has an identity of its own.
pub(crate) async fn start(plane: &Plane, id: &str) -> World<Plane> {
    World::start_on(tempfile::tempdir().unwrap(), plane.clone(), id, &["stonedb 15.5"]).await
}
