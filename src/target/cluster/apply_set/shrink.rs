//! Takes kinds and namespaces out of the ApplySet parent in which nothing of ours stands any more.
//!
//! Needs no memory of what went, so neither a kill nor a lost store can make it forget or forget too much: what nobody knows is looked for
//! by the set's label. Not here: when that is worth a look (`pipeline::sweep`).

use std::collections::BTreeSet;
use std::sync::Mutex;

use tokio::time::Instant;

use super::super::Inner;
use super::super::call::{Call, DISCOVERY_DEADLINE, Form, GET_DEADLINE};
use super::{Kind, Members, Parent, Refusal, RefusalKind, Server, Turn, Value, WRITE_ROUNDS, locked, version_of};
use crate::target::Whereabouts;
use crate::target::address::segment;

/// Namespaces that are looked at for one shrinking: after a lost store all of them are unknown at first, and the others wait for the next.
const NAMESPACES_AT_ONCE: usize = 256;

impl Parent {
    /// Takes out what `known` does not hold and of which the server shows nothing; `home` is the parent's namespace. Returns whether nothing
    /// is left that `known` does not hold.
    ///
    /// Whoever applies an object has noted it before it lets the parent grow. It is asked what is known a second time while this holds the
    /// turn and nothing counts as named: whoever comes then waits for this, and whoever came before is among what is known.
    pub(super) async fn shrink(
        &self,
        server: &impl Server,
        known: &dyn Whereabouts,
        home: &str,
    ) -> Result<bool, Refusal> {
        let named = {
            let mut turn = self.turn.lock().await;
            self.read(server, &mut turn).await?;
            locked(&self.known).clone()
        };
        let Some(stands) = known.spread().await else { return Ok(false) };
        let idle = named.without(&Members::of(&stands, home));
        if idle.is_empty() {
            return Ok(true);
        }
        let found = server.found(&idle, &named).await?;
        let gone = idle.without(&found);
        if gone.is_empty() {
            return Ok(found.is_empty());
        }
        let mut turn = self.turn.lock().await;
        self.gather(&turn).await;
        // From here on neither counts as known, so whoever comes while this is under way, or was given up, reads the parent.
        let named = (turn.version.take(), std::mem::take(&mut *locked(&self.known)));
        let left = Self::take_out(server, named, (known, home), (gone, &self.wanted)).await?;
        let Some((version, names)) = left else { return Ok(false) };
        *turn = Turn { version, written: Some(Instant::now()) };
        *locked(&self.known) = names;
        Ok(found.is_empty())
    }

    /// Writes the parent without what is gone and still not known. Returns its version and what it names then, or nothing if that is for another
    /// time.
    async fn take_out(
        server: &impl Server,
        (mut version, mut names): (Option<String>, Members),
        (known, home): (&dyn Whereabouts, &str),
        (gone, wanted): (Members, &Mutex<Members>),
    ) -> Result<Option<(Option<String>, Members)>, Refusal> {
        for _ in 0..WRITE_ROUNDS {
            if version.is_none() {
                let Some(live) = server.read_parent().await? else { return Ok(None) };
                (version, names) = (version_of(&live), super::members(&live));
            }
            let Some(stands) = known.spread().await else { return Ok(None) };
            let gone = gone.without(&Members::of(&stands, home));
            {
                let mut wanted = locked(wanted);
                *wanted = wanted.without(&gone);
            }
            let next = names.without(&gone);
            if next == names {
                return Ok(Some((version, names)));
            }
            match server.write_parent(version.as_deref(), &next).await {
                Err(refusal) if matches!(refusal.kind, RefusalKind::Changed | RefusalKind::NotFound) => version = None,
                Err(refusal) => return Err(refusal),
                Ok(written) => return Ok(Some((version_of(&written), next))),
            }
        }
        Ok(None)
    }
}

impl Inner {
    /// Takes kinds and namespaces out of the parent in which nothing stands.
    pub(in super::super) async fn shrink_apply_set(&self, known: &dyn Whereabouts) -> Result<bool, Refusal> {
        self.parent.shrink(self, known, &self.control_namespace).await
    }

    /// Returns in which of some kinds and namespaces objects of the set are, or could be.
    pub(super) async fn members_found(&self, some: &Members, all: &Members) -> Result<Members, Refusal> {
        let versions = self.group_versions().await?;
        let mut found = Members::default();
        for kind in &some.kinds {
            if self.has_member(&served(kind, &versions), "").await? {
                found.kinds.insert(kind.clone());
            }
        }
        found.namespaces.extend(some.namespaces.iter().skip(NAMESPACES_AT_ONCE).cloned());
        for namespace in some.namespaces.iter().take(NAMESPACES_AT_ONCE) {
            if self.is_in_use(namespace, &all.kinds, &versions).await? {
                found.namespaces.insert(namespace.clone());
            }
        }
        Ok(found)
    }

    /// Returns whether a namespace holds objects of the set.
    async fn is_in_use(&self, namespace: &str, kinds: &BTreeSet<String>, versions: &[String]) -> Result<bool, Refusal> {
        let path = format!("/api/v1/namespaces/{}", segment(namespace));
        let _permit = self.reads.acquire().await;
        let call =
            Call { form: Form::Metadata, ..Call::get(format!("read namespace {namespace}"), path, GET_DEADLINE) };
        match self.call(call).await {
            Err(refusal) if refusal.kind == RefusalKind::NotFound => return Ok(false),
            Err(refusal) if refusal.is_unreachable() => return Err(refusal),
            Ok(_) | Err(_) => {}
        }
        for kind in kinds {
            if self.has_member(&served(kind, versions), namespace).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether there are objects of the set of a kind, in the first of these versions in which it is served: in a namespace, or anywhere
    /// if that is empty. A kind that nobody serves has none; where it must not be looked, there may be some.
    async fn has_member(&self, versions: &[Kind], namespace: &str) -> Result<bool, Refusal> {
        for kind in versions {
            let path = match self.collection_in(kind, namespace).await {
                Ok(Some(path)) => path,
                Ok(None) => return Ok(false),
                Err(refusal) if refusal.kind == RefusalKind::UnknownKind => continue,
                Err(refusal) if refusal.is_unreachable() => return Err(refusal),
                Err(_) => return Ok(true),
            };
            let selector = format!("applyset.kubernetes.io%2Fpart-of%3D{}", self.set_id());
            let call = Call {
                form: Form::MetadataList,
                ..Call::get(
                    format!("look for a {} of ours", kind.kind),
                    format!("{path}?limit=1&labelSelector={selector}"),
                    DISCOVERY_DEADLINE,
                )
            };
            return match self.call(call).await {
                // Servers write a list of nothing as null, too.
                Ok((_, list)) => Ok(list.get("items").and_then(Value::as_array).is_some_and(|items| !items.is_empty())),
                Err(refusal) if refusal.kind == RefusalKind::NotFound => Ok(false),
                Err(refusal) if refusal.is_unreachable() => Err(refusal),
                Err(_) => Ok(true),
            };
        }
        Ok(false)
    }
}

/// Returns the versions in which a kind that the parent names may be served, the preferred one of its group first.
fn served(name: &str, versions: &[String]) -> Vec<Kind> {
    let (kind, group) = name.split_once('.').unwrap_or((name, ""));
    let of_group = |version: &String| match version.rsplit_once('/') {
        Some((of, version)) if of == group => Some(version.to_owned()),
        None if group.is_empty() => Some(version.clone()),
        _ => None,
    };
    let kind_of = |version| Kind { group: group.to_owned(), version, kind: kind.to_owned() };
    versions.iter().filter_map(of_group).map(kind_of).collect()
}
