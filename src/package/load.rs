//! Pure. Takes the files of one package: which paths it may hold, its manifest, its dialect.
//!
//! Not here: finding packages in a tree (`directory.rs`), rendering the files (`compile::generate`).

use std::collections::BTreeMap;

use super::dialect;
use super::manifest::{PackageDialect, PackageManifest};
use super::read::read_manifest;
use crate::base::limits::{MAX_APP_FILES, MAX_FILE_BYTES};
use crate::model::{Diagnostic, FileTree, PackageName};

/// Name of the manifest in a package and in an app.
pub const MANIFEST: &str = "manifest.yaml";
/// Bytes of all files of a package together; a clone of a directory with hundreds of packages should stay small.
const MAX_PACKAGE_BYTES: usize = 32 * 1024 * 1024;
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

/// Loads a package from its files, whose paths are relative to it.
pub fn load(name: &PackageName, files: &FileTree) -> Result<Package, Vec<Diagnostic>> {
    let mut findings = check_name(name);
    findings.extend(check_files(files));
    let Some(file) = files.get(MANIFEST) else {
        findings.push(Diagnostic::error("P001", MANIFEST, 0, format!("the package {name} has no manifest.yaml")));
        return Err(findings);
    };
    let Some(text) = file.as_text() else {
        findings.push(Diagnostic::error("P002", MANIFEST, 1, "the manifest is not UTF-8"));
        return Err(findings);
    };
    match read_manifest(MANIFEST, name, text) {
        Ok(read) => {
            findings.extend(read.diagnostics);
            let mut manifest = read.manifest;
            findings.extend(check_upstream(&manifest));
            manifest.dialect = dialect::detect(&manifest, files);
            if manifest.dialect != PackageDialect::V3 {
                findings.push(dialect::refusal(&manifest));
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

/// Refuses names that would put an app into a namespace of the cluster itself.
fn check_name(name: &PackageName) -> Vec<Diagnostic> {
    let text = name.as_str();
    if matches!(text, "default" | "wild-system") || text.starts_with("kube-") {
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
    fn a_package_of_an_older_dialect_is_named_as_such() {
        check(
            "blog",
            &[("manifest.yaml", MANIFEST), ("a.yaml", "x: {{ .apps.blog.x }}\n")],
            &["manifest.yaml:1: P021: the package is written in dialect v2, which is not compiled yet"],
        );
    }
}
