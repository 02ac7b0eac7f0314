//! Pure. Makes the generation of an app: the exact bytes that its package gives with its config, and the record of how.
//!
//! Every file keeps its path. Templates are rendered, texts for people and binary files are copied, the manifest keeps its
//! bytes and gets its bindings, the package itself lies beside them in `.package/`. The result must build: what
//! `kubectl apply -k` would refuse is never committed. Line ends, a missing final newline and modes are the package's.
//!
//! Not here: merging a generation with what people changed (`merge`), which commit it becomes (`compile::propose`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::insertion;
use crate::base::hash::Encoder;
use crate::base::{PathError, RepoPath};
use crate::kustomize::{self, BuiltObject};
use crate::model::{
    AppName, CommitId, Config, Diagnostic, File, FileTree, GenerationRecord, Object, Severity, Upstream,
};
use crate::package::{self, Ignore, Package, PackageDialect, ResolveInput, Resolved, SecretNeeds, UnresolvedKey};
use crate::template::{self, Context};
use crate::yaml;

/// Version of the renderer: the crate's, and a number that rises whenever equal inputs give other bytes.
pub const RENDERER: &str = "0.1.0+1";
/// What the record says instead of a renderer where the files are a person's and nothing was compiled.
pub(super) const NO_RENDERER: &str = "none";
/// Version of the record's format.
const RECORD_FORMAT: u32 = 1;
/// Directory of the app that shows the package as it is upstream.
const VIEW: &str = ".package";

/// What a generation is made from.
#[derive(Clone, Copy, Debug)]
pub struct GenerateInput<'a> {
    /// The app.
    pub app: &'a AppName,
    /// Its package.
    pub package: &'a Package,
    /// The upstream that the package comes from.
    pub directory: &'a Upstream,
    /// The upstream's commit.
    pub upstream_commit: &'a CommitId,
    /// Which app satisfies which reference.
    pub bindings: &'a BTreeMap<String, AppName>,
    /// The instance's config.
    pub config: &'a Config,
}

/// A generation that is not committed yet.
#[derive(Clone, PartialEq, Debug)]
pub struct Generated {
    /// Files below `apps/<app>/`, without the record.
    pub files: FileTree,
    /// The record.
    pub record: GenerationRecord,
    /// The secrets that the app wants.
    pub needs: SecretNeeds,
    /// What the files build.
    pub objects: Vec<BuiltObject>,
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
}

/// Makes the generation of an app, or says why its package gives none with this config.
pub fn generate(input: &GenerateInput<'_>) -> Result<Generated, Vec<Diagnostic>> {
    let GenerateInput { app, package, directory: _, upstream_commit: _, bindings, config } = *input;
    let directory = format!("apps/{app}");
    let place = |finding: Diagnostic| Diagnostic { file: placed(&directory, &finding.file), ..finding };
    let resolved = package::resolve(&ResolveInput { app, package, bindings, config })
        .map_err(|findings| findings.into_iter().map(place).collect::<Vec<_>>())?;
    let mut diagnostics: Vec<Diagnostic> =
        package.diagnostics.iter().chain(&resolved.diagnostics).cloned().map(place).collect();
    let (files, told) = app_files(input, &directory, &resolved)?;
    diagnostics.extend(told);
    let built = kustomize::build(&files, &directory)?;
    diagnostics.extend(built.diagnostics);
    package::realm::realm_objects(&files, app)?;
    let needs = SecretNeeds::of(app, &package.manifest, bindings).with_context(resolved.context.clone());
    check_secret_data(&built.objects)?;
    check_secret_keys(&needs, &built.objects)?;
    diagnostics.extend(foreign_secrets(&needs, &built.objects));
    diagnostics.extend(hidden_copies(&needs).map(place));
    let record = record(input, &resolved.config, &resolved.defaults);
    diagnostics.sort_by(|a, b| (&a.file, a.line, a.column, &a.id).cmp(&(&b.file, b.line, b.column, &b.id)));
    Ok(Generated { files, record, needs, objects: built.objects, diagnostics })
}

