//! The form in which the API server keeps and returns an object: known fields only, zeros left out where its types do so.
//!
//! Not here: defaults (`defaults.rs`), validation (`validate.rs`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::base::Timestamp;
use crate::schema::{Kind, Presence, Shape, Structure, quantity};

/// An object as it is kept, with what was wrong about the text it came from.
pub(crate) struct Canonical {
    pub(crate) object: Value,
    /// Fields that the type does not have, as paths.
    pub(crate) unknown: Vec<String>,
}

/// Returns an object of a kind in canonical form, or why it is no object of that kind.
pub(crate) fn canonical(object: &Value, kind: &Kind) -> Result<Canonical, String> {
    let Some(structure) = kind.structure else {
        return Ok(Canonical { object: object.clone(), unknown: Vec::new() });
    };
    let mut walk = Walk { unknown: Vec::new(), path: Vec::new(), fields: Vec::new(), structure: kind.kind };
    let Value::Object(map) = object else { return Err("json: cannot unmarshal into an object".to_owned()) };
    let mut result = Map::new();
    let content = walk.structure(Some(map), structure.get())?;
    result.insert("kind".to_owned(), Value::from(kind.kind));
    result.insert("apiVersion".to_owned(), Value::from(kind.api_version()));
    result.extend(content.into_iter().filter(|(key, _)| key != "kind" && key != "apiVersion"));
    Ok(Canonical { object: Value::Object(result), unknown: walk.unknown })
}

/// Returns an object of a kind without any content, as a client's empty structure would be written.
pub(crate) fn blank(kind: &Kind) -> Value {
    match canonical(&Value::Object(Map::new()), kind) {
        Ok(blank) => blank.object,
        Err(_) => Value::Object(Map::new()),
    }
}

struct Walk {
    unknown: Vec<String>,
    path: Vec<String>,
    /// Field names alone, as messages about types name a place.
    fields: Vec<&'static str>,
    structure: &'static str,
}

impl Walk {
    fn structure(
        &mut self,
        map: Option<&Map<String, Value>>,
        structure: &'static Structure,
    ) -> Result<Map<String, Value>, String> {
        let outer = std::mem::replace(&mut self.structure, structure.name);
        let mut result = Map::new();
        for (key, _) in map.into_iter().flatten() {
            if structure.field(key).is_none() {
                self.unknown.push(self.at(key));
            }
        }
        for field in &structure.fields {
            let value = map.and_then(|map| map.get(field.name)).filter(|value| !value.is_null());
            self.path.push(field.name.to_owned());
            self.fields.push(field.name);
            let kept = match value {
                Some(value) => Some(self.value(value, &field.shape)?),
                None => None,
            };
            let kept = match (field.presence, kept) {
                (Presence::Filled, kept) => kept.filter(|value| !is_zero(value)),
                (Presence::Explicit, kept) => kept.filter(|value| !is_empty_list_or_map(value, &field.shape)),
                (Presence::Nullable, kept) => Some(kept.unwrap_or(Value::Null)),
                (Presence::Always, Some(value)) if is_empty_list_or_map(&value, &field.shape) => Some(Value::Null),
                (Presence::Always, Some(value)) => Some(value),
                (Presence::Always, None) => Some(self.zero(&field.shape)?),
            };
            self.path.pop();
            self.fields.pop();
            if let Some(kept) = kept {
                result.insert(field.name.to_owned(), kept);
            }
        }
        self.structure = outer;
        Ok(result)
    }

    fn value(&mut self, value: &Value, shape: &Shape) -> Result<Value, String> {
        match (shape, value) {
            (Shape::Struct(it), Value::Object(map)) => Ok(Value::Object(self.structure(Some(map), it.get())?)),
            (Shape::Map(item, _), Value::Object(map)) => {
                let mut result = Map::new();
                for (key, value) in map {
                    self.path.push(key.clone());
                    let kept = if value.is_null() { self.zero(item)? } else { self.value(value, item)? };
                    self.path.pop();
                    result.insert(key.clone(), kept);
                }
                Ok(Value::Object(result))
            }
            (Shape::List(item, _), Value::Array(items)) => {
                let mut result = Vec::new();
                let list = self.path.pop().unwrap_or_default();
                for (index, value) in items.iter().enumerate() {
                    self.path.push(format!("{list}[{index}]"));
                    result.push(if value.is_null() { self.zero(item)? } else { self.value(value, item)? });
                    self.path.pop();
                }
                self.path.push(list);
                Ok(Value::Array(result))
            }
            _ => self.scalar(value, shape),
        }
    }

