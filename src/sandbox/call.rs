//! A request as the API understands it: what it is about, and what it asks for.
//!
//! Not here: how it is answered (`server.rs`).

use std::collections::BTreeMap;

use serde_json::json;

use crate::sandbox::failure::Failure;
use crate::schema::{Kind, Scope, kinds};

/// A request whose path names objects.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) kind: &'static Kind,
    /// Namespace of the path; empty for cluster-scoped kinds and for all namespaces.
    pub(crate) namespace: String,
    /// Name of the path; empty for a whole kind.
    pub(crate) name: String,
    pub(crate) subresource: String,
    pub(crate) query: Query,
    pub(crate) form: Form,
    pub(crate) user_agent: String,
    pub(crate) content_type: String,
}

/// In which form objects are returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Whole,
    /// Metadata of one object.
    Metadata,
    /// Metadata of a list.
    MetadataList,
}

/// Parameters of a request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Query(BTreeMap<String, String>);

/// What a path leads to.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Health,
    Version,
    CoreVersions,
    CoreKinds,
    Groups,
    Group(String),
    Kinds(String, String),
    Objects(&'static Kind, String, String, String),
    /// A path below a known group version that names no kind.
    UnknownKind,
    Nowhere,
}

/// How unknown fields are answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Strictness {
    Strict,
    Lenient,
}

/// Whether a write is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Persistence {
    Keep,
    DryRun,
}

impl Query {
    /// Reads the part of a URL behind the question mark.
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(&key.replace('+', " ")), decode(&value.replace('+', " ")))
        });
        Self(pairs.collect())
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    pub(crate) fn is_set(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    pub(crate) fn is_true(&self, key: &str) -> bool {
        matches!(self.text(key), "true" | "1" | "True" | "TRUE" | "t")
            || (self.is_set(key) && self.text(key).is_empty())
    }

    pub(crate) fn number(&self, key: &str) -> Result<Option<u64>, Failure> {
        match self.text(key) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                Failure::internal(format!(
                    "{key}: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
                ))
            }),
        }
    }
}

impl Call {
    /// Returns who writes: the parameter, or the program's name before the slash in the user agent.
    pub(crate) fn manager(&self) -> String {
        match self.query.text("fieldManager") {
            "" => self.user_agent.split('/').next().unwrap_or("").chars().take(128).collect(),
            manager => manager.to_owned(),
        }
    }

    /// Returns whether the write is kept; a refusal names the options of this sort of request.
    pub(crate) fn persistence(&self, options: &str) -> Result<Persistence, Failure> {
        match self.query.text("dryRun") {
            "" => Ok(Persistence::Keep),
            "All" => Ok(Persistence::DryRun),
            other => {
                let cause = super::failure::Cause::unsupported("dryRun", &json!([other]), &["All"]);
                Err(Failure::invalid_options(options, &cause))
            }
        }
    }

    pub(crate) fn strictness(&self) -> Strictness {
        if self.query.text("fieldValidation") == "Strict" { Strictness::Strict } else { Strictness::Lenient }
    }
}

/// Returns what a path leads to.
pub(crate) fn place(path: &str) -> Place {
    // A slash ends a part, however it is written.
    let path = decode(path);
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        ["readyz" | "livez" | "healthz", ..] => Place::Health,
        ["version"] => Place::Version,
        ["api"] => Place::CoreVersions,
        ["api", "v1"] => Place::CoreKinds,
        ["api", "v1", rest @ ..] => objects("", "v1", rest),
        ["apis"] => Place::Groups,
        ["apis", group] if served(group, None) => Place::Group((*group).to_owned()),
        ["apis", group, version] if served(group, Some(version)) => {
            Place::Kinds((*group).to_owned(), (*version).to_owned())
        }
        ["apis", group, version, rest @ ..] if served(group, Some(version)) => objects(group, version, rest),
        _ => Place::Nowhere,
    }
}

/// Returns the kinds that the sandbox keeps objects of.
pub(crate) fn served_kinds() -> impl Iterator<Item = &'static Kind> {
    kinds().iter().filter(|kind| kind.structure.is_some())
}

fn served(group: &str, version: Option<&str>) -> bool {
    served_kinds().any(|kind| kind.group == group && version.is_none_or(|version| kind.version == version))
}

