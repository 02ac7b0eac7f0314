//! What the rules allow: modules and arrows, crates, words, and the exceptions with their reasons.
//!
//! Not here: the checks (`tidy.rs`).

/// A module of the crate.
pub(crate) struct Module {
    /// Its place in the order; an arrow points to a smaller number.
    pub(crate) number: u8,
    /// Its name.
    pub(crate) name: &'static str,
    /// Ranges of numbers that it may use.
    uses: &'static [(u8, u8)],
}

impl Module {
    const fn new(number: u8, name: &'static str, uses: &'static [(u8, u8)]) -> Self {
        Self { number, name, uses }
    }

    /// Returns whether it may use the module with this number.
    pub(crate) fn may_use(&self, number: u8) -> bool {
        self.uses.iter().any(|(from, to)| (*from..=*to).contains(&number))
    }

    /// Returns the last column of its row in the crate documentation: `std`, `1 2`, `1–5`, `1–4 10`.
    pub(crate) fn uses_text(&self) -> String {
        if self.uses.is_empty() {
            return "std".to_owned();
        }
        let one = |(from, to): &(u8, u8)| match to - from {
            0 => from.to_string(),
            1 => format!("{from} {to}"),
            _ => format!("{from}–{to}"),
        };
        self.uses.iter().map(one).collect::<Vec<_>>().join(" ")
    }
}

/// The modules up to this number are pure.
pub(crate) const PURE: u8 = 11;

/// Folders of other modules that are pure as well, and why they do not stand in a pure module.
pub(crate) const PURE_FOLDERS: &[(&str, &str)] =
    &[("src/git/checks/", "only git needs them, and what is pushed and fetched is fed to them by chance")];

/// The module table.
pub(crate) const MODULES: &[Module] = &[
    Module::new(1, "base", &[]),
    Module::new(2, "model", &[(1, 1)]),
    Module::new(3, "yaml", &[(1, 2)]),
    Module::new(4, "schema", &[(1, 2)]),
    Module::new(5, "template", &[(1, 3)]),
    Module::new(6, "package", &[(1, 5)]),
    Module::new(7, "merge", &[(1, 4)]),
    Module::new(8, "kustomize", &[(1, 4)]),
    Module::new(9, "compile", &[(1, 8)]),
    Module::new(10, "health", &[(1, 4)]),
    Module::new(11, "plan", &[(1, 10)]),
    Module::new(12, "git", &[(1, 4)]),
    Module::new(13, "settings", &[(1, 4)]),
    Module::new(14, "store", &[(1, 2)]),
    Module::new(15, "target", &[(1, 4), (10, 10)]),
    Module::new(16, "forge", &[(1, 2)]),
    Module::new(17, "observe", &[(1, 16)]),
    Module::new(18, "apply", &[(1, 4), (11, 11), (15, 15)]),
    Module::new(19, "record", &[(1, 2), (11, 11), (14, 14), (18, 18)]),
    Module::new(20, "broadcast", &[(1, 2), (11, 11), (14, 16)]),
    Module::new(21, "pipeline", &[(1, 20)]),
    Module::new(22, "daemon", &[(1, 21)]),
    Module::new(23, "sandbox", &[(1, 4)]),
    Module::new(24, "http", &[(1, 22)]),
    Module::new(25, "cli", &[(1, 24)]),
];

/// Words that only occur where the world is touched.
pub(crate) const PURE_WORDS: &[&str] = &[
    "async",
    "await",
    "Instant",
    "SystemTime",
    "Mutex",
    "RwLock",
    "OnceCell",
    "thread_local",
    "tracing",
    "tokio",
    "git2",
    "kube",
    "sqlx",
    "now()",
    "env!",
    "option_env!",
    "println",
    "eprintln",
];

/// Crates that pure modules may use.
pub(crate) const PURE_CRATES: &[&str] = &[
    "aes_gcm",
    "base64",
    "chrono",
    "cron",
    "foldhash",
    "granit_parser",
    "hmac",
    "jiff",
    "json_patch",
    "jsonschema",
    "memchr",
    "regex",
    "secrecy",
    "semver",
    "serde",
    "serde_json",
    "serde_yaml",
    "sha1",
    "sha2",
    "similar",
    "thiserror",
    "unicode_normalization",
    "yaml_edit",
];

