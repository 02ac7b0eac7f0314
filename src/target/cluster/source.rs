//! Secrets elsewhere of which apps have copies: who follows which, what the watches know of them, and their values as they were read last.
//!
//! The watches bring metadata only. The values of a version are read once, however many apps have a copy. Not here: the stream (`watch`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::Value;

use super::call::Form;
use super::patience::FRESH_LIMIT;
use super::{Inner, locked};
use crate::model::{Object, ObjectId, SecretValue};
use crate::target::{Refusal, SourceSecret};

/// What was read, by Secret; as many as the settings of the instance name.
pub(super) type Sources = BTreeMap<ObjectId, Read>;

/// The values of one Secret, with the version they are of.
pub(super) struct Read {
    version: Version,
    secret: SourceSecret,
}

/// Which state of which incarnation of a Secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Version {
    uid: String,
    resource_version: String,
}

impl Version {
    /// Returns the version of an object.
    pub(super) fn of(object: &Object) -> Self {
        let text = |key| object.at(&["metadata", key]).and_then(Value::as_str).unwrap_or("").to_owned();
        Self { uid: text("uid"), resource_version: text("resourceVersion") }
    }
}

/// The Secrets that apps follow.
#[derive(Default)]
pub(super) struct Followed {
    all: BTreeMap<ObjectId, Known>,
}

/// What is known of one of them.
#[derive(Default)]
struct Known {
    apps: BTreeSet<String>,
    /// Whether its list is in, or its watch did not open.
    tried: bool,
    /// The newest version; nothing if it is not there.
    version: Option<Version>,
    /// When its watch was heard of last, once its list is in.
    heard: Option<Instant>,
}

impl Followed {
    /// Notes what an app follows, and nothing else; returns the Secrets whose watches are to be opened.
    pub(super) fn follow(&mut self, app: &str, ids: &BTreeSet<ObjectId>) -> Vec<ObjectId> {
        for (id, known) in &mut self.all {
            if !ids.contains(id) {
                known.apps.remove(app);
            }
        }
        let new: Vec<ObjectId> = ids.iter().filter(|id| !self.all.contains_key(*id)).cloned().collect();
        for id in ids {
            self.all.entry(id.clone()).or_default().apps.insert(app.to_owned());
        }
        new
    }

    /// Notes that nothing is to be heard of a Secret for now.
    pub(super) fn fail(&mut self, id: &ObjectId) {
        if let Some(known) = self.all.get_mut(id) {
            known.tried = true;
            known.heard = None;
        }
    }

    /// Notes that nobody knows what the watches missed.
    pub(super) fn doubt(&mut self) {
        self.all.values_mut().for_each(|known| known.heard = None);
    }

    /// Notes that the watch of a Secret lives.
    pub(super) fn hear(&mut self, id: &ObjectId) {
        if let Some(known) = self.all.get_mut(id).filter(|known| known.heard.is_some()) {
            known.heard = Some(Instant::now());
        }
    }

    /// Takes in the version of a Secret, or that it is gone; returns the apps to which that is news.
    pub(super) fn event(&mut self, id: &ObjectId, version: Option<Version>) -> BTreeSet<String> {
        let Some(known) = self.all.get_mut(id) else { return BTreeSet::new() };
        if known.version == version {
            return BTreeSet::new();
        }
        known.version = version;
        // Before that somebody waits for it, and needs no second pass.
        if known.tried { known.apps.clone() } else { BTreeSet::new() }
    }

    /// Notes that the list of a Secret is complete, which holds it or not; returns the apps to which that is news.
    pub(super) fn synced(&mut self, id: &ObjectId, listed: &BTreeSet<ObjectId>) -> BTreeSet<String> {
        let news = if listed.contains(id) { BTreeSet::new() } else { self.event(id, None) };
        if let Some(known) = self.all.get_mut(id) {
            known.tried = true;
            known.heard = Some(Instant::now());
        }
        news
    }

    /// Returns whether it is known, or will not be known soon, whether a Secret is there.
    pub(super) fn is_settled(&self, id: &ObjectId) -> bool {
        self.all.get(id).is_none_or(|known| known.tried)
    }

