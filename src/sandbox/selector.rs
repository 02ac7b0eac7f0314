//! Label and field selectors of lists and watches.
//!
//! Not here: selectors inside objects, which controllers read (`controllers`).

use serde_json::Value;

use crate::sandbox::failure::Failure;
use crate::schema::Kind;

/// Which objects a list or watch is about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<Requirement>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
}

impl Selector {
    /// Reads the two selectors of a request.
    pub(crate) fn parse(labels: &str, fields: &str, kind: &Kind) -> Result<Self, Failure> {
        let labels = split(labels).iter().map(|part| label_requirement(part)).collect::<Result<_, _>>()?;
        let fields: Vec<Requirement> = split_fields(fields)
            .iter()
            .map(|part| field_requirement(part).ok_or_else(|| bad_field(part)))
            .collect::<Result<_, _>>()?;
        for requirement in &fields {
            if !known_fields(kind).contains(&requirement.key.as_str()) {
                let why = format!("{:?} is not a known field selector: only {}", requirement.key, listed(kind));
                return Err(Failure::bad_request(why));
            }
        }
        Ok(Self { labels, fields })
    }

    /// Returns whether an object is meant.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        let label = |key: &str| object.get("metadata")?.get("labels")?.get(key)?.as_str();
        self.labels.iter().all(|requirement| requirement.matches(label(&requirement.key)))
            && self.fields.iter().all(|requirement| {
                let value =
                    requirement.key.split('.').try_fold(object, |value, step| value.get(step)).and_then(Value::as_str);
                requirement.matches(Some(value.unwrap_or("")))
            })
    }

    /// Returns whether every object is meant.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }
}

impl Requirement {
    fn matches(&self, value: Option<&str>) -> bool {
        match (&self.test, value) {
            (Test::Exists, value) => value.is_some(),
            (Test::Absent, value) => value.is_none(),
            (Test::In(known), Some(value)) => known.iter().any(|it| it == value),
            (Test::In(_), None) => false,
            (Test::NotIn(known), Some(value)) => !known.iter().any(|it| it == value),
            (Test::NotIn(_), None) => true,
        }
    }
}

/// Splits at commas outside of parentheses.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0_u32;
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(letter);
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// Splits field selectors at commas; what follows a backslash is no comma.
fn split_fields(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let Some(last) = parts.last_mut() else { break };
        match letter {
            ',' => parts.push(String::new()),
            '\\' => last.extend([Some(letter), letters.next()].into_iter().flatten()),
            _ => last.push(letter),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns the value of a field selector as it was meant.
fn unescaped(value: &str) -> String {
    let mut letters = value.chars();
    let mut meant = String::new();
    while let Some(letter) = letters.next() {
        meant.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    meant
}

fn label_requirement(part: &str) -> Result<Requirement, Failure> {
    let refuse = |why: String| Failure::bad_request(format!("unable to parse requirement: {why}"));
    if let Some(key) = part.strip_prefix('!') {
        return Ok(Requirement { key: key.trim().to_owned(), test: Test::Absent });
    }
    if let Some((head, values)) = part.strip_suffix(')').and_then(|part| part.split_once('(')) {
        let values = values.split(',').map(|value| value.trim().to_owned()).collect();
        let mut words = head.split_whitespace();
        return match (words.next(), words.next(), words.next()) {
            (Some(key), Some("in"), None) => Ok(Requirement { key: key.to_owned(), test: Test::In(values) }),
            (Some(key), Some("notin"), None) => Ok(Requirement { key: key.to_owned(), test: Test::NotIn(values) }),
            _ => Err(refuse(format!("found '{head}', expected: in, notin, =, ==, !=, gt, lt"))),
        };
    }
    if let Some((key, value)) = part.split_once("!=") {
        return Ok(Requirement { key: key.trim().to_owned(), test: Test::NotIn(vec![value.trim().to_owned()]) });
    }
    match part.split_once('=') {
        Some((key, value)) => {
            let value = value.strip_prefix('=').unwrap_or(value).trim();
            if value.contains('=') {
                return Err(refuse("found '=', expected: identifier".to_owned()));
            }
            Ok(Requirement { key: key.trim().to_owned(), test: Test::In(vec![value.to_owned()]) })
        }
        None if part.contains(char::is_whitespace) => {
            Err(refuse(format!("found '{part}', expected: in, notin, =, ==, !=, gt, lt")))
        }
        None => Ok(Requirement { key: part.to_owned(), test: Test::Exists }),
    }
}

fn field_requirement(part: &str) -> Option<Requirement> {
    if let Some((key, value)) = part.split_once("!=") {
        return Some(Requirement { key: key.to_owned(), test: Test::NotIn(vec![unescaped(value)]) });
    }
    let (key, value) = part.split_once('=')?;
    let value = value.strip_prefix('=').unwrap_or(value);
    Some(Requirement { key: key.to_owned(), test: Test::In(vec![unescaped(value)]) })
}

fn bad_field(part: &str) -> Failure {
    Failure::bad_request(format!("invalid selector: '{part}'; can't understand '{part}'"))
}

fn known_fields(kind: &Kind) -> &'static [&'static str] {
    const NAMES: &[&str] = &["metadata.name", "metadata.namespace"];
    match (kind.group, kind.kind) {
        ("", "Pod") => &[
            "metadata.name",
            "metadata.namespace",
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
        ],
        ("", "Namespace") => &["metadata.name", "metadata.namespace", "status.phase"],
        ("", "Secret") => &["metadata.name", "metadata.namespace", "type"],
        ("", "Service") => &["metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type"],
        ("", "Node") => &["metadata.name", "metadata.namespace", "spec.unschedulable"],
        ("", "Event") => &[
            "metadata.name",
            "metadata.namespace",
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "reason",
            "type",
        ],
        ("events.k8s.io", "Event") => &["metadata.name", "metadata.namespace", "reason", "type"],
        _ => NAMES,
    }
}

fn listed(kind: &Kind) -> String {
    let quoted: Vec<String> = known_fields(kind).iter().map(|it| format!("{it:?}")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Selector;
    use crate::schema::kind;

    #[test]
    fn labels_are_selected_by_value_set_and_presence() {
        check("a=1", true);
        check("a==1,b!=3", true);
        check("a in (1, 2),c notin (x)", true);
        check("a notin (1)", false);
        check("!c,a", true);
        check("c", false);
        check("b=1", false);
        check("", true);
    }

    #[test]
    fn fields_are_selected_by_value() {
        let select = |text: &str| Selector::parse("", text, kind("", "ConfigMap").unwrap());
        let object = json!({"metadata": {"name": "one", "namespace": "x"}});
        assert!(select("metadata.name=one").unwrap().matches(&object));
        assert!(!select("metadata.name!=one,metadata.namespace=x").unwrap().matches(&object));
        assert!(select("status.phase=x").is_err());
    }

    fn check(text: &str, expected: bool) {
        let object = json!({"metadata": {"labels": {"a": "1", "b": "2"}}});
        let selector = Selector::parse(text, "", kind("", "ConfigMap").unwrap()).unwrap();
        assert_eq!(selector.matches(&object), expected, "{text}");
    }
}
