//! Pure. Values and templates that fit, and that do not.
//!
//! Not here: whole packages (`generate/tests.rs`).

use serde_json::json;

use super::{check, context};
use crate::template;

/// Renders a template with the value `x` and returns the findings of the check.
fn found(file: &str, template: &str, value: &str) -> Vec<String> {
    found_with(file, template, value, &[])
}

fn found_with(file: &str, template: &str, value: &str, structural: &[&str]) -> Vec<String> {
    let deep = json!({"list": [value]});
    let config = json!({"x": value, "plain": "word", "deep": deep, "keyed": {value: "y"}, "count": "1,0", "config": {"x": value}});
    let config = config.as_object().unwrap();
    let structural: Vec<String> = structural.iter().map(|path| (*path).to_owned()).collect();
    let rendered = template::render(file, template, &context(config)).unwrap();
    let findings = check(file, template, &rendered, config, &structural).unwrap_or_else(|errors| errors);
    findings.iter().map(ToString::to_string).collect()
}

fn changes(template: &str, value: &str) {
    let expected = ["a.yaml: T310: the value of the config key x changes the structure of the file"];
    assert_eq!(found("a.yaml", template, value), expected, "{template} with {value:?}");
}

fn keeps(template: &str, value: &str) {
    assert_eq!(found("a.yaml", template, value), [""; 0], "{template} with {value:?}");
}

#[test]
fn a_value_that_ends_its_scalar_is_refused() {
    for value in [
        "y\nhostNetwork: true",
        "y: z",
        "- y",
        "[y",
        "{y: z}",
        "y\n---\nz: 1",
        "&anchor",
        "*alias",
        "!tag",
        "\"",
        "'",
        "|",
        "%y",
        "y:",
        "y # z",
        "# z",
    ] {
        changes("a: {{ .x }}\n", value);
    }
    changes("a: \"{{ .x }}\"\n", "y\"\nb: \"z");
    changes("a: '{{ .x }}'\n", "y'\nb: 'z");
    changes("a: [{{ .x }}]\n", "y, z");
}

#[test]
fn quoted_values_stay_values() {
    for value in ["y\nz: 1", "a: b", "\"", "'", "\\", "- y", "", "---", "{{ .plain }}", "# y", "ä ö", "\u{1f98a}"] {
        keeps("a: {{ .x | toJSON }}\n", value);
    }
    keeps("a: \"{{ .x }}\"\n", "y: z");
    keeps("a: |\n  {{ .x }}\n", "y: z");
    keeps("a: {{ .x }}\n", "https://example.org/a?b=c&d");
    keeps("a: {{ .x }}\n", "plain words");
    keeps("a: {{ .x }}\n", "yes");
}

#[test]
fn quotes_that_alter_a_value_are_refused() {
    let alters = |template: &str, value: &str| {
        let expected = ["a.yaml: T311: the value of the config key x is altered by the quotes around it"];
        assert_eq!(found("a.yaml", template, value), expected, "{template} with {value:?}");
    };
    alters("a: \"{{ .x }}\"\n", "C:\\temp");
    alters("a: \"b {{ .x }} c\"\n", "y\\\\z");
    alters("a: '{{ .x }}'\n", "it''s");
    keeps("a: '{{ .x }}'\n", "C:\\temp");
    keeps("a: \"{{ .x | strings.ReplaceAll \"\\\\\" \"/\" }}\"\n", "C:\\temp");
    keeps("a: |\n  {{ .x }}\n", "C:\\temp");
}

#[test]
fn a_text_that_becomes_another_type_is_told() {
    let expected = ["a.yaml: T312: the text of the config key x becomes a number, a boolean or nothing"];
    for value in ["true", "0755", "1e3", "null", "", "~", "1.10", "0x1F"] {
        assert_eq!(found("a.yaml", "a: {{ .x }}\n", value), expected, "{value:?}");
        keeps("a: {{ .x | quote }}\n", value);
        keeps("a: \"{{ .x }}\"\n", value);
        keeps("a: b{{ .x }}c\n", value);
    }
    for value in ["8080", "1.5", "-1", "word", "1.2.3"] {
        keeps("a: {{ .x }}\n", value);
    }
    keeps("{{ if eq .x \"true\" }}b: 1\n{{ end }}c: 2\n", "true");
    keeps("{{ if .x }}b: 1\n{{ end }}c: 2\n", "");
}

