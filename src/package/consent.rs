//! Pure. Whether an app may have a copy of another app's secret: only if a person said so, and if its owner does not keep it for itself.
//!
//! A grant names the owner by the app's own name and the key, never by a name that a package chose, so that no new version makes an old word
//! mean something else. What is in a value at several hands needs a word for each. An owner that says nothing about exports gives nothing by
//! itself and may be granted from key by key; one that lists exports gives no other key. Not here: where grants stand (`model::Settings`),
//! making copies (`secrets.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::read::is_secret_key;
use super::secrets::SecretCopy;
use crate::model::{AppName, SecretOrigin, SecretOrigins};

/// A key of an app, as a person grants it: `stonedb.password`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SecretGrant {
    /// The app that owns it.
    pub owner: AppName,
    /// Its key.
    pub key: String,
}

impl SecretGrant {
    /// Reads `APP.KEY`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no APP.KEY, such as stonedb.password");
        let (owner, key) = text.split_once('.').ok_or_else(wrong)?;
        let owner = AppName::parse(owner).map_err(|_| wrong())?;
        if is_secret_key(key) { Ok(Self { owner, key: key.to_owned() }) } else { Err(wrong()) }
    }

    /// Reads a path of secrets.yaml; nothing if it is of no app.
    fn of_path(path: &str) -> Option<Self> {
        Self::parse(path.strip_prefix("apps.")?).ok()
    }
}

impl fmt::Display for SecretGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.owner, self.key)
    }
}

/// Returns whether each value of another app that is in a value is granted.
pub fn is_granted(origin: &SecretOrigin, granted: &[String]) -> bool {
    let is_granted = |path: &str| {
        SecretGrant::of_path(path).is_some_and(|grant| granted.iter().any(|text| *text == grant.to_string()))
    };
    origin.paths().into_iter().all(is_granted)
}

/// Whether a secret may be copied.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Consent {
    /// Nobody looked: it may not.
    #[default]
    Unknown,
    /// It may.
    Given,
    /// It may not before a person grants these.
    Missing(Vec<SecretGrant>),
    /// It may not: its owner exports these keys and no others.
    NotExported(Vec<String>),
}

/// What people and owners say about secrets at one commit.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Consents {
    granted: BTreeSet<SecretGrant>,
    exports: BTreeMap<AppName, Option<Vec<String>>>,
    origins: SecretOrigins,
}

impl Consents {
    /// Collects what was granted to an app, what the owners list as exports, and what is known of where values come from. A grant that does not
    /// read grants nothing.
    pub fn new(granted: &[String], exports: BTreeMap<AppName, Option<Vec<String>>>, origins: &SecretOrigins) -> Self {
        let granted = granted.iter().filter_map(|text| SecretGrant::parse(text).ok()).collect();
        Self { granted, exports, origins: origins.clone() }
    }

    /// Returns the grants that a copy needs: its own, and one for each value of a further app that is in it.
    pub fn needed(&self, taker: &AppName, copy: &SecretCopy) -> Vec<SecretGrant> {
        let further = self.origins.within(&copy.source());
        // What is a copy itself is only on its way.
        let is_source = |path: &&String| !matches!(self.origins.get(path), Some(SecretOrigin::Copy(_)));
        let further = further.iter().filter(is_source).filter_map(|path| SecretGrant::of_path(path));
        let further = further.filter(|grant| grant.owner != *taker);
        let mut needed = vec![copy.grant()];
        for grant in further {
            if !needed.contains(&grant) {
                needed.push(grant);
            }
        }
        needed
    }

    /// Returns whether a copy may be made.
    pub fn judge(&self, taker: &AppName, copy: &SecretCopy) -> Consent {
        if let Some(Some(exports)) = self.exports.get(&copy.from_app)
            && !exports.contains(&copy.key)
        {
            return Consent::NotExported(exports.clone());
        }
        let mut missing = self.needed(taker, copy);
        missing.retain(|grant| !self.granted.contains(grant));
        if missing.is_empty() { Consent::Given } else { Consent::Missing(missing) }
    }

    /// Returns whether the owner itself says that others may have the key.
    pub fn is_exported(&self, grant: &SecretGrant) -> bool {
        let exports = self.exports.get(&grant.owner).and_then(Option::as_ref);
        exports.is_some_and(|exports| exports.contains(&grant.key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(name: &str) -> AppName {
        AppName::parse(name).unwrap()
    }

    fn check(granted: &[&str], exports: Option<&[&str]>, expected: Consent) {
        let copy = SecretCopy::new("db", "password", app("rows"));
        let granted: Vec<String> = granted.iter().map(|text| (*text).to_owned()).collect();
        let exports = exports.map(|keys| keys.iter().map(|key| (*key).to_owned()).collect());
        let consents = Consents::new(&granted, [(app("rows"), exports)].into(), &SecretOrigins::default());
        assert_eq!(consents.judge(&app("blog"), &copy), expected, "{granted:?}");
    }

    #[test]
    fn nothing_is_given_without_a_word_for_this_key_of_this_app() {
        let missing = || Consent::Missing(vec![SecretGrant::parse("rows.password").unwrap()]);
        for granted in
            ["", "db.password", "rows.pass", "rows.password2", "rows", "Rows.password", "rows.password.x", "rows._x"]
        {
            check(&[granted], None, missing());
            check(&[granted], Some(&["password"]), missing());
        }
        check(&["rows.password"], None, Consent::Given);
        check(&["rows.password"], Some(&["user", "password"]), Consent::Given);
    }

    #[test]
    fn an_owner_that_lists_exports_gives_no_other_key_whatever_is_granted() {
        check(&["rows.password"], Some(&["user"]), Consent::NotExported(vec!["user".to_owned()]));
        check(&["rows.password"], Some(&[]), Consent::NotExported(Vec::new()));
    }

    #[test]
    fn a_value_at_several_hands_needs_a_word_for_each_but_for_what_is_the_takers_own() {
        let mut origins = SecretOrigins::default();
        let made = ["apps.vault.root", "apps.blog.seed"].map(str::to_owned);
        origins.insert("apps.rows.password", SecretOrigin::Made(made.into()));
        let copy = SecretCopy::new("db", "password", app("rows"));
        let judge = |granted: &[&str]| {
            let granted: Vec<String> = granted.iter().map(|text| (*text).to_owned()).collect();
            Consents::new(&granted, BTreeMap::new(), &origins).judge(&app("blog"), &copy)
        };
        let missing = |text: &str| Consent::Missing(vec![SecretGrant::parse(text).unwrap()]);
        assert_eq!(judge(&["rows.password"]), missing("vault.root"));
        assert_eq!(judge(&["vault.root"]), missing("rows.password"));
        assert_eq!(judge(&["vault.root", "rows.password"]), Consent::Given);
    }
}
