//! Format. Findings as SARIF 2.1.0, which code scanners of forges read.
//!
//! Not here: which findings there are.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::model::{Diagnostic, Severity};
use crate::package::lint::rule_of;

/// Address of the schema that a log follows.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Returns the log of one run; each finding comes with its path.
pub(super) fn log(findings: &[(String, Diagnostic)]) -> Value {
    let ids: BTreeSet<&str> = findings.iter().map(|(_, finding)| finding.id.as_str()).collect();
    let rules: Vec<Value> = ids
        .into_iter()
        .map(|id| {
            let fix = rule_of(id).map_or("", |rule| rule.fix);
            json!({"id": id, "help": {"text": if fix.is_empty() { id } else { fix }}})
        })
        .collect();
    let results: Vec<Value> = findings.iter().map(|(path, finding)| result(path, finding)).collect();
    let driver = json!({"name": "wild package lint", "version": env!("CARGO_PKG_VERSION"), "rules": rules});
    json!({"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]})
}

fn result(path: &str, finding: &Diagnostic) -> Value {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    };
    let artifact = json!({"uri": path.trim_start_matches("./")});
    let place = match (finding.line, finding.column) {
        (0, _) => json!({"artifactLocation": artifact}),
        (line, 0) => json!({"artifactLocation": artifact, "region": {"startLine": line}}),
        (line, column) => {
            json!({"artifactLocation": artifact, "region": {"startLine": line, "startColumn": column}})
        }
    };
    let message = if finding.hint.is_empty() {
        finding.message.clone()
    } else {
        format!("{}; {}", finding.message, finding.hint)
    };
    json!({
        "ruleId": finding.id,
        "level": level,
        "message": {"text": message},
        "locations": [{"physicalLocation": place}],
    })
}
