//! Prints what became of a change: the preview of a dry run, the operation that began or ended.
//!
//! Not here: asking for it (`wait.rs`).

use serde_json::Value;

use super::error::ExitCode;
use super::format::Document;
use super::json::{count, list, object, text};
use super::session::Session;
use super::wait::{Asked, code_of, commit_line};

/// What follows a change that was made, for people.
pub(super) struct Next<'a> {
    /// Line after the end of the operation; empty for none.
    pub(super) done: &'a str,
    /// Line after an end that needs a decision; empty for none.
    pub(super) undecided: &'a str,
}

impl Session<'_> {
    /// Prints what became of a change and returns how the command ends.
    pub(super) fn report(&mut self, asked: Asked, next: &Next<'_>) -> ExitCode {
        match asked {
            Asked::Preview(preview) => self.preview(preview),
            Asked::Begun(begun) => {
                let line = format!("Begun. Watch: wild operation show {}", text(&begun, "operation_id"));
                self.print(Document { kind: "Operation", value: begun, items: None }, |_| String::new());
                self.note(&line);
                ExitCode::Done
            }
            Asked::Ended(operation) => self.ended(operation, next),
        }
    }

    fn ended(&mut self, operation: Value, next: &Next<'_>) -> ExitCode {
        let code = code_of(&operation);
        self.print(Document { kind: "Operation", value: operation, items: None }, people);
        let line = if code == ExitCode::Decision { next.undecided } else { next.done };
        if !line.is_empty() && self.is_for_people() && code != ExitCode::Blocked {
            self.note(line);
        }
        code
    }

    fn preview(&mut self, preview: Value) -> ExitCode {
        self.print(Document { kind: "Preview", value: preview, items: None }, |preview| {
            let mut text = proposal(preview.get("proposal").unwrap_or(&Value::Null));
            text.push_str(&plan(preview.get("plan").unwrap_or(&Value::Null)));
            text
        });
        self.note("Nothing was changed.");
        ExitCode::Done
    }
}

/// Returns an operation that ended, for people.
fn people(operation: &Value) -> String {
    let mut lines: String = text(operation, "message").lines().map(|line| format!("  {line}\n")).collect();
    for outcome in list(operation, "outcomes") {
        let name = outcome.get("object").map(object).unwrap_or_default();
        if text(outcome, "effect") != "Unchanged" {
            lines.push_str(&format!(
                "  {:<10}  {name}  {}",
                text(outcome, "effect").to_lowercase(),
                text(outcome, "message")
            ));
            lines.truncate(lines.trim_end().len());
            lines.push('\n');
        }
    }
    if text(operation, "outcome") == "changed" {
        lines.push_str(&commit_line(operation));
    }
    lines
}

/// Returns what a request would commit, for people.
pub(super) fn proposal(proposal: &Value) -> String {
    let mut lines = String::new();
    for line in list(proposal, "summary").iter().filter_map(Value::as_str) {
        lines.push_str(&format!("  {line}\n"));
    }
    // What a newer version breaks is told before what it does.
    for finding in list(proposal, "breaking") {
        lines.push_str(&format!("  {}  {}\n", text(finding, "id"), text(finding, "message")));
        if !text(finding, "hint").is_empty() {
            lines.push_str(&format!("       decide: {}\n", text(finding, "hint")));
        }
    }
    for change in list(proposal, "changes") {
        lines.push_str(&format!("  {} {}\n", text(change, "sign"), text(change, "path")));
    }
    for conflict in list(proposal, "conflicts") {
        lines.push_str(&super::app::conflict_lines(conflict));
    }
    lines
}

/// Returns a plan, for people; what it says is made by the code that makes the plan itself.
pub(super) fn plan(plan: &Value) -> String {
    if plan.is_null() {
        return String::new();
    }
    let body: String = text(plan, "text").lines().map(|line| format!("  {line}\n")).collect();
    if body.is_empty() && count(plan, "actions") == 0 { "  nothing to do in the cluster\n".to_owned() } else { body }
}

/// Returns whether a plan would change, hold back or report anything.
pub(super) fn is_empty(plan: &Value) -> bool {
    ["actions", "blocked", "drift", "leaving"].iter().all(|key| list(plan, key).is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_operation_tells_its_summary_its_effects_and_its_commit() {
        let operation = json!({"message": "ghost 5.0 added", "outcome": "changed", "commit": "0123456789abcdef",
            "outcomes": [{"object": {"kind": "Service", "name": "ghost", "namespace": "ghost"}, "effect": "Created", "message": ""},
                         {"object": {"kind": "Secret", "name": "s"}, "effect": "Unchanged", "message": ""}]});
        let expected = "  ghost 5.0 added\n  created     Service/ghost (ghost)\n  commit  0123456\n";
        assert_eq!(people(&operation), expected);
    }

    #[test]
    fn a_plan_is_empty_only_if_nothing_would_happen_and_nothing_is_held_back() {
        assert!(is_empty(&json!({"actions": [], "unchanged": 3})));
        assert!(!is_empty(&json!({"actions": [], "blocked": [{}]})));
    }
}