/// Returns a finding's file as a path of the repository.
fn placed(directory: &str, file: &str) -> String {
    match file {
        "" => directory.to_owned(),
        "config.yaml" => file.to_owned(),
        file => format!("{directory}/{file}"),
    }
}

/// What becomes of one file of a package.
enum Treatment {
    /// It is rendered.
    Render,
    /// It is copied as it is.
    Copy,
    /// It is in the view only.
    Skip,
}

fn treatment(package: &Package, ignore: &Ignore, path: &RepoPath, file: &File) -> Treatment {
    let rules = &package.manifest.render;
    let fits = |globs: &[String]| globs.iter().any(|glob| package::matches(glob, path.as_str()));
    if fits(&rules.skip) || ignore.contains(path) {
        Treatment::Skip
    } else if package::is_for_people(path.as_str())
        || fits(&rules.raw)
        || file.as_text().is_none_or(|text| text.contains('\0'))
    {
        Treatment::Copy
    } else {
        Treatment::Render
    }
}

/// Returns the files of the app, which are rendered, copied, the manifest and the view, and what is worth saying about them.
fn app_files(
    input: &GenerateInput<'_>,
    directory: &str,
    resolved: &Resolved,
) -> Result<(FileTree, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut files = FileTree::new();
    let (mut findings, mut told) = (Vec::new(), Vec::new());
    let ignore = Ignore::of(&input.package.files);
    for (path, file) in input.package.files.iter() {
        let in_app = input.package.path_in_app(path);
        let target = format!("{directory}/{}", in_app.as_deref().unwrap_or_default());
        let made = if input.package.is_manifest(path) {
            manifest(input, &target, file).map(Some)
        } else if in_app.is_none() {
            Ok(None)
        } else {
            match treatment(input.package, &ignore, path, file) {
                Treatment::Skip => Ok(None),
                Treatment::Copy => Ok(Some(file.clone())),
                Treatment::Render => {
                    let structural = &input.package.manifest.render.structural;
                    render(&target, file, resolved, structural).map(|(made, findings)| {
                        told.extend(findings);
                        made
                    })
                }
            }
        };
        let added = made.and_then(|made| {
            made.map_or(Ok(()), |made| insert(&mut files, &target, made))?;
            insert(&mut files, &format!("{directory}/{VIEW}/{path}"), file.clone())
        });
        if let Err(errors) = added {
            findings.extend(errors);
        }
    }
    if findings.is_empty() { Ok((files, told)) } else { Err(findings) }
}

fn insert(files: &mut FileTree, path: &str, file: File) -> Result<(), Vec<Diagnostic>> {
    let refuse = |error: PathError| vec![Diagnostic::error("P010", path, 0, error.to_string())];
    files.insert(RepoPath::parse(path).map_err(refuse)?, file);
    Ok(())
}

/// Renders a file. One that comes out as white space is not written, as with the gomplate command.
fn render(
    target: &str,
    file: &File,
    resolved: &Resolved,
    structural: &[String],
) -> Result<(Option<File>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let Some(template) = file.as_text() else { return Ok((Some(file.clone()), Vec::new())) };
    let context = context(&resolved.files);
    let rendered = template::render(target, template, &context)?;
    let mut told = insertion::check(target, template, &rendered, &resolved.files, structural)?;
    told.extend(rendered.warnings);
    let text = rendered.text;
    let made = (!text.trim().is_empty()).then(|| File { bytes: text.as_bytes().into(), mode: file.mode });
    Ok((made, told))
}

/// Returns what a file sees. The oldest packages ask for the whole config as a data source too.
pub(super) fn context(files: &Map<String, Value>) -> Context {
    let context = Context::new(Value::Object(files.clone()));
    match files.get("config") {
        Some(config @ Value::Object(_)) => context.with_config(config.clone()),
        _ => context,
    }
}

