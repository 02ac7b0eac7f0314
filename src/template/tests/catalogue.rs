//! Pure. Whether the recorded cases cover the language: every form of syntax, every function by each of its names, every
//! method.
//!
//! Not here: the comparison of the cases (`tests.rs`).

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::Value;

use super::RECORDED;
use crate::template::functions::catalogue;
use crate::template::named::methods;

/// Recorded cases that each function needs, in whichever style.
const MIN_CASES: usize = 2;
/// Recorded cases that there must be in all.
const MIN_ALL: usize = 580;

/// Forms of syntax, each as a pattern that some case with an output matches.
const FORMS: [(&str, &str); 49] = [
    ("trim before", r"\{\{-\s"),
    ("trim after", r"\s-\}\}"),
    ("a negative number", r"\{\{-\d"),
    ("comment", r"\{\{/\*"),
    ("comment with trim markers", r"\{\{- /\*(?s:.)*\*/ -\}\}"),
    ("comment of several lines", r"\{\{/\*[^*]*\n[^*]*\*/\}\}"),
    ("action of several lines", r"\{\{[^}/]*\n[^}]*\}\}"),
    ("true", r"\btrue\b"),
    ("false", r"\bfalse\b"),
    ("nil", r"\bnil\b"),
    ("decimal", r"[\s(]\d+[\s)}]"),
    ("hexadecimal", r"\b0x[0-9A-Fa-f]"),
    ("octal", r"\b0o[0-7]"),
    ("binary", r"\b0b[01]"),
    ("octal with a leading zero", r"[\s(]0[0-7]+\b"),
    ("digits apart", r"\d_\d"),
    ("float", r"\d\.\d"),
    ("hexadecimal float", r"0x[0-9A-Fa-f.]+p"),
    ("exponent", r"\de[+-]?\d"),
    ("character", r"'(\\.|[^'])'"),
    ("text", "\"[^\"]+\""),
    ("escape in a text", r#""[^"]*\\[nt"]"#),
    ("raw text", "`[^`]*`"),
    ("dot", r"\{\{\s*\.\s*\}\}"),
    ("field", r"\.[a-z]\w*"),
    ("field of a field", r"\.[a-z]\w*\.[a-z]"),
    ("the root", r"\$[\s}.]"),
    ("variable", r"\$[a-z]\w*\s*\}\}"),
    ("field of a variable", r"\$[a-z]\w*\.[a-z]"),
    ("pipeline in parentheses", r"\([^)]+\)"),
    ("field of parentheses", r"\)\.[A-Za-z]"),
    ("bar", r"\|"),
    ("declaration", r"\$\w+ ?:="),
    ("assignment", r"\$\w+ ?="),
    ("if", r"\bif\b"),
    ("else", r"\{\{-?\s*else\s*-?\}\}"),
    ("else if", r"\belse if\b"),
    ("with", r"\bwith\b"),
    ("else with", r"\belse with\b"),
    ("with a variable", r"\bwith \$\w+ :="),
    ("range", r"\brange \."),
    ("range with a variable", r"\brange \$\w+ :="),
    ("range with two variables", r"\brange \$\w+, ?\$\w+ :="),
    ("range over a number", r"\brange (\$\w+ := )?(\d|\.n\b)"),
    ("break", r"\{\{-?\s*break\s*-?\}\}"),
    ("continue", r"\{\{-?\s*continue\s*-?\}\}"),
    ("define", r"\bdefine\b"),
    ("block", r"\bblock\b"),
    ("template", r"\btemplate\b"),
];

/// Returns the templates of all cases; whether the real program printed something stands beside each.
fn templates() -> Vec<(String, bool)> {
    let lines = RECORDED.iter().flat_map(|(_, text)| text.lines().skip(1));
    let cases = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    cases.map(|case| (case["template"].as_str().unwrap().to_owned(), case["output"].is_string())).collect()
}

#[test]
fn every_form_of_syntax_has_a_recorded_case() {
    let templates = templates();
    assert!(templates.len() >= MIN_ALL, "{} cases", templates.len());
    let missing: Vec<&str> = FORMS
        .iter()
        .filter(|(_, pattern)| {
            let pattern = Regex::new(pattern).unwrap();
            !templates.iter().any(|(template, prints)| *prints && pattern.is_match(template))
        })
        .map(|(name, _)| *name)
        .collect();
    assert!(missing.is_empty(), "no case prints with: {missing:?}");
    let printing = templates.iter().filter(|(_, prints)| *prints).count();
    println!("{} recorded templates, {printing} of them print, {} forms of syntax", templates.len(), FORMS.len());
}

#[test]
fn every_function_has_recorded_cases_by_each_of_its_names() {
    let word = Regex::new(r"\.?[A-Za-z]\w*(\.[A-Za-z]\w*)?").unwrap();
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (template, prints) in templates() {
        let mut words: Vec<&str> = word.find_iter(&template).map(|found| found.as_str()).collect();
        words.sort_unstable();
        words.dedup();
        for word in words {
            let count = counts.entry(word.to_owned()).or_default();
            count.0 += 1;
            count.1 += usize::from(prints);
        }
    }
    let count = |name: &str| counts.get(name).copied().unwrap_or_default();
    let mut missing = Vec::new();
    for names in catalogue() {
        let all: usize = names.iter().map(|name| count(name).0).sum();
        if all < MIN_CASES {
            missing.push(format!("{names:?}: {all} cases, {MIN_CASES} wanted"));
        }
        missing.extend(names.iter().filter(|name| count(name).0 == 0).map(|name| format!("{name} is never called")));
        // `Fail` and `call` never return.
        let returns = !names.iter().any(|name| matches!(name.as_str(), "test.Fail" | "call"));
        if returns && names.iter().all(|name| count(name).1 == 0) {
            missing.push(format!("{names:?} is never seen to return"));
        }
    }
    let method_word = Regex::new(r"\.[A-Z]\w*").unwrap();
    let called: BTreeSet<String> = templates()
        .iter()
        .filter(|(_, prints)| *prints)
        .flat_map(|(template, _)| {
            method_word.find_iter(template).map(|found| found.as_str().to_owned()).collect::<Vec<_>>()
        })
        .collect();
    for method in methods() {
        if !called.contains(&format!(".{method}")) {
            missing.push(format!("the method {method} is never seen to return"));
        }
    }
    missing.sort();
    missing.dedup();
    println!("{} functions and {} methods are called in them", catalogue().len(), methods().len());
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
