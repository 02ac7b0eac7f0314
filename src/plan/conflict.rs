//! Pure. What to do when the server says that fields of an apply belong to other managers.
//!
//! Not here: the request (`apply`).

use super::owner;
use super::yields::Yields;
use crate::model::Object;

/// What to do about a conflict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConflictVerdict {
    /// Send the same apply once more with force; git is the truth. Some fields are left out, by their keys.
    TakeOver {
        /// The fields that stay with who holds them.
        leaves_out: Vec<Vec<String>>,
    },
    /// Send it once more without these fields and without force: all of them may stay with who holds them.
    Yield {
        /// The fields, by their keys.
        leaves_out: Vec<Vec<String>>,
    },
    /// Leave the object: another tool believes that it owns it, and both would write for ever.
    ForeignOwner {
        /// The tool's name.
        tool: String,
    },
}

/// Returns what to do about the fields that a conflict names, each with the manager that holds it.
pub fn conflict_verdict(payload: &Object, yields: &Yields, fields: &[(&str, &str)]) -> ConflictVerdict {
    if let Some(tool) = fields.iter().find_map(|(_, manager)| owner::tool_of_manager(manager)) {
        return ConflictVerdict::ForeignOwner { tool: tool.to_owned() };
    }
    let leaves_out: Vec<Vec<String>> =
        fields.iter().filter_map(|(field, manager)| yields.leaves(payload, field, manager)).collect();
    if leaves_out.len() == fields.len() {
        ConflictVerdict::Yield { leaves_out }
    } else {
        ConflictVerdict::TakeOver { leaves_out }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::Timestamp;

    #[test]
    fn fields_are_taken_from_people_left_to_autoscalers_and_not_touched_in_what_tools_own() {
        let web = json!({"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 2, "paused": false}});
        let web = Object::from_value(web).unwrap();
        let yields = Yields::of(&web, &[], Timestamp(0));
        let replicas = vec![vec!["spec".to_owned(), "replicas".to_owned()]];
        let check = |fields: &[(&str, &str)], expected: ConflictVerdict| {
            assert_eq!(conflict_verdict(&web, &yields, fields), expected);
        };
        let person = (".spec.paused", "kubectl-edit");
        check(&[person], ConflictVerdict::TakeOver { leaves_out: Vec::new() });
        let scaler = (".spec.replicas", "kube-controller-manager");
        check(&[scaler], ConflictVerdict::Yield { leaves_out: replicas.clone() });
        check(&[person, scaler], ConflictVerdict::TakeOver { leaves_out: replicas });
        check(
            &[person, (".spec.replicas", "kustomize-controller")],
            ConflictVerdict::ForeignOwner { tool: "Flux".into() },
        );
    }
}