    /// Returns the version of a Secret if its watch can be trusted: the inner nothing says that it is not there.
    fn fresh(&self, id: &ObjectId) -> Option<Option<Version>> {
        let known = self.all.get(id)?;
        let is_fresh = known.heard.is_some_and(|heard| heard.elapsed() < FRESH_LIMIT);
        is_fresh.then(|| known.version.clone())
    }
}

impl Inner {
    /// Returns a Secret that is followed; reads it if this version of it was not read, or if the watch cannot tell.
    pub(super) async fn source(&self, id: &ObjectId) -> Result<Option<SourceSecret>, Refusal> {
        let fresh = self.cache().followed.fresh(id);
        match fresh {
            Some(None) => return Ok(None),
            Some(Some(version)) => {
                let read = locked(&self.sources);
                if let Some(known) = read.get(id).filter(|known| known.version == version) {
                    return Ok(Some(known.secret.clone()));
                }
            }
            None => {}
        }
        self.counts.read("source");
        let object = self.read(id, "v1", Form::Full).await?;
        let read = object.map(|object| Read { version: Version::of(&object), secret: secret_of(&object) });
        let secret = read.as_ref().map(|read| read.secret.clone());
        let mut known = locked(&self.sources);
        match read {
            Some(read) => _ = known.insert(id.clone(), read),
            None => _ = known.remove(id),
        }
        Ok(secret)
    }
}

fn secret_of(object: &Object) -> SourceSecret {
    let data = object.at(&["data"]).and_then(Value::as_object).into_iter().flatten();
    let value = |value: &Value| Some(SecretValue::new(value.as_str()?.to_owned()));
    SourceSecret {
        uid: Version::of(object).uid,
        sort: object.at(&["type"]).and_then(Value::as_str).unwrap_or("Opaque").to_owned(),
        values: data.filter_map(|(key, text)| Some((key.clone(), value(text)?))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> ObjectId {
        ObjectId::new("", "Secret", "cert-manager", "wild-tls")
    }

    fn version(resource_version: &str) -> Option<Version> {
        Some(Version { uid: "u".into(), resource_version: resource_version.into() })
    }

    fn apps(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn one_watch_tells_every_app_that_follows_a_secret_of_a_renewal_once() {
        let mut followed = Followed::default();
        assert_eq!(followed.follow("blog", &[id()].into()), [id()]);
        assert!(followed.follow("shop", &[id()].into()).is_empty());
        assert!(!followed.is_settled(&id()) && followed.fresh(&id()).is_none());
        assert!(followed.event(&id(), version("0")).is_empty(), "both wait for it");
        assert!(followed.synced(&id(), &[id()].into()).is_empty());
        assert_eq!(followed.fresh(&id()), Some(version("0")));
        assert_eq!(followed.event(&id(), version("1")), apps(&["blog", "shop"]));
        assert!(followed.event(&id(), version("1")).is_empty());
        followed.follow("shop", &BTreeSet::new());
        assert_eq!(followed.event(&id(), version("2")), apps(&["blog"]));
        assert_eq!(followed.event(&id(), None), apps(&["blog"]));
        assert_eq!(followed.fresh(&id()), Some(None));
    }

    #[test]
    fn a_secret_that_a_new_list_lacks_is_gone_and_one_that_cannot_be_watched_is_unknown() {
        let mut followed = Followed::default();
        followed.follow("blog", &[id()].into());
        followed.event(&id(), version("1"));
        followed.synced(&id(), &[id()].into());
        followed.fail(&id());
        assert!(followed.is_settled(&id()) && followed.fresh(&id()).is_none());
        followed.hear(&id());
        assert!(followed.fresh(&id()).is_none(), "a stream that opens has not told its list yet");
        assert_eq!(followed.synced(&id(), &BTreeSet::new()), apps(&["blog"]));
        assert_eq!(followed.fresh(&id()), Some(None));
    }

    #[test]
    fn what_was_read_shows_no_value() {
        let object =
            serde_json::json!({"type": "kubernetes.io/tls", "metadata": {"uid": "u"}, "data": {"tls.key": "c2VjcmV0"}});
        let secret = secret_of(&Object::from_value(object).unwrap());
        assert_eq!((secret.uid.as_str(), secret.sort.as_str()), ("u", "kubernetes.io/tls"));
        assert!(secret.values.contains_key("tls.key") && !format!("{secret:?}").contains("c2VjcmV0"));
    }
}
