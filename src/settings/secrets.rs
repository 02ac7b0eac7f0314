//! `secrets.yaml`: the values that never lie in git. Own secrets are only ever added by us; a person may change them.
//!
//! The file is read and written under an flock on `secrets.yaml.lock` (seed S3), whose mere presence never blocks anybody.
//!
//! A copy of another app's value is marked, and so is what was made of one (`secret_marks.rs`). As long as the copy is what was copied, what is
//! read in its place is the owner's value of today, so a rotation reaches everybody; a copy that a person wrote over is read as it stands.
//!
//! Values of an app that was deleted are set aside below `_deleted` for a while, because data that is kept or comes back needs them.
//! Nothing is made from them there; they are hidden like all others.
//! Not here: which values are needed (`package`), the Secret objects (`observe`).

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::file::{read, write_private};
use super::private::{narrow, narrow_with_copies};
use super::secret_marks::{follow, is_of_marks, mark, marks, origins, split, unmark};
use super::{Error, io};
use crate::base::{Digest, Timestamp, sha256};
use crate::model::{Diagnostic, Narrowed, NewSecret, Purpose, SecretValue, Secrets};
use crate::yaml::{self, Dialect};

/// The key that holds the values of apps that were deleted.
pub const DELETED: &str = "_deleted";
/// How long the values of a deleted app are set aside: as long as its objects are archived.
const SET_ASIDE_TIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// The secrets file of one instance.
#[derive(Clone, Debug)]
pub struct SecretsFile {
    path: PathBuf,
    /// What the file held when it was parsed last, by the digest of its bytes: every pass reads it, and it holds the values of all apps.
    parsed: Arc<Mutex<Option<Parsed>>>,
    /// Files that others could read until they were written, and that were not asked for yet.
    narrowed: Arc<Mutex<Vec<Narrowed>>>,
}

/// What a file of these bytes holds.
type Parsed = (Digest, Arc<Secrets>);

impl SecretsFile {
    /// Names the file; it need not exist.
    pub fn new(path: PathBuf) -> Self {
        Self { path, parsed: Arc::default(), narrowed: Arc::default() }
    }

