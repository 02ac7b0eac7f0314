//! Pure. `metadata.managedFields` as values, and the digest of our own entry.
//!
//! When anyone changes or removes a field that we own, our `Apply` entry shrinks; when someone applies under our name, its time
//! changes. So (uid, digest, time) tells drift from metadata alone. Not here: which leaves were lost (`plan::fields`).

use serde_json::Value;

use crate::base::Encoder;

/// The field manager under which we apply.
pub const MANAGER: &str = "wild";

/// Our `Apply` entry in short.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OwnEntry {
    /// First 16 bytes, in hex, of the digest over apiVersion and fields; empty if we own none.
    pub fields: String,
    /// Time of the entry as the server wrote it.
    pub time: String,
}

impl OwnEntry {
    /// Reads our entry out of `metadata.managedFields`; empty texts if there is none.
    pub fn of(managed: Option<&Value>) -> Self {
        let Some(entry) = own(managed) else { return Self::default() };
        let mut encoder = Encoder::new();
        encoder.text(entry.get("apiVersion").and_then(Value::as_str).unwrap_or(""));
        encoder.value(entry.get("fieldsV1").unwrap_or(&Value::Null));
        let mut fields = encoder.digest().to_hex();
        fields.truncate(32);
        Self { fields, time: entry.get("time").and_then(Value::as_str).unwrap_or("").to_owned() }
    }
}

/// Returns our `Apply` entry without subresource; the server keeps at most one.
pub fn own(managed: Option<&Value>) -> Option<&Value> {
    managed?.as_array()?.iter().find(|entry| {
        let text = |key| entry.get(key).and_then(Value::as_str).unwrap_or("");
        text("manager") == MANAGER && text("operation") == "Apply" && text("subresource").is_empty()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::OwnEntry;

    #[test]
    fn only_our_apply_entry_counts_and_its_key_order_does_not() {
        let entry = |fields| json!({"manager": "wild", "operation": "Apply", "apiVersion": "v1", "time": "t", "fieldsV1": fields});
        let impostor =
            json!({"manager": "wild", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:data": {}}});
        let one = json!([impostor, entry(json!({"f:a": {}, "f:b": {}}))]);
        let two = json!([entry(json!({"f:b": {}, "f:a": {}}))]);
        assert_eq!(OwnEntry::of(Some(&one)), OwnEntry::of(Some(&two)));
        assert_eq!(OwnEntry::of(Some(&one)).fields.len(), 32);
        assert_ne!(OwnEntry::of(Some(&one)).fields, OwnEntry::of(Some(&json!([entry(json!({"f:a": {}}))]))).fields);
        assert_eq!(OwnEntry::of(Some(&json!([impostor]))), OwnEntry::default());
    }
}
