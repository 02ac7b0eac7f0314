//! Whether the server at the end of a connection is that of the cluster that was known: asked before anything else is, whenever the connection
//! leads to another address or another authority, and after a silence.
//!
//! Where it is another one, nothing is sent to it, and it counts as away until the kubeconfig leads back or a person accepts it. One that would not
//! be believed is not asked either, because the question shows it what signs in. Not here: by what a cluster is known again (`model`), remembering
//! it (`pipeline`).

use std::sync::Mutex;
use std::time::Instant;

use serde_json::Value;

use super::call::{Call, Form, GET_DEADLINE};
use super::connection::Way;
use super::{Inner, locked};
use crate::model::{ClusterIdentity, Likeness};
use crate::target::{AccessReport, Refusal, RefusalKind};

/// The namespace that every cluster makes when it is made.
const FIRST_NAMESPACE: &str = "/api/v1/namespaces/kube-system";

/// What is known of the cluster behind a connection.
pub(super) struct Identity {
    state: Mutex<State>,
    /// Whoever asks which cluster it is does so for all; why nobody knew last, and when that was.
    turn: tokio::sync::Mutex<Option<(Instant, Refusal)>>,
}

enum State {
    /// Nobody wants to know.
    Unwatched,
    /// It is compared with what is known.
    Watched(Watched),
}

#[derive(Default)]
struct Watched {
    /// What is remembered; nothing before the first contact.
    known: Option<ClusterIdentity>,
    /// What was found there last.
    found: Option<ClusterIdentity>,
    /// Where that was found to be the same cluster, by address and authority.
    verified: Option<(String, String)>,
    /// Whether it is another one.
    is_elsewhere: bool,
}

impl Identity {
    /// Returns one that takes whatever cluster there is.
    pub(super) fn unwatched() -> Self {
        Self { state: Mutex::new(State::Unwatched), turn: tokio::sync::Mutex::default() }
    }

    /// Returns one that compares with what is known, or remembers what it finds first.
    pub(super) fn watched(known: Option<ClusterIdentity>) -> Self {
        let state = State::Watched(Watched { known, ..Watched::default() });
        Self { state: Mutex::new(state), turn: tokio::sync::Mutex::default() }
    }

    /// Returns whether a way needs no question.
    fn trusts(&self, way: &Way) -> bool {
        match &*locked(&self.state) {
            State::Unwatched => true,
            State::Watched(watched) => watched
                .verified
                .as_ref()
                .is_some_and(|(address, authority)| *address == way.address && *authority == way.authority),
        }
    }

    /// Returns whether a server at the end of a way may be asked which cluster it is of, and shown for that what signs in.
    fn may_ask(&self, way: &Way) -> bool {
        match &*locked(&self.state) {
            State::Unwatched => true,
            State::Watched(it) => it.known.as_ref().is_none_or(|known| known.is_believed(&way.address, &way.authority)),
        }
    }

    /// Forgets that the way was found to lead to the same cluster.
    pub(super) fn doubt(&self) {
        if let State::Watched(watched) = &mut *locked(&self.state) {
            watched.verified = None;
        }
    }

    /// Takes in what was found at the end of a way; refuses if it is another cluster.
    fn take_in(&self, way: &Way, uid: Option<String>) -> Result<(), Refusal> {
        let found = ClusterIdentity { server: way.address.clone(), authority: way.authority.clone(), uid };
        let mut state = locked(&self.state);
        let State::Watched(watched) = &mut *state else { return Ok(()) };
        let likeness = watched.known.as_ref().map_or(Likeness::Same(found.clone()), |known| known.compare(&found));
        watched.found = Some(found.clone());
        let after = match likeness {
            Likeness::Same(after) => after,
            Likeness::Rotated(after) => {
                tracing::warn!(now = %after, "others vouch for the server of a cluster than before; it is the same cluster");
                after
            }
            Likeness::Elsewhere => {
                watched.is_elsewhere = true;
                watched.verified = None;
                let known = watched.known.as_ref().map(ToString::to_string).unwrap_or_default();
                let message = format!("it leads to another cluster: {found}, and known is {known}");
                return Err(Refusal::new(RefusalKind::Elsewhere, message));
            }
        };
        watched.is_elsewhere = false;
        watched.known = Some(after);
        watched.verified = Some((way.address.clone(), way.authority.clone()));
        Ok(())
    }
}

