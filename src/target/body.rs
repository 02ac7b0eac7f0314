//! The bytes of an apply: the payload of the plan with the true values of a Secret and the uid that must already be there.
//!
//! Not here: which values (`observe`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::model::{Object, Purpose, SecretValue};

/// Returns the body of an apply. The plan's payload of a Secret holds digests; each is replaced by its value in base64.
pub fn with_values(payload: &Object, values: Option<&BTreeMap<String, SecretValue>>, uid: Option<&str>) -> Value {
    let mut body = payload.clone();
    if let Some(values) = values {
        let data: Map<String, Value> =
            values.iter().map(|(key, value)| (key.clone(), Value::from(value.expose(Purpose::RequestBody)))).collect();
        body.0.insert("data".to_owned(), Value::Object(data));
    }
    if let Some(uid) = uid {
        body.metadata_mut().insert("uid".to_owned(), Value::from(uid));
    }
    body.to_value()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::with_values;
    use crate::model::{Object, SecretValue};

    #[test]
    fn digests_are_replaced_by_values() {
        let payload =
            Object::from_value(json!({"kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "digest"}})).unwrap();
        let values = [("a".to_owned(), SecretValue::new("aHVudGVyMg==".into()))].into();
        let body = with_values(&payload, Some(&values), Some("u"));
        assert_eq!(
            body,
            json!({"kind": "Secret", "metadata": {"name": "s", "uid": "u"}, "data": {"a": "aHVudGVyMg=="}})
        );
    }
}
