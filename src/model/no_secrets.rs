//! Format. What a person says is no secret although it looks like one: `noSecrets` in `.wild/config.yaml`.
//!
//! An entry names one file by its exact content, as git does, or one secret whose value everybody may know, and says why. It is committed, so
//! it can be reviewed and is kept for ever. A file that must be encrypted has no exception. Not here: the search (`git`, `yaml::leak`).

use std::collections::BTreeSet;

use serde::Deserialize;

/// Everything that a person says is no secret.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(try_from = "Vec<Entry>")]
pub struct NoSecrets {
    /// Files that hold no key, by the id that git gives their content.
    pub files: BTreeSet<String>,
    /// Paths of secrets.yaml whose values everybody may know.
    pub values: BTreeSet<String>,
}

/// One of them, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    file: Option<String>,
    value: Option<String>,
    why: String,
}

impl NoSecrets {
    /// Returns whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.values.is_empty()
    }

    /// Adds what somebody else says.
    pub fn extend(&mut self, other: &Self) {
        self.files.extend(other.files.iter().cloned());
        self.values.extend(other.values.iter().cloned());
    }
}

impl TryFrom<Vec<Entry>> for NoSecrets {
    type Error = String;

    fn try_from(entries: Vec<Entry>) -> Result<Self, String> {
        let mut all = Self::default();
        for Entry { file, value, why } in entries {
            if why.trim().is_empty() {
                return Err("noSecrets: an entry does not say why".to_owned());
            }
            match (file, value) {
                (Some(file), None) => {
                    let is_id = file.len() == 40 && file.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
                    if !is_id {
                        return Err(format!("noSecrets: {file:?} is no id of a file; `git hash-object FILE` says it"));
                    }
                    all.files.insert(file);
                }
                (None, Some(value)) => drop(all.values.insert(value)),
                (Some(_), Some(_)) | (None, None) => {
                    return Err("noSecrets: an entry names either a file or a value".to_owned());
                }
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(entries: Value) -> Result<NoSecrets, String> {
        serde_json::from_value(entries).map_err(|error| error.to_string())
    }

    #[test]
    fn an_entry_names_one_file_by_its_content_or_one_value_and_says_why() {
        let id = "3b18e512dba79e4c8300dd08aeb37f8e728b8dad";
        let all = [json!({"file": id, "why": "a sample"}), json!({"value": "apps.blog.user", "why": "a name"})];
        let all = read(all.to_vec().into()).unwrap();
        assert!(all.files.contains(id) && all.values.contains("apps.blog.user") && !all.is_empty());
        for (text, told) in [
            (json!([{"file": "docs/key.pem", "why": "a sample"}]), "git hash-object FILE"),
            (json!([{ "file": id }]), "why"),
            (json!([{"value": "apps.blog.user", "why": " "}]), "does not say why"),
            (json!([{"why": "a sample"}]), "either a file or a value"),
            (json!([{"value": "a", "path": "b", "why": "c"}]), "path"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }
}
