//! Pure. Takes the files of one package: which paths it may hold, its manifest, its dialect.
//!
//! Not here: finding packages in a tree (`directory.rs`), rendering the files (`compile::generate`).

use std::collections::BTreeMap;

use super::dialect;
use super::manifest::{PackageDialect, PackageManifest};
use super::read::{UNVERSIONED, read_manifest};
use crate::base::RepoPath;
use crate::base::hash::Encoder;
use crate::base::limits::{MAX_APP_FILES, MAX_FILE_BYTES};
use crate::model::{CONTROL_NAMESPACE, Diagnostic, FileTree, PackageName, is_of_system};

/// Name of the manifest in a package and in an app.
pub const MANIFEST: &str = "manifest.yaml";
/// Name of the manifest of a service.
pub const SERVICE_MANIFEST: &str = "wild-manifest.yaml";
/// Directory in a service that holds its templates.
const SERVICE_TEMPLATES: &str = "kustomize.template";
/// Characters of a digest in the version of a service that says none.
const TREE_ID_CHARS: usize = 12;
/// Bytes of all files of a package together; a clone of a directory with hundreds of packages should stay small.
pub const MAX_PACKAGE_BYTES: usize = 32 * 1024 * 1024;
/// Names of files that are written for people and never rendered.
const FOR_PEOPLE: [&str; 5] = ["README*", "*.md", "LICENSE*", "NOTICE*", "CHANGELOG*"];
/// Top directories that belong to us in the compiled app.
const RESERVED: [&str; 3] = [".package", ".custom", ".wild"];

/// A package: its manifest and files.
#[derive(Clone, PartialEq, Debug)]
pub struct Package {
    /// Name: the directory.
    pub name: PackageName,
    /// The manifest.
    pub manifest: PackageManifest,
    /// All files, the manifest included, by path inside the package.
    pub files: FileTree,
    /// Warnings and notes about it.
    pub diagnostics: Vec<Diagnostic>,
}

impl Package {
    /// Returns where a file of the package goes in the app; nothing if only the package itself holds it.
    pub fn path_in_app(&self, path: &RepoPath) -> Option<String> {
        if self.manifest.dialect != PackageDialect::Service {
            return Some(path.to_string());
        }
        match path.as_str() {
            SERVICE_MANIFEST => Some(MANIFEST.to_owned()),
            text if is_for_people(text) => Some(text.to_owned()),
            _ => path.below(SERVICE_TEMPLATES).map(|path| path.to_string()),
        }
    }

    /// Returns whether a file of the package is its manifest.
    pub fn is_manifest(&self, path: &RepoPath) -> bool {
        path.as_str() == manifest_of(&self.files)
    }
}

/// Returns the path of the manifest in a package's files.
pub fn manifest_of(files: &FileTree) -> &'static str {
    if !files.contains(MANIFEST) && files.contains(SERVICE_MANIFEST) { SERVICE_MANIFEST } else { MANIFEST }
}

/// Returns whether a file is written for people and never rendered.
pub fn is_for_people(path: &str) -> bool {
    FOR_PEOPLE.iter().any(|glob| super::matches(glob, path))
}

/// Loads a package from its files, whose paths are relative to it.
pub fn load(name: &PackageName, files: &FileTree) -> Result<Package, Vec<Diagnostic>> {
    let mut findings = check_name(name);
    findings.extend(check_files(files));
    let name_of_manifest = manifest_of(files);
    let Some(file) = files.get(name_of_manifest) else {
        findings.push(Diagnostic::error("P001", MANIFEST, 0, format!("the package {name} has no manifest.yaml")));
        return Err(findings);
    };
    let Some(text) = file.as_text() else {
        findings.push(Diagnostic::error("P002", name_of_manifest, 1, "the manifest is not UTF-8"));
        return Err(findings);
    };
    match read_manifest(name_of_manifest, name, text) {
        Ok(read) => {
            findings.extend(read.diagnostics);
            let mut manifest = read.manifest;
            findings.extend(check_upstream(&manifest));
            match dialect::detect(&manifest, files) {
                Ok(dialect) => manifest.dialect = dialect,
                Err(finding) => findings.push(*finding),
            }
            if manifest.dialect == PackageDialect::Service && manifest.version == UNVERSIONED {
                manifest.version = format!("{UNVERSIONED}+{}", tree_id(files));
            }
            if findings.iter().any(Diagnostic::is_error) {
                findings.retain(Diagnostic::is_error);
                return Err(findings);
            }
            Ok(Package { name: name.clone(), manifest, files: files.clone(), diagnostics: findings })
        }
        Err(errors) => {
            findings.retain(Diagnostic::is_error);
            findings.extend(errors);
            Err(findings)
        }
    }
}

/// Returns a short digest of all files, which tells the states of a package without version apart.
fn tree_id(files: &FileTree) -> String {
    let mut encoder = Encoder::new();
    for (path, file) in files.iter() {
        encoder.text(path.as_str()).raw(&file.bytes);
    }
    encoder.digest().to_hex().chars().take(TREE_ID_CHARS).collect()
}

/// Refuses names that would put an app into a namespace of the cluster itself.
fn check_name(name: &PackageName) -> Vec<Diagnostic> {
    let text = name.as_str();
    if is_of_system(text, CONTROL_NAMESPACE) {
        let message = format!("the package name {text} is reserved for the cluster");
        return vec![Diagnostic::error("P003", MANIFEST, 0, message).with_hint("rename the package's directory")];
    }
    Vec::new()
}

