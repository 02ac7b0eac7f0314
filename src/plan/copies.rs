//! Pure. Which Secrets of other namespaces an app needs copies of: certificates that it names, that it has not, and that apps share.
//!
//! A copy is an object of the app like any other. Not here: reading the Secret that it is a copy of (`observe`).

use std::collections::BTreeSet;

use super::action::Plan;
use super::snapshot::Snapshot;
use crate::health::HealthState;
use crate::model::{Object, ObjectId, SharedSecret};

/// Annotations by which somebody else makes the certificate of an Ingress or Gateway.
const ISSUERS: [&str; 3] = ["cert-manager.io/issuer", "cert-manager.io/cluster-issuer", "kubernetes.io/tls-acme"];

/// A Secret that an app needs a copy of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SecretCopy {
    /// The copy.
    pub copy: ObjectId,
    /// The Secret that it is a copy of.
    pub source: ObjectId,
}

/// Returns the copies that the objects of an app need, in order.
pub fn copies(objects: &[&Object], shared: &[SharedSecret]) -> Vec<SecretCopy> {
    let own: BTreeSet<ObjectId> = objects.iter().copied().flat_map(brought).collect();
    let copy_of = |copy: ObjectId| {
        let SharedSecret { namespace, name } = shared.iter().find(|shared| shared.name == copy.name)?;
        let source = ObjectId::new("", "Secret", namespace, name);
        (source != copy).then_some(SecretCopy { copy, source })
    };
    let named: BTreeSet<ObjectId> = objects.iter().copied().flat_map(named).filter(|id| !own.contains(id)).collect();
    named.into_iter().filter_map(copy_of).collect()
}

/// Returns what the annotation on a copy says: which incarnation of what it was taken from.
pub fn origin(source: &ObjectId, uid: &str) -> String {
    format!("{}/{}@{uid}", source.namespace, source.name)
}

/// Tells of copies that cannot be made now: the app runs all the same, without the certificate or with the last one.
pub(super) fn warn(snapshot: &Snapshot, plan: &mut Plan) {
    plan.notes.extend(snapshot.awaited.values().cloned());
    if let Some(first) = snapshot.awaited.values().next()
        && plan.health.state == HealthState::Healthy
        && plan.health.reason.is_empty()
    {
        plan.health.reason.clone_from(first);
    }
}

/// Returns the Secret that an object is, or that comes of it.
fn brought(object: &Object) -> Option<ObjectId> {
    match (object.group(), object.kind()) {
        ("", "Secret") => Some(object.id()),
        ("cert-manager.io", "Certificate") => {
            let name = object.at(&["spec", "secretName"])?.as_str()?;
            Some(ObjectId::new("", "Secret", object.namespace(), name))
        }
        _ => None,
    }
}

