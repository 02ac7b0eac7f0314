//! Merges that git and kyaml make, held against ours: recorded ones, and ones drawn anew, of which `tests/run long` draws many.
//!
//! Not here: what we make of the recorded ones (unit tests of `merge`).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rewild::base::RepoPath;
use rewild::merge::{
    Favor, MARKER_CHARS, MarkerLabels, MarkerStyle, Prefer, Rules, Three, merge_file, merge_text_favoring,
    merge_text_marked,
};
use rewild::yaml::{self, Dialect};
use serde_json::{Map, Value, json};

use crate::parts::{Yaml, is_recording};
use crate::random::Chance;

/// Merges of lines, `base|ours|theirs|merged|diff3|zdiff3` in letters; the first lines say by which git and how a case is written.
const LINES: &str = "fixtures/merge/lines.txt";
/// Merges of objects, `{base, ours, theirs, merged}` a line; `fault` says why ours is another one.
const OBJECTS: &str = "fixtures/merge/kyaml.jsonl";
/// How git and kyaml fare on every situation.
const PEERS: &str = "fixtures/merge/peers.txt";

/// Numbers from which cases are drawn.
const SEEDS: [u64; 5] = [1, 20_261_121, 42, 777, 4_096];
/// Cases of each number: in an ordinary run, and in a long one.
const DRAWN: (usize, usize) = (20, 2_000);
/// Conflicts whose borders may be others than git's, of a thousand drawn cases.
const OTHER_BORDERS: usize = 1;

/// Styles of conflict markers with git's option for each.
const STYLES: [(MarkerStyle, &[&str]); 3] =
    [(MarkerStyle::Merge, &[]), (MarkerStyle::Diff3, &["--diff3"]), (MarkerStyle::Zdiff3, &["--zdiff3"])];

/// Sides that win everywhere, with git's option for each.
const FAVORS: [(Favor, &str); 3] = [(Favor::Ours, "--ours"), (Favor::Theirs, "--theirs"), (Favor::Union, "--union")];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn drawn() -> usize {
    if std::env::var_os("WILD_LONG").is_some() { DRAWN.1 } else { DRAWN.0 }
}

/// A directory in which git merges three files.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Returns what git prints, and the number of conflicts.
    fn merge(&self, texts: Three<&str>, style: &[&str]) -> (String, usize) {
        for (name, text) in [("base", texts.base), ("ours", texts.ours), ("theirs", texts.theirs)] {
            std::fs::write(self.0.path().join(name), text).unwrap();
        }
        let mut git = Command::new("git");
        git.args(["merge-file", "-p", "-L", "mine", "-L", "base", "-L", "upstream"]).args(style);
        // What a person configured must not choose the style.
        git.env("HOME", self.0.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        let output = git.args(["ours", "base", "theirs"]).current_dir(self.0.path()).output().unwrap();
        let conflicts = usize::try_from(output.status.code().unwrap()).unwrap();
        (String::from_utf8(output.stdout).unwrap(), conflicts)
    }
}