/// A binding is the instance's word: an upstream manifest that brings one would choose whose secrets it reads.
fn check_upstream(manifest: &PackageManifest) -> Vec<Diagnostic> {
    let forged = manifest.requires.iter().filter(|requirement| requirement.installed_as.is_some());
    forged
        .map(|requirement| {
            let message =
                format!("the requirement {} brings installedAs, which only an instance may set", requirement.name);
            Diagnostic::error("P034", MANIFEST, requirement.line, message).with_hint("remove the line installedAs")
        })
        .collect()
}

fn check_files(files: &FileTree) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    if files.len() > MAX_APP_FILES {
        let message = format!("the package has {} files, at most {MAX_APP_FILES} are read", files.len());
        findings.push(Diagnostic::error("P012", "", 0, message));
    }
    let total: usize = files.iter().map(|(_, file)| file.bytes.len()).sum();
    if total > MAX_PACKAGE_BYTES {
        let message = format!("the package has {total} bytes, at most {MAX_PACKAGE_BYTES} are read");
        findings.push(Diagnostic::error("P012", "", 0, message));
    }
    let mut folded: BTreeMap<String, &str> = BTreeMap::new();
    for (path, file) in files.iter() {
        let text = path.as_str();
        if file.bytes.len() > MAX_FILE_BYTES {
            let message = format!("the file has {} bytes, at most {MAX_FILE_BYTES} are read", file.bytes.len());
            findings.push(Diagnostic::error("P012", text, 0, message));
        }
        if is_reserved(text) {
            findings.push(Diagnostic::error("P011", text, 0, "the path is reserved").with_hint("rename it"));
        }
        if let Some(other) = folded.insert(text.to_lowercase(), text) {
            let message = format!("{other} and {text} differ in letter case only");
            findings.push(Diagnostic::error("P010", text, 0, message).with_hint("rename one of them"));
        }
    }
    findings
}

fn is_reserved(path: &str) -> bool {
    let top = path.split('/').next().unwrap_or(path);
    RESERVED.contains(&top) || path.split('/').any(|part| part.starts_with(".git") && part != ".gitignore")
}

#[cfg(test)]
mod tests {
    use super::load;
    use crate::base::RepoPath;
    use crate::model::{File, FileTree, PackageName};

    const MANIFEST: &str = "name: blog\nversion: 1.0.0\n";

    fn check(name: &str, files: &[(&str, &str)], expected: &[&str]) {
        let files: FileTree =
            files.iter().map(|(path, text)| (RepoPath::parse(path).unwrap(), File::text(text))).collect();
        let found = match load(&PackageName::parse(name).unwrap(), &files) {
            Ok(package) => package.diagnostics,
            Err(findings) => findings,
        };
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_manifest_alone_is_a_package() {
        check("blog", &[("manifest.yaml", MANIFEST)], &[]);
    }

    #[test]
    fn a_package_without_manifest_is_refused() {
        check("blog", &[("deployment.yaml", "")], &["manifest.yaml: P001: the package blog has no manifest.yaml"]);
    }

    #[test]
    fn names_of_the_cluster_are_refused() {
        for name in ["default", "kube-system", "wild-system"] {
            let expected = format!("manifest.yaml: P003: the package name {name} is reserved for the cluster");
            check(name, &[("manifest.yaml", "version: 1.0.0\n")], &[&expected]);
        }
    }

    #[test]
    fn a_binding_from_upstream_is_refused() {
        let text = "version: 1.0.0\nrequires:\n  - name: db\n    installedAs: other\n";
        let expected = "manifest.yaml:3: P034: the requirement db brings installedAs, which only an instance may set";
        check("blog", &[("manifest.yaml", text)], &[expected]);
    }

    #[test]
    fn reserved_and_equal_paths_are_refused() {
        check(
            "blog",
            &[
                ("manifest.yaml", MANIFEST),
                (".package/x", ""),
                ("Readme.md", ""),
                ("readme.md", ""),
                ("a/.gitmodules", ""),
            ],
            &[
                ".package/x: P011: the path is reserved",
                "a/.gitmodules: P011: the path is reserved",
                "readme.md: P010: Readme.md and readme.md differ in letter case only",
            ],
        );
    }

    #[test]
    fn a_package_of_an_older_dialect_is_one_too() {
        check("blog", &[("manifest.yaml", MANIFEST), ("a.yaml", "x: {{ .apps.blog.x }}\n")], &[]);
    }

    #[test]
    fn a_service_has_the_version_of_its_files_and_templates_of_their_own() {
        let files = |text: &str| {
            let paths = ["wild-manifest.yaml", "kustomize.template/a/b.yaml", "install.sh", "README.md"];
            let file = |path: &str| (RepoPath::parse(path).unwrap(), File::text(text));
            paths.into_iter().map(file).collect::<FileTree>()
        };
        let load = |text: &str| load(&PackageName::parse("balancer").unwrap(), &files(text)).unwrap();
        let (one, other) = (load("name: balancer\n"), load("name: balancer\ndescription: x\n"));
        assert!(one.manifest.version.starts_with("0.0.0+") && one.manifest.version != other.manifest.version);
        let targets: Vec<_> = one.files.paths().map(|path| one.path_in_app(path).unwrap_or_default()).collect();
        assert_eq!(targets, ["README.md", "", "a/b.yaml", "manifest.yaml"]);
    }
}