/// Crates that change often or touch the world, and the modules that may name them: an upgrade touches one folder.
pub(crate) const CRATES: &[(&str, &[&str])] = &[
    ("aes_gcm", &["yaml"]),
    ("age", &["settings"]),
    ("askama", &["http"]),
    ("axum", &["http", "sandbox"]),
    ("chrono", &["base"]),
    ("clap", &["cli", "main"]),
    ("clap_complete", &["cli"]),
    ("comfy_table", &["cli"]),
    ("cron", &["base"]),
    ("git2", &["git"]),
    ("granit_parser", &["yaml"]),
    ("hmac", &["base", "forge", "http"]),
    ("http", &["target", "sandbox", "http"]),
    ("http_body_util", &["target"]),
    ("hyper_util", &["target", "sandbox", "http", "cli"]),
    ("indicatif", &["cli"]),
    ("jiff", &["base", "template", "daemon", "cli"]),
    ("json_patch", &["kustomize", "sandbox"]),
    ("k8s_openapi", &["target"]),
    ("kube", &["target"]),
    ("notify", &["git", "settings", "daemon"]),
    ("prometheus_client", &["daemon", "http"]),
    ("rand", &["settings"]),
    ("regex", &["template", "yaml", "kustomize"]),
    ("reqwest", &["forge", "broadcast", "target", "http", "cli"]),
    ("ring", &["git"]),
    ("rustix", &["git", "settings", "apply", "pipeline", "target", "http", "cli"]),
    ("rustls", &["target", "main", "cli"]),
    ("secrecy", &["model"]),
    ("semver", &["package"]),
    ("serde_yaml", &["yaml"]),
    ("sha1", &["template"]),
    ("sha2", &["base", "template"]),
    ("similar", &["base", "merge"]),
    ("sqlx", &["store"]),
    ("ssh_key", &["git"]),
    ("unicode_normalization", &["git"]),
    ("tracing_subscriber", &["daemon", "cli", "main"]),
    ("yaml_edit", &["yaml"]),
];

/// Calls by which libgit2 takes an object out of the database, and the only files that make them: those that judge its size before.
pub(crate) const OBJECT_READS: (&[&str], &[&str]) = (
    &[
        "odb.read(",
        "find_blob(",
        "find_object(",
        "find_tag(",
        "find_annotated",
        "peel_to_",
        ".peel(ObjectType",
        "revwalk(",
        "revparse",
        "graph_descendant_of",
        "graph_ahead_behind",
        "repository.merge_base",
        "repository.find_commit",
        "repository.find_tree",
        "find_commit_by_prefix",
        "diff_tree_to",
        "find_note(",
        "blame_file",
        "describe(",
        ".reader(",
    ],
    &["src/git/objects.rs"],
);

/// Most lines of a file.
pub(crate) const FILE_CAP: usize = 800;
/// Most lines of tests at the end of a file.
pub(crate) const TEST_CAP: usize = 300;
/// Most lines of a function.
pub(crate) const FUNCTION_CAP: usize = 70;

/// Files above the cap: path, present lines, reason.
pub(crate) const FILE_SIZES: &[(&str, usize, &str)] = &[];

/// Functions above the cap: path, name, present lines, reason.
pub(crate) const FUNCTION_SIZES: &[(&str, &str, usize, &str)] = &[];

/// No type ends in these.
pub(crate) const BANNED_SUFFIXES: &[&str] = &["Manager", "Helper", "Helpers", "Util", "Utils", "Info", "Data", "Impl"];

/// No module is called these.
pub(crate) const BANNED_MODULES: &[&str] = &["util", "utils", "helper", "helpers", "common", "misc"];

/// No function begins with these.
pub(crate) const BANNED_VERBS: &[&str] = &["handle_", "process_", "do_", "perform_"];

/// Words that occur in no type name, and ours.
pub(crate) const BANNED_WORDS: &[(&str, &str)] = &[
    ("Resource", "Object"),
    ("Release", "App or Revision"),
    ("Tenant", "Instance"),
    ("Workspace", "Instance"),
    ("Chart", "Package"),
    ("Catalog", "WildDirectory"),
    ("Registry", "WildDirectory"),
    ("Dependency", "Requirement or Binding"),
    ("Pristine", "Generated"),
    ("Clash", "Conflict"),
    ("Entity", "Object"),
    ("Backend", "Target"),
    ("Callback", "Hook"),
    ("Skew", "Drift"),
    ("Actor", "Worker"),
    ("Executor", "Worker or Lane"),
    ("Mock", "Sandbox or World"),
];

/// Names that no type has as a whole, and ours.
pub(crate) const BANNED_NAMES: &[(&str, &str)] = &[
    ("Job", "Action"),
    ("Task", "Action"),
    ("Service", "App"),
    ("Deployment", "App"),
    ("Environment", "Instance"),
    ("Directory", "WildDirectory or Upstream"),
    ("Manifest", "PackageManifest, or Object"),
    ("Vendor", "Generated"),
    ("Original", "Generated"),
    ("Fix", "Resolution"),
    ("Values", "Config"),
    ("Options", "Settings"),
    ("Preferences", "Settings"),
    ("Property", "Leaf"),
    ("Phase", "Wave, Stage or Step"),
    ("Sync", "Pass"),
    ("Cycle", "Pass"),
    ("Command", "Request"),
    ("Signal", "Trigger or Event"),
    ("Readiness", "Health"),
    ("Thread", "Worker or Lane"),
    ("Masked", "Redacted"),
    ("Sensitive", "Redacted"),
];

/// Foreign words at the edge: path, type, which format has the word.
pub(crate) const FOREIGN_NAMES: &[(&str, &str, &str)] = &[
    ("src/template/ast.rs", "Command", "the grammar of Go templates"),
    ("tests/tidy/manifest.rs", "Dependency", "Cargo.toml"),
];