#[test]
fn files_that_cannot_be_checked_are_named_once() {
    let expected = ["run.sh: T313: nothing checks what the values of the config keys x mean in this file"];
    assert_eq!(found("run.sh", "echo {{ .x }} {{ .plain }}\n", "y\nrm z"), expected);
    for (template, value) in [("echo {{ .plain }}\n", "y\nrm z"), ("echo {{ .x }}\n", "y")] {
        assert_eq!(found("run.sh", template, value), [""; 0]);
    }
}

#[test]
fn a_value_that_brings_the_structure_which_its_place_wants_is_refused() {
    changes("a: 1\n{{ .x }}\n", "b: 1\nc: 2");
    changes("a: 1\n{{ .x }}: 2\n", "b: 1\nc");
    let bare = "a: 1\n{{ .x }}\n";
    assert_eq!(found_with("a.yaml", bare, "b: 1\nc: 2", &["x"]), [""; 0], "the manifest allows it");
    assert_eq!(found_with("a.yaml", bare, "b: 1\nc: 2", &["plain"]).len(), 1);
}

#[test]
fn a_template_that_wants_a_certain_value_hides_no_other() {
    changes("a: {{ .x }}\nb: {{ conv.ToInt (strings.ReplaceAll \",\" \"\" .count) }}\n", "y\nc: 1");
    keeps("a: {{ .x | quote }}\nb: {{ conv.ToInt (strings.ReplaceAll \",\" \"\" .count) }}\n", "y\nc: 1");
    changes("a: {{ (ds \"config\").x }}\nb: {{ .x | quote }}\n", "y\nc: 1");
}

#[test]
fn a_value_may_be_split_and_asked() {
    let split = "a:\n{{ range strings.Split \",\" .x }}- {{ . }}\n{{ end }}";
    keeps(split, "p,q");
    changes(split, "p,q\nb: 1");
    changes(split, "p,[q");
    let split = "a:\n{{ range strings.Split \",\" .x }}- {{ . | quote }}\n{{ end }}";
    keeps(split, "p,q: r,# s");
    keeps("{{ if eq .x \"p,q\" }}a: 1\n{{ else }}b: 1\n{{ end }}", "p,q");
    keeps("{{ if strings.Contains \",\" .x }}a: {{ .x }}\n{{ else }}b: 1\n{{ end }}", "p,q");
    keeps("{{ if eq .x \"p,q\" }}a: 1\n{{ else }}{{ test.Fail }}{{ end }}", "p,q");
}

#[test]
fn a_key_of_the_config_stays_a_key() {
    let found = |template: &str, key: &str| found("a.yaml", template, key);
    let each = "a:\n{{ range $k, $v := .keyed }}  {{ $k }}: {{ $v }}\n{{ end }}";
    let message = "changes the structure of the file";
    let refused = |key: &str| [format!("a.yaml: T310: the value of the config key keyed.{key} {message}")];
    assert_eq!(found(each, "b: 1\nc"), refused("b: 1\nc"));
    assert_eq!(found(each, "example.org/p,q"), [""; 0]);
    assert_eq!(found("a:\n{{ .keyed | toYAML | indent 2 }}", "b: 1\nc"), [""; 0]);
    assert_eq!(found("a: {{ .keyed | toJSON }}\n", "b: 1\nc"), [""; 0]);
}

#[test]
fn a_value_may_be_a_key() {
    keeps("a:\n  \"{{ .x }}\": 1\n", "my,key");
}

#[test]
fn values_in_lists_are_examined_too() {
    let found = found("a.yaml", "a: {{ index .deep.list 0 }}\n", "y\nz: 1");
    assert_eq!(found, ["a.yaml: T310: the value of the config key deep.list.0 changes the structure of the file"]);
}

#[test]
fn lines_of_an_environment_file_stay_lines() {
    let expected = ["a.env: T310: the value of the config key x changes the structure of the file"];
    assert_eq!(found("a.env", "X={{ .x }}\n", "y\nZ=1"), expected);
    assert_eq!(found("a.env", "X={{ .x }}\n", "true"), [""; 0]);
}
