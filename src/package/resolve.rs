//! Pure. Makes the config that an app's templates see: the package's defaults, resolved in their order, under the values of
//! config.yaml.
//!
//! Defaults are resolved from top to bottom, so one may read those above it. Leaf by leaf the value of config.yaml wins; a
//! section that exists never hides a key that a newer package adds below it. Only defaults are templates: a value from
//! config.yaml is data, whatever it looks like. Not here: rendering files (`compile`), secret values (`secrets.rs`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::load::{MANIFEST, Package};
use super::manifest::{PackageDialect, PackageManifest};
use super::service;
use crate::model::{AppName, Config, Diagnostic, Severity};
use crate::template::{self, Context};

/// Sections of config.yaml that every package may read.
pub(super) const SHARED: [&str; 3] = ["operator", "cloud", "cluster"];
/// Where findings about values of the instance are placed.
const CONFIG: &str = "config.yaml";

/// What the config of an app is made from.
#[derive(Clone, Copy, Debug)]
pub struct ResolveInput<'a> {
    /// The app.
    pub app: &'a AppName,
    /// Its package.
    pub package: &'a Package,
    /// Which app satisfies which reference.
    pub bindings: &'a BTreeMap<String, AppName>,
    /// The instance's config.
    pub config: &'a Config,
}

/// The config of an app.
#[derive(Clone, PartialEq, Debug)]
pub struct Resolved {
    /// The package's defaults as they come out now, whatever config.yaml says.
    pub defaults: Map<String, Value>,
    /// The app's config: the defaults with config.yaml over them.
    pub config: Map<String, Value>,
    /// What the app's files see at their root; in dialect v3 that is the app's config.
    pub files: Map<String, Value>,
    /// Defaults of a service that config.yaml has no value for, by path from its top.
    pub service_values: Vec<(Vec<String>, Value)>,
    /// What the templates of the manifest see: `.app`, `.apps`, `.cloud`, `.cluster`, `.operator`.
    pub context: Value,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Resolves the defaults of an app's package over the instance's config.
pub fn resolve(input: &ResolveInput<'_>) -> Result<Resolved, Vec<Diagnostic>> {
    let section = section(input.config, input.app)?;
    let manifest = &input.package.manifest;
    let root = shared_context(input)?;
    let names = own_names(input);
    let mut walk = Walk { manifest, names, section: &section, root, defaults: Map::new(), findings: Vec::new() };
    let mut path = Vec::new();
    for (key, value) in &manifest.default_config {
        path.push(key.clone());
        walk.entry(&mut path, value);
        path.pop();
    }
    if walk.findings.iter().any(Diagnostic::is_error) {
        walk.findings.retain(Diagnostic::is_error);
        return Err(walk.findings);
    }
    let context = Value::Object(walk.context());
    let config = overlay(&walk.defaults, &section);
    let (files, service_values) = match manifest.dialect {
        PackageDialect::V3 => (config.clone(), Vec::new()),
        PackageDialect::V2 => (walk.whole(), Vec::new()),
        PackageDialect::V1 => {
            let whole = walk.whole();
            let mut root = whole.clone();
            root.insert("config".to_owned(), Value::Object(whole));
            (root, Vec::new())
        }
        PackageDialect::Service => service::root(manifest, input.config)?,
    };
    Ok(Resolved { defaults: walk.defaults, config, files, service_values, context, diagnostics: walk.findings })
}

/// Returns the names under which a package of the older dialects refers to itself: a second instance of it has a name that
/// its files cannot know.
fn own_names(input: &ResolveInput<'_>) -> Vec<String> {
    let manifest = &input.package.manifest;
    if !manifest.dialect.names_whole_paths() {
        return Vec::new();
    }
    let mut names = vec![input.app.to_string(), input.package.name.to_string(), manifest.name.clone()];
    names.retain(|name| !name.is_empty() && !input.bindings.contains_key(name));
    names.dedup();
    names
}

/// Returns the section that `app add` writes into config.yaml: every default, with the values that are there already.
pub fn config_section(resolved: &Resolved, existing: Option<&Map<String, Value>>) -> Map<String, Value> {
    match existing {
        Some(existing) => overlay(&resolved.defaults, existing),
        None => resolved.defaults.clone(),
    }
}

/// Returns the app's section of config.yaml; an absent or empty one has no keys.
fn section(config: &Config, app: &AppName) -> Result<Map<String, Value>, Vec<Diagnostic>> {
    match config.0.get("apps").and_then(|apps| apps.get(app.as_str())) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(section)) => Ok(section.clone()),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            let hint = format!("write key: value lines below apps.{app}");
            Err(vec![Diagnostic::error("P042", CONFIG, 0, format!("apps.{app} is no map of keys")).with_hint(hint)])
        }
    }
}

