//! Our ApplySet parent: one ConfigMap per instance that names the kinds and namespaces of our objects, so that other tools can list them
//! and a lost store can be rebuilt. It grows before the first object of a kind or namespace is applied.
//!
//! Not here: the label on members (`plan::marks`).

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Method;
use serde_json::{Value, json};

use super::call::{Call, Form, GET_DEADLINE, WRITE_DEADLINE};
use super::{Inner, Kind};
use crate::base::sha256;
use crate::target::{Quoting, Refusal, RefusalKind};

/// How often a parent that somebody else writes at the same time is read again.
const WRITE_ROUNDS: usize = 3;
/// Label that makes an object a parent; kubectl ships this name.
const ID_LABEL: &str = "applyset.kubernetes.io/id";
/// Annotation with the tool that owns the set.
const TOOLING: &str = "applyset.kubernetes.io/tooling";
/// Annotation with the kinds of the members.
const GROUP_KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
/// Annotation with the namespaces of the members beside the parent's own.
const NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";

/// What the parent is known to name.
#[derive(Default)]
pub(super) struct Known {
    kinds: BTreeSet<String>,
    namespaces: BTreeSet<String>,
}

/// Returns the id of the set with this parent: sha256 over its identity, as kubectl computes it.
fn set_id(name: &str, namespace: &str) -> String {
    // The trailing dot stands before the empty group of ConfigMap.
    let digest = sha256(format!("{name}.{namespace}.ConfigMap.").as_bytes());
    format!("applyset-{}-v1", URL_SAFE_NO_PAD.encode(digest.0))
}

impl Inner {
    /// Makes sure that the parent names these kinds and namespaces.
    pub(super) async fn grow_apply_set(
        &self,
        kinds: &BTreeSet<Kind>,
        namespaces: &BTreeSet<String>,
    ) -> Result<(), Refusal> {
        let wanted_kinds: BTreeSet<String> = kinds
            .iter()
            .map(|kind| if kind.group.is_empty() { kind.kind.clone() } else { format!("{}.{}", kind.kind, kind.group) })
            .collect();
        let wanted_namespaces: BTreeSet<String> = namespaces
            .iter()
            .filter(|namespace| !namespace.is_empty() && **namespace != self.control_namespace)
            .cloned()
            .collect();
        // Holding the lock lets passes that wait at the same moment share one write.
        let mut known = self.parent.lock().await;
        if wanted_kinds.is_subset(&known.kinds) && wanted_namespaces.is_subset(&known.namespaces) {
            return Ok(());
        }
        for _ in 0..WRITE_ROUNDS {
            let live = self.read_parent().await?;
            let mut kinds = members(live.as_ref(), GROUP_KINDS);
            let mut namespaces = members(live.as_ref(), NAMESPACES);
            let grown = !wanted_kinds.is_subset(&kinds) || !wanted_namespaces.is_subset(&namespaces) || live.is_none();
            kinds.extend(wanted_kinds.iter().cloned());
            namespaces.extend(wanted_namespaces.iter().cloned());
            if grown {
                match self.write_parent(live.as_ref(), &kinds, &namespaces).await {
                    Err(refusal) if refusal.kind == RefusalKind::Changed => continue,
                    other => other?,
                }
            }
            *known = Known { kinds, namespaces };
            return Ok(());
        }
        Err(Refusal::new(
            RefusalKind::Changed,
            format!("grow the ApplySet {}: somebody else keeps writing it", self.parent_name()),
        ))
    }

    fn parent_name(&self) -> String {
        format!("wild-{}", self.instance)
    }

    fn parent_collection(&self) -> String {
        format!("/api/v1/namespaces/{}/configmaps", self.control_namespace)
    }

