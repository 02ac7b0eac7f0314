//! Pure. Cases of the whole engine: outputs recorded from the real gomplate, and what is ours alone.
//!
//! Not here: the comparison with the real program (`tests/live`).

mod catalogue;

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use super::limits::{Budget, MAX_FUEL};
use super::{Context, has_action, render, render_within};

/// Outputs recorded from the real gomplate; the first line of each file names the tool and its version.
const RECORDED: [(&str, &str); 21] = [
    ("builtins", include_str!("../../fixtures/template/builtins.jsonl")),
    ("coll", include_str!("../../fixtures/template/coll.jsonl")),
    ("control", include_str!("../../fixtures/template/control.jsonl")),
    ("conv", include_str!("../../fixtures/template/conv.jsonl")),
    ("data", include_str!("../../fixtures/template/data.jsonl")),
    ("definitions", include_str!("../../fixtures/template/definitions.jsonl")),
    ("documents", include_str!("../../fixtures/template/documents.jsonl")),
    ("files", include_str!("../../fixtures/template/files.jsonl")),
    ("functions", include_str!("../../fixtures/template/functions.jsonl")),
    ("inline", include_str!("../../fixtures/template/inline.jsonl")),
    ("math", include_str!("../../fixtures/template/math.jsonl")),
    ("others", include_str!("../../fixtures/template/others.jsonl")),
    ("pipelines", include_str!("../../fixtures/template/pipelines.jsonl")),
    ("printf", include_str!("../../fixtures/template/printf.jsonl")),
    ("semver", include_str!("../../fixtures/template/semver.jsonl")),
    ("strings", include_str!("../../fixtures/template/strings.jsonl")),
    ("syntax", include_str!("../../fixtures/template/syntax.jsonl")),
    ("tables", include_str!("../../fixtures/template/tables.jsonl")),
    ("test", include_str!("../../fixtures/template/test.jsonl")),
    ("time", include_str!("../../fixtures/template/time.jsonl")),
    ("url", include_str!("../../fixtures/template/url.jsonl")),
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

/// Checks the ids and lines of all findings.
fn refused(template: &str, context: &Value, expected: &[&str]) {
    let expected = expected.iter().map(|finding| (*finding).to_owned()).collect();
    assert_eq!(rendered(template, context), Err(expected), "{template}");
}

/// Checks the message and the hint of the first finding.
fn told(template: &str, context: &Value, message: &str, hint: &str) {
    let findings = render("case", template, &Context::new(context.clone())).unwrap_err();
    assert_eq!((findings[0].message.as_str(), findings[0].hint.as_str()), (message, hint), "{template}");
}

/// Checks the paths that were read.
fn reads(template: &str, context: &Value, expected: &[&str]) {
    let rendered = render("case", template, &Context::new(context.clone()).with_config(context.clone())).unwrap();
    assert_eq!(rendered.reads.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{template}");
}

#[test]
fn a_text_without_actions_stays_as_it_is() {
    assert_eq!(rendered("a\n", &json!({})), Ok("a\n".to_owned()));
    assert!(has_action("{{/* */}}") && !has_action("{ {"));
}

#[test]
fn all_failing_actions_of_a_file_are_reported_together() {
    refused(
        "{{ .a }}\n{{ .ok }}\n{{ .b }}{{ if .c }}{{ .d }}{{ end }}\n",
        &json!({"ok": 1}),
        &["T201:1", "T201:3", "T201:3"],
    );
    assert_eq!(rendered(&"{{ .a }}\n".repeat(30), &json!({})).unwrap_err().len(), 20);
}

#[test]
fn a_failure_in_a_loop_is_reported_once() {
    refused("{{ range .l }}{{ .a }}{{ end }}", &json!({"l": [{}, {}, {}]}), &["T201:1"]);
}

#[test]
fn what_a_failed_variable_would_break_is_not_reported() {
    refused("{{ $x := .nosuch }}{{ $x.a }}{{ .b }}", &json!({}), &["T201:1"]);
}

#[test]
fn a_missing_key_is_told_with_the_nearest_one() {
    told(
        "{{ .domian }}",
        &json!({"domain": "example.org", "port": 1}),
        "the config has no key \"domian\"; it has domain, port",
        "did you mean \"domain\"? or {{ index … \"domian\" | default \"…\" }}",
    );
    told(
        "{{ .db.host }}",
        &json!({"db": {}}),
        "db has no key \"host\"; it is empty",
        "set db.host or write {{ index … \"host\" | default \"…\" }}",
    );
}

#[test]
fn what_another_text_would_see_is_named() {
    refused("{{ .secrets.x }}", &json!({}), &["T220:1"]);
    refused("{{ .apps.other.x }}", &json!({"apps": {"own": {}}}), &["T221:1"]);
    refused("{{ .Env.HOME }}", &json!({}), &["T210:1"]);
    assert_eq!(rendered("{{ .secrets }}", &json!({"secrets": "own"})), Ok("own".to_owned()));
}

#[test]
fn what_reaches_outside_is_refused_where_it_would_run() {
    for call in [
        "getenv \"HOME\"",
        "env.Getenv \"HOME\"",
        "file.Read \"/etc/passwd\"",
        "ds \"http://x\"",
        "datasource \"config\"",
        "include \"x\"",
        "random.ASCII 8",
        "net.LookupIP \"x\"",
        "time.Now",
        "uuid.V4",
        "aws.EC2Region",
        "crypto.Bcrypt \"x\"",
    ] {
        refused(&format!("{{{{ {call} }}}}"), &json!({}), &["T210:1"]);
        assert_eq!(
            rendered(&format!("{{{{ if false }}}}{{{{ {call} }}}}{{{{ end }}}}"), &json!({})),
            Ok(String::new())
        );
    }
}

#[test]
fn names_of_helm_get_a_hint() {
    told(
        "{{ nindent 2 .a }}",
        &json!({}),
        "there is no function nindent",
        "start a new line and write {{ … | strings.Indent 4 \" \" }}",
    );
    let hint = "Values belongs to Helm; name the config key";
    told("{{ .Values.a }}", &json!({}), "the config has no key \"Values\"", hint);
}

#[test]
fn the_old_config_source_is_there_if_it_was_given() {
    let context = Context::new(json!({})).with_config(json!({"a": {"b": 1}}));
    let template = "{{ (ds \"config\").a.b }}{{ $c := datasource \"config\" }}{{ $c.a.b }}";
    assert_eq!(render("case", template, &context).unwrap().text, "11");
    assert_eq!(render("case", "{{ ds \"secrets\" }}", &context).unwrap_err()[0].id, "T210");
}

#[test]
fn yaml_files_hold_no_lists_and_maps_in_another_notation() {
    let context = Context::new(json!({"l": [1]}));
    assert_eq!(render("a.yaml", "{{ .l }}", &context).unwrap_err()[0].id, "T224");
    assert_eq!(render("a.sh", "{{ .l }}", &context).unwrap().text, "[1]");
    assert_eq!(render("a.yml", "{{ .l | toJSON }}", &context).unwrap().text, "[1]");
}

#[test]
fn messages_hold_no_value_of_the_context() {
    for template in [
        "{{ conv.Atoi .s }}",
        "{{ add .s 1 }}",
        "{{ fail .s }}",
        "{{ required .s \"\" }}",
        "{{ fail (print .s) }}",
        "{{ index .l .s }}",
        "{{ .s.x }}",
        "{{ regexp.Match .s \"\" }}",
        "{{ json .s }}",
        "{{ template \"x\" .s }}",
        "{{ index . .s | coll.Index .s . }}",
        "{{ base64.Decode .s }}",
        "{{ range .s }}{{ end }}",
        "{{ lt .s 1 }}",
    ] {
        let context = Context::new(json!({"s": "(hunter2", "l": [1]}));
        let findings = render("case", template, &context).unwrap_err();
        assert!(!format!("{findings:?}").contains("hunter2"), "{findings:?}");
    }
    told("{{ fail \"set the domain\" }}", &json!({}), "set the domain", "");
}

#[test]
fn a_rendering_tells_what_it_read() {
    let context = json!({"a": {"b": {"c": 1}, "l": [{"x": 1}]}, "d": "x", "e": {}, "t": "y"});
    reads("{{ .a.b.c }}", &context, &["a.b.c"]);
    reads("{{ with .a.b }}{{ .c }}{{ end }}", &context, &["a.b", "a.b.c"]);
    reads("{{ $x := .a }}{{ $x.b.c }}", &context, &["a.b.c"]);
    reads("{{ range .a.l }}{{ .x }}{{ end }}", &context, &["a.l"]);
    reads("{{ index . \"nosuch\" | default \"d\" }}", &context, &["nosuch"]);
    reads("{{ (index .a \"b\").c }}", &context, &["a.b.c"]);
    reads("{{ if has .a \"b\" }}{{ end }}{{ has .a \"z\" }}", &context, &["a.b", "a.z"]);
    reads("{{ coll.Index \"a\" \"b\" \"c\" . }}", &context, &["a.b.c"]);
    reads("{{ .e | toJSON }}", &context, &["e"]);
    reads("{{ define \"t\" }}{{ .c }}{{ end }}{{ template \"t\" .a.b }}", &context, &["a.b.c"]);
    reads("{{ if .e }}{{ .d }}{{ end }}", &context, &["e"]);
    reads("{{ toJSON . | len }}", &context, &[""]);
    reads("{{ (ds \"config\").a.b.c }}", &context, &["a.b.c"]);
    reads("{{ \"no action reads\" }}", &context, &[]);
}

#[test]
fn marks_of_printf_are_told_in_a_yaml_file() {
    let told = |file: &str, template: &str| {
        let rendered = render(file, template, &Context::new(json!({"port": "80"}))).unwrap();
        rendered.warnings.iter().map(|finding| format!("{}:{}", finding.id, finding.line)).collect::<Vec<_>>()
    };
    assert_eq!(told("a.yaml", "a: 1\nb: {{ printf \"%d\" .port }}\n"), ["T230:2"]);
    assert_eq!(told("a.yaml", "{{ $x := printf \"%s %s\" .port }}\na: {{ $x }}\n"), ["T230:2"]);
    assert_eq!(told("a.yaml", "a: {{ printf \"%s\" .port .port }}\n"), ["T230:1"]);
    assert_eq!(told("a.yaml", "a: {{ printf \"%s%%!\" .port }} # %!d(string=x)\n"), [""; 0]);
    assert_eq!(told("a.txt", "{{ printf \"%d\" .port }}"), [""; 0]);
}

#[test]
fn a_template_cannot_run_on_without_end() {
    let empty = json!({});
    for (template, id) in [
        ("{{ define \"t\" }}{{ template \"t\" . }}{{ end }}{{ template \"t\" . }}", "T106"),
        ("{{ range seq 1 1000000000 }}{{ end }}", "T105"),
        ("{{ range 9000000000000000000 }}{{ end }}", "T103"),
        ("{{ range 100000 }}{{ range 100000 }}{{ end }}{{ end }}", "T103"),
        ("{{ strings.Repeat 9000000 \"a\" }}", "T105"),
        ("{{ range 10 }}{{ strings.Repeat 4000000 \"a\" }}{{ end }}", "T104"),
        ("{{ $x := \"a\" }}{{ range 40 }}{{ $x = print $x $x }}{{ end }}", "T105"),
        ("{{ $x := slice 1 }}{{ range 60 }}{{ $x = slice $x $x }}{{ end }}{{ $x }}", "T10"),
        ("{{ $x := dict }}{{ range 300 }}{{ $x = dict \"a\" $x }}{{ end }}{{ toJSON $x }}", "T102"),
        ("{{ printf \"%1000000d%1000000d%1000000d%1000000d%1000000d\" 1 2 3 4 5 }}", "T105"),
        ("{{ join (slice (strings.Repeat 4000000 \"a\") (strings.Repeat 4000000 \"a\")) \"\" }}", "T105"),
        ("{{ strings.Split \"\" (strings.Repeat 4000000 \"a\") | len }}", "T105"),
        ("{{ replaceAll \"a\" (strings.Repeat 4000 \"b\") (strings.Repeat 4000 \"a\") }}", "T105"),
        ("{{ regexp.Replace \"a\" (strings.Repeat 4000 \"b\") (strings.Repeat 4000 \"a\") }}", "T105"),
        ("{{ regexp.Match (strings.Repeat 5000 \"a\") \"a\" }}", "T205"),
        ("{{ regexp.Match \"((a{100}){100}){100}\" \"a\" }}", "T205"),
    ] {
        let budget = Budget::with_fuel(if id == "T103" { 10_000 } else { MAX_FUEL });
        let findings = render_within(budget, "case", template, &Context::new(empty.clone()), None).unwrap_err();
        assert!(findings[0].id.starts_with(id), "{template}: {:?}", findings[0]);
    }
    let deep = format!("{}1{}", "(".repeat(200), ")".repeat(200));
    refused(&format!("{{{{ {deep} }}}}"), &empty, &["T102:1"]);
    refused(&format!("{}{}", "{{ if true }}".repeat(101), "{{ end }}".repeat(101)), &empty, &["T102:1"]);
    refused(&"{{ 1 }}".repeat(20_001), &empty, &["T101:1"]);
    refused(&"a".repeat(1024 * 1024 + 1), &empty, &["T101:1"]);
}

#[test]
fn a_failure_that_a_loop_meets_again_is_looked_for_once_and_looking_for_it_takes_steps() {
    let head =
        format!("# {}\n{{{{ define \"x\" }}}}{{{{ range \"x\" }}}}{{{{ end }}}}{{{{ end }}}}", "a".repeat(64 * 1024));
    let ids = |template: &str| {
        let (budget, context) = (Budget::with_fuel(20_000), Context::new(json!({})));
        let findings = render_within(budget, "case", &format!("{head}{template}"), &context, None).unwrap_err();
        findings.into_iter().map(|finding| finding.id).collect::<Vec<_>>()
    };
    assert_eq!(ids("{{ range 1000 }}{{ range \"x\" }}{{ end }}{{ end }}"), ["T206"]);
    // Each call that is a value fails for itself.
    assert_eq!(ids("{{ tmpl.Exec \"x\" }}"), ["T208"]);
    assert_eq!(ids("{{ range 1000 }}{{ tmpl.Exec \"x\" }}{{ end }}"), ["T103", "T208"]);
}

#[test]
fn a_long_chain_of_else_is_no_nesting() {
    let chain: String = (0..500).map(|n| format!("{{{{ else if eq .n {n} }}}}{n}")).collect();
    assert_eq!(rendered(&format!("{{{{ if false }}}}{chain}{{{{ end }}}}"), &json!({"n": 499})), Ok("499".to_owned()));
}

#[test]
fn a_map_cannot_be_put_into_itself() {
    refused("{{ $_ := coll.Set \"self\" . . }}{{ . }}", &json!({"a": 1}), &["T205:1"]);
    refused("{{ $_ := coll.Set \"a\" (slice (dict \"b\" .)) . }}", &json!({}), &["T205:1"]);
}

#[test]
fn two_renderings_share_nothing() {
    let context = Context::new(json!({"m": {}}));
    let template = "{{ if has .m \"x\" }}seen{{ end }}{{ $_ := coll.Set \"x\" 1 .m }}{{ .m.x }}";
    assert_eq!(render("case", template, &context).unwrap().text, "1");
    assert_eq!(render("case", template, &context).unwrap().text, "1");
}

#[test]
fn an_unclosed_block_is_reported_where_it_opens() {
    refused("a\n{{ if .a }}\n\nb\n", &json!({}), &["T110:2"]);
}

#[test]
fn a_hyphen_in_a_key_is_told_how_to_write_it() {
    told(
        "{{ .apps.open-webui.x }}",
        &json!({}),
        "a name is followed by a character that no name may hold",
        "a key with a hyphen is written (index .map \"the-key\")",
    );
}

mod laws {
    //! What holds for every input.

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::{Context, render};

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,200}") {
            let _ = render("a.yaml", &format!("{{{{ {text}"), &Context::new(json!({"a": 1})));
            let _ = render("a.yaml", &text, &Context::new(json!({"a": 1})));
        }

        #[test]
        fn no_mix_of_tokens_makes_it_panic(tokens in prop::collection::vec(token(), 0..30)) {
            let context = Context::new(json!({"a": "x", "l": [1, 2], "m": {"k": 1.5}}));
            let text = tokens.concat();
            let first = render("a.txt", &text, &context);
            prop_assert_eq!(first.clone(), render("a.txt", &text, &context));
            if let Err(findings) = first {
                prop_assert!(!findings.is_empty() && findings.iter().all(|finding| finding.line > 0));
            }
        }

        #[test]
        fn a_value_is_never_run(value in ".{0,60}") {
            let context = Context::new(json!({"v": value.clone()}));
            let rendered = render("a.txt", "<{{ .v }}>{{ .v }}", &context).map(|rendered| rendered.text);
            prop_assert_eq!(rendered, Ok(format!("<{value}>{value}")));
        }
    }

    fn token() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "{{",
            "}}",
            "{{-",
            "-}}",
            " ",
            "\n",
            "if ",
            "else ",
            "end",
            "range ",
            "with ",
            "define ",
            "template ",
            "block ",
            "break",
            "$x",
            ":=",
            "=",
            "|",
            "(",
            ")",
            ".",
            ".a",
            ".l",
            ".m.k",
            "\"a\"",
            "`b`",
            "1",
            "-2.5",
            "0x1",
            "'c'",
            "nil",
            "true",
            "print ",
            "index ",
            "printf ",
            "\"%d%s\" ",
            "coll.Set ",
            "strings.Indent ",
            "toYAML ",
            "data.YAML ",
            "toml ",
            "toTOML ",
            "time.Parse ",
            "time.Hour ",
            "(time.Unix 1)",
            ".Format ",
            ".Add ",
            "semver.CheckConstraint ",
            "\">=1 <2\" ",
            "conv.URL ",
            ".Query",
            "strings.Repeat 9999 ",
            "seq 1 99999 ",
            "regexp.Replace ",
            "tpl ",
            "{{ .a }}",
            "{{ end }}",
            "{{ range .l }}",
            "{{ if .a }}",
            "text",
            ",",
            "/*",
            "*/",
            "{{/* x */}}",
        ])
    }
}