/// Returns the package's manifest with the bindings in its requirements; every other byte stays.
fn manifest(input: &GenerateInput<'_>, target: &str, file: &File) -> Result<File, Vec<Diagnostic>> {
    let mut text = file.as_text().unwrap_or_default().to_owned();
    for requirement in &input.package.manifest.requires {
        let bound = input.bindings.get(requirement.reference());
        let (Some(_), Some(app)) = (requirement.position, bound) else { continue };
        let item = match &requirement.alias {
            Some(alias) => ("alias", alias.as_str()),
            None => ("name", requirement.name.as_str()),
        };
        text = yaml::edit::insert_in_item(target, &text, &["requires"], item, ("installedAs", app.as_str()))?;
    }
    if input.package.manifest.dialect == PackageDialect::Service
        && package::read_manifest(target, &input.package.name, &text).is_err()
    {
        // Under its new name the manifest must still say what it is.
        let end = if text.ends_with('\n') { "" } else { "\n" };
        text = format!("{text}{end}dialect: service\n");
    }
    check_bindings(input, target, &text)?;
    Ok(File { bytes: text.as_bytes().into(), mode: file.mode })
}

/// Reads the manifest back: a binding that landed at another requirement would hand out the wrong app's secrets.
fn check_bindings(input: &GenerateInput<'_>, target: &str, text: &str) -> Result<(), Vec<Diagnostic>> {
    let manifest = package::read_manifest(target, &input.package.name, text)?.manifest;
    for requirement in manifest.requires.iter().filter(|requirement| requirement.position.is_some()) {
        let reference = requirement.reference();
        if requirement.installed_as.as_ref() != input.bindings.get(reference) {
            let message = format!("installedAs cannot be written into the requirement {reference}");
            let hint = "give every requirement of this type an alias";
            return Err(vec![Diagnostic::error("P059", target, requirement.line, message).with_hint(hint)]);
        }
    }
    Ok(())
}

