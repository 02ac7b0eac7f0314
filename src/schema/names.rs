//! Pure. Which names objects and namespaces may have: the rules of the API server, so that a name which no object can have is told with its place
//! instead of by a refusal of the request, or by a request about something else.
//!
//! Not here: sending names (`target`), names of apps and packages (`model`).

use super::kind;
use crate::base::escaped;
use crate::model::Object;

/// Longest name of most kinds.
const MAX_SUBDOMAIN: usize = 253;
/// Longest name of a namespace, and of what becomes one word of a host name.
const MAX_LABEL: usize = 63;
/// Characters of a bad name that are shown.
const MAX_SHOWN: usize = 60;
/// The group whose names may be any part of a path.
const RBAC: &str = "rbac.authorization.k8s.io";
/// Kinds outside of that group whose names are made of other words than host names, such as addresses and names of signers.
const FREE: [(&str, &str); 4] = [
    ("apiregistration.k8s.io", "APIService"),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("certificates.k8s.io", "ClusterTrustBundle"),
    ("networking.k8s.io", "IPAddress"),
];

/// A rule about names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameRule {
    /// One word of a host name.
    Label,
    /// A host name.
    Subdomain,
    /// Any part of a path: what every name of every kind is at least.
    PathSegment,
}

/// Returns the rule for the names of a kind. Of a kind that is not Kubernetes' own nobody knows more than that its names are parts of a path.
pub fn name_rule(group: &str, name: &str) -> NameRule {
    match (group, name) {
        ("", "Namespace" | "Service") => NameRule::Label,
        _ if group == RBAC || FREE.contains(&(group, name)) || kind(group, name).is_none() => NameRule::PathSegment,
        _ => NameRule::Subdomain,
    }
}

impl NameRule {
    /// Returns whether a name is one.
    pub fn allows(self, name: &str) -> bool {
        let is_word = |word: &str| {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            word.starts_with(is_plain) && word.ends_with(is_plain) && word.chars().all(|c| is_plain(c) || c == '-')
        };
        match self {
            Self::Label => name.len() <= MAX_LABEL && is_word(name),
            Self::Subdomain => name.len() <= MAX_SUBDOMAIN && name.split('.').all(is_word),
            Self::PathSegment => !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '%']),
        }
    }

    /// Returns what a name is, as the end of a sentence.
    pub fn told(self) -> &'static str {
        match self {
            Self::Label => "lower case letters, digits and -, at most 63, with a letter or digit at both ends",
            Self::Subdomain => "lower case letters, digits, - and ., at most 253, with a letter or digit around each .",
            Self::PathSegment => "neither empty nor . nor .., and holds no / and no %",
        }
    }
}

/// Returns a bad name as it is shown.
fn shown(name: &str) -> String {
    let shown: String = escaped(name).chars().take(MAX_SHOWN).collect();
    if name.chars().count() > MAX_SHOWN { format!("{shown}…") } else { shown }
}

/// Returns why nothing can have the name, the namespace or the API of an object.
pub fn name_trouble(object: &Object) -> Option<String> {
    let trouble = |field: &str, name: &str, rule: NameRule| {
        format!("has the {field} \"{}\", and one is {}; write another", shown(name), rule.told())
    };
    let group = object.group();
    let is_group = match object.api_version().contains('/') {
        true => NameRule::Subdomain.allows(group),
        false => true,
    };
    if !is_group || !NameRule::Label.allows(object.version()) {
        let shown = shown(object.api_version());
        return Some(format!(
            "has the apiVersion \"{shown}\", and one is VERSION or GROUP/VERSION; write what the kind's API says"
        ));
    }
    let rule = name_rule(group, object.kind());
    if !rule.allows(object.name()) {
        return Some(trouble("metadata.name", object.name(), rule));
    }
    let namespace = object.namespace();
    let is_good = namespace.is_empty() || NameRule::Label.allows(namespace);
    (!is_good).then(|| trouble("metadata.namespace", namespace, NameRule::Label))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A name, and whether a Namespace, a ConfigMap and a Role may have it.
    const NAMES: [(&str, [bool; 3]); 22] = [
        ("a", [true, true, true]),
        ("0", [true, true, true]),
        ("a-b", [true, true, true]),
        ("a.b", [false, true, true]),
        ("A", [false, false, true]),
        ("a_b", [false, false, true]),
        ("-a", [false, false, true]),
        ("a-", [false, false, true]),
        ("a..b", [false, false, true]),
        (".a", [false, false, true]),
        ("a:b", [false, false, true]),
        ("?", [false, false, true]),
        ("a?b=c", [false, false, true]),
        ("a#b", [false, false, true]),
        ("a b", [false, false, true]),
        ("na\u{ef}ve", [false, false, true]),
        ("", [false, false, false]),
        (".", [false, false, false]),
        ("..", [false, false, false]),
        ("a/b", [false, false, false]),
        ("a%2Fb", [false, false, false]),
        ("%", [false, false, false]),
    ];

    #[test]
    fn each_kind_has_the_names_that_the_server_gives_it() {
        let kinds = [("", "Namespace"), ("", "ConfigMap"), (RBAC, "Role")];
        for (name, expected) in NAMES {
            assert_eq!(kinds.map(|(group, kind)| name_rule(group, kind).allows(name)), expected, "{name:?}");
        }
        let long = |count: usize| "a".repeat(count);
        assert!(NameRule::Label.allows(&long(63)) && !NameRule::Label.allows(&long(64)));
        assert!(NameRule::Subdomain.allows(&long(253)) && !NameRule::Subdomain.allows(&long(254)));
        assert_eq!(name_rule("example.org", "Thing"), NameRule::PathSegment);
        assert!(name_rule("apiregistration.k8s.io", "APIService").allows("v1."));
    }

    #[test]
    fn trouble_names_field_and_rule_and_shows_what_is_not_seen() {
        let of = |name: &str, namespace: &str| {
            let value =
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}});
            name_trouble(&Object::from_value(value).unwrap()).unwrap_or_default()
        };
        assert_eq!(of("a", "b"), "");
        assert_eq!(of("a", ""), "");
        let expected = "has the metadata.name \"a\\u{202e}b\", and one is lower case letters, digits, - and ., at most 253, with a \
                        letter or digit around each .; write another";
        assert_eq!(of("a\u{202e}b", "b"), expected);
        assert!(of("a", "b/c").starts_with("has the metadata.namespace \"b/c\", and one is "));
        assert!(of(&"a".repeat(300), "b").chars().count() < 250);
        for (version, is_good) in [
            ("v1", true),
            ("apps/v1", true),
            ("a.b/v1beta1", true),
            ("v1/../x", false),
            ("a/b/c", false),
            ("v1?x", false),
            ("../v1", false),
            ("/v1", false),
        ] {
            let value = json!({"apiVersion": version, "kind": "Thing", "metadata": {"name": "a"}});
            let trouble = name_trouble(&Object::from_value(value).unwrap());
            assert_eq!(trouble.is_none(), is_good, "{version}: {trouble:?}");
        }
    }
}
