//! Cases of the whole engine: outputs recorded from the real gomplate, and what is ours alone.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Context, has_action, render};

/// Outputs recorded from the real gomplate; the first line of each file names the tool and its version.
const RECORDED: [(&str, &str); 6] = [
    ("builtins", include_str!("../../fixtures/template/builtins.jsonl")),
    ("control", include_str!("../../fixtures/template/control.jsonl")),
    ("definitions", include_str!("../../fixtures/template/definitions.jsonl")),
    ("pipelines", include_str!("../../fixtures/template/pipelines.jsonl")),
    ("printf", include_str!("../../fixtures/template/printf.jsonl")),
    ("syntax", include_str!("../../fixtures/template/syntax.jsonl")),
];

/// One recorded case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    template: String,
    context: Value,
    /// What gomplate prints.
    output: Option<String>,
    /// Whether gomplate fails.
    #[serde(default)]
    error: bool,
    /// The line that gomplate names.
    line: Option<usize>,
    /// Our id where gomplate fails too.
    id: Option<String>,
    /// Our id where we refuse on purpose, whatever gomplate does.
    ours: Option<String>,
}

/// Says how our answer to a case differs from the recorded one.
fn difference(case: &Case) -> Option<String> {
    let answer = render("case", &case.template, &Context::new(case.context.clone()));
    let problem = match (answer, &case.ours) {
        (Err(findings), ours) => {
            let first = findings.first()?;
            let wrong_id = ours.as_ref().or(case.id.as_ref()).is_some_and(|id| *id != first.id);
            let wrong_line = case.error && case.line.is_some_and(|line| line != first.line);
            let unwanted = ours.is_none() && !case.error;
            if !(wrong_id || wrong_line || unwanted) {
                return None;
            }
            format!("we fail: {first} (column {}, {})", first.column, first.subject)
        }
        (Ok(rendered), None) if Some(&rendered.text) == case.output.as_ref() => return None,
        (Ok(rendered), _) => format!("we print {:?}", rendered.text),
    };
    let expected = match &case.output {
        Some(output) => format!("prints {output:?}"),
        None => format!("fails at line {:?}", case.line),
    };
    Some(format!("{:?}: gomplate {expected}, {problem}\n    {:?}", case.name, case.template))
}

#[test]
fn every_recorded_case_prints_or_fails_as_in_gomplate() {
    let mut differences = Vec::new();
    let mut names = BTreeSet::new();
    for (group, text) in RECORDED {
        let mut lines = text.lines();
        let header: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
        assert_eq!(header["tool"], "gomplate", "{group}");
        for line in lines {
            let case: Case = serde_json::from_str(line).unwrap_or_else(|error| panic!("{group}: {error}: {line}"));
            assert!(names.insert(format!("{group}/{}", case.name)), "{group}: two cases are named {:?}", case.name);
            differences.extend(difference(&case).map(|difference| format!("{group} {difference}")));
        }
    }
    assert!(differences.is_empty(), "{} of {} differ:\n{}", differences.len(), names.len(), differences.join("\n"));
}

fn rendered(template: &str, context: &Value) -> Result<String, Vec<String>> {
    match render("case", template, &Context::new(context.clone())) {
        Ok(rendered) => Ok(rendered.text),
        Err(findings) => Err(findings.iter().map(|finding| format!("{}:{}", finding.id, finding.line)).collect()),
    }
}

#[test]
fn a_text_without_actions_stays_as_it_is() {
    assert_eq!(rendered("a\n", &json!({})), Ok("a\n".to_owned()));
    assert!(has_action("{{/* */}}") && !has_action("{ {"));
}