    fn scalar(&self, value: &Value, shape: &Shape) -> Result<Value, String> {
        let text = value.as_str();
        if let (Shape::Bytes, Some(text)) = (shape, text)
            && STANDARD.decode(text).is_err()
        {
            let good = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
            let at = text.as_bytes().iter().position(|byte| !good(byte)).unwrap_or(text.len());
            return Err(format!("illegal base64 data at input byte {at}"));
        }
        let kept = match (shape, text) {
            (Shape::Any, _) => Some(value.clone()),
            (Shape::Text | Shape::Bytes, Some(_)) => Some(value.clone()),
            (Shape::Integer, _) if value.is_i64() || value.is_u64() => Some(value.clone()),
            (Shape::Boolean, _) if value.is_boolean() => Some(value.clone()),
            (Shape::Number, _) if value.is_number() => Some(value.clone()),
            (Shape::IntegerOrText, _) if value.is_i64() || value.is_string() => Some(value.clone()),
            (Shape::Quantity, Some(text)) => quantity::canonical(text).map(Value::from),
            (Shape::Quantity, None) if value.is_number() => quantity::canonical(&value.to_string()).map(Value::from),
            (Shape::Time, Some(text)) => Timestamp::parse(text).ok().map(|time| Value::from(seconds(time))),
            (Shape::MicroTime, Some(text)) => Timestamp::parse(text).ok().map(|time| Value::from(micros(time))),
            _ => None,
        };
        kept.ok_or_else(|| {
            format!(
                "json: cannot unmarshal {} into Go struct field {}.{} of type {}",
                sort_of(value),
                self.structure,
                self.fields.join("."),
                type_of(shape)
            )
        })
    }

    fn zero(&mut self, shape: &Shape) -> Result<Value, String> {
        Ok(match shape {
            Shape::Text => Value::from(""),
            Shape::Integer | Shape::Number | Shape::IntegerOrText => Value::from(0),
            Shape::Boolean => Value::from(false),
            Shape::Quantity => Value::from("0"),
            Shape::Time | Shape::MicroTime | Shape::Any | Shape::Bytes | Shape::Map(..) | Shape::List(..) => {
                Value::Null
            }
            Shape::Struct(it) => Value::Object(self.structure(None, it.get())?),
        })
    }

    fn at(&self, key: &str) -> String {
        let mut path = self.path.join(".");
        if !path.is_empty() {
            path.push('.');
        }
        path + key
    }
}

/// Returns a time with whole seconds, as most times of the API are written.
pub(crate) fn seconds(time: Timestamp) -> String {
    Timestamp(time.seconds().saturating_mul(1_000_000)).to_string()
}

/// Returns a time with six digits after the second.
pub(crate) fn micros(time: Timestamp) -> String {
    let whole = seconds(time);
    format!("{}.{:06}Z", whole.trim_end_matches('Z'), time.0.rem_euclid(1_000_000))
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(it) => !it,
        Value::Number(it) => it.as_f64() == Some(0.0),
        Value::String(it) => it.is_empty(),
        Value::Array(it) => it.is_empty(),
        Value::Object(it) => it.is_empty(),
    }
}

/// Empty lists and maps are stored like absent ones.
fn is_empty_list_or_map(value: &Value, shape: &Shape) -> bool {
    matches!(shape, Shape::List(..) | Shape::Map(..)) && is_zero(value)
}

fn sort_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn type_of(shape: &Shape) -> &str {
    match shape {
        Shape::Text | Shape::IntegerOrText => "string",
        Shape::Integer => "int32",
        Shape::Boolean => "bool",
        Shape::Number => "float64",
        Shape::Quantity => "resource.Quantity",
        Shape::Time => "v1.Time",
        Shape::MicroTime => "v1.MicroTime",
        Shape::Bytes => "[]uint8",
        Shape::Any => "runtime.RawExtension",
        Shape::Struct(it) => it.name,
        Shape::Map(..) => "map[string]string",
        Shape::List(..) => "[]string",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{blank, canonical};
    use crate::schema::kind;

    #[test]
    fn zeros_go_where_the_type_leaves_them_out() {
        check(
            "",
            "Service",
            json!({"spec": {"publishNotReadyAddresses": false, "selector": {}, "ports": [{"port": 80}]}}),
            json!({"kind": "Service", "apiVersion": "v1", "metadata": {},
                "spec": {"ports": [{"port": 80, "targetPort": 0}]}, "status": {"loadBalancer": {}}}),
        );
        check(
            "",
            "ConfigMap",
            json!({"metadata": {"name": "a", "labels": {}}, "data": {"k": ""}, "immutable": false, "nope": 1}),
            json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "immutable": false, "data": {"k": ""}}),
        );
    }

    #[test]
    fn unknown_fields_are_named_with_their_path() {
        let object = json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "imagee": "b"}]}}}});
        let unknown = canonical(&object, kind("apps", "Deployment").unwrap()).unwrap().unknown;
        assert_eq!(unknown, ["spec.template.spec.containers[0].imagee"]);
    }

    #[test]
    fn a_blank_object_has_what_the_type_always_writes() {
        assert_eq!(
            blank(kind("apps", "Deployment").unwrap()),
            json!({"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {},
                "spec": {"selector": null, "template": {"metadata": {}, "spec": {"containers": null}}, "strategy": {}},
                "status": {}})
        );
    }

    fn check(group: &str, name: &str, object: Value, expected: Value) {
        assert_eq!(canonical(&object, kind(group, name).unwrap()).unwrap().object, expected);
    }
}
