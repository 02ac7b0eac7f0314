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
    let ids: Vec<&str> = ids.into_iter().collect();
    let rules: Vec<Value> = ids.iter().map(|id| rule(id, findings)).collect();
    let results: Vec<Value> = findings.iter().map(|(path, finding)| result(path, finding, &ids)).collect();
    let driver = json!({
        "name": "wild package lint",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": rules,
    });
    let run = json!({"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results});
    json!({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})
}

/// Describes a rule. What another step found has no entry of its own in the table, so its first message stands for it.
fn rule(id: &str, findings: &[(String, Diagnostic)]) -> Value {
    let first = findings.iter().map(|(_, finding)| finding).find(|finding| finding.id == id);
    let (finds, fix, severity) = match (rule_of(id), first) {
        (Some(rule), _) => (rule.finds, rule.fix, rule.publishing),
        (None, Some(finding)) => (finding.message.as_str(), finding.hint.as_str(), finding.severity),
        (None, None) => (id, "", Severity::Error),
    };
    let help = if fix.is_empty() { finds } else { fix };
    json!({
        "id": id,
        "shortDescription": {"text": finds},
        "help": {"text": help},
        "defaultConfiguration": {"level": level(severity)},
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn result(path: &str, finding: &Diagnostic, ids: &[&str]) -> Value {
    let artifact = json!({"uri": encoded(path.trim_start_matches("./"))});
    // A scanner shows nothing without a line; a finding about a whole file stands on its first.
    let region = match (finding.line.max(1), finding.column) {
        (line, 0) => json!({"startLine": line}),
        (line, column) => json!({"startLine": line, "startColumn": column}),
    };
    let place = json!({"artifactLocation": artifact, "region": region});
    let message = if finding.hint.is_empty() {
        finding.message.clone()
    } else {
        format!("{}; {}", finding.message, finding.hint)
    };
    json!({
        "ruleId": finding.id,
        "ruleIndex": ids.iter().position(|id| *id == finding.id),
        "level": level(finding.severity),
        "message": {"text": message},
        "locations": [{"physicalLocation": place}],
    })
}

/// Returns a path as a relative address.
fn encoded(path: &str) -> String {
    path.split('/').map(crate::cli::client::encode).collect::<Vec<_>>().join("/")
}