impl Inner {
    /// Returns the client for a request that begins now, once it is known that it leads to the cluster that is meant.
    pub(super) async fn client(&self) -> Result<kube::Client, Refusal> {
        let way = self.connection.way().await?;
        if self.identity.trusts(&way) {
            return Ok(way.client);
        }
        let begun = Instant::now();
        let mut turn = self.identity.turn.lock().await;
        if self.identity.trusts(&way) {
            return Ok(way.client);
        }
        if let Some((_, refusal)) = turn.as_ref().filter(|(at, _)| *at >= begun) {
            return Err(refusal.clone());
        }
        let uid = if self.identity.may_ask(&way) { self.first_namespace(&way).await } else { Ok(None) };
        let asked = uid.and_then(|uid| self.identity.take_in(&way, uid));
        *turn = asked.as_ref().err().map(|refusal| (Instant::now(), refusal.clone()));
        asked.map(|()| way.client)
    }

    /// Returns the uid of the namespace that every cluster has; nothing if we may not read it.
    async fn first_namespace(&self, way: &Way) -> Result<Option<String>, Refusal> {
        let attempt = "ask the API server which cluster it is of";
        let call = Call::get(attempt, FIRST_NAMESPACE.to_owned(), GET_DEADLINE);
        let call = Call { form: Form::Metadata, ..call };
        let deadline = call.deadline / self.patience.haste;
        let answer = match tokio::time::timeout(deadline, self.exchange(way.client.clone(), call)).await {
            Ok(answer) => answer,
            Err(_) => {
                let message = format!("{attempt}: no answer within {} s", deadline.as_secs());
                return Err(Refusal::new(RefusalKind::Timeout, message));
            }
        };
        match answer {
            Ok((_, namespace)) => Ok(namespace.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned)),
            Err(refusal) if matches!(refusal.kind, RefusalKind::Forbidden | RefusalKind::NotFound) => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// Returns how the cluster is reached, and whether it is the one that is known.
    pub(super) fn access_report(&self) -> AccessReport {
        let (known, found, is_elsewhere) = match &*locked(&self.identity.state) {
            State::Unwatched => (None, None, false),
            State::Watched(it) => (it.known.clone(), it.found.clone(), it.is_elsewhere),
        };
        AccessReport {
            known,
            found,
            is_elsewhere,
            trouble: self.connection.trouble(),
            narrowed: self.connection.narrowed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(address: &str, authority: &str) -> Way {
        rustls::crypto::ring::default_provider().install_default().ok();
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let client = kube::Client::try_from(config).unwrap();
        Way { client, address: address.to_owned(), authority: authority.to_owned() }
    }

    fn is_elsewhere(identity: &Identity) -> bool {
        matches!(&*locked(&identity.state), State::Watched(Watched { is_elsewhere: true, .. }))
    }

    #[tokio::test]
    async fn what_was_found_first_is_what_is_compared_with_afterwards() {
        let identity = Identity::watched(None);
        assert!(!identity.trusts(&way("a", "ca")));
        let uid = |text: &str| Some(text.to_owned());
        identity.take_in(&way("a", "ca"), uid("u")).unwrap();
        assert!(
            identity.trusts(&way("a", "ca")) && !identity.trusts(&way("b", "ca")) && !identity.trusts(&way("a", "cb"))
        );
        let refusal = identity.take_in(&way("a", "ca"), uid("v")).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Elsewhere);
        assert!(refusal.is_unreachable() && is_elsewhere(&identity) && !identity.trusts(&way("a", "ca")));
        assert!(
            refusal.message.contains("kube-system v") && refusal.message.contains("known is a (kube-system u"),
            "{refusal}"
        );
        // Nobody whom we know vouches for that one: it is not asked.
        assert!(
            !identity.may_ask(&way("b", "cb"))
                && identity.may_ask(&way("b", "ca"))
                && identity.may_ask(&way("a", "cb"))
        );
        assert!(identity.take_in(&way("b", "cb"), uid("u")).is_err());
        // It leads back, over a server that others vouch for.
        identity.take_in(&way("a", "cb"), uid("u")).unwrap();
        assert!(!is_elsewhere(&identity) && identity.trusts(&way("a", "cb")));
        identity.take_in(&way("b", "cb"), uid("u")).unwrap();
        identity.doubt();
        assert!(!identity.trusts(&way("b", "cb")));
        // The authority from before is not that of today.
        assert!(identity.take_in(&way("a", "ca"), None).is_err());
    }

    #[tokio::test]
    async fn one_that_nobody_watches_is_trusted() {
        let identity = Identity::unwatched();
        assert!(identity.trusts(&way("a", "ca")));
        identity.doubt();
        identity.take_in(&way("a", "ca"), None).unwrap();
        assert!(identity.trusts(&way("b", "cb")));
    }
}