    /// Returns where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads all values. An absent file holds none.
    pub fn read(&self) -> Result<Arc<Secrets>, Error> {
        let content = read(&self.path)?.unwrap_or_default();
        let digest = sha256(&content);
        let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, secrets)) = parsed.as_ref().filter(|(known, _)| *known == digest) {
            return Ok(secrets.clone());
        }
        let mut secrets = Secrets::new();
        let mut tree = self.parse(content)?;
        for (app, aside) in tree.shift_remove(DELETED).iter().filter_map(Value::as_object).flatten() {
            flatten(&format!("{DELETED}.{app}"), aside.get("values").unwrap_or(&Value::Null), &mut secrets);
        }
        let marks = marks(&tree);
        flatten("", &Value::Object(tree), &mut secrets);
        follow(&marks, &mut secrets);
        let secrets = Arc::new(secrets);
        *parsed = Some((digest, secrets.clone()));
        Ok(secrets)
    }

    /// Adds values that are absent and returns the paths that were added; a value that is there is never replaced.
    pub fn add(&self, values: &[NewSecret]) -> Result<Vec<String>, Error> {
        self.settle(&[], values)
    }

    /// Takes values out that hold values of other apps, as far as they are still what we wrote, and adds values that are absent, in one write;
    /// returns the paths that were added.
    pub fn settle(&self, withdraw: &[String], values: &[NewSecret]) -> Result<Vec<String>, Error> {
        if values.is_empty() && withdraw.is_empty() {
            return Ok(Vec::new());
        }
        let _lock = self.lock()?;
        let mut tree = self.read_tree()?;
        let withdrawn = withdraw_from(&mut tree, withdraw);
        let mut added = Vec::new();
        for NewSecret { path, value, origin } in values {
            let text = value.expose(Purpose::SecretsFile);
            if insert(&mut tree, path, text) {
                if let Some(section) = section_of(&mut tree, path) {
                    mark(section, path, origin, text);
                }
                added.push(path.clone());
            }
        }
        if !added.is_empty() || withdrawn {
            self.write(yaml::write(&Value::Object(tree)).as_bytes())?;
        }
        Ok(added)
    }

    /// Sets a value that we made, in place of any that is there, and notes where it comes from; every other byte of the file stays.
    pub fn renew(&self, secret: &NewSecret) -> Result<(), Error> {
        let NewSecret { path, value, origin } = secret;
        let _lock = self.lock()?;
        let content = read(&self.path)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&content).into_owned();
        let mut section = section_of(&mut self.parse(content)?, path).cloned().unwrap_or_default();
        let before = section.clone();
        let value = value.expose(Purpose::SecretsFile);
        mark(&mut section, path, origin, value);
        let name = self.path.display().to_string();
        let keys: Vec<&str> = path.split('.').collect();
        let mut edited = yaml::edit::set(&name, &text, &keys, &Value::from(value));
        let [Some(apps), Some(app)] = [keys.first(), keys.get(1)] else { return Ok(()) };
        for key in before.keys().chain(section.keys()).filter(|key| is_of_marks(key)) {
            edited = edited.and_then(|text| match section.get(key) {
                Some(marks) => yaml::edit::set(&name, &text, &[*apps, *app, key.as_str()], marks),
                None => yaml::edit::unset(&name, &text, &[*apps, *app, key.as_str()]),
            });
        }
        self.write(edited.map_err(|diagnostics| self.wrong(diagnostics))?.as_bytes())
    }

    /// Sets a value, in place of any that is there; every other byte of the file stays. A copy that is set no longer follows its owner.
    pub fn set(&self, path: &str, value: &SecretValue) -> Result<(), Error> {
        let _lock = self.lock()?;
        let content = read(&self.path)?.unwrap_or_default();
        self.parse(content.clone())?;
        let keys: Vec<&str> = path.split('.').collect();
        let value = Value::from(value.expose(Purpose::SecretsFile));
        let text = String::from_utf8_lossy(&content);
        let edited = yaml::edit::set(&self.path.display().to_string(), &text, &keys, &value);
        let edited = edited.map_err(|diagnostics| self.wrong(diagnostics))?;
        self.write(edited.as_bytes())
    }

    /// Sets the section of an app aside that is gone, without what holds values of other apps, and forgets those that were long enough.
    pub fn set_aside(&self, app: &str, now: Timestamp) -> Result<(), Error> {
        let _lock = self.lock()?;
        let mut tree = self.read_tree()?;
        let mut values = Secrets::new();
        flatten("", &Value::Object(tree.clone()), &mut values);
        let foreign = origins(&marks(&tree), &values);
        let foreign: Vec<String> = foreign.of_app(app).map(|(path, _)| path.to_owned()).collect();
        withdraw_from(&mut tree, &foreign);
        let Some(values) = section(&mut tree, "apps").and_then(|apps| apps.shift_remove(app)) else { return Ok(()) };
        let aside = tree.entry(DELETED.to_owned()).or_insert_with(|| Value::Object(Map::new()));
        if let Some(aside) = aside.as_object_mut() {
            let is_young = |it: &Value| {
                let at = it.get("at").and_then(Value::as_str).and_then(|at| Timestamp::parse(at).ok());
                at.is_some_and(|at| now.since(at) < SET_ASIDE_TIME)
            };
            aside.retain(|_, it| is_young(it));
            aside.insert(app.to_owned(), json!({"at": now.to_string(), "values": values}));
        }
        self.write(yaml::write(&Value::Object(tree)).as_bytes())
    }

    /// Removes all values of an app that is gone, also those that were set aside.
    pub fn forget(&self, app: &str) -> Result<(), Error> {
        let _lock = self.lock()?;
        let mut tree = self.read_tree()?;
        let removed = ["apps", DELETED].map(|key| section(&mut tree, key).and_then(|apps| apps.shift_remove(app)));
        if removed.iter().any(Option::is_some) {
            self.write(yaml::write(&Value::Object(tree)).as_bytes())?;
        }
        Ok(())
    }

    /// Puts the values of an app back that were set aside; returns whether there were any. Values that it has by now stay.
    pub fn bring_back(&self, app: &str) -> Result<bool, Error> {
        let _lock = self.lock()?;
        let mut tree = self.read_tree()?;
        if section(&mut tree, "apps").is_some_and(|apps| apps.contains_key(app)) {
            return Ok(false);
        }
        let aside = section(&mut tree, DELETED).and_then(|aside| aside.shift_remove(app));
        let values = aside.and_then(|mut aside| aside.as_object_mut()?.shift_remove("values"));
        let Some(values) = values else { return Ok(false) };
        let apps = tree.entry("apps".to_owned()).or_insert(Value::Null);
        if apps.is_null() {
            *apps = Value::Object(Map::new());
        }
        let Some(apps) = apps.as_object_mut() else { return Ok(false) };
        apps.insert(app.to_owned(), values);
        self.write(yaml::write(&Value::Object(tree)).as_bytes())?;
        Ok(true)
    }

    /// Returns the files that others could read until they were written, and that were not asked for yet.
    pub fn take_narrowed(&self) -> Vec<Narrowed> {
        std::mem::take(&mut *self.narrowed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes the file. A new one has no mode of the old one, so what others could do with that is noted first.
    fn write(&self, content: &[u8]) -> Result<(), Error> {
        let mut found = narrow_with_copies(&self.path)?;
        // What a crash left goes when the file is written.
        found.extend(narrow(&self.path.with_extension("tmp"))?);
        self.narrowed.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        write_private(&self.path, content)
    }

    fn lock(&self) -> Result<File, Error> {
        let path = self.path.with_extension("yaml.lock");
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(io("open the lock", &path))?;
        file.lock().map_err(io("lock", &path))?;
        Ok(file)
    }

    fn read_tree(&self) -> Result<Map<String, Value>, Error> {
        self.parse(read(&self.path)?.unwrap_or_default())
    }

    fn parse(&self, content: Vec<u8>) -> Result<Map<String, Value>, Error> {
        let name = self.path.display().to_string();
        let text = String::from_utf8(content)
            .map_err(|_| self.wrong(vec![Diagnostic::error("S201", &name, 0, "the file is not UTF-8")]))?;
        match yaml::load_one(&name, &text, Dialect::Gomplate)
            .map_err(|found| self.wrong(found))?
            .map(|document| document.value)
        {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(tree)) => Ok(tree),
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                Err(self.wrong(vec![Diagnostic::error("S202", &name, 1, "the file is no map of values")]))
            }
        }
    }

    /// Returns what is wrong with the file. A diagnostic quotes the text at fault, and here that text may be a secret.
    fn wrong(&self, diagnostics: Vec<Diagnostic>) -> Error {
        let hidden = |found: Diagnostic| Diagnostic { subject: String::new(), ..found };
        Error::Content { path: self.path.clone(), diagnostics: diagnostics.into_iter().map(hidden).collect() }
    }
}

