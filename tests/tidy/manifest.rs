//! Rules about what is no Rust code: Cargo.toml, the lock file, migrations, fixtures, the top level.
//!
//! Not here: rules about code (`tidy.rs`).

use crate::source::{files, is_word, read, root, sources};

/// Most direct dependencies that are not optional.
const DEPENDENCY_CAP: usize = 55;
/// Most packages in the lock file.
const LOCK_CAP: usize = 620;
/// What may lie at the top level beside dot files. `target` is what cargo makes and git ignores.
const TOP_LEVEL: &[&str] =
    &["Cargo.lock", "Cargo.toml", "LICENSE", "README.md", "deploy", "fixtures", "src", "target", "tests"];
/// Crates whose default features bring what we do not want: other TLS stacks, networks, colours, macros.
const NO_DEFAULTS: &[&str] = &[
    "aes-gcm",
    "age",
    "askama",
    "axum",
    "chrono",
    "comfy-table",
    "futures",
    "git2",
    "kube",
    "proptest",
    "rcgen",
    "regex",
    "reqwest",
    "rustls",
    "similar",
    "sqlx",
    "tracing-subscriber",
];
/// Crates that are needed and that no path names, with the reason.
const UNNAMED: &[(&str, &str)] = &[("k8s_openapi", "kube needs exactly one version feature of it to be chosen")];
/// Migrations that were published; append-only: a change of the schema is a new file.
const MIGRATIONS: &[(&str, u64)] = &[];

/// A line of a dependency table.
pub(crate) struct Dependency {
    /// Name as written.
    pub(crate) name: String,
    /// Name as code has it.
    pub(crate) ident: String,
    /// Which table.
    pub(crate) table: String,
    /// Line in Cargo.toml.
    pub(crate) line: usize,
    /// What stands behind the name.
    pub(crate) value: String,
    /// The line above.
    pub(crate) above: String,
}

/// Reads the dependency tables of Cargo.toml.
pub(crate) fn dependencies() -> Vec<Dependency> {
    let (mut found, mut table, mut above) = (Vec::new(), String::new(), String::new());
    for (index, line) in read("Cargo.toml").lines().enumerate() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix('[') {
            name.trim_end_matches(']').clone_into(&mut table);
        } else if table.ends_with("dependencies")
            && !trimmed.starts_with('#')
            && let Some((name, value)) = trimmed.split_once(" = ")
        {
            found.push(Dependency {
                name: name.to_owned(),
                ident: name.replace('-', "_"),
                table: table.clone(),
                line: index + 1,
                value: value.to_owned(),
                above: above.clone(),
            });
        }
        trimmed.clone_into(&mut above);
    }
    found
}

/// Returns whether a crate is only there for tests.
pub(crate) fn is_for_tests(dependencies: &[Dependency], ident: &str) -> bool {
    dependencies.iter().any(|dependency| dependency.ident == ident && dependency.table == "dev-dependencies")
}

fn check(findings: &[String]) {
    assert!(findings.is_empty(), "\n{}\n{} findings\n", findings.join("\n"), findings.len());
}

#[test]
fn every_dependency_has_a_reason_and_is_used() {
    let mut findings = Vec::new();
    let sources = sources();
    let dependencies = dependencies();
    for dependency in &dependencies {
        let Dependency { name, ident, table, line, value, above } = dependency;
        let mut add = |what: String| findings.push(format!("Cargo.toml:{line}: {name}: {what}"));
        if !above.starts_with("# ") {
            add("needs a line above it that says in one sentence what it is for".to_owned());
        }
        if value.contains("git =") || value.contains("path =") {
            add("comes from a registry, not from git or a path".to_owned());
        }
        if NO_DEFAULTS.contains(&name.as_str()) && !value.contains("default-features = false") {
            add("is taken with default-features = false".to_owned());
        }
        let product_only = table == "dependencies";
        let used = sources.iter().any(|source| {
            (!product_only || source.path.starts_with("src/"))
                && source.words(ident).any(|at| {
                    let after = source.after(at + ident.len());
                    after.starts_with("::") || after.starts_with(';') || after.starts_with(" as ")
                })
        });
        if !used && !UNNAMED.iter().any(|(unnamed, _)| unnamed == ident) {
            add("is used nowhere; it enters in the commit that first uses it".to_owned());
        }
    }
    let direct =
        dependencies.iter().filter(|d| d.table == "dependencies" && !d.value.contains("optional = true")).count();
    if direct > DEPENDENCY_CAP {
        findings.push(format!("Cargo.toml: {direct} dependencies of {DEPENDENCY_CAP}; write 50 lines instead of one"));
    }
    let locked = read("Cargo.lock").lines().filter(|line| *line == "[[package]]").count();
    if locked > LOCK_CAP {
        findings.push(format!("Cargo.lock: {locked} packages of {LOCK_CAP}"));
    }
    if read("Cargo.lock").contains("source = \"git+") {
        findings.push("Cargo.lock: a package comes from git; only registries have checksums".to_owned());
    }
    check(&findings);
}