/// Returns the Secrets in its own namespace that an Ingress or Gateway takes certificates from.
fn named(object: &Object) -> Vec<ObjectId> {
    let namespace = object.namespace();
    if namespace.is_empty() || ISSUERS.iter().any(|key| object.annotation(key).is_some()) {
        return Vec::new();
    }
    let items = |path: &[&str]| object.at(path).and_then(serde_json::Value::as_array).into_iter().flatten();
    let names: Vec<&str> = match (object.group(), object.kind()) {
        ("networking.k8s.io" | "extensions", "Ingress") => {
            items(&["spec", "tls"]).filter_map(|tls| tls.get("secretName")?.as_str()).collect()
        }
        ("gateway.networking.k8s.io", "Gateway") => items(&["spec", "listeners"])
            .filter_map(|listener| listener.pointer("/tls/certificateRefs")?.as_array())
            .flatten()
            .filter(|reference| {
                let is = |key: &str, usual: &str| reference.get(key).is_none_or(|value| value == usual);
                is("group", "") && is("kind", "Secret") && is("namespace", namespace)
            })
            .filter_map(|reference| reference.get("name")?.as_str())
            .collect(),
        _ => Vec::new(),
    };
    names.into_iter().map(|name| ObjectId::new("", "Secret", namespace, name)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::plan::marks::{COPIED_FROM, PREFIX};

    fn check(objects: &[Value], expected: &[&str]) {
        let objects: Vec<Object> = objects.iter().cloned().map(|it| Object::from_value(it).unwrap()).collect();
        let shared = ["cert-manager/wild-tls", "cert-manager/house-tls", "other/wild-tls"];
        let shared = shared.map(|text| SharedSecret::try_from(text.to_owned()).unwrap());
        let copies = copies(&objects.iter().collect::<Vec<_>>(), &shared);
        let told: Vec<String> = copies.iter().map(|it| format!("{} <- {}", it.copy, it.source)).collect();
        assert_eq!(told, expected);
    }

    fn ingress(namespace: &str, secret: &str) -> Value {
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web", "namespace": namespace},
            "spec": {"tls": [{"hosts": ["a.example.org"]}, {"hosts": ["b.example.org"], "secretName": secret}]}})
    }

    fn gateway(reference: Value) -> Value {
        json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "web", "namespace": "blog"},
            "spec": {"listeners": [{"name": "plain"}, {"name": "tls", "tls": {"certificateRefs": [reference]}}]}})
    }

    #[test]
    fn a_shared_certificate_that_an_ingress_names_is_copied_next_to_it() {
        check(
            &[ingress("blog", "wild-tls"), ingress("shop", "house-tls"), ingress("blog", "wild-tls")],
            &[
                "Secret blog/wild-tls <- Secret cert-manager/wild-tls",
                "Secret shop/house-tls <- Secret cert-manager/house-tls",
            ],
        );
    }

    #[test]
    fn what_is_not_shared_or_lies_there_already_is_not_copied() {
        check(&[ingress("blog", "blog-tls"), ingress("cert-manager", "wild-tls"), ingress("", "wild-tls")], &[]);
    }

    #[test]
    fn what_the_app_brings_itself_is_not_copied() {
        let secret = |namespace: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "wild-tls", "namespace": namespace}});
        check(&[ingress("blog", "wild-tls"), secret("blog")], &[]);
        check(
            &[ingress("blog", "wild-tls"), secret("shop")],
            &["Secret blog/wild-tls <- Secret cert-manager/wild-tls"],
        );
        let certificate = json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate",
            "metadata": {"name": "c", "namespace": "blog"}, "spec": {"secretName": "wild-tls"}});
        check(&[ingress("blog", "wild-tls"), certificate], &[]);
        let mut issued = ingress("blog", "wild-tls");
        issued["metadata"]["annotations"] = json!({"cert-manager.io/cluster-issuer": "letsencrypt"});
        check(&[issued], &[]);
    }

    #[test]
    fn a_gateway_names_certificates_of_its_own_namespace() {
        let found = &["Secret blog/wild-tls <- Secret cert-manager/wild-tls"];
        check(&[gateway(json!({"name": "wild-tls"}))], found);
        check(&[gateway(json!({"name": "wild-tls", "kind": "Secret", "group": "", "namespace": "blog"}))], found);
        check(&[gateway(json!({"name": "wild-tls", "namespace": "cert-manager"}))], &[]);
        check(&[gateway(json!({"name": "wild-tls", "kind": "Other"}))], &[]);
    }

    #[test]
    fn a_place_of_a_shared_secret_is_a_namespace_and_a_name() {
        for text in ["wild-tls", "/wild-tls", "cert-manager/", "a/b/c", "a/../b", "A/b", "../b"] {
            assert!(SharedSecret::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn the_annotation_is_one_of_ours() {
        assert!(COPIED_FROM.starts_with(PREFIX));
        let source = ObjectId::new("", "Secret", "cert-manager", "wild-tls");
        assert_eq!(origin(&source, "u1"), "cert-manager/wild-tls@u1");
    }
}