/// Returns the map below a key.
fn section<'a>(tree: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Map<String, Value>> {
    tree.get_mut(key).and_then(Value::as_object_mut)
}

/// Returns the section of the app that a path is of.
fn section_of<'a>(tree: &'a mut Map<String, Value>, path: &str) -> Option<&'a mut Map<String, Value>> {
    let (app, _) = split(path)?;
    section(tree, "apps")?.get_mut(app)?.as_object_mut()
}

/// Takes values out that are marked and still what was marked; returns whether there were any.
fn withdraw_from(tree: &mut Map<String, Value>, paths: &[String]) -> bool {
    let mut values = Secrets::new();
    flatten("", &Value::Object(tree.clone()), &mut values);
    let known = origins(&marks(tree), &values);
    let mut any = false;
    for path in paths.iter().filter(|path| known.get(path).is_some()) {
        let (Some((_, key)), Some(section)) = (split(path), section_of(tree, path)) else { continue };
        remove(section, key);
        unmark(section, path);
        any = true;
    }
    any
}

/// Removes the value at a dotted key, and the maps that held nothing else.
fn remove(map: &mut Map<String, Value>, key: &str) {
    let Some((first, rest)) = key.split_once('.') else {
        map.shift_remove(key);
        return;
    };
    let Some(below) = map.get_mut(first).and_then(Value::as_object_mut) else { return };
    remove(below, rest);
    if below.is_empty() {
        map.shift_remove(first);
    }
}

/// Collects every scalar under its dotted path. Null is an absent value.
fn flatten(path: &str, value: &Value, secrets: &mut Secrets) {
    match value {
        Value::Null => {}
        Value::Object(map) => {
            for (key, inner) in map.iter().filter(|(key, _)| !is_of_marks(key)) {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flatten(&below, inner, secrets);
            }
        }
        Value::String(text) => secrets.insert(path, SecretValue::new(text.clone())),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            secrets.insert(path, SecretValue::new(value.to_string()))
        }
    }
}

