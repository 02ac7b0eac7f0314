//! Pure. What to do when the server says that fields of an apply belong to other managers.
//!
//! Not here: the request (`apply`).

use super::owner;
use super::yields::{self, Yields};
use crate::model::{ConflictPolicy, Object};

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
    /// Leave the object until a person decides.
    Hold {
        /// The fields, each with the manager that holds it.
        fields: Vec<(String, String)>,
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
    let (mut leaves_out, mut held) = (Vec::new(), Vec::new());
    for (field, manager) in fields {
        if let Some(keys) = yields.leaves(payload, field, manager) {
            leaves_out.push(keys);
            continue;
        }
        let keys = yields::keys_of(&payload.to_value(), field);
        if yields.is_contested(keys.as_deref().unwrap_or_default(), manager) {
            // What cannot be found in the payload cannot be left out of it.
            match keys.filter(|_| yields.conflicts() == ConflictPolicy::Yield) {
                Some(keys) => leaves_out.push(keys),
                None => held.push(((*field).to_owned(), (*manager).to_owned())),
            }
        }
    }
    if !held.is_empty() {
        return ConflictVerdict::Hold { fields: held };
    }
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
    fn what_a_program_holds_is_left_to_it_or_holds_the_object_back_where_the_settings_say_so() {
        let web = json!({"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 2, "paused": false}});
        let web = Object::from_value(web).unwrap();
        let check = |policy: ConflictPolicy, fields: &[(&str, &str)], expected: ConflictVerdict| {
            let yields = Yields::by(&web, &[], Timestamp(0)).with_conflicts(policy);
            assert_eq!(conflict_verdict(&web, &yields, fields), expected);
        };
        let (person, program) = ((".spec.paused", "kubectl-edit"), (".spec.replicas", "tuner"));
        let leaves_out = vec![vec!["spec".to_owned(), "replicas".to_owned()]];
        check(ConflictPolicy::Force, &[program], ConflictVerdict::TakeOver { leaves_out: Vec::new() });
        check(ConflictPolicy::Yield, &[program], ConflictVerdict::Yield { leaves_out: leaves_out.clone() });
        check(ConflictPolicy::Yield, &[program, person], ConflictVerdict::TakeOver { leaves_out });
        let fields = vec![(".spec.replicas".to_owned(), "tuner".to_owned())];
        check(ConflictPolicy::Block, &[program, person], ConflictVerdict::Hold { fields });
        let fields = vec![(".spec.other".to_owned(), "tuner".to_owned())];
        check(ConflictPolicy::Yield, &[(".spec.other", "tuner")], ConflictVerdict::Hold { fields });
        check(ConflictPolicy::Block, &[person], ConflictVerdict::TakeOver { leaves_out: Vec::new() });
    }

    #[test]
    fn fields_are_taken_from_people_left_to_autoscalers_and_not_touched_in_what_tools_own() {
        let web = json!({"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 2, "paused": false}});
        let web = Object::from_value(web).unwrap();
        let yields = Yields::by(&web, &[], Timestamp(0));
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