/// Returns what every template of the manifest sees beside `.app`.
fn shared_context(input: &ResolveInput<'_>) -> Result<Map<String, Value>, Vec<Diagnostic>> {
    let mut root = Map::new();
    for key in SHARED {
        if let Some(value) = input.config.0.get(key).filter(|value| !value.is_null()) {
            root.insert(key.to_owned(), value.clone());
        }
    }
    let mut apps = Map::new();
    for (reference, bound) in input.bindings {
        apps.insert(reference.clone(), Value::Object(section(input.config, bound)?));
    }
    root.insert("apps".to_owned(), Value::Object(apps));
    Ok(root)
}

/// Lays values over defaults: maps key by key, everything else replaces. Defaults keep their order, further keys follow.
pub(super) fn overlay(defaults: &Map<String, Value>, values: &Map<String, Value>) -> Map<String, Value> {
    let mut result = defaults.clone();
    for (key, value) in values {
        let laid = match (result.get(key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => Value::Object(overlay(below, above)),
            (_, value) => value.clone(),
        };
        result.insert(key.clone(), laid);
    }
    result
}

struct Walk<'a> {
    manifest: &'a PackageManifest,
    /// What the package calls itself below `.apps`.
    names: Vec<String>,
    section: &'a Map<String, Value>,
    root: Map<String, Value>,
    /// Resolved so far.
    defaults: Map<String, Value>,
    findings: Vec<Diagnostic>,
}

impl Walk<'_> {
    /// Resolves one entry of the defaults and everything below it. Its depth is bounded by the loader.
    fn entry(&mut self, path: &mut Vec<String>, value: &Value) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                for (key, value) in map {
                    path.push(key.clone());
                    self.entry(path, value);
                    path.pop();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                if let Some(resolved) = self.leaf(path, value) {
                    set(&mut self.defaults, path, resolved);
                }
            }
        }
    }

    /// Resolves a scalar, or the items of a list. A default with an action is always text, whatever it renders to.
    fn leaf(&mut self, path: &[String], value: &Value) -> Option<Value> {
        match value {
            Value::String(text) if template::has_action(text) => self.render(path, text).map(Value::String),
            Value::Array(items) => {
                items.iter().map(|item| self.leaf(path, item)).collect::<Option<_>>().map(Value::Array)
            }
            Value::Object(map) => map
                .iter()
                .map(|(key, item)| Some((key.clone(), self.leaf(path, item)?)))
                .collect::<Option<_>>()
                .map(Value::Object),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.clone()),
        }
    }

    fn render(&mut self, path: &[String], text: &str) -> Option<String> {
        let context = self.context();
        match template::render(MANIFEST, text, &Context::new(Value::Object(context))) {
            Ok(rendered) => Some(rendered.text),
            Err(errors) => {
                let findings = self.explain(path, text, errors);
                self.findings.extend(findings);
                None
            }
        }
    }

    fn context(&self) -> Map<String, Value> {
        let mut root = self.whole();
        root.insert("app".to_owned(), Value::Object(overlay(&self.defaults, self.section)));
        root
    }

    /// Returns what files of the older dialects see: the shared sections and every app by name, the own one included.
    fn whole(&self) -> Map<String, Value> {
        let mut root = self.root.clone();
        if let Some(Value::Object(apps)) = root.get_mut("apps") {
            let own = Value::Object(overlay(&self.defaults, self.section));
            apps.extend(self.names.iter().map(|name| (name.clone(), own.clone())));
        }
        root
    }

    /// Says in words of manifests why a default cannot be rendered.
    fn explain(&self, path: &[String], text: &str, errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let dotted = path.join(".");
        let mut place = vec!["defaultConfig"];
        place.extend(path.iter().map(String::as_str));
        let line = self.manifest.line_of(&place);
        if contains(self.section, path) {
            let message = format!("the default of {dotted} cannot be rendered; config.yaml has a value for it");
            return vec![Diagnostic::warning("P041", MANIFEST, line, message)];
        }
        if let Some(below) = self.below(path, text) {
            let message = format!("the default of {dotted} reads {below}, which stands below it");
            return vec![
                Diagnostic::error("P040", MANIFEST, line, message).with_hint(format!("move {below} above {dotted}")),
            ];
        }
        if let Some(reference) = self.undeclared(text) {
            let message =
                format!("the default of {dotted} reads .apps.{reference}, which the package does not require");
            return vec![
                Diagnostic::error("T221", MANIFEST, line, message)
                    .with_hint(format!("add {{name: {reference}}} to requires")),
            ];
        }
        errors
            .into_iter()
            .map(|error| {
                let message = format!("the default of {dotted} cannot be rendered: {}", error.message);
                Diagnostic { line, column: 0, message, severity: Severity::Error, ..error }
            })
            .collect()
    }

    /// Returns a default further down that the template reads.
    fn below(&self, path: &[String], text: &str) -> Option<String> {
        let seen = overlay(&self.defaults, self.section);
        let own = self.names.iter().flat_map(|name| references(text, &format!(".apps.{name}.")));
        references(text, ".app.")
            .into_iter()
            .chain(own)
            .find(|wanted| {
                contains(&self.manifest.default_config, wanted) && !contains(&seen, wanted) && wanted.as_slice() != path
            })
            .map(|wanted| wanted.join("."))
    }

    /// Returns a reference that the template reads and the package does not declare.
    fn undeclared(&self, text: &str) -> Option<String> {
        let references = references(text, ".apps.").into_iter().filter_map(|path| path.into_iter().next());
        let mut references = references.filter(|reference| !self.names.contains(reference));
        references.find(|reference| self.manifest.requirement(reference).is_none())
    }
}

