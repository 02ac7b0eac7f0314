//! F39: a group that the server knows and cannot serve hides its objects. None of them is taken for gone, no namespace is let go over them, all
//! else goes on, and what was held back is done once the group can be served again.
//!
//! Also read by `tests/live/partial.rs`. Not here: how a group is hidden (`tests/it/line/partial.rs`, `tests/live/partial.rs`).

use serde_json::{Value, json};

use crate::both::{Plain, config, has_version};
use crate::world::{Ground, World};

/// An object of a group that can be hidden; it is called `hidden`.
pub(crate) struct Hidden {
    /// Its kind.
    pub(crate) kind: &'static str,
    /// The object as a file.
    pub(crate) text: &'static str,
    /// The group with its version.
    pub(crate) api: &'static str,
    /// The kind in addresses.
    pub(crate) plural: &'static str,
}

/// A cluster of which one group can be hidden.
pub(crate) trait Hiding: Ground + Sized {
    /// An object of that group.
    const HIDDEN: Hidden;
    /// What hides it.
    type Veil;
    /// Hides the group, ends no namespace from then on, and starts the daemon anew.
    async fn hide(world: &mut World<Self>) -> Self::Veil;
    /// Shows it again.
    async fn show(world: &World<Self>, veil: &Self::Veil);
    /// Returns whether an object of that group is stored, hidden or not.
    async fn is_stored(world: &World<Self>, namespace: &str) -> bool;
}

fn plain<'a, C: Ground>(world: &'a World<C>, name: &'static str) -> Plain<'a, C> {
    Plain { world, name }
}

fn namespace(name: &str) -> String {
    format!("/api/v1/namespaces/{name}")
}

/// Checks an app with an object of the group, one that is deleted with its namespace, and one whose namespace somebody deletes.
pub(crate) async fn check<C: Hiding>(world: &mut World<C>) {
    let (hidden, one) = (C::HIDDEN, config("config", "1"));
    world.set("recovery: {after: 1s}\n").await;
    plain(world, "partly").push(&[("config.yaml", &one), ("hidden.yaml", hidden.text)]).await;
    plain(world, "going").push(&[("config.yaml", &one)]).await;
    plain(world, "ended").push(&[("config.yaml", &one)]).await;
    for name in ["partly", "going", "ended"] {
        plain(world, name).healthy().await;
    }
    let before = plain(world, "ended").uid(&namespace("ended")).await;
    let veil = C::hide(world).await;
    nothing_is_taken_for_gone(world, &before).await;
    C::show(world, &veil).await;
    what_was_held_back_is_done(world, &before).await;
}

/// While the group is hidden.
async fn nothing_is_taken_for_gone<C: Hiding>(world: &World<C>, before: &Value) {
    let (hidden, two) = (C::HIDDEN, config("config", "2"));
    let [partly, going, ended] = ["partly", "going", "ended"].map(|name| plain(world, name));
    let head = partly.push(&[("config.yaml", &two)]).await;
    let files = ["kustomization.yaml", "config.yaml"].map(|file| format!("apps/going/{file}"));
    let gone: Vec<(&str, Option<&str>)> = files.iter().map(|file| (file.as_str(), None)).collect();
    world.push("no going\n\nWild-Delete: going\nWild-Delete-Data: delete", &gone).await;
    world.try_delete(&namespace("ended")).await;
    partly.until("the rest is applied", &partly.path("v1", "configmaps", "config"), has_version("2")).await;
    let object = format!("{}/hidden", hidden.kind);
    partly.stands_for("DiscoveryPartial", &[&object]).await;
    going.until("what can be seen goes", &going.path("v1", "configmaps", "config"), Value::is_null).await;
    going.stands_for("DiscoveryPartial", &["Namespace/going", "could not be seen what it holds", hidden.api]).await;
    ended.stands_for("NamespaceStuck", &["could not be seen", hidden.api]).await;
    // Another look changes nothing of that.
    for name in ["partly", "going", "ended"] {
        world.look_again(name).await;
    }
    assert!(C::is_stored(world, "partly").await, "it was deleted unseen");
    assert_ne!(world.status(&head, "wild/deploy").await.as_deref(), Some("success"));
    let kept = world.get(&namespace("going")).await.unwrap();
    assert!(kept["metadata"]["deletionTimestamp"].is_null(), "a namespace went unseen: {kept}");
    let held = world.get(&namespace("ended")).await.unwrap();
    assert_eq!((&held["metadata"]["uid"], &held["spec"]["finalizers"]), (before, &json!(["kubernetes"])));
}

/// Once it is shown again.
async fn what_was_held_back_is_done<C: Hiding>(world: &World<C>, before: &Value) {
    let hidden = C::HIDDEN;
    let [partly, ended] = ["partly", "ended"].map(|name| plain(world, name));
    let object = partly.path(hidden.api, hidden.plural, "hidden");
    partly.until("the hidden object is gone", &object, Value::is_null).await;
    partly.healthy().await;
    let is_gone = async || world.get(&namespace("going")).await.is_none() && world.state("going").await.is_none();
    world.until("the app that was deleted is gone with its namespace", is_gone).await;
    let is_another = async || {
        let now = ended.uid(&namespace("ended")).await;
        now.is_string() && now != *before
    };
    world.until("the namespace is another one", is_another).await;
    ended.healthy().await;
    ended.until("what was in it is back", &ended.path("v1", "configmaps", "config"), has_version("1")).await;
}