    async fn read_parent(&self) -> Result<Option<Value>, Refusal> {
        let name = self.parent_name();
        let path = format!("{}/{name}", self.parent_collection());
        let parent = match self.call(Call::get(format!("read the ApplySet {name}"), path, GET_DEADLINE)).await {
            Ok((_, value)) => value,
            Err(refusal) if refusal.kind == RefusalKind::NotFound => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let tool = annotation(&parent, TOOLING);
        if tool.split('/').next() != Some("wild") {
            let message = format!("use the ApplySet {name}: it belongs to {tool:?}, not to wild");
            return Err(Refusal::new(RefusalKind::Conflict(Vec::new()), message));
        }
        Ok(Some(parent))
    }

    async fn write_parent(
        &self,
        live: Option<&Value>,
        kinds: &BTreeSet<String>,
        namespaces: &BTreeSet<String>,
    ) -> Result<(), Refusal> {
        let name = self.parent_name();
        let join = |set: &BTreeSet<String>| set.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        let mut body = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "namespace": self.control_namespace,
                "labels": {ID_LABEL: set_id(&name, &self.control_namespace), "app.kubernetes.io/managed-by": "wild"},
                "annotations": {
                    TOOLING: concat!("wild/v", env!("CARGO_PKG_VERSION")),
                    GROUP_KINDS: join(kinds),
                    NAMESPACES: join(namespaces),
                },
            },
        });
        let call = |method, path, body, attempt: String| Call {
            attempt,
            method,
            path,
            body: Some((body, "application/json")),
            form: Form::Full,
            quoting: Quoting::Allowed,
            deadline: WRITE_DEADLINE,
        };
        let version = live.and_then(|live| live.get("metadata")?.get("resourceVersion").cloned());
        if let (Some(version), Some(metadata)) = (version, body.get_mut("metadata").and_then(Value::as_object_mut)) {
            metadata.insert("resourceVersion".to_owned(), version);
            let path = format!("{}/{name}?fieldManager=wild-apply-set", self.parent_collection());
            return self.call(call(Method::PUT, path, &body, format!("grow the ApplySet {name}"))).await.map(|_| ());
        }
        self.make_control_namespace().await?;
        let path = format!("{}?fieldManager=wild-apply-set", self.parent_collection());
        self.call(call(Method::POST, path, &body, format!("make the ApplySet {name}"))).await.map(|_| ())
    }

    async fn make_control_namespace(&self) -> Result<(), Refusal> {
        let name = &self.control_namespace;
        let path = format!("/api/v1/namespaces/{name}");
        match self.call(Call::get(format!("read namespace {name}"), path, GET_DEADLINE)).await {
            Ok(_) => return Ok(()),
            Err(refusal) if refusal.kind == RefusalKind::NotFound => {}
            Err(refusal) => return Err(refusal),
        }
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "wild"}}});
        let made = self
            .call(Call {
                attempt: format!("make namespace {name}"),
                method: Method::POST,
                path: "/api/v1/namespaces?fieldManager=wild-apply-set".to_owned(),
                body: Some((&body, "application/json")),
                form: Form::Full,
                quoting: Quoting::Allowed,
                deadline: WRITE_DEADLINE,
            })
            .await;
        match made {
            // Somebody else made it meanwhile, which is as good.
            Err(refusal) if refusal.kind == RefusalKind::Changed => Ok(()),
            other => other.map(|_| ()),
        }
    }
}

fn annotation(object: &Value, key: &str) -> String {
    let found = object.get("metadata").and_then(|metadata| metadata.get("annotations")).and_then(|all| all.get(key));
    found.and_then(Value::as_str).unwrap_or("").to_owned()
}

fn members(parent: Option<&Value>, key: &str) -> BTreeSet<String> {
    let Some(parent) = parent else { return BTreeSet::new() };
    annotation(parent, key).split(',').filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::set_id;

    #[test]
    fn the_id_is_the_one_that_kubectl_computes() {
        assert_eq!(set_id("wild-k3f7q2m5xd", "wild-system"), "applyset-mw2I1HYCUjLDctz_JROMAY8VL-wLNpGkvi3AV_dsE5k-v1");
    }
}
