//! Pure. Whether a text is encrypted that says so, as far as that can be told without a key: a section `sops` proves nothing by itself.
//!
//! Every value that the rule of the file names must be a ciphertext. Read more tolerantly than [`super::SopsFile`], because a file for other
//! keys than those of age is encrypted as well. Not here: the MAC, which needs the key.

use serde_json::{Map, Value};

use super::super::{Dialect, load};
use super::cipher::Sealed;
use super::fault::Fault;
use super::rule::{FIELDS, Rule};

/// The key of the section that SOPS adds.
const SECTION: &str = "sops";
/// Lists of the section that name whom a file is encrypted for.
const KEY_LISTS: [&str; 8] = ["age", "kms", "gcp_kms", "hckms", "azure_kv", "hc_vault", "pgp", "key_groups"];

/// Which values must be encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    /// Those that the rule of the file names.
    ByItsRule,
    /// All of them: the file holds nothing but secrets.
    Everything,
}

/// Returns whether a text says of itself that it is encrypted, by a look at its lines alone.
pub fn claims(text: &str) -> bool {
    let find = |words: &str| memchr::memmem::find(text.as_bytes(), words.as_bytes()).is_some();
    let has_section = text.starts_with("sops:") || find("\nsops:") || find("\"sops\"");
    has_section && find("mac") && find("lastmodified")
}

/// Checks that a text is encrypted; the fault names a place, never a value.
pub fn check_claim(text: &str, demand: Demand) -> Result<(), Fault> {
    let loaded = load("", text, Dialect::Gomplate);
    let loaded = loaded.map_err(|found| Fault::Broken(found.first().map_or(1, |found| found.line)))?;
    let mut is_any = false;
    for document in &loaded.documents {
        match document.value.get(SECTION).and_then(Value::as_object) {
            Some(section) => check_document(&document.value, section, demand)?,
            // Beside an encrypted document one without secrets may stand, but not in a file of secrets.
            None if demand == Demand::ByItsRule => continue,
            None => return Err(Fault::NotSops),
        }
        is_any = true;
    }
    if is_any { Ok(()) } else { Err(Fault::NotSops) }
}

fn check_document(document: &Value, section: &Map<String, Value>, demand: Demand) -> Result<(), Fault> {
    let text = |field: &str| section.get(field).and_then(Value::as_str).unwrap_or_default();
    let rule = Rule::of(FIELDS.map(text)).map_err(Fault::Section)?;
    if Sealed::parse(text("mac")).is_none() {
        return Err(Fault::Section("mac"));
    }
    let has_keys = |list: &&str| section.get(*list).and_then(Value::as_array).is_some_and(|keys| !keys.is_empty());
    if !KEY_LISTS.iter().any(has_keys) {
        return Err(Fault::Section("age"));
    }
    let Some(entries) = document.as_object() else { return Err(Fault::NotSops) };
    let check = Check { rule, demand };
    entries.iter().filter(|(key, _)| *key != SECTION).try_for_each(|(key, value)| check.entry("", key, value, false))
}

struct Check {
    rule: Rule,
    demand: Demand,
}

impl Check {
    fn entry(&self, above: &str, key: &str, value: &Value, is_decided: bool) -> Result<(), Fault> {
        let place = if above.is_empty() { key.to_owned() } else { format!("{above}.{key}") };
        self.value(&place, value, is_decided || self.rule.decides(key))
    }

    fn value(&self, place: &str, value: &Value, is_decided: bool) -> Result<(), Fault> {
        let is_named = self.demand == Demand::Everything || self.rule.is_all_but() != is_decided;
        match value {
            Value::Object(entries) => {
                entries.iter().try_for_each(|(key, value)| self.entry(place, key, value, is_decided))
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.value(place, item, is_decided)),
            Value::Null => Ok(()),
            Value::String(text) if text.is_empty() || Sealed::parse(text.trim_end()).is_some() => Ok(()),
            Value::String(_) | Value::Bool(_) | Value::Number(_) if !is_named => Ok(()),
            Value::String(_) | Value::Bool(_) | Value::Number(_) => Err(Fault::Clear(place.to_owned())),
        }
    }
}
