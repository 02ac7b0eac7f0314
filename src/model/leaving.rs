//! Pure. What is known of the deletion of an object that has begun: since when, and which finalizers hold it.
//!
//! Not here: what follows from it (`plan`).

use std::fmt::{self, Display, Formatter};

use serde_json::{Map, Value};

use super::{Editors, Object};

/// Domains of finalizers that the cluster's own controllers serve, with all below them.
const CLUSTER_DOMAINS: [&str; 2] = ["kubernetes.io", "k8s.io"];
/// Finalizers of the cluster that have no domain.
const CLUSTER_NAMES: [&str; 3] = ["foregroundDeletion", "kubernetes", "orphan"];

/// A deletion that has begun.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leaving {
    /// Since when, as the server writes times.
    pub since: String,
    /// What has to go before the object does.
    pub finalizers: Vec<Finalizer>,
}

/// A finalizer of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finalizer {
    /// Its name.
    pub name: String,
    /// The field managers that hold it.
    pub placers: Vec<String>,
}

impl Display for Finalizer {
    /// Writes the finalizer with who placed it, as people read it.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { name, placers } = self;
        let who = if placers.is_empty() { "nobody that the cluster knows".to_owned() } else { placers.join(" and ") };
        write!(f, "finalizer {name}, placed by {who}")
    }
}

impl Leaving {
    /// Returns what an object says of its deletion; nothing if it is not being deleted.
    pub fn of(object: &Object) -> Option<Self> {
        let since = object.at(&["metadata", "deletionTimestamp"]).and_then(Value::as_str)?.to_owned();
        Some(Self { since, finalizers: Finalizer::all(object) })
    }
}

impl Finalizer {
    /// Returns the finalizers of an object, each with the manager that holds it.
    pub fn all(object: &Object) -> Vec<Self> {
        let names = object.at(&["metadata", "finalizers"]).and_then(Value::as_array).into_iter().flatten();
        names
            .filter_map(Value::as_str)
            .map(|name| Self { name: name.to_owned(), placers: placers(object, name) })
            .collect()
    }

    /// Returns whether people put it there, and nobody else holds it.
    pub fn is_of_people(&self, editors: &Editors) -> bool {
        !self.placers.is_empty() && self.placers.iter().all(|manager| editors.include(manager))
    }

    /// Returns whether the cluster's own controllers serve it, whoever placed it: some are put on an object while a person creates it.
    pub fn is_of_cluster(&self) -> bool {
        match self.name.split_once('/') {
            Some((domain, _)) => CLUSTER_DOMAINS
                .iter()
                .any(|own| domain.strip_suffix(own).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))),
            None => CLUSTER_NAMES.contains(&self.name.as_str()),
        }
    }
}

/// Returns the managers that hold a finalizer.
fn placers(object: &Object, name: &str) -> Vec<String> {
    let key = format!("v:{}", Value::from(name));
    let entries = object.at(&["metadata", "managedFields"]).and_then(Value::as_array).into_iter().flatten();
    let holds = |entry: &&Value| {
        let held = entry.pointer("/fieldsV1/f:metadata/f:finalizers").and_then(Value::as_object);
        held.is_some_and(|held: &Map<String, Value>| held.contains_key(&key))
    };
    let managers = entries.filter(holds).filter_map(|entry| entry.get("manager").and_then(Value::as_str));
    managers.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_deletion_names_what_holds_it_and_who_placed_that() {
        let held = json!({"f:metadata": {"f:finalizers": {".": {}, "v:\"example.org/hold\"": {}}}});
        let metadata = json!({"name": "a", "deletionTimestamp": "2026-11-21T10:00:00Z", "finalizers": ["example.org/hold", "b/c"],
            "managedFields": [{"manager": "wild", "fieldsV1": {"f:data": {}}}, {"manager": "operator", "fieldsV1": held}]});
        let mut object = Object::from_value(json!({"kind": "ConfigMap", "metadata": metadata})).unwrap();
        let found = Leaving::of(&object).unwrap();
        let named: Vec<String> =
            found.finalizers.iter().map(|it| format!("{} {}", it.name, it.placers.join("+"))).collect();
        assert_eq!(
            (found.since.as_str(), named.join(", ").as_str()),
            ("2026-11-21T10:00:00Z", "example.org/hold operator, b/c ")
        );
        assert_eq!(found.finalizers[0].to_string(), "finalizer example.org/hold, placed by operator");
        assert_eq!(found.finalizers[1].to_string(), "finalizer b/c, placed by nobody that the cluster knows");
        object.metadata_mut().shift_remove("deletionTimestamp");
        assert_eq!(Leaving::of(&object), None);
    }

    #[test]
    fn a_finalizer_is_of_people_if_only_they_hold_it() {
        let of = |placers: &[&str]| {
            let placers = placers.iter().map(|&name| name.to_owned()).collect();
            Finalizer { name: "a.b/c".to_owned(), placers }
        };
        let plain = Editors::default();
        assert!(of(&["kubectl-edit"]).is_of_people(&plain));
        assert!(!of(&["operator"]).is_of_people(&plain));
        assert!(!of(&["kubectl-edit", "operator"]).is_of_people(&plain));
        assert!(!of(&[]).is_of_people(&plain));
        assert!(of(&["kubectl-edit", "operator"]).is_of_people(&Editors::beside(["oper"])));
    }

    #[test]
    fn a_finalizer_of_the_cluster_is_known_by_its_name() {
        let is_of_cluster = |name: &str| Finalizer { name: name.to_owned(), placers: Vec::new() }.is_of_cluster();
        for name in
            ["kubernetes.io/pvc-protection", "service.kubernetes.io/load-balancer-cleanup", "orphan", "a.k8s.io/b"]
        {
            assert!(is_of_cluster(name), "{name}");
        }
        for name in ["example.org/kubernetes.io", "notkubernetes.io/x", "hold", "kubernetes.io.example.org/x"] {
            assert!(!is_of_cluster(name), "{name}");
        }
    }
}
