//! The rules of this repository as ordinary tests: arrows and purity of modules, sizes, names, words that may not occur, dependencies.
//!
//! Reads the tree as text; run `cargo fmt` first, because braces and indentation are relied on. Every finding says file, line, rule and what
//! to do. Exceptions are tables here, with a reason and the present number; a number that could be lower fails too, so debt only shrinks.
//! `cargo test --test tidy report -- --nocapture` prints the measures.
//!
//! Not here: taking the tree apart (`tidy/source.rs`), Cargo.toml and files that are no code (`tidy/manifest.rs`), the measures
//! (`tidy/report.rs`), what clippy and rustc check (`[lints]` in Cargo.toml).

#[path = "tidy/manifest.rs"]
mod manifest;
#[path = "tidy/report.rs"]
mod report;
#[path = "tidy/source.rs"]
mod source;
#[path = "tidy/tables.rs"]
mod tables;

use std::collections::{BTreeMap, BTreeSet};

use source::{Reach, Source, ident, is_word, reached, sources};
use tables::{
    BANNED_MODULES, BANNED_NAMES, BANNED_SUFFIXES, BANNED_VERBS, BANNED_WORDS, CRATES, FILE_CAP, FILE_SIZES,
    FOREIGN_NAMES, FUNCTION_CAP, FUNCTION_SIZES, MODULES, Module, OBJECT_READS, PURE, PURE_CRATES, PURE_FOLDERS,
    PURE_WORDS, TEST_CAP,
};

/// What was found wrong.
#[derive(Default)]
struct Findings(Vec<String>);

impl Findings {
    fn add(&mut self, place: &Source, line: usize, rule: &str, what: &str) {
        self.0.push(format!("{}:{line}: {rule}: {what}", place.path));
    }

    fn check(self) {
        assert!(self.0.is_empty(), "\n{}\n{} findings\n", self.0.join("\n"), self.0.len());
    }
}

fn module(name: &str) -> Option<&'static Module> {
    MODULES.iter().find(|module| module.name == name)
}

fn is_pure(source: &Source) -> bool {
    let is_in = |(folder, _): &(&str, &str)| source.path.starts_with(folder);
    PURE_FOLDERS.iter().any(is_in) || source.module().and_then(module).is_some_and(|module| module.number <= PURE)
}

#[test]
fn every_module_is_in_the_table_and_every_arrow_points_where_the_table_allows() {
    let mut findings = Findings::default();
    for source in sources() {
        let Some(name) = source.module() else { continue };
        if matches!(name, "lib" | "main") {
            continue;
        }
        let Some(from) = module(name) else {
            findings.add(source, 1, "module table", "this module is not in the table; put the code into one that is");
            continue;
        };
        for (line, to) in arrows(source) {
            let allowed = module(&to).is_none_or(|to| to.number == from.number || from.may_use(to.number));
            if !allowed {
                let what = format!("{name} may not use {to}; move the code down, or pass a value in");
                findings.add(source, line, "arrow", &what);
            }
        }
    }
    findings.check();
}

/// Returns the modules that a file names through `crate` or through enough `super`.
fn arrows(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for at in source.words("crate::") {
        let line = source.line_at(at);
        found.extend(heads(source.after(at + "crate::".len())).into_iter().map(|name| (line, name)));
    }
    let mut depth = source.path.matches('/').count();
    if source.path.ends_with("/mod.rs") {
        depth -= 1;
    }
    let climb = "super::".repeat(depth);
    for at in source.words(&climb) {
        let line = source.line_at(at);
        if !source.is_test(line) {
            found.extend(heads(source.after(at + climb.len())).into_iter().map(|name| (line, name)));
        }
    }
    found
}

