//! Pure. What to do when the server says that fields of an apply belong to other managers.
//!
//! Not here: the request (`apply`).

use super::owner;

/// What to do about a conflict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConflictVerdict {
    /// Send the same apply once more with force; git is the truth.
    TakeOver,
    /// Leave the object: another tool believes that it owns it, and both would write for ever.
    ForeignOwner {
        /// The tool's name.
        tool: String,
    },
}

/// Returns what to do, given the managers that the conflict names.
pub fn conflict_verdict<'a>(managers: impl IntoIterator<Item = &'a str>) -> ConflictVerdict {
    let tool = managers.into_iter().find_map(owner::tool_of_manager);
    tool.map_or(ConflictVerdict::TakeOver, |tool| ConflictVerdict::ForeignOwner { tool: tool.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::{ConflictVerdict, conflict_verdict};

    #[test]
    fn fields_are_taken_from_people_and_not_from_other_tools() {
        assert_eq!(conflict_verdict(["kubectl-edit", "before-first-apply"]), ConflictVerdict::TakeOver);
        let flux = ConflictVerdict::ForeignOwner { tool: "Flux".into() };
        assert_eq!(conflict_verdict(["kubectl-edit", "kustomize-controller"]), flux);
    }
}
