//! Pure. What the author of an object said becomes of it when nobody wants it any more.
//!
//! Not here: what follows from it (`plan::prune`).

use serde_json::Value;

use super::Object;
use super::managed::own;

/// Annotation by which an author says what becomes of an object that nobody wants any more.
pub const PRUNE: &str = "rewild.dev/prune";

/// What may stand there.
pub const PRUNE_WORDS: [&str; 2] = ["keep", "allow"];

/// What becomes of an object that nobody wants any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prune {
    /// What becomes of all of its kind.
    ByKind,
    /// It stays.
    Keep,
    /// It may go although its kind is protected, once a person agreed.
    Allow,
}

impl Prune {
    /// Returns what the annotation of a live object says. Anybody may keep an object; that it may go counts only if we applied it, because the
    /// revision that holds the object no longer says anything.
    pub fn of(object: &Object) -> Self {
        match object.annotation(PRUNE) {
            Some("keep") => Self::Keep,
            Some("allow") if is_ours(object) => Self::Allow,
            _ => Self::ByKind,
        }
    }
}

/// Returns whether the annotation is a field of ours.
fn is_ours(object: &Object) -> bool {
    let entry = own(object.at(&["metadata", "managedFields"]));
    let annotations = entry.and_then(|entry| entry.pointer("/fieldsV1/f:metadata/f:annotations"));
    annotations.and_then(Value::as_object).is_some_and(|fields| fields.contains_key(&format!("f:{PRUNE}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(word: &str, manager: &str) -> Object {
        let fields = json!({"f:metadata": {"f:annotations": {"f:rewild.dev/prune": {}}}});
        Object(
            json!({"kind": "PersistentVolumeClaim", "metadata": {
                "annotations": {PRUNE: word},
                "managedFields": [{"manager": manager, "operation": "Apply", "fieldsV1": fields}],
            }})
            .as_object()
            .cloned()
            .unwrap(),
        )
    }

    #[test]
    fn anybody_may_keep_an_object_and_only_its_author_lets_it_go() {
        let said = [("keep", "wild"), ("keep", "kubectl"), ("allow", "wild"), ("allow", "kubectl"), ("yes", "wild")];
        let meant = said.map(|(word, manager)| Prune::of(&object(word, manager)));
        assert_eq!(meant, [Prune::Keep, Prune::Keep, Prune::Allow, Prune::ByKind, Prune::ByKind]);
    }
}