#[test]
fn the_crate_of_the_pure_modules_has_the_dependencies_of_the_product() {
    let (product, pure) = (read("Cargo.toml"), read("tests/fuzz/Cargo.toml"));
    let (_, tables) = pure.split_once("[dependencies]").unwrap_or_default();
    let (tables, _) = tables.split_once("[profile").unwrap_or_default();
    let lines = tables.lines().filter(|line| line.contains(" = ") && !line.contains("optional = true"));
    let findings: Vec<String> = lines
        .filter(|line| !line.starts_with('#') && !product.lines().any(|known| known == *line))
        .map(|line| format!("tests/fuzz/Cargo.toml: `{line}` is no line of Cargo.toml"))
        .collect();
    assert!(!tables.is_empty());
    check(&findings);
}

#[test]
fn the_compiler_version_is_written_once() {
    let mut places = Vec::new();
    for path in ["Cargo.toml", ".clippy.toml", "rust-toolchain.toml", "rust-toolchain", ".cargo/config.toml"] {
        let text = read(path);
        let lines = text.lines().filter(|line| {
            ["rust-version", "msrv", "channel"].iter().any(|key| line.trim_start().starts_with(&format!("{key} =")))
        });
        places.extend(lines.map(|line| format!("{path}: {line}")));
    }
    assert_eq!(places.len(), 1, "the compiler version belongs into rust-version of Cargo.toml alone: {places:?}");
}

#[test]
fn the_top_level_holds_only_what_is_fixed() {
    let entries = std::fs::read_dir(root()).map(Iterator::collect::<Vec<_>>).unwrap_or_default();
    let names: Vec<String> =
        entries.into_iter().flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    let findings: Vec<String> = names
        .iter()
        .filter(|name| !name.starts_with('.') && !TOP_LEVEL.contains(&name.as_str()))
        .map(|name| format!("{name}: the top level is fixed; put it below src, tests, fixtures or deploy"))
        .collect();
    check(&findings);
}

#[test]
fn every_fixture_is_read_by_something() {
    let mut readers: String = sources().iter().map(|source| source.text.clone() + "\n").collect();
    for path in files("tests").into_iter().filter(|path| !path.ends_with(".rs")) {
        readers.push_str(&read(&path));
    }
    let mut findings = Vec::new();
    for path in files("fixtures") {
        let mut named: &str = &path;
        let mut is_read = false;
        // The file itself or any directory above it, down to fixtures/<kind>.
        while named.matches('/').count() > 0 && !is_read {
            is_read = mentions(&readers, named);
            named = named.rsplit_once('/').map_or("", |(above, _)| above);
        }
        if !is_read {
            findings.push(format!("{path}: no test and no code names it or its directory; read it or delete it"));
        }
    }
    check(&findings);
}

/// Returns whether a path occurs as a whole segment path.
fn mentions(text: &str, path: &str) -> bool {
    text.match_indices(path).any(|(at, _)| {
        let after = text.get(at + path.len()..).and_then(|rest| rest.chars().next());
        !after.is_some_and(|c| is_word(c) || c == '-' || c == '.')
    })
}

#[test]
fn pages_hold_no_script_no_inline_style_and_no_foreign_address() {
    let mut findings = Vec::new();
    for path in files("src").into_iter().filter(|path| path.ends_with(".html")) {
        for (index, line) in read(&path).lines().enumerate() {
            for word in [
                "<script>",
                "<style",
                " style=",
                "javascript:",
                " onclick=",
                " onload=",
                "//fonts.",
                "http://",
                "https://",
            ] {
                if line.to_ascii_lowercase().contains(word) {
                    findings.push(format!(
                        "{path}:{}: `{word}`: pages hold no inline code and no foreign address",
                        index + 1
                    ));
                }
            }
        }
    }
    check(&findings);
}

#[test]
fn migrations_are_only_added() {
    let mut findings = Vec::new();
    for path in files("src/store/migrations") {
        let text = read(&path);
        let (hash, lower) = (fnv(text.as_bytes()), text.to_lowercase());
        match MIGRATIONS.iter().find(|(known, _)| *known == path) {
            Some((_, known)) if *known != hash => {
                findings
                    .push(format!("{path}: a published migration changed (now {hash:#018x}); add a new file instead"));
            }
            _ => {}
        }
        let foreign =
            ["integer", "int", "blob", "real", "boolean", "timestamp", "autoincrement", "serial", "varchar", "json"];
        for (index, line) in lower.lines().enumerate() {
            let statement = line.split("--").next().unwrap_or("");
            for word in statement.split(|c| !is_word(c)).filter(|word| foreign.contains(word)) {
                findings.push(format!(
                    "{path}:{}: `{word}`: columns are TEXT or BIGINT, which both databases share",
                    index + 1
                ));
            }
        }
    }
    for (path, _) in MIGRATIONS {
        if read(path).is_empty() {
            findings.push(format!("{path}: a published migration is gone"));
        }
    }
    check(&findings);
}

/// FNV-1a, enough to notice a change.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