#[test]
fn git_merges_every_recorded_case_as_recorded() {
    let text = std::fs::read_to_string(fixture(LINES)).unwrap();
    let bench = Bench::new();
    let (mut wrong, mut lines) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if line.starts_with('#') {
            lines.push(line.to_owned());
            continue;
        }
        let parts: Vec<&str> = line.split('|').collect();
        let texts = [0, 1, 2].map(|side| spelled(parts[side]));
        let three = Three { base: texts[0].as_str(), ours: &texts[1], theirs: &texts[2] };
        let answers = STYLES.map(|(_, option)| letters(&bench.merge(three, option).0));
        let now = [parts[0], parts[1], parts[2], &answers[0], &answers[1], &answers[2]].join("|");
        if now != line {
            wrong.push(format!("{line}: now {now}"));
        }
        lines.push(now);
    }
    if is_recording() && !wrong.is_empty() {
        std::fs::write(fixture(LINES), lines.join("\n") + "\n").unwrap();
    }
    assert!(is_recording() || wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn git_merges_lines_drawn_by_chance_as_we_do() {
    let labels = MarkerLabels { base: "base", ours: "mine", theirs: "upstream", size: MARKER_CHARS };
    let (bench, mut wrong, mut borders) = (Bench::new(), Vec::new(), Vec::new());
    for seed in SEEDS {
        let mut chance = Chance(seed);
        for _ in 0..drawn() {
            let letters = triple(&mut chance);
            let texts = letters.each_ref().map(|text| spelled(text));
            let three = Three { base: texts[0].as_str(), ours: &texts[1], theirs: &texts[2] };
            for (style, option) in STYLES {
                let ((ours, open), (theirs, conflicts)) =
                    (merge_text_marked(three, style, labels), bench.merge(three, option));
                let case = format!("{} {style:?} of seed {seed}", letters.join("|"));
                if ours != theirs && open > 0 && conflicts > 0 {
                    borders.push(case);
                } else if ours != theirs || open != conflicts {
                    wrong.push(case);
                }
            }
            for (favor, option) in FAVORS {
                if (merge_text_favoring(three, favor), 0) != bench.merge(three, &[option]) {
                    wrong.push(format!("{} {favor:?} of seed {seed}", letters.join("|")));
                }
            }
        }
    }
    let cases = SEEDS.len() * drawn();
    println!("{cases} merges of lines in each style; other borders than git's: {borders:?}");
    assert!(wrong.is_empty(), "{} differ from git:\n{}", wrong.len(), wrong.join("\n"));
    assert!(borders.len() * 1_000 <= cases * STYLES.len() * OTHER_BORDERS, "{borders:?}");
}

/// Draws a text and two edited ones, in letters.
fn triple(chance: &mut Chance) -> [String; 3] {
    let few = ["a", "b", "c", ".", "}"];
    let many =
        ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", ".", "{", "}"];
    let alphabet: &[&str] = if chance.one_in(2) { &few } else { &many };
    let draw = |chance: &mut Chance, most: usize| -> Vec<&str> {
        (0..chance.below(most)).map(|_| chance.of(alphabet)).collect()
    };
    let base = draw(chance, 24);
    let side = |chance: &mut Chance| {
        let mut lines = base.clone();
        for _ in 0..=chance.below(4) {
            let from = chance.below(lines.len() + 1);
            let to = from + chance.below((lines.len() - from).min(4) + 1);
            let gone: Vec<&str> = lines.splice(from..to, draw(chance, 4)).collect();
            // Once in a while what goes comes again elsewhere.
            if chance.one_in(4) {
                let at = chance.below(lines.len() + 1);
                lines.splice(at..at, gone);
            }
        }
        lines
    };
    let sides = [base.clone(), side(chance), side(chance)];
    sides.map(|lines| {
        let open = if chance.one_in(8) && !lines.is_empty() { "$" } else { "" };
        lines.concat() + open
    })
}

/// Writes out a text given as one letter per line: `.` is an empty line, a `$` at the end leaves out the last line end.
fn spelled(letters: &str) -> String {
    let whole = letters.trim_end_matches('$');
    let mut text: String = whole.chars().map(|c| if c == '.' { "\n".to_owned() } else { format!("{c}\n") }).collect();
    if whole != letters {
        text.pop();
    }
    text
}

/// Writes a merged text as letters; the lines of markers are `<`, `-`, `=` and `>`.
fn letters(text: &str) -> String {
    let mut letters: String = text
        .lines()
        .map(|line| match line {
            "" => '.',
            "<<<<<<< mine" => '<',
            "||||||| base" => '-',
            "=======" => '=',
            ">>>>>>> upstream" => '>',
            line => line.chars().next().unwrap(),
        })
        .collect();
    if !text.is_empty() && !text.ends_with('\n') {
        letters.push('$');
    }
    letters
}

#[test]
fn kyaml_merges_every_recorded_object_as_recorded() {
    let Some(mut yaml) = Yaml::start() else { return };
    let text = std::fs::read_to_string(fixture(OBJECTS)).unwrap();
    let (mut wrong, mut lines) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if line.starts_with('#') {
            lines.push(line.to_owned());
            continue;
        }
        let recorded: Value = serde_json::from_str(line).unwrap();
        let side = |name: &str| recorded[name].as_str().unwrap();
        let now = yaml.merge(Three { base: side("base"), ours: side("ours"), theirs: side("theirs") });
        if recorded["merged"] != now.as_str() {
            wrong.push(format!("{line}: now {now}"));
        }
        let mut again = recorded.clone();
        again["merged"] = json!(now);
        lines.push(again.to_string());
    }
    if is_recording() && !wrong.is_empty() {
        std::fs::write(fixture(OBJECTS), lines.join("\n") + "\n").unwrap();
    }
    assert!(is_recording() || wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn kyaml_merges_objects_drawn_by_chance_as_we_do_where_upstream_is_preferred() {
    let Some(mut yaml) = Yaml::start() else { return };
    let mut wrong = Vec::new();
    for seed in SEEDS {
        let mut chance = Chance(seed);
        for number in 0..drawn() {
            let sides = objects(&mut chance).map(|value| yaml::write(&value));
            let texts = Three { base: sides[0].as_str(), ours: &sides[1], theirs: &sides[2] };
            let (ours, theirs) = (preferring_theirs(texts), yaml.merge(texts));
            if value_of(&ours) != value_of(&theirs) {
                wrong.push(format!("{number} of seed {seed}: {texts:#?}\n--- ours\n{ours}--- kyaml\n{theirs}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ from kyaml, such as\n{}", wrong.len(), wrong[0]);
}

fn preferring_theirs(texts: Three<&str>) -> String {
    let path = RepoPath::parse("apps/quarry/all.yaml").unwrap();
    let merged = merge_file(&path, texts.map(Some), &Rules { prefer: Prefer::Theirs, ..Rules::default() });
    assert_eq!((merged.guard, merged.conflicts), (None, Vec::new()), "{texts:#?}");
    merged.text.unwrap()
}

/// Returns what a text says, whatever the order of items that have a key.
fn value_of(text: &str) -> Value {
    let read = yaml::load_one("merged.yaml", text, Dialect::Kube);
    let mut value = read.unwrap().map_or(Value::Null, |document| document.value);
    sort(&mut value);
    value
}

fn sort(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(sort);
            if items.iter().all(Value::is_object) {
                items.sort_by_key(ToString::to_string);
            }
        }
        Value::Object(map) => {
            map.values_mut().for_each(sort);
            map.sort_keys();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

const WORDS: [&str; 6] = ["one", "two", "8080", "true", "a b", "x:y"];
const KEYS: [&str; 6] = ["alpha", "beta", "gamma", "delta", "size", "zone"];
const NAMES: [&str; 5] = ["web", "cache", "queue", "mail", "proxy"];

/// Draws an object and two edited ones. What kyaml is known to get wrong is not drawn; the recorded cases show that.
fn objects(chance: &mut Chance) -> [Value; 3] {
    let containers: Vec<Value> = NAMES[..1 + chance.below(4)].iter().map(|name| container(chance, name)).collect();
    let base = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "quarry", "labels": words(chance), "annotations": words(chance)},
        "spec": {"replicas": 1, "template": {"metadata": {"labels": words(chance)}, "spec": {"containers": containers}}},
    });
    let side = |chance: &mut Chance| {
        let mut value = base.clone();
        (0..=chance.below(4)).for_each(|_| edit(chance, &mut value));
        value
    };
    [base.clone(), side(chance), side(chance)]
}

/// Draws a map that always keeps one key, because kyaml brings back one that we emptied and upstream deleted from.
fn words(chance: &mut Chance) -> Value {
    let mut map = Map::from_iter([("fixed".to_owned(), json!("here"))]);
    for key in KEYS {
        if chance.one_in(3) {
            map.insert(key.to_owned(), json!(chance.of(&WORDS)));
        }
    }
    Value::Object(map)
}

fn container(chance: &mut Chance, name: &str) -> Value {
    let variables: Vec<Value> =
        KEYS[..1 + chance.below(3)].iter().map(|key| json!({"name": key, "value": chance.of(&WORDS)})).collect();
    json!({"name": name, "image": format!("reg/{name}:1"), "env": variables, "resources": {"limits": words(chance)}})
}

fn edit(chance: &mut Chance, object: &mut Value) {
    let word = json!(chance.of(&WORDS));
    let maps = ["/metadata/labels", "/metadata/annotations", "/spec/template/metadata/labels"];
    match chance.below(6) {
        0 => object["spec"]["replicas"] = json!(chance.below(4)),
        1 | 2 => {
            let map = object.pointer_mut(chance.of(&maps)).unwrap().as_object_mut().unwrap();
            let key = chance.of(&KEYS);
            if chance.one_in(3) {
                map.shift_remove(key)
            } else {
                map.insert(key.to_owned(), word)
            };
        }
        3 => {
            let containers = object["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap();
            let name = chance.of(&NAMES);
            if !containers.iter().any(|container| container["name"] == name) {
                containers.push(container(chance, name));
            }
        }
        _ => {
            let containers = object["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap();
            let place = chance.below(containers.len());
            let container = &mut containers[place];
            match chance.below(3) {
                0 => container["image"] = json!(format!("reg/x:{}", chance.below(9))),
                1 => container["resources"]["limits"][chance.of(&KEYS)] = word,
                _ => {
                    let (variables, key) = (container["env"].as_array_mut().unwrap(), chance.of(&KEYS));
                    match variables.iter().position(|variable| variable["name"] == key) {
                        Some(place) => variables[place]["value"] = word,
                        None => variables.push(json!({"name": key, "value": word})),
                    }
                }
            }
        }
    }
}

#[test]
fn git_and_kyaml_fare_on_every_situation_as_recorded() {
    let Some(mut yaml) = Yaml::start() else { return };
    let bench = Bench::new();
    let mut now = "# How git 2.39.5 merge-file and kyaml v0.21.1 merge3 fare on each situation: right, conflicts, other, or unable.\n".to_owned();
    let mut cases: Vec<PathBuf> =
        std::fs::read_dir(fixture("fixtures/merge")).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.is_dir());
    cases.sort();
    for case in cases {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let read = |side: &str, file: &str| std::fs::read_to_string(case.join(side).join(file)).unwrap_or_default();
        let (mut by_git, mut by_kyaml) = (Vec::new(), Vec::new());
        for file in names(&case) {
            let texts = ["base", "ours", "theirs", "expected"].map(|side| read(side, &file));
            let three = Three { base: texts[0].as_str(), ours: &texts[1], theirs: &texts[2] };
            let (text, conflicts) = bench.merge(three, &[]);
            by_git.push(if conflicts > 0 { "conflicts" } else { fares(&text, &texts[3]) });
            let is_one = texts[..3].iter().all(|text| !text.is_empty() && !text.contains("\n---"));
            let text = if is_one { yaml.merge(three) } else { "!error".to_owned() };
            by_kyaml.push(if text == "!error" { "unable" } else { fares(&text, &texts[3]) });
        }
        let worst = |found: &[&str]| {
            let order = ["unable", "other", "conflicts"];
            order.into_iter().find(|word| found.contains(word)).unwrap_or("right").to_owned()
        };
        writeln!(now, "{name}: git {}, kyaml {}", worst(&by_git), worst(&by_kyaml)).unwrap();
    }
    println!("{now}");
    if is_recording() {
        std::fs::write(fixture(PEERS), now).unwrap();
    } else {
        assert_eq!(std::fs::read_to_string(fixture(PEERS)).unwrap(), now);
    }
}

/// Returns the names of all files of a situation.
fn names(case: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for side in ["base", "ours", "theirs"] {
        let Ok(entries) = std::fs::read_dir(case.join(side)) else { continue };
        names.extend(entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()));
    }
    names.sort();
    names.dedup();
    names
}

/// Compares what two texts say, document by document.
fn fares(found: &str, expected: &str) -> &'static str {
    let values = |text: &str| {
        yaml::load("a.yaml", text, Dialect::Kube)
            .map(|loaded| loaded.documents.into_iter().map(|it| it.value).collect::<Vec<_>>())
    };
    match (values(found), values(expected)) {
        (Ok(found), Ok(expected)) if found == expected => "right",
        _ if found == expected => "right",
        _ => "other",
    }
}