fn objects(group: &str, version: &str, rest: &[&str]) -> Place {
    let find = |plural: &str| {
        served_kinds().find(|kind| kind.group == group && kind.version == version && kind.plural == plural)
    };
    let made = |kind: Option<&'static Kind>, namespace: &str, name: &str, subresource: &str| match kind {
        Some(kind) => Place::Objects(kind, namespace.to_owned(), name.to_owned(), subresource.to_owned()),
        None => Place::UnknownKind,
    };
    let scoped = |plural: &str, scope: Scope| find(plural).filter(|kind| kind.scope == scope);
    match rest {
        [plural] => made(find(plural), "", "", ""),
        ["namespaces", name, sub @ ("status" | "finalize")] if group.is_empty() => {
            made(find("namespaces"), "", name, sub)
        }
        ["namespaces", _, _, ..] => match rest {
            [_, namespace, plural] => made(scoped(plural, Scope::Namespaced), namespace, "", ""),
            [_, namespace, plural, name] => made(scoped(plural, Scope::Namespaced), namespace, name, ""),
            [_, namespace, plural, name, sub] => made(scoped(plural, Scope::Namespaced), namespace, name, sub),
            _ => Place::UnknownKind,
        },
        [plural, name] => made(scoped(plural, Scope::Cluster), "", name, ""),
        [plural, name, sub] => made(scoped(plural, Scope::Cluster), "", name, sub),
        _ => Place::UnknownKind,
    }
}

/// Returns the form that an `Accept` header asks for.
pub(crate) fn form(accept: &str) -> Form {
    let first = accept.split(',').next().unwrap_or("");
    let wants = |name: &str| first.split(';').any(|part| part.trim().strip_prefix("as=") == Some(name));
    match first.contains("g=meta.k8s.io") {
        true if wants("PartialObjectMetadata") => Form::Metadata,
        true if wants("PartialObjectMetadataList") => Form::MetadataList,
        _ => Form::Whole,
    }
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
                let high = digit();
                let low = digit();
                if let (Some(high), Some(low)) = (high, low) {
                    bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                }
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Form, Place, Query, form, place};

    #[test]
    fn paths_lead_to_kinds_objects_and_subresources() {
        check("/api/v1/namespaces", "namespaces   ");
        check("/api/v1/namespaces/a", "namespaces  a ");
        check("/api/v1/namespaces/a/finalize", "namespaces  a finalize");
        check("/api/v1/namespaces/a/configmaps", "configmaps a  ");
        check("/api/v1/configmaps", "configmaps   ");
        check("/apis/apps/v1/namespaces/a/deployments/b/scale", "deployments a b scale");
        check("/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Aadmin", "clusterroles  system:admin ");
        check("/apis/rbac.authorization.k8s.io/v1/clusterroles/a+b%20c%3Fd", "clusterroles  a+b c?d ");
        check("/api/v1/namespaces/a/configmaps/b%2Fc", "configmaps a b c");
        check("/api/v1/configmaps/b", "unknown kind");
        check("/api/v1/namespaces/a/nodes", "unknown kind");
        check("/apis/apps/v2/deployments", "nowhere");
    }

    #[test]
    fn parameters_are_decoded() {
        let query = Query::parse("labelSelector=a%3Db%2Cc&watch=true&force");
        assert_eq!(query.text("labelSelector"), "a=b,c");
        assert!(query.is_true("watch") && query.is_true("force") && !query.is_true("dryRun"));
    }

    #[test]
    fn the_first_accepted_form_counts() {
        let partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        assert_eq!(form(partial), Form::Metadata);
        assert_eq!(form(&format!("application/json,{partial}")), Form::Whole);
        assert_eq!(form("application/json;as=Table;g=meta.k8s.io;v=v1,application/json"), Form::Whole);
    }

    fn check(path: &str, expected: &str) {
        let text = match place(path) {
            Place::Objects(kind, namespace, name, sub) => format!("{} {namespace} {name} {sub}", kind.plural),
            Place::UnknownKind => "unknown kind".to_owned(),
            Place::Nowhere => "nowhere".to_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(text, expected, "{path}");
    }
}
