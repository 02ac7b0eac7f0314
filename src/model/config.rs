//! Pure. The user's values: `config.yaml` as read.
//!
//! Not here: reading and editing the file (`yaml`), its defaults (`package`).

use serde_json::{Map, Value};

use super::AppName;

/// The content of `config.yaml`: `operator`, `cloud`, `cluster` and one section per app.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Config(pub Map<String, Value>);

impl Config {
    /// Returns the section `apps.<app>`.
    pub fn app(&self, app: &AppName) -> Option<&Map<String, Value>> {
        self.0.get("apps")?.get(app.as_str())?.as_object()
    }

    /// Returns the value at a dotted path.
    pub fn at(&self, path: &str) -> Option<&Value> {
        let mut keys = path.split('.');
        let first = self.0.get(keys.next()?)?;
        keys.try_fold(first, |value, key| value.get(key))
    }
}
