//! What a person needs of a server's words beside the kind of refusal: the rule that an account lacks, the quota that is used up, the
//! service behind a webhook that did not answer.
//!
//! Only such parts of the words are taken as hold no value of an object, so that they are told of Secrets as well. Not here: telling kinds of
//! refusals apart (`refusal`).

use serde_json::Value;

/// A service that a server asks before it takes an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guard {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Returns the rule that an account lacks, as YAML, where a server says that it may not do something: ours, or that of an app.
pub(super) fn missing_rule(message: &str) -> Option<String> {
    let (user, rest) = message.split_once(" cannot ")?;
    let (verb, rest) = rest.split_once(" resource \"")?;
    let (plural, rest) = rest.split_once("\" in API group \"")?;
    let (group, rest) = rest.split_once('"')?;
    let namespace = rest.split_once("in the namespace \"").and_then(|(_, rest)| Some(rest.split_once('"')?.0));
    if ![verb, plural, group, namespace.unwrap_or("")].into_iter().all(is_plain) {
        return None;
    }
    let place = match namespace {
        Some(namespace) => format!("in the namespace {namespace}"),
        None => "at the cluster scope".to_owned(),
    };
    let role = if namespace.is_some() { "Role" } else { "ClusterRole" };
    let rule = format!("- {{apiGroups: [\"{group}\"], resources: [\"{plural}\"], verbs: [\"{verb}\"]}}");
    let who = account(user).unwrap_or_else(|| "our account".to_owned());
    Some(format!("{who} may not {verb} {plural} {place}; what its {role} lacks: {rule}"))
}

/// Returns the service account that a message names last.
fn account(words: &str) -> Option<String> {
    let (_, user) = words.rsplit_once("\"system:serviceaccount:")?;
    let (namespace, name) = user.strip_suffix('"')?.split_once(':')?;
    let is_named = [namespace, name].into_iter().all(|part| !part.is_empty() && is_plain(part));
    is_named.then(|| format!("the service account {namespace}/{name}"))
}

/// Returns what a server says of a quota that is used up: its name, what is asked for, used and limited.
pub(super) fn quota(message: &str) -> Option<&str> {
    message.find("exceeded quota: ").and_then(|start| message.get(start..))
}

/// Returns the webhook that did not answer, and the service behind it unless it lies elsewhere.
pub(super) fn webhook(message: &str) -> Option<(&str, Option<Guard>)> {
    let (_, rest) = message.split_once("failed calling webhook \"")?;
    let (name, rest) = rest.split_once('"').filter(|(name, _)| is_plain(name))?;
    Some((name, service(rest)))
}

/// Returns the service in the address of a webhook, such as `https://guard.system.svc:443/validate`.
fn service(words: &str) -> Option<Guard> {
    let (_, address) = words.split_once("https://")?;
    let host = address.split(['/', ':', '?', '"']).next()?;
    let (name, rest) = host.split_once('.')?;
    let (namespace, rest) = rest.split_once('.')?;
    let is_service = rest == "svc" || rest.starts_with("svc.");
    (is_service && is_plain(name) && is_plain(namespace) && !name.is_empty() && !namespace.is_empty())
        .then(|| Guard { namespace: namespace.to_owned(), name: name.to_owned() })
}

/// What servers say of a field, in words that hold no value; in place of some, what we say.
const SENTENCES: [(&str, &str); 18] = [
    ("field not declared in schema", "field not declared in schema"),
    ("expected string", "expected string"),
    ("expected map", "expected map"),
    ("expected list", "expected list"),
    ("expected numeric", "expected a number"),
    ("expected boolean", "expected boolean"),
    ("duplicate entries for key", "duplicate entries"),
    (
        "a valid config key must consist of",
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    ),
    ("field is immutable when `immutable` is set", "field is immutable when `immutable` is set"),
    ("field is immutable", "field is immutable"),
    ("invalid character", "no JSON"),
    ("unexpected end of JSON input", "no JSON"),
    ("Too long", "too long"),
    ("Required value", "Required value"),
    ("Unsupported value", "Unsupported value"),
    ("Duplicate value", "Duplicate value"),
    ("Forbidden", "Forbidden"),
    ("Invalid value", "Invalid value"),
];
/// Faults that are told.
const MAX_FAULTS: usize = 10;
/// Longest path of a field.
const MAX_FIELD: usize = 200;

/// Returns what a server says of the fields of an object of which no value may be quoted: paths and reasons, and no other word of its own.
pub(super) fn faults(message: &str, causes: &[&Value]) -> Vec<String> {
    let text = |cause: &Value, key: &str| cause.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let of_cause = |cause: &&Value| {
        let field = Some(text(cause, "field")).filter(|field| is_path(field)).unwrap_or_else(|| "a field".to_owned());
        match sentence(&text(cause, "message")) {
            Some(why) => format!("{field}: {why}"),
            None => field,
        }
    };
    let mut faults: Vec<String> = causes.iter().map(of_cause).collect();
    faults.extend(base64_fault(message));
    faults.extend(type_fault(message));
    if let Some((_, fields)) = message.split_once("failed to create typed patch object (") {
        let (_, fields) = fields.split_once("): ").unwrap_or(("", fields));
        faults.extend(fields.lines().filter_map(typed_fault));
    }
    faults.truncate(MAX_FAULTS);
    faults
}

fn sentence(message: &str) -> Option<&'static str> {
    SENTENCES.iter().find(|(theirs, _)| message.contains(theirs)).map(|(_, ours)| *ours)
}