/// Puts a text at a dotted path where nothing or null is, and returns whether it did.
fn insert(tree: &mut Map<String, Value>, path: &str, text: &str) -> bool {
    let Some((first, rest)) = path.split_once('.') else {
        if tree.get(path).is_some_and(|value| !value.is_null()) {
            return false;
        }
        tree.insert(path.to_owned(), Value::from(text));
        return true;
    };
    let slot = tree.entry(first.to_owned()).or_insert(Value::Null);
    if slot.is_null() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().is_some_and(|below| insert(below, rest, text))
}

#[cfg(test)]
mod tests {
    use super::SecretsFile;
    use crate::model::{NewSecret, Purpose, SecretOrigin, SecretValue};

    fn new(path: &str, text: &str, from: Option<&str>) -> NewSecret {
        let value = SecretValue::new(text.to_owned());
        let origin = from.map_or(SecretOrigin::Own, |from| SecretOrigin::Copy(from.to_owned()));
        NewSecret { path: path.to_owned(), value, origin }
    }

    fn shown(file: &SecretsFile, path: &str) -> Option<String> {
        file.read().unwrap().get(path).map(|value| value.expose(Purpose::SecretsFile).to_owned())
    }

    #[test]
    fn a_copy_follows_its_owner_until_a_person_writes_over_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = SecretsFile::new(directory.path().join("secrets.yaml"));
        let (owner, copy, second) = ("apps.stonedb.password", "apps.blog.dbPassword", "apps.mirror.blogDbPassword");
        file.add(&[new(owner, "first", None), new(copy, "first", Some(owner)), new(second, "first", Some(copy))])
            .unwrap();
        let change = |from: &str, to: &str| {
            let text = std::fs::read_to_string(file.path()).unwrap();
            assert!(text.contains(from), "{text}");
            std::fs::write(file.path(), text.replacen(from, to, 1)).unwrap();
        };
        change("password: first", "password: second");
        for path in [owner, copy, second] {
            assert_eq!(shown(&file, path).as_deref(), Some("second"), "{path}");
        }
        assert_eq!(file.read().unwrap().paths().count(), 3);
        change("dbPassword: first", "dbPassword: mine");
        let found = [owner, copy, second].map(|path| shown(&file, path).unwrap());
        assert_eq!(found, ["second", "mine", "mine"]);
        change("password: second", "spare: second");
        assert_eq!(shown(&file, copy).as_deref(), Some("mine"));
    }

    #[test]
    fn a_copy_without_its_owner_stays_what_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let file = SecretsFile::new(directory.path().join("secrets.yaml"));
        file.add(&[new("apps.blog.dbPassword", "kept", Some("apps.stonedb.password"))]).unwrap();
        assert_eq!(shown(&file, "apps.blog.dbPassword").as_deref(), Some("kept"));
    }

    #[test]
    fn what_holds_values_of_others_goes_again_unless_a_person_wrote_over_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = SecretsFile::new(directory.path().join("secrets.yaml"));
        let owner = "apps.stonedb.password";
        let made = |path: &str, text: &str| NewSecret {
            origin: SecretOrigin::Made([owner.to_owned()].into()),
            ..new(path, text, None)
        };
        let (copy, url, deep) = ("apps.blog.dbPassword", "apps.blog.dbUrl", "apps.blog.rows.url");
        file.add(&[new(owner, "p", None), new(copy, "p", Some(owner)), made(url, "x://p"), made(deep, "y://p")])
            .unwrap();
        let origins = file.read().unwrap().origins().clone();
        assert_eq!(origins.within(url), [owner.to_owned()].into());
        let own = new("apps.blog.dbUrl", "own", None);
        let all: Vec<String> = [owner, copy, url, deep].map(str::to_owned).into();
        assert_eq!(file.settle(&all, &[own]).unwrap(), [url]);
        // An owner's value is no copy of anything.
        assert_eq!(file.read().unwrap().paths().collect::<Vec<_>>(), [url, owner]);
        assert!(!std::fs::read_to_string(file.path()).unwrap().contains('_'));
        file.add(&[new(copy, "p", Some(owner))]).unwrap();
        file.set(copy, &SecretValue::new("mine".to_owned())).unwrap();
        file.settle(&all, &[]).unwrap();
        assert_eq!(shown(&file, copy).as_deref(), Some("mine"));
        assert!(file.read().unwrap().origins().get(copy).is_none());
    }

    #[test]
    fn a_value_that_is_made_again_says_where_it_comes_from_now() {
        let directory = tempfile::tempdir().unwrap();
        let file = SecretsFile::new(directory.path().join("secrets.yaml"));
        let url = "apps.blog.dbUrl";
        std::fs::write(file.path(), "# mine\napps:\n  blog:\n    dbUrl: old # by hand\n").unwrap();
        for (text, origin) in
            [("x://p", SecretOrigin::Made(["apps.stonedb.password".to_owned()].into())), ("y", SecretOrigin::Own)]
        {
            file.renew(&NewSecret { origin: origin.clone(), ..new(url, text, None) }).unwrap();
            assert_eq!(shown(&file, url).as_deref(), Some(text));
            let known = file.read().unwrap().origins().get(url).cloned();
            assert_eq!(known, Some(origin).filter(|origin| *origin != SecretOrigin::Own));
            assert!(std::fs::read_to_string(file.path()).unwrap().starts_with("# mine\n"));
        }
    }

    #[test]
    fn a_value_is_added_once_and_never_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let file = SecretsFile::new(directory.path().join("secrets.yaml"));
        let path = "apps.quillblog.password".to_owned();
        assert_eq!(file.add(&[new(&path, "first", None)]).unwrap(), std::slice::from_ref(&path));
        assert_eq!(file.add(&[new(&path, "second", None)]).unwrap(), [""; 0]);
        assert_eq!(file.read().unwrap().get(&path).unwrap().expose(Purpose::SecretsFile), "first");
        file.forget("quillblog").unwrap();
        assert!(file.read().unwrap().get(&path).is_none());
    }

    #[test]
    fn what_is_set_aside_is_hidden_and_comes_back_once_unless_it_is_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let file = SecretsFile::new(directory.path().join("secrets.yaml"));
        let (path, day) = ("apps.stonedb.password", 86_400_000_000);
        let now = |days: i64| crate::base::Timestamp(1_763_712_000_000_000 + days * day);
        file.add(&[new(path, "first-value", None), new("apps.old.key", "old-value", None)]).unwrap();
        file.set_aside("old", now(0)).unwrap();
        file.set_aside("stonedb", now(29)).unwrap();
        let secrets = file.read().unwrap();
        assert_eq!(secrets.paths().collect::<Vec<_>>(), ["_deleted.old.key", "_deleted.stonedb.password"]);
        assert_eq!(secrets.mask("x first-value old-value"), "x (hidden) (hidden)");
        assert!(file.bring_back("stonedb").unwrap() && !file.bring_back("stonedb").unwrap());
        assert_eq!(shown(&file, path).as_deref(), Some("first-value"));
        file.set_aside("stonedb", now(31)).unwrap();
        assert_eq!(file.read().unwrap().paths().collect::<Vec<_>>(), ["_deleted.stonedb.password"]);
        file.add(&[new(path, "second", None)]).unwrap();
        assert!(!file.bring_back("stonedb").unwrap());
        assert_eq!(shown(&file, path).as_deref(), Some("second"));
        file.forget("stonedb").unwrap();
        assert_eq!(file.read().unwrap().paths().count(), 0);
    }

    #[test]
    fn a_value_of_another_app_is_not_set_aside() {
        let directory = tempfile::tempdir().unwrap();
        let file = SecretsFile::new(directory.path().join("secrets.yaml"));
        let (owner, copy) = ("apps.stonedb.password", "apps.blog.dbPassword");
        file.add(&[new(owner, "p", None), new(copy, "p", Some(owner)), new("apps.blog.own", "o", None)]).unwrap();
        file.set_aside("blog", crate::base::Timestamp(1_763_712_000_000_000)).unwrap();
        assert_eq!(file.read().unwrap().paths().collect::<Vec<_>>(), ["_deleted.blog.own", owner]);
    }

    #[test]
    fn a_value_that_is_set_leaves_every_other_byte() {
        let directory = tempfile::tempdir().unwrap();
        let file = SecretsFile::new(directory.path().join("secrets.yaml"));
        let set = |path: &str, text: &str| file.set(path, &SecretValue::new(text.to_owned()));
        set("apps.blog.token", "yes").unwrap();
        assert_eq!(shown(&file, "apps.blog.token").as_deref(), Some("yes"));
        let text = "# mine\napps:\n  blog:\n    token: 'old' # by hand\n    spare: x\n";
        std::fs::write(file.path(), text).unwrap();
        set("apps.blog.token", "a\nb: \"c\"").unwrap();
        let now = std::fs::read_to_string(file.path()).unwrap();
        assert!(now.starts_with("# mine\n") && now.contains("# by hand") && now.contains("    spare: x\n"), "{now}");
        assert_eq!(shown(&file, "apps.blog.token").as_deref(), Some("a\nb: \"c\""));
        let refused = set("apps.blog.spare.deeper", "hunter2").unwrap_err();
        assert!(!format!("{refused:?}").contains("hunter2"));
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), now);
    }

    #[test]
    fn what_a_person_writes_is_read_and_what_did_not_change_is_parsed_once() {
        let directory = tempfile::tempdir().unwrap();
        let file = SecretsFile::new(directory.path().join("secrets.yaml"));
        let shown = || file.read().unwrap().get("a").map(|value| value.expose(Purpose::SecretsFile).to_owned());
        assert_eq!(shown(), None);
        for text in ["1", "2"] {
            std::fs::write(file.path(), format!("a: '{text}'\n")).unwrap();
            assert_eq!(shown().as_deref(), Some(text));
        }
        assert!(std::sync::Arc::ptr_eq(&file.read().unwrap(), &file.read().unwrap()));
    }

    #[test]
    fn an_empty_text_is_a_value_and_null_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let file = SecretsFile::new(directory.path().join("secrets.yaml"));
        std::fs::write(file.path(), "apps:\n  a: {x: '', y: null, z: 5}\n").unwrap();
        let secrets = file.read().unwrap();
        assert_eq!(secrets.paths().collect::<Vec<_>>(), ["apps.a.x", "apps.a.z"]);
    }

    #[test]
    fn a_broken_file_is_reported_without_its_text() {
        let directory = tempfile::tempdir().unwrap();
        let file = SecretsFile::new(directory.path().join("secrets.yaml"));
        std::fs::write(file.path(), "a: hunter2\n  b: [\n").unwrap();
        assert!(!format!("{:?}", file.read().unwrap_err()).contains("hunter2"));
    }

    #[test]
    fn every_way_to_write_the_file_tells_that_others_could_read_it_or_a_copy_of_it() {
        use std::os::unix::fs::PermissionsExt;

        use crate::base::Timestamp;

        type Way = (&'static str, fn(&SecretsFile));
        let ways: [Way; 6] = [
            ("set", |file| file.set("apps.blog.key", &SecretValue::new("another".to_owned())).unwrap()),
            ("set aside", |file| file.set_aside("blog", Timestamp(0)).unwrap()),
            ("forget", |file| file.forget("blog").unwrap()),
            ("bring back", |file| assert!(file.bring_back("old").unwrap())),
            ("add", |file| drop(file.add(&[new("apps.shop.key", "x", None)]).unwrap())),
            ("renew", |file| file.renew(&new("apps.blog.key", "x", None)).unwrap()),
        ];
        for (way, write) in ways {
            for name in ["secrets.yaml", "secrets.yaml~", "secrets.tmp"] {
                let directory = tempfile::tempdir().unwrap();
                let file = SecretsFile::new(directory.path().join("secrets.yaml"));
                let text =
                    "apps: {blog: {key: one}}\n_deleted: {old: {at: 1970-01-01T00:00:00Z, values: {key: two}}}\n";
                std::fs::write(file.path(), text).unwrap();
                std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
                let wide = directory.path().join(name);
                std::fs::write(&wide, text).unwrap();
                std::fs::set_permissions(&wide, std::fs::Permissions::from_mode(0o644)).unwrap();
                write(&file);
                let told: Vec<(String, String)> =
                    file.take_narrowed().into_iter().map(|it| (it.path, it.mode)).collect();
                assert_eq!(told, [(wide.display().to_string(), "0644".to_owned())], "{way}, {name}");
                assert_eq!(file.take_narrowed(), [], "it is told once");
            }
        }
    }
}
