//! The secrets of an instance as people handle them: which there are, a value that is set, a value that is made anew.
//!
//! What comes back names paths and never holds a value. Not here: the file and its lock (`settings`), how values are made (`package`), values
//! that an app gets when it is added or updated (`commit.rs`).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::commit::System;
use super::overview::overview;
use super::{Error, Instance, approvals, grants, read, statuses, text_of};
use crate::compile::{self, Cause};
use crate::model::{AppName, FileTree, NewSecret, Reason, RefusalText, Request, SecretValue, Secrets};
use crate::observe;
use crate::package::{self, SecretNeeds};

/// Bytes of one value.
const MAX_VALUE_BYTES: usize = 64 * 1024;
/// Characters of a path.
const MAX_PATH_CHARS: usize = 253;

/// A secret as people are shown it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretState {
    /// Path in secrets.yaml.
    pub path: String,
    /// App that it belongs to; empty for what belongs to none.
    pub app: String,
    /// Whether there is a value.
    pub set: bool,
    /// Where the value comes from.
    pub origin: Origin,
    /// Path of the value that it is a copy of; empty if it is none.
    pub copy_of: String,
    /// Apps that read it besides its own.
    pub readers: Vec<String>,
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// It is made at random.
    Random,
    /// It is made from other values by a template.
    Template,
    /// Somebody gives it.
    Person,
    /// It is that of another app.
    Copy,
    /// No app asks for it.
    Unused,
}

/// What changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretChange {
    /// Path of the value.
    pub path: String,
    /// Whether the app's own new value or somebody's was written; nothing is on a dry run.
    pub written: bool,
    /// Paths of copies that follow by themselves.
    pub followers: Vec<String>,
    /// Paths of values that a template made from this one, and that keep the old one in them.
    pub stale: Vec<String>,
}

/// Whether something is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trial {
    /// Only what would be is told.
    Dry,
    /// It is done.
    Real,
}

/// Which values may be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Making {
    /// One that is absent, and one that a template makes from others.
    Missing,
    /// Any.
    Anew,
}

/// Returns all secrets by path: those that apps ask for, and those that are there.
pub async fn secrets(instance: &Instance) -> Result<Vec<SecretState>, Error> {
    let (needs, values) = (all_needs(instance).await?, instance.secrets.read()?);
    let mut states: BTreeMap<String, SecretState> = BTreeMap::new();
    let state = |path: &str, app: &str, origin: Origin, copy_of: String| SecretState {
        path: path.to_owned(),
        app: app.to_owned(),
        set: values.contains(path),
        origin,
        copy_of,
        readers: Vec::new(),
    };
    for needs in &needs {
        for copy in &needs.copies {
            let path = format!("apps.{}.{}", needs.app, copy.copy_key());
            states.insert(path.clone(), state(&path, needs.app.as_str(), Origin::Copy, copy.source()));
        }
        for spec in &needs.own {
            let path = format!("apps.{}.{}", needs.app, spec.key);
            let origin = match (&spec.default, spec.supply) {
                (Some(_), _) => Origin::Template,
                (None, package::Supply::Person) => Origin::Person,
                (None, package::Supply::Made) => Origin::Random,
            };
            states.insert(path.clone(), state(&path, needs.app.as_str(), origin, String::new()));
        }
    }
    let is_aside = |path: &&str| path.split('.').next() == Some(crate::settings::DELETED);
    for path in values.paths().filter(|path| !is_aside(path)) {
        let app = path.strip_prefix("apps.").and_then(|rest| rest.split('.').next()).unwrap_or("");
        states.entry(path.to_owned()).or_insert_with(|| state(path, app, Origin::Unused, String::new()));
    }
    let copies = needs.iter().flat_map(|needs| needs.copies.iter().map(move |copy| (copy.source(), &needs.app)));
    for (source, reader) in copies {
        if let Some(state) = states.get_mut(&source) {
            state.readers.push(reader.to_string());
        }
    }
    Ok(states.into_values().collect())
}

/// Sets a value that somebody gives, in place of any that is there.
pub async fn set_secret(
    instance: &Instance,
    path: &str,
    value: SecretValue,
    trial: Trial,
) -> Result<SecretChange, Error> {
    check_path(path)?;
    let bytes = value.expose(crate::model::Purpose::SecretsFile).len();
    if bytes > MAX_VALUE_BYTES {
        let because = format!("the value has {bytes} bytes, at most {MAX_VALUE_BYTES} are kept");
        return Err(refuse(format!("set {path}"), because, "put large texts into a file of the app".to_owned()));
    }
    let needs = all_needs(instance).await?;
    if trial == Trial::Real {
        instance.secrets.set(path, &value)?;
    }
    Ok(change(path, &needs, trial))
}