/// Returns whether a text is the path of a field, with keys in brackets.
fn is_path(text: &str) -> bool {
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "-_./[] *".contains(c);
    !text.is_empty() && text.len() <= MAX_FIELD && without_names(text).chars().all(is_of_path)
}

/// Returns a path without what names an item of a list, as in `env[name="A"]`. An item that is named by its whole value stays as it is.
fn without_names(path: &str) -> String {
    let is_name = |text: &str| {
        let is_word = |c: char| c.is_ascii_alphanumeric() || "-_./,=\"".contains(c);
        text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.contains('=') && text.chars().all(is_word)
    };
    let mut parts = path.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |path, part| match part.split_once(']') {
        Some((name, rest)) if is_name(name) => path + rest,
        _ => path + "[" + part,
    })
}

/// Returns what is said of base64, which names no key.
fn base64_fault(message: &str) -> Option<String> {
    const WORDS: &str = "illegal base64 data at input byte ";
    let (_, rest) = message.split_once(WORDS)?;
    let byte: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("{WORDS}{byte}"))
}

/// Returns what is said of a value of another type than its field.
fn type_fault(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("cannot unmarshal ")?;
    let (sort, rest) = rest.split_once(" into Go struct field ")?;
    let (field, rest) = rest.split_once(" of type ")?;
    let wanted = rest.split_whitespace().next()?;
    // A server adds the value to some sorts, as in `number 5`.
    let sort = sort.split_whitespace().next()?;
    let is_told = [sort, field, wanted].into_iter().all(|part| is_path(part) && !part.contains(' '));
    is_told.then(|| format!("cannot unmarshal {sort} into Go struct field {field} of type {wanted}"))
}

/// Returns one line about a field of a patch: its path, and why.
fn typed_fault(line: &str) -> Option<String> {
    let (field, why) = line.trim().split_once(": ")?;
    let why = sentence(why)?;
    is_path(field).then(|| format!("{field}: {why}"))
}

/// Returns whether a part is a word of the API: nothing that breaks out of YAML or of an address.
fn is_plain(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'/' | b'_' | b'*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_an_account_lacks_is_named_as_yaml() {
        let said = "deployments.apps \"web\" is forbidden: User \"wild\" cannot patch resource \"deployments\" in API group \"apps\" in the namespace \"blog\"";
        let told = "our account may not patch deployments in the namespace blog; what its Role lacks: - {apiGroups: [\"apps\"], resources: [\"deployments\"], verbs: [\"patch\"]}";
        assert_eq!(missing_rule(said).as_deref(), Some(told));
        let said = "User \"wild\" cannot create resource \"namespaces\" in API group \"\" at the cluster scope";
        let told = "our account may not create namespaces at the cluster scope; what its ClusterRole lacks: - {apiGroups: [\"\"], resources: [\"namespaces\"], verbs: [\"create\"]}";
        assert_eq!(missing_rule(said).as_deref(), Some(told));
        let said = "User \"system:serviceaccount:blog:wild-apply\" cannot patch resource \"services\" in API group \"\" in the namespace \"blog\"";
        assert!(missing_rule(said).unwrap().starts_with("the service account blog/wild-apply may not patch services"));
        assert_eq!(missing_rule("pods \"x\" is forbidden: exceeded quota: small"), None);
        assert_eq!(missing_rule("cannot patch resource \"a\nb\" in API group \"\" at the cluster scope"), None);
    }

    #[test]
    fn the_path_of_a_field_is_told_with_the_names_of_items_and_without_values() {
        let said = |line: &str| typed_fault(line);
        let field = ".spec.containers[name=\"web\"].env[name=\"DB_PASSWORD\"].value";
        let why = "expected string, got &value.valueUnstructured{Value:7}";
        assert_eq!(said(&format!("{field}: {why}")), Some(format!("{field}: expected string")));
        let port = ".spec.ports[port=80,protocol=\"TCP\"].name";
        assert_eq!(said(&format!("{port}: {why}")), Some(format!("{port}: expected string")));
        for hidden in [".tokens[\"birch\"]", ".tokens[=\"birch\"]", ".a[name=\"b c\"]", ".a[name=\"b\"", "birch!"] {
            assert_eq!(said(&format!("{hidden}: {why}")), None, "{hidden}");
        }
    }

    #[test]
    fn a_quota_is_told_without_what_stands_before_it() {
        let said = "secrets \"k\" is forbidden: exceeded quota: small, requested: count/secrets=1, used: count/secrets=2, limited: count/secrets=2";
        assert!(quota(said).unwrap().starts_with("exceeded quota: small, requested"));
        assert_eq!(quota("forbidden"), None);
    }

    #[test]
    fn a_webhook_that_does_not_answer_is_named_with_its_service() {
        let said = |address: &str| {
            format!(
                "Internal error occurred: failed calling webhook \"guard.example.org\": failed to call webhook: Post \"{address}\": dial tcp: refused"
            )
        };
        let guard = Guard { namespace: "system".into(), name: "guard".into() };
        for address in ["https://guard.system.svc:443/validate?timeout=10s", "https://guard.system.svc.cluster.local/x"]
        {
            assert_eq!(webhook(&said(address)), Some(("guard.example.org", Some(guard.clone()))), "{address}");
        }
        assert_eq!(webhook(&said("https://example.org/x")), Some(("guard.example.org", None)));
        assert_eq!(webhook("Internal error occurred: etcd"), None);
    }
}