/// Returns the first segments of a path or of a group of paths in braces.
fn heads(rest: &str) -> Vec<String> {
    let Some(group) = rest.strip_prefix('{') else { return vec![ident(rest)] };
    let (mut depth, mut heads, mut fresh) = (1, Vec::new(), true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => fresh = true,
            _ if depth == 1 && fresh && is_word(c) => {
                heads.push(ident(group.get(at..).unwrap_or("")));
                fresh = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    heads
}

#[test]
fn the_crate_documentation_holds_the_module_table() {
    let text = source::read("src/lib.rs");
    let cells = |line: &str| -> Vec<String> { line.split('|').map(|cell| cell.trim().replace('`', "")).collect() };
    let rows: BTreeMap<String, Vec<String>> = text
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .map(cells)
        .filter(|row| row.get(1).is_some_and(|first| first.parse::<u8>().is_ok()))
        .map(|row| (row.get(2).cloned().unwrap_or_default(), row))
        .collect();
    let declared: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("pub mod ")).map(|rest| rest.trim_end_matches(';')).collect();
    let mut wrong = Vec::new();
    for name in &declared {
        let Some(module) = module(name) else { continue };
        let expected = (module.number.to_string(), module.uses_text());
        let found = rows.get(*name).map(|row| (row.get(1).cloned(), row.get(row.len().saturating_sub(2)).cloned()));
        if found != Some((Some(expected.0.clone()), Some(expected.1.clone()))) {
            wrong.push(format!(
                "src/lib.rs: the crate documentation needs the row `//! | {} | `{name}` | what lives there | {} |`",
                expected.0, expected.1
            ));
        }
    }
    for name in rows.keys().filter(|name| !declared.contains(name.as_str())) {
        wrong.push(format!("src/lib.rs: the table of the crate documentation names {name}, which is no `pub mod`"));
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn pure_modules_hold_nothing_impure() {
    let mut findings = Findings::default();
    for source in sources().iter().filter(|source| is_pure(source)) {
        let what = "pure modules take time, entropy, files and settings as arguments; move this to a module from 12 on";
        for word in PURE_WORDS {
            for at in source.words(word) {
                let line = source.line_at(at);
                if !source.is_test(line) {
                    findings.add(source, line, "purity", &format!("`{word}` in a pure module: {what}"));
                }
            }
        }
        for at in source.words("std::") {
            let line = source.line_at(at);
            for head in heads(source.after(at + "std::".len())) {
                let banned =
                    matches!(head.as_str(), "fs" | "env" | "net" | "process" | "thread" | "path" | "os" | "io");
                if banned && !source.is_test(line) {
                    findings.add(source, line, "purity", &format!("`std::{head}` in a pure module: {what}"));
                }
            }
        }
    }
    findings.check();
}

#[test]
fn crates_are_used_only_where_the_table_says() {
    let dependencies = manifest::dependencies();
    let mut findings = Findings::default();
    for source in sources() {
        let Some(name) = source.module() else { continue };
        let number = module(name).map_or(u8::MAX, |module| module.number);
        for (line, used) in crates_used(source, &dependencies) {
            let test = source.is_test(line);
            // A test that opens TLS installs the provider, as `main` does.
            if test && (used == "rustls" || manifest::is_for_tests(&dependencies, &used)) {
                continue;
            }
            if let Some((_, modules)) = CRATES.iter().find(|(krate, _)| *krate == used)
                && !modules.contains(&name)
            {
                let what = format!("{used} is used in {} only; ask that module", modules.join(", "));
                findings.add(source, line, "crate confinement", &what);
            } else if number <= PURE && !test && !PURE_CRATES.contains(&used.as_str()) {
                let what = format!("{used} is not among the crates for pure modules");
                findings.add(source, line, "crate confinement", &what);
            }
        }
    }
    findings.check();
}

/// Returns the dependencies that a file names as the head of a path.
fn crates_used(source: &Source, dependencies: &[manifest::Dependency]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for dependency in dependencies {
        let name = &dependency.ident;
        if module(name).is_some() && arrows(source).iter().any(|(_, to)| to == name) {
            continue; // The file means our module of the same name.
        }
        for at in source.words(name) {
            let before = source.code.get(..at).unwrap_or("");
            let after = source.after(at + name.len());
            let line_begin = before.rfind('\n').map_or(0, |newline| newline + 1);
            let imported = before.get(line_begin..).is_some_and(|line| line.trim_start().ends_with("use "));
            let path = after.starts_with("::") && !before.ends_with("::") && !before.ends_with('.');
            if path || (imported && (after.starts_with(';') || after.starts_with(" as "))) {
                found.push((source.line_at(at), name.clone()));
            }
        }
    }
    found
}

#[test]
fn files_and_functions_stay_below_their_caps() {
    let mut findings = Findings::default();
    let (mut long_files, mut long_functions) = (BTreeMap::new(), BTreeMap::new());
    for source in sources() {
        let (lines, test_lines) = source.sizes();
        if lines > FILE_CAP {
            long_files.insert(source.path.clone(), lines);
        }
        if test_lines > TEST_CAP && test_lines < lines {
            let what = format!("{test_lines} lines of tests; above {TEST_CAP} they go to {}", tests_file(&source.path));
            findings.add(source, 1, "file cap", &what);
        }
        for function in source.functions().into_iter().filter(|function| function.lines > FUNCTION_CAP) {
            long_functions.insert((source.path.clone(), function.name), (function.line, function.lines));
        }
    }
    for (path, lines) in &long_files {
        let excused = FILE_SIZES.iter().any(|(file, number, _)| file == path && number == lines);
        if !excused {
            findings.0.push(format!("{path}:1: file cap: {lines} lines of {FILE_CAP}; split it along its nouns"));
        }
    }
    for ((path, name), (line, lines)) in &long_functions {
        let excused = FUNCTION_SIZES.iter().any(|(file, f, number, _)| file == path && f == name && number == lines);
        if !excused {
            findings
                .0
                .push(format!("{path}:{line}: function cap: {name} has {lines} lines of {FUNCTION_CAP}; split it"));
        }
    }
    for (path, number, _) in FILE_SIZES {
        if long_files.get(*path) != Some(number) {
            findings
                .0
                .push(format!("tests/tidy/tables.rs: {path} no longer has {number} lines: lower or delete its row"));
        }
    }
    for (path, name, number, _) in FUNCTION_SIZES {
        if long_functions.get(&((*path).to_owned(), (*name).to_owned())).map(|(_, lines)| lines) != Some(number) {
            findings
                .0
                .push(format!("tests/tidy/tables.rs: {name} in {path} no longer has {number} lines: lower its row"));
        }
    }
    findings.check();
}

fn tests_file(path: &str) -> String {
    match path.strip_suffix("/mod.rs") {
        Some(folder) => format!("{folder}/tests.rs"),
        None => format!("{}/tests.rs", path.trim_end_matches(".rs")),
    }
}

#[test]
fn objects_are_taken_out_of_the_database_only_where_their_size_is_judged() {
    let (calls, files) = OBJECT_READS;
    let mut findings = Findings::default();
    let mut read = false;
    for source in sources().iter().filter(|source| source.module() == Some("git")) {
        for (line, code, _) in source.code_lines().filter(|(_, _, test)| !test) {
            for call in calls.iter().filter(|call| code.contains(**call)) {
                read = read || files.contains(&source.path.as_str());
                if !files.contains(&source.path.as_str()) {
                    findings.add(
                        source,
                        line,
                        "objects",
                        &format!("`{call}` reads an object of any size; use `Objects`"),
                    );
                }
            }
        }
    }
    assert!(read, "the table names no call any more that {files:?} make");
    findings.check();
}

#[test]
fn every_file_begins_with_what_lives_in_it() {
    let mut findings = Findings::default();
    for source in sources() {
        let first = source.raw(1);
        let Some(says) = first.strip_prefix("//! ") else {
            findings.add(source, 1, "file doc", "begin with `//!` and say what lives here and what does not");
            continue;
        };
        let pure = says.starts_with("Pure.") || says.starts_with("Format. Pure.");
        let format = says.starts_with("Format.");
        if is_pure(source) && !pure && !format {
            findings.add(source, 1, "file doc", "a file of a pure module begins with `//! Pure.` (or `//! Format.`)");
        }
        if !is_pure(source) && source.path.starts_with("src/") && says.starts_with("Pure") {
            findings.add(
                source,
                1,
                "file doc",
                "only modules 1-11 and PURE_FOLDERS are pure; name the world that this file touches",
            );
        }
        let doc = source.text.lines().take_while(|line| line.starts_with("//!")).collect::<Vec<_>>().join(" ");
        let product = source.sizes().1 < source.sizes().0;
        let excluded = doc.contains("Not here") || doc.contains("not here") || source.module() == Some("lib");
        if source.path.starts_with("src/") && product && !excluded {
            findings.add(source, 1, "file doc", "say `Not here: ...`: what a reader could look for here in vain");
        }
    }
    findings.check();
}

#[test]
fn every_rust_file_is_reached_by_a_mod() {
    let sources = sources();
    let reached: BTreeMap<String, Reach> = reached(sources);
    let mut findings = Findings::default();
    for source in sources.iter().filter(|source| !reached.contains_key(&source.path)) {
        findings.add(source, 1, "dead file", "no `mod` and no [[test]] names it; wire it in or delete it");
    }
    findings.check();
}

#[test]
fn names_follow_the_glossary() {
    let mut findings = Findings::default();
    for source in sources() {
        let file = source.path.trim_end_matches("/mod.rs").trim_end_matches(".rs");
        let file = file.rsplit('/').next().unwrap_or("");
        if BANNED_MODULES.contains(&file) {
            findings.add(source, 1, "names", &format!("no module is called {file}; name it after its noun"));
        }
        for keyword in ["struct", "enum", "trait", "type", "union"] {
            for at in source.words(keyword) {
                let name = ident(source.after(at + keyword.len()).trim_start());
                if let Some(why) = type_name(&name)
                    && !FOREIGN_NAMES.iter().any(|(path, foreign, _)| *path == source.path && *foreign == name)
                {
                    findings.add(source, source.line_at(at), "names", &format!("type {name}: {why}"));
                }
            }
        }
        for function in source.functions() {
            let begins =
                |verb: &&&str| function.name == verb.trim_end_matches('_') || function.name.starts_with(**verb);
            if let Some(verb) = BANNED_VERBS.iter().find(begins) {
                let what = format!("fn {}: say what it does instead of `{verb}`", function.name);
                findings.add(source, function.line, "names", &what);
            }
        }
    }
    findings.check();
}

/// Returns what is wrong with the name of a type.
fn type_name(name: &str) -> Option<String> {
    if let Some(suffix) = BANNED_SUFFIXES.iter().find(|suffix| name.ends_with(**suffix)) {
        return Some(format!("no name ends in {suffix}; say what it is"));
    }
    if let Some((_, ours)) = BANNED_NAMES.iter().find(|(banned, _)| *banned == name) {
        return Some(format!("the word for this is {ours}"));
    }
    let mut words: Vec<String> = Vec::new();
    for c in name.chars() {
        match words.last_mut() {
            Some(word) if !c.is_uppercase() => word.push(c),
            _ => words.push(c.to_string()),
        }
    }
    let (_, ours) = BANNED_WORDS.iter().find(|(banned, _)| words.iter().any(|word| word == banned))?;
    Some(format!("the word for this is {ours}"))
}

#[test]
fn public_functions_take_no_boolean_and_few_arguments() {
    let mut findings = Findings::default();
    for source in sources().iter().filter(|source| source.path.starts_with("src/")) {
        for function in source.functions() {
            if function.test || !function.before.starts_with("pub") {
                continue;
            }
            let arguments = function.signature.split(" -> ").next().unwrap_or("");
            if arguments.contains(": bool") {
                let what = format!("{} takes a boolean; split it or take an enum", function.name);
                findings.add(source, function.line, "rule 12", &what);
            }
        }
    }
    findings.check();
}

#[test]
fn words_that_hide_trouble_do_not_occur() {
    let mut findings = Findings::default();
    for source in sources() {
        if source.path != "src/git/options.rs" {
            for at in source.words("unsafe") {
                let what = "unsafe only in src/git/options.rs; use a safe wrapper";
                findings.add(source, source.line_at(at), "rule 21", what);
            }
        }
        let anywhere = [
            ("#[allow(", "write #[expect(lint, reason = \"...\")]"),
            ("#![allow(", "write #![expect(lint, reason = \"...\")]"),
            ("#[ignore", "a test runs or is deleted; assert today's behaviour with a FIXME"),
            ("#[should_panic", "assert on a value instead"),
            ("AssertSqlSafe", "queries are `&'static str`"),
            ("unbounded_channel", "every queue has a bound: a named constant"),
        ];
        for (word, what) in anywhere {
            for (at, _) in source.code.match_indices(word) {
                findings.add(source, source.line_at(at), "banned", &format!("`{word}`: {what}"));
            }
        }
        for at in source.words("sleep").chain(source.words("sleep_until")) {
            let line = source.line_at(at);
            if source.is_test(line) && source.after(at).contains('(') {
                findings.add(source, line, "rule 29", "tests do not sleep: wait on a condition or step the clock");
            }
        }
        lint_reasons(source, &mut findings);
    }
    findings.check();
}

/// Every excused lint and every `expect` of a value says why.
fn lint_reasons(source: &Source, findings: &mut Findings) {
    for opening in ["#[expect(", "#![expect("] {
        for (at, _) in source.code.match_indices(opening) {
            let attribute: String = source.after(at).chars().take_while(|c| *c != ']').collect();
            if !attribute.contains("reason") {
                findings.add(source, source.line_at(at), "rule 21", "an excused lint carries `reason = \"...\"`");
            }
        }
    }
    for (at, call) in source.code.match_indices(".expect(") {
        let line = source.line_at(at);
        let begin = at + call.len();
        let text = source.text.get(begin..).unwrap_or("").trim_start();
        let Some(says) = text.strip_prefix('"').and_then(|rest| rest.split('"').next()) else { continue };
        if !source.is_test(line) && says.split_whitespace().count() < 2 {
            findings.add(source, line, "rule 20", "`expect` states the invariant that makes it hold, in words");
        }
    }
}

#[test]
fn every_bound_is_a_named_and_explained_constant() {
    let mut findings = Findings::default();
    for source in sources().iter().filter(|source| source.path.starts_with("src/")) {
        for at in source.words("const") {
            let line = source.line_at(at);
            let name = ident(source.after(at + "const".len()).trim_start());
            let bounds = ["MAX_", "_LIMIT", "_DEADLINE", "_CAPACITY"];
            let above = source.raw(line.saturating_sub(1)).trim();
            if bounds.iter().any(|part| name.contains(part)) && !source.is_test(line) && !above.starts_with("///") {
                findings.add(source, line, "rule 7", &format!("{name} needs a sentence on why this number"));
            }
        }
        for maker in ["channel(", "channel::<", "Semaphore::new("] {
            for (at, _) in source.code.match_indices(maker) {
                let line = source.line_at(at);
                let arguments = source.after(at).split_once('(').map_or("", |(_, rest)| rest);
                if !source.is_test(line) && arguments.starts_with(|c: char| c.is_ascii_digit()) {
                    findings.add(source, line, "rule 7", "make it from a named constant with a sentence");
                }
            }
        }
    }
    findings.check();
}