/// Makes the value of a secret that an app's package describes.
pub async fn make_secret(instance: &Instance, path: &str, making: Making, trial: Trial) -> Result<SecretChange, Error> {
    check_path(path)?;
    let what = format!("make {path}");
    let Some((app, key)) = path.strip_prefix("apps.").and_then(|rest| rest.split_once('.')) else {
        let because = "only secrets of apps are made, apps.APP.KEY".to_owned();
        return Err(refuse(what, because, format!("wild secret set {path}")));
    };
    let Ok(app) = AppName::parse(app) else {
        return Err(refuse(what, format!("{app:?} is no app"), "wild secret list".to_owned()));
    };
    let needs = compiled_needs(instance, &app).await?;
    let values = instance.secrets.read()?;
    let spec = needs.own.iter().find(|spec| spec.key == key);
    let (because, remedy) = match spec {
        None => match needs.copies.iter().find(|copy| copy.copy_key() == key) {
            Some(copy) => {
                (format!("it is a copy of {}", copy.source()), format!("wild secret rotate {}", copy.source()))
            }
            None => (format!("no secret of {app} is called {key}"), format!("wild secret list {app}")),
        },
        Some(spec) if spec.default.is_none() && spec.supply == package::Supply::Person => {
            ("nobody can make it up: it is given by another system".to_owned(), format!("wild secret set {path}"))
        }
        Some(spec) if values.contains(path) && making == Making::Missing && spec.default.is_none() => {
            ("it has a value already".to_owned(), format!("wild secret rotate {path}"))
        }
        Some(_) => (String::new(), String::new()),
    };
    if !because.is_empty() {
        return Err(refuse(what, because, remedy));
    }
    if trial == Trial::Real {
        replace(instance, &needs, &values, path)?;
    }
    Ok(change(path, &all_needs(instance).await?, trial))
}

/// Makes a value as if it were absent and writes it in place of the old one; what else is absent is made along.
fn replace(instance: &Instance, needs: &SecretNeeds, values: &Secrets, path: &str) -> Result<(), Error> {
    let mut others = values.clone();
    others.remove(path);
    let mut source = System { failure: None };
    let made = package::generate(needs, &others, &mut source).map_err(|diagnostics| {
        let because = diagnostics.first().map(ToString::to_string).unwrap_or_default();
        Error::Refused(Box::new(RefusalText {
            diagnostics,
            ..text(format!("make {path}"), because, "wild secret list")
        }))
    })?;
    if let Some(failure) = source.failure {
        return Err(failure.into());
    }
    let (wanted, rest): (Vec<NewSecret>, Vec<NewSecret>) = made.into_iter().partition(|secret| secret.path == path);
    instance.secrets.add(&rest)?;
    wanted.iter().try_for_each(|secret| instance.secrets.renew(secret))?;
    Ok(())
}

/// Returns what a new value of a path brings along.
fn change(path: &str, needs: &[SecretNeeds], trial: Trial) -> SecretChange {
    let mut followers = BTreeSet::new();
    let mut stale = BTreeSet::new();
    for needs in needs {
        let name = |key: &str| format!("apps.{}.{key}", needs.app);
        let copies: Vec<String> =
            needs.copies.iter().filter(|copy| copy.source() == path).map(package::SecretCopy::copy_key).collect();
        followers.extend(copies.iter().map(|key| name(key)));
        let own = path.strip_prefix(&name("")).map(str::to_owned);
        for key in copies.into_iter().chain(own) {
            let reads = |default: &String| default.contains(&format!(".secrets.{key}"));
            let derived = needs.own.iter().filter(|spec| spec.default.as_ref().is_some_and(reads));
            stale.extend(derived.map(|spec| name(&spec.key)));
        }
    }
    let (followers, stale) = (followers.into_iter().collect(), stale.into_iter().collect());
    SecretChange { path: path.to_owned(), written: trial == Trial::Real, followers, stale }
}

/// Returns what the committed manifests of all apps say about secrets; apps whose manifest does not read have none.
async fn all_needs(instance: &Instance) -> Result<Vec<SecretNeeds>, Error> {
    let overview = overview(instance).await?;
    let of_app = |app: &AppName| needs_of(&overview.files, app);
    Ok(overview.apps.keys().filter_map(of_app).collect())
}

fn needs_of(files: &FileTree, app: &AppName) -> Option<SecretNeeds> {
    observe::secret_needs(files, app).ok().flatten()
}

/// Returns the needs of an app with what the templates of its defaults see.
async fn compiled_needs(instance: &Instance, app: &AppName) -> Result<SecretNeeds, Error> {
    let nothing = Request::Config { app: app.clone(), set: BTreeMap::new(), unset: Vec::new() };
    let read = read::read(instance, app, Some(&nothing), Reason::Request).await?;
    let proposal = compile::propose(app, &read.sources, Cause::Changed);
    let needs = proposal.map_err(|refusal| Error::Refused(Box::new(text_of(&refusal))))?.needs;
    // What of the head waits for a person is known once it is taken in.
    let overview = statuses::seen(instance).await?;
    let unapproved = approvals::waiting(instance, app).await;
    let mut granted = overview.settings()?.grants_of(app.as_str()).secrets;
    granted.retain(|grant| unapproved.as_ref().is_none_or(|unapproved| !unapproved.holds_secret(grant)));
    let secrets = instance.secrets.read()?;
    Ok(grants::judged(needs, &overview, &granted, &secrets))
}

fn check_path(path: &str) -> Result<(), Error> {
    let is_word = |word: &str| {
        !word.is_empty()
            && !word.starts_with('_')
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    };
    if path.len() <= MAX_PATH_CHARS && path.contains('.') && path.split('.').all(is_word) {
        return Ok(());
    }
    let because = "a path has words of letters, digits, - and _ between dots, such as apps.blog.password".to_owned();
    Err(refuse(format!("find the secret {path:?}"), because, "wild secret list".to_owned()))
}

fn refuse(what: String, because: String, remedy: String) -> Error {
    Error::Refused(Box::new(text(what, because, &remedy)))
}

fn text(what: String, because: String, remedy: &str) -> RefusalText {
    RefusalText { code: 2, what, because, remedy: remedy.to_owned(), diagnostics: Vec::new() }
}