/// Refuses secret values in a package: they would stand in git, equal for everybody who adds it.
fn check_secret_data(objects: &[BuiltObject]) -> Result<(), Vec<Diagnostic>> {
    let holds_data = |built: &&BuiltObject| {
        let filled =
            |field: &str| built.object.at(&[field]).and_then(Value::as_object).is_some_and(|map| !map.is_empty());
        built.object.group().is_empty() && built.object.kind() == "Secret" && (filled("data") || filled("stringData"))
    };
    let findings: Vec<Diagnostic> = objects
        .iter()
        .filter(holds_data)
        .map(|built| {
            let message = format!("the Secret {} holds values, which would be committed", built.object.name());
            let hint = "name its keys in defaultSecrets and read them from <app>-secrets";
            Diagnostic::error("L024", &built.file, built.line, message).with_hint(hint)
        })
        .collect();
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

/// Warns of Secrets that neither the app nor its package makes: pods that read them wait until a person does.
fn foreign_secrets(needs: &SecretNeeds, objects: &[BuiltObject]) -> Vec<Diagnostic> {
    let own = package::secret_name(&needs.app);
    let all: Vec<&Object> = objects.iter().map(|built| &built.object).collect();
    let known = package::object_keys(needs, &all);
    let made: BTreeSet<&str> =
        objects.iter().filter(|built| built.object.kind() == "Secret").map(|built| built.object.name()).collect();
    let mut findings = Vec::new();
    for built in objects {
        for name in package::secret_names([&built.object]) {
            let is_made = made.contains(name.as_str()) || known.secrets.contains_key(&name);
            if name.ends_with("-secrets") && !is_made {
                let message = format!("{} reads the Secret {name}, but this app's is {own}", built.object.id().short());
                let hint = "a package may read its own Secret, and keys of others that stand in requiredSecrets";
                findings.push(Diagnostic::warning("L005", &built.file, built.line, message).with_hint(hint));
            }
        }
    }
    findings
}

/// Tells of copies of other apps' secrets whose name the app has for a secret of its own, which counts.
fn hidden_copies(needs: &SecretNeeds) -> impl Iterator<Item = Diagnostic> {
    let hidden =
        needs.copies.iter().filter_map(|copy| Some((copy, needs.own.iter().find(|own| own.key == copy.copy_key())?)));
    hidden.map(|(copy, own)| {
        let message = format!("the secret {} of the app hides the copy of {}", own.key, copy.spelling());
        let finding = Diagnostic::warning("P061", package::MANIFEST, own.line, message);
        Diagnostic { severity: Severity::Info, ..finding }.with_hint("give the key of the app another name")
    })
}

/// Refuses an app whose objects read keys that nobody makes: its pods would wait for ever.
fn check_secret_keys(needs: &SecretNeeds, objects: &[BuiltObject]) -> Result<(), Vec<Diagnostic>> {
    let all: Vec<&Object> = objects.iter().map(|built| &built.object).collect();
    let unresolved = package::object_keys(needs, &all).unresolved;
    let findings: Vec<Diagnostic> = unresolved
        .into_iter()
        .map(|UnresolvedKey { secret, key, owner }| {
            let uses = |built: &&BuiltObject| package::secret_keys([&built.object], &secret).contains(&key);
            let place = objects.iter().find(uses);
            let (file, line) = place.map_or(("", 0), |built| (built.file.as_str(), built.line));
            match owner {
                None => {
                    let message =
                        format!("an object reads the key {key} of {secret}, which the manifest does not name");
                    let hint = format!("add {key} to defaultSecrets or requiredSecrets");
                    Diagnostic::error("P062", file, line, message).with_hint(hint)
                }
                Some(owner) => {
                    let message = format!("an object reads the key {key} of {secret}, the Secret of another app");
                    let hint = format!("add {owner}.{key} to requiredSecrets");
                    Diagnostic::error("L005", file, line, message).with_hint(hint)
                }
            }
        })
        .collect();
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

fn record(input: &GenerateInput<'_>, config: &Map<String, Value>, defaults: &Map<String, Value>) -> GenerationRecord {
    let config = Value::Object(config.clone());
    GenerationRecord {
        format: RECORD_FORMAT,
        package: input.package.name.clone(),
        version: input.package.manifest.version.clone(),
        wanted: None,
        held: None,
        directory: input.directory.name.clone(),
        upstream: without_credentials(&input.directory.url),
        upstream_commit: input.upstream_commit.clone(),
        bindings: input.bindings.clone(),
        config: Encoder::new().value(&config).digest().to_hex(),
        custom: None,
        renderer: RENDERER.to_owned(),
        deployed: true,
        defaults: defaults.clone(),
    }
}

/// Returns the files of a package where an app shows them.
pub(super) fn shown(app: &AppName, package: &Package) -> FileTree {
    let place = |path: &RepoPath| RepoPath::parse(&format!("apps/{app}/{VIEW}/{path}")).ok();
    package.files.iter().filter_map(|(path, file)| Some((place(path)?, file.clone()))).collect()
}

/// Returns what is known of a version that does not compile: its view and a record without config.
pub(super) fn uncompiled(app: &AppName, directory: &Upstream, commit: &CommitId, package: &Package) -> Generated {
    let (bindings, config) = (BTreeMap::new(), Config::default());
    let input =
        GenerateInput { app, package, directory, upstream_commit: commit, bindings: &bindings, config: &config };
    Generated {
        files: shown(app, package),
        record: record(&input, &Map::new(), &Map::new()),
        needs: SecretNeeds::none(app.clone()),
        objects: Vec::new(),
        diagnostics: Vec::new(),
    }
}

/// Returns an address without user and password, which must not reach git.
fn without_credentials(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            path.map_or_else(|| format!("{scheme}://{host}"), |path| format!("{scheme}://{host}/{path}"))
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests;
