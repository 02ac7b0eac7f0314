//! Pure. What else goes with an object that is deleted: what a namespace holds, the objects of a kind, the volume behind a claim.
//!
//! Not here: counting it on the target (`pipeline`), which deletions need a person (`budget`).

use std::collections::BTreeMap;

use crate::model::{Object, ObjectId};

/// Kinds that are named with their numbers in the sentence about a namespace.
const MAX_NAMED: usize = 6;

/// What goes with a deletion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cascade {
    /// A namespace takes what it holds, so many objects of each kind.
    Content(ObjectId, BTreeMap<String, usize>),
    /// A definition takes so many objects of its kind.
    Instances(ObjectId, usize),
    /// A claim takes its volume, by the policy of that; nothing if it has none yet.
    Volume(ObjectId, Option<(String, String)>),
    /// It could not be counted.
    Unknown(ObjectId, String),
}

impl Cascade {
    /// Returns the object that takes something with it.
    pub fn object(&self) -> &ObjectId {
        match self {
            Self::Content(id, _) | Self::Instances(id, _) | Self::Volume(id, _) | Self::Unknown(id, _) => id,
        }
    }

    /// Returns how many objects go along, as far as that is known.
    pub fn count(&self) -> Option<usize> {
        match self {
            Self::Content(_, kinds) => Some(kinds.values().sum()),
            Self::Instances(_, count) => Some(*count),
            Self::Volume(_, volume) => Some(usize::from(volume.as_ref().is_some_and(|(_, policy)| goes_by(policy)))),
            Self::Unknown(..) => None,
        }
    }

    /// Returns the sentence about it, without a full stop.
    pub fn told(&self) -> String {
        let name = self.object().short();
        match self {
            Self::Content(_, kinds) if kinds.is_empty() => format!("{name} is empty"),
            Self::Content(_, kinds) => {
                let named: Vec<String> =
                    kinds.iter().take(MAX_NAMED).map(|(kind, count)| format!("{count} {kind}")).collect();
                let rest: usize = kinds.values().skip(MAX_NAMED).sum();
                let rest = if rest == 0 { String::new() } else { format!(" and {rest} of other kinds") };
                let all: usize = kinds.values().sum();
                format!("{name} takes {} with it: {}{rest}", objects(all), named.join(", "))
            }
            Self::Instances(_, count) => format!("{name} takes {} of its kind with it", objects(*count)),
            Self::Volume(_, None) => format!("{name} has no volume yet"),
            Self::Volume(_, Some((volume, policy))) if goes_by(policy) => {
                format!("{name} takes its volume {volume} with it, by its policy {policy}")
            }
            Self::Volume(_, Some((volume, policy))) => {
                format!("{name} leaves its volume {volume}, by its policy {policy}")
            }
            Self::Unknown(_, why) => format!("what goes with {name} could not be counted: {why}"),
        }
    }
}

/// Returns whether a volume goes with its claim.
fn goes_by(policy: &str) -> bool {
    policy != "Retain"
}

fn objects(count: usize) -> String {
    if count == 1 { "1 object".to_owned() } else { format!("{count} objects") }
}

/// Returns whether the deletion of an object takes others along that git may not name.
pub fn takes_others(id: &ObjectId) -> bool {
    matches!(
        (id.group.as_str(), id.kind.as_str()),
        ("", "Namespace" | "PersistentVolumeClaim") | ("apiextensions.k8s.io", "CustomResourceDefinition")
    )
}

/// Returns how many objects of each kind there are.
pub fn by_kind(objects: &[Object]) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for object in objects {
        let count: &mut usize = kinds.entry(object.kind().to_owned()).or_default();
        *count = count.saturating_add(1);
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_along_is_counted_and_told() {
        let check = |cascade: Cascade, count: Option<usize>, expected: &str| {
            assert_eq!((cascade.told(), cascade.count()), (expected.to_owned(), count));
        };
        let namespace = ObjectId::new("", "Namespace", "", "blog");
        let claim = ObjectId::new("", "PersistentVolumeClaim", "blog", "data");
        let definition = ObjectId::new("apiextensions.k8s.io", "CustomResourceDefinition", "", "w.example.org");
        assert!([&namespace, &claim, &definition].into_iter().all(takes_others));
        assert!(!takes_others(&ObjectId::new("", "Secret", "blog", "data")));
        check(Cascade::Content(namespace.clone(), BTreeMap::new()), Some(0), "Namespace/blog is empty");
        let kinds: BTreeMap<String, usize> = [("ConfigMap".to_owned(), 2), ("Secret".to_owned(), 1)].into();
        let told = "Namespace/blog takes 3 objects with it: 2 ConfigMap, 1 Secret";
        check(Cascade::Content(namespace.clone(), kinds), Some(3), told);
        let kinds: BTreeMap<String, usize> = (0..8).map(|number| (format!("K{number}"), 1)).collect();
        let told = "Namespace/blog takes 8 objects with it: 1 K0, 1 K1, 1 K2, 1 K3, 1 K4, 1 K5 and 2 of other kinds";
        check(Cascade::Content(namespace.clone(), kinds), Some(8), told);
        let told = "CustomResourceDefinition/w.example.org takes 1 object of its kind with it";
        check(Cascade::Instances(definition, 1), Some(1), told);
        let volume = |policy: &str| Cascade::Volume(claim.clone(), Some(("pv-1".into(), policy.into())));
        let told = "PersistentVolumeClaim/data takes its volume pv-1 with it, by its policy Delete";
        check(volume("Delete"), Some(1), told);
        let told = "PersistentVolumeClaim/data leaves its volume pv-1, by its policy Retain";
        check(volume("Retain"), Some(0), told);
        check(Cascade::Volume(claim.clone(), None), Some(0), "PersistentVolumeClaim/data has no volume yet");
        let told = "what goes with Namespace/blog could not be counted: no";
        check(Cascade::Unknown(namespace, "no".into()), None, told);
    }

    #[test]
    fn objects_are_counted_by_kind() {
        let object = |kind: &str, name: &str| {
            let value = serde_json::json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}});
            Object::from_value(value).unwrap()
        };
        let found = by_kind(&[object("Secret", "a"), object("ConfigMap", "a"), object("Secret", "b")]);
        assert_eq!(found, [("ConfigMap".to_owned(), 1), ("Secret".to_owned(), 2)].into());
    }
}
