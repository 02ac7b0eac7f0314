//! Pure. YAML exactly as `kustomize build` prints it: keys sorted, quotes and line folds as Go's emitter sets them.
//!
//! Not here: texts that we write into people's files (`write.rs`).

use serde_json::Value;

/// Returns a value as `kustomize build` prints it.
pub fn write_sorted(value: &Value) -> String {
    super::write(value)
}