/// Returns the key paths behind a prefix such as `.app.` in a template's text.
pub fn references(text: &str, prefix: &str) -> Vec<Vec<String>> {
    text.split(prefix)
        .skip(1)
        .map(|rest| {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').unwrap_or(rest.len());
            let path = rest.split_at_checked(end).map_or(rest, |(path, _)| path);
            path.trim_end_matches('.').split('.').map(str::to_owned).collect()
        })
        .collect()
}

fn contains(map: &Map<String, Value>, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    match map.get(first) {
        Some(Value::Object(inner)) => contains(inner, rest),
        Some(_) => rest.is_empty(),
        None => false,
    }
}

pub(super) fn set(map: &mut Map<String, Value>, path: &[String], value: Value) {
    let Some((first, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        map.insert(first.clone(), value);
    } else if let Value::Object(inner) = map.entry(first.clone()).or_insert_with(|| Value::Object(Map::new())) {
        set(inner, rest, value);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::{ResolveInput, config_section, resolve};
    use crate::base::RepoPath;
    use crate::model::{AppName, Config, File, FileTree, PackageName};
    use crate::package::{Package, load};
    use crate::yaml::{self, Dialect};

    fn package(defaults: &str) -> Package {
        let text = format!("version: '1'\nrequires:\n  - {{name: stonedb, alias: db}}\ndefaultConfig:\n{defaults}");
        let path = RepoPath::parse("manifest.yaml").unwrap();
        let files: FileTree = [(path, File::text(&text))].into_iter().collect();
        load(&PackageName::parse("blog").unwrap(), &files).unwrap()
    }

    fn config(text: &str) -> Config {
        let document = yaml::load_one("config.yaml", text, Dialect::Gomplate).unwrap();
        Config(document.map(|document| document.value).and_then(|value| value.as_object().cloned()).unwrap_or_default())
    }

    fn run(defaults: &str, values: &str) -> Result<super::Resolved, String> {
        let bindings = BTreeMap::from([("db".to_owned(), AppName::parse("rows").unwrap())]);
        let (app, package, config) = (AppName::parse("blog").unwrap(), package(defaults), config(values));
        resolve(&ResolveInput { app: &app, package: &package, bindings: &bindings, config: &config }).map_err(
            |findings| {
                findings.iter().map(|finding| format!("{finding}; {}", finding.hint)).collect::<Vec<_>>().join("\n")
            },
        )
    }

    fn check(defaults: &str, values: &str, expected: &str) {
        let found = match run(defaults, values) {
            Ok(resolved) => Value::Object(resolved.config).to_string(),
            Err(findings) => findings,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn literals_keep_their_type_and_templates_are_text() {
        check(
            "  port: 80\n  flag: true\n  text: \"8080\"\n  made: \"{{ .app.port }}\"\n",
            "",
            r#"{"port":80,"flag":true,"text":"8080","made":"80"}"#,
        );
    }

    #[test]
    fn a_default_reads_those_above_it_and_the_values_of_the_instance() {
        check(
            "  domain: \"blog.{{ .cloud.domain }}\"\n  url: \"https://{{ .app.domain }}\"\n",
            "cloud: {domain: example.org}\napps: {blog: {domain: my.example.org}}",
            r#"{"domain":"my.example.org","url":"https://my.example.org"}"#,
        );
    }

    #[test]
    fn a_default_reads_the_bound_app_by_reference() {
        check("  dbHost: \"{{ .apps.db.host }}\"\n", "apps: {rows: {host: r.svc}}", r#"{"dbHost":"r.svc"}"#);
    }

    #[test]
    fn values_win_leaf_by_leaf() {
        check(
            "  smtp:\n    host: none\n    port: 25\n  sizes: [1, 2]\n  gone: x\n",
            "apps: {blog: {smtp: {host: mail}, sizes: [3], gone: null, own: 1}}",
            r#"{"smtp":{"host":"mail","port":25},"sizes":[3],"gone":null,"own":1}"#,
        );
    }

    #[test]
    fn a_value_of_the_instance_is_never_a_template() {
        check("  title: x\n", "apps: {blog: {title: '{{ .cloud.domain }}'}}", r#"{"title":"{{ .cloud.domain }}"}"#);
    }

    #[test]
    fn lists_are_rendered_item_by_item() {
        check("  hosts: [a, \"b.{{ .cloud.domain }}\"]\n", "cloud: {domain: c}", r#"{"hosts":["a","b.c"]}"#);
    }

    #[test]
    fn a_default_below_is_named_with_the_order_that_works() {
        check(
            "  url: \"https://{{ .app.domain }}\"\n  domain: x\n",
            "",
            "manifest.yaml:5: P040: the default of url reads domain, which stands below it; move domain above url",
        );
    }

    #[test]
    fn a_reference_that_is_not_required_is_named() {
        check(
            "  host: \"{{ .apps.cache.host }}\"\n",
            "",
            "manifest.yaml:5: T221: the default of host reads .apps.cache, which the package does not require; add {name: cache} to requires",
        );
    }

    #[test]
    fn files_of_the_older_dialects_see_the_whole_config_with_themselves_in_it() {
        let check = |dialect: &str, expected: &str| {
            let text = format!(
                "name: diary\nversion: '1'\ndialect: {dialect}\nrequires: [stonedb]\ndefaultConfig:\n  host: \"b.{{{{ \
                 .cloud.domain }}}}\"\n  url: \"https://{{{{ .apps.blog.host }}}}\"\n  db: \"{{{{ .apps.stonedb.host }}}}\"\n"
            );
            let path = RepoPath::parse("manifest.yaml").unwrap();
            let files: FileTree = [(path, File::text(&text))].into_iter().collect();
            let package = load(&PackageName::parse("blog").unwrap(), &files).unwrap();
            let bindings = BTreeMap::from([("stonedb".to_owned(), AppName::parse("rows").unwrap())]);
            let config = config("cloud: {domain: c}\napps: {rows: {host: r}, other: {x: 1}, mine: {own: 2}}");
            let app = AppName::parse("mine").unwrap();
            let input = ResolveInput { app: &app, package: &package, bindings: &bindings, config: &config };
            assert_eq!(Value::Object(resolve(&input).unwrap().files).to_string(), expected);
        };
        let own = r#"{"host":"b.c","url":"https://b.c","db":"r","own":2}"#;
        let whole = format!(
            r#""cloud":{{"domain":"c"}},"apps":{{"stonedb":{{"host":"r"}},"mine":{own},"blog":{own},"diary":{own}}}"#
        );
        check("v2", &format!("{{{whole}}}"));
        check("v1", &format!(r#"{{{whole},"config":{{{whole}}}}}"#));
    }

    #[test]
    fn a_default_that_fails_under_a_value_is_a_warning() {
        let resolved = run("  host: \"{{ .cloud.domain }}\"\n", "apps: {blog: {host: h}}").unwrap();
        assert_eq!(resolved.diagnostics[0].id, "P041");
        assert_eq!(Value::Object(resolved.config).to_string(), r#"{"host":"h"}"#);
        assert!(resolved.defaults.is_empty());
    }

    #[test]
    fn a_section_that_is_no_map_is_refused() {
        let expected = "config.yaml: P042: apps.blog is no map of keys; write key: value lines below apps.blog";
        check("  a: 1\n", "apps: {blog: [1]}", expected);
    }

    #[test]
    fn the_written_section_keeps_what_is_there() {
        let resolved = run("  smtp:\n    host: none\n    port: 25\n", "").unwrap();
        let existing = config("smtp: {host: mail}").0;
        assert_eq!(
            Value::Object(config_section(&resolved, Some(&existing))).to_string(),
            r#"{"smtp":{"host":"mail","port":25}}"#
        );
    }
}
