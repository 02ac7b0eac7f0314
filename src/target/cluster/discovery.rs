//! Paths of kinds: which plural a kind has and whether it lives in a namespace, asked once per group version.
//!
//! Not here: what kinds mean (`schema`).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::call::{Call, DISCOVERY_DEADLINE, Form};
use super::{Inner, Kind, locked};
use crate::base::escaped;
use crate::health;
use crate::model::ObjectId;
use crate::schema::NameRule;
use crate::target::address::segment;
use crate::target::{Refusal, RefusalKind};

/// Group of definitions of kinds.
const DEFINITIONS: &str = "apiextensions.k8s.io";
/// How long what a definition says is taken for true: it changes with a new version of its operator.
const DEFINITION_LIMIT: Duration = Duration::from_secs(10 * 60);

/// What is known of kinds, by `apiVersion` and kind.
pub(super) type Kinds = BTreeMap<String, BTreeMap<String, Path>>;

/// Where a kind lives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Path {
    plural: String,
    namespaced: bool,
}

impl Inner {
    /// Returns the path of one object.
    pub(super) async fn object_path(&self, kind: &Kind, namespace: &str, name: &str) -> Result<String, Refusal> {
        if !NameRule::PathSegment.allows(name) || !is_place(namespace) {
            return Err(unaddressable(kind, namespace, name));
        }
        let found = self.kind_path(kind).await?;
        Ok(format!("{}/{}", collection(kind, &found, namespace), segment(name)))
    }

    /// Returns the path of all objects of a kind in a namespace.
    pub(super) async fn collection_path(&self, kind: &Kind, namespace: &str) -> Result<String, Refusal> {
        if !is_place(namespace) {
            return Err(unaddressable(kind, namespace, ""));
        }
        Ok(collection(kind, &self.kind_path(kind).await?, namespace))
    }

    /// Returns the path of all objects of a kind in a namespace, or in all of them if that is empty; nothing if none can be in a namespace.
    pub(super) async fn collection_in(&self, kind: &Kind, namespace: &str) -> Result<Option<String>, Refusal> {
        let found = self.kind_path(kind).await?;
        Ok((namespace.is_empty() || found.namespaced).then(|| collection(kind, &found, namespace)))
    }

    /// Returns the path of all objects of a kind, in every namespace.
    pub(super) async fn list_path(&self, kind: &Kind) -> Result<String, Refusal> {
        Ok(collection(kind, &self.kind_path(kind).await?, ""))
    }

    /// Returns whether the definition of a kind says that its controller tells of its objects. A kind of another server has none.
    pub(super) async fn declares_status(&self, kind: &Kind) -> Result<bool, Refusal> {
        if let Some((known, _)) = locked(&self.spoken).get(kind).filter(|(_, at)| at.elapsed() < DEFINITION_LIMIT) {
            return Ok(*known);
        }
        let plural = self.kind_path(kind).await?.plural;
        let id = ObjectId::new(DEFINITIONS, "CustomResourceDefinition", "", &format!("{plural}.{}", kind.group));
        let definition = self.read(&id, &format!("{DEFINITIONS}/v1"), Form::Full).await?;
        let declares = definition.is_some_and(|it| health::declares_status(&it, &kind.version));
        locked(&self.spoken).insert(kind.clone(), (declares, Instant::now()));
        Ok(declares)
    }

    async fn kind_path(&self, kind: &Kind) -> Result<Path, Refusal> {
        let api_version = kind.api_version();
        if let Some(found) = locked(&self.kinds).get(&api_version).and_then(|kinds| kinds.get(&kind.kind)) {
            return Ok(found.clone());
        }
        // A kind that is not in a known group version may have been added since, so the group version is asked again.
        let kinds = self.discover(kind).await?;
        let found = kinds.get(&kind.kind).cloned();
        locked(&self.kinds).insert(api_version.clone(), kinds);
        found.ok_or_else(|| unknown(kind))
    }

    async fn discover(&self, kind: &Kind) -> Result<BTreeMap<String, Path>, Refusal> {
        let api_version = kind.api_version();
        if !is_version(kind) {
            return Err(unknown(kind));
        }
        let root = if kind.group.is_empty() { "/api" } else { "/apis" };
        let path = format!("{root}/{}", version_path(kind));
        let attempt = format!("ask for the kinds of {api_version}");
        match self.ask(Call::get(attempt, path, DISCOVERY_DEADLINE)).await {
            Ok((_, list)) => Ok(parse(&list)),
            Err(refusal) if refusal.kind == RefusalKind::NotFound => Err(unknown(kind)),
            Err(refusal) => Err(of_group(&kind.group, refusal)),
        }
    }
}

/// Returns what a refusal says of an API group. The core group is the server itself; behind any other another server may stand that is down,
/// and that says nothing of the rest.
pub(super) fn of_group(group: &str, refusal: Refusal) -> Refusal {
    match refusal.kind {
        RefusalKind::Busy if !group.is_empty() => Refusal { kind: RefusalKind::Unserved, ..refusal },
        _ => refusal,
    }
}

fn unknown(kind: &Kind) -> Refusal {
    let message = format!("find kind {} in {}: the server does not know it", kind.kind, kind.api_version());
    Refusal::new(RefusalKind::UnknownKind, message)
}

/// Reads an `APIResourceList`; sub-resources, whose names hold a slash, are left out.
fn parse(list: &Value) -> BTreeMap<String, Path> {
    let resources = list.get("resources").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    resources
        .iter()
        .filter_map(|entry| {
            let plural = entry.get("name")?.as_str()?;
            let kind = entry.get("kind")?.as_str()?;
            let namespaced = entry.get("namespaced")?.as_bool()?;
            (!plural.contains('/')).then(|| (kind.to_owned(), Path { plural: plural.to_owned(), namespaced }))
        })
        .collect()
}

fn collection(kind: &Kind, path: &Path, namespace: &str) -> String {
    let root = if kind.group.is_empty() { "/api" } else { "/apis" };
    let within = if path.namespaced && !namespace.is_empty() {
        format!("/namespaces/{}", segment(namespace))
    } else {
        String::new()
    };
    format!("{root}/{}{within}/{}", version_path(kind), path.plural)
}

/// Returns group and version of a kind as parts of a path.
fn version_path(kind: &Kind) -> String {
    let parts = [&kind.group, &kind.version].map(|part| segment(part));
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

/// Returns whether a server can serve a group and a version of these names.
fn is_version(kind: &Kind) -> bool {
    (kind.group.is_empty() || NameRule::Subdomain.allows(&kind.group)) && NameRule::Label.allows(&kind.version)
}

/// Returns whether a namespace can be named in a path, or none is.
fn is_place(namespace: &str) -> bool {
    namespace.is_empty() || NameRule::PathSegment.allows(namespace)
}

/// Returns the refusal of a name that would lead to something else: a server takes a slash for the end of it, however it is written.
fn unaddressable(kind: &Kind, namespace: &str, name: &str) -> Refusal {
    let id = ObjectId::new(&kind.group, &kind.kind, namespace, name);
    let message = format!("find {}: nothing can have such a name", escaped(&id.to_string()));
    Refusal::new(RefusalKind::Invalid(vec!["metadata.name".to_owned()]), message)
}
