//! Pure. Tells which generation of packages a package belongs to, by its manifest and the paths that its files start with.
//!
//! Not here: what the dialects mean (`resolve.rs`, `secrets.rs`).

use super::load::MANIFEST;
use super::manifest::{PackageDialect, PackageManifest};
use crate::model::{Diagnostic, FileTree};

/// What a file of the first generation says.
const FIRST: [&str; 3] = ["ds \"config\"", "datasource \"config\"", " .config."];
/// Sections of the whole config, which only files of the first two generations see.
const SECTIONS: [&str; 4] = ["apps", "cloud", "cluster", "operator"];

/// A place that speaks for a dialect.
struct Evidence {
    file: String,
    line: usize,
    what: String,
}

/// Returns the dialect: `dialect:` if it is written, else by evidence. Evidence for two generations is an error.
pub fn detect(manifest: &PackageManifest, files: &FileTree) -> Result<PackageDialect, Box<Diagnostic>> {
    if manifest.document.value.get("dialect").is_some() || manifest.dialect == PackageDialect::Service {
        return Ok(manifest.dialect);
    }
    let (older, first) = in_files(manifest, files);
    match (in_manifest(manifest), older) {
        (Some(third), Some(older)) => Err(Box::new(contradiction(&third, &older))),
        (Some(_), None) | (None, None) => Ok(PackageDialect::V3),
        (None, Some(_)) if first => Ok(PackageDialect::V1),
        (None, Some(_)) => Ok(PackageDialect::V2),
    }
}

/// Returns the first place that only an older generation has, and whether any is of the first one.
fn in_files(manifest: &PackageManifest, files: &FileTree) -> (Option<Evidence>, bool) {
    let (mut found, mut first) = (None, false);
    for (path, file) in files.iter().filter(|(path, _)| path.as_str() != MANIFEST && path.is_yaml()) {
        for (line, action) in file.as_text().into_iter().flat_map(actions) {
            let oldest = FIRST.iter().any(|mark| action.contains(mark));
            let foreign = |section: &&&str| {
                !manifest.default_config.contains_key(**section) && action.contains(&format!(" .{section}."))
            };
            first |= oldest;
            let what = match SECTIONS.iter().find(foreign) {
                Some(section) => format!("reads .{section}"),
                None if oldest => "reads the whole config".to_owned(),
                None => continue,
            };
            found.get_or_insert(Evidence { file: path.to_string(), line, what });
        }
    }
    (found, first)
}

/// Returns the first field that only the third generation has.
fn in_manifest(manifest: &PackageManifest) -> Option<Evidence> {
    let place = |path: &[&str], what: &str| {
        Some(Evidence { file: MANIFEST.to_owned(), line: manifest.line_of(path), what: what.to_owned() })
    };
    if let Some(field) = ["is", "defaultSecrets"].iter().find(|field| manifest.document.value.get(field).is_some()) {
        return place(&[field], &format!("has {field}"));
    }
    if let Some(requirement) = manifest.requires.iter().find(|requirement| requirement.alias.is_some()) {
        return Some(Evidence { file: MANIFEST.to_owned(), line: requirement.line, what: "has an alias".to_owned() });
    }
    let listed = manifest.document.value.get("requiredSecrets").and_then(serde_json::Value::as_array);
    let short =
        listed.into_iter().flatten().position(|path| path.as_str().is_some_and(|it| !it.starts_with("apps.")))?;
    place(&["requiredSecrets", &short.to_string()], "names a secret by reference")
}

fn contradiction(third: &Evidence, older: &Evidence) -> Diagnostic {
    let message = format!(
        "the package is of two dialects: {}:{} {} as v3 does, {}:{} {} as older ones do",
        third.file, third.line, third.what, older.file, older.line, older.what
    );
    Diagnostic::error("P020", &third.file, third.line, message)
        .with_hint("add a line dialect: v1, v2 or v3 to the manifest")
}

/// Returns the insides of all actions with their lines, and one space in front, so that a leading path can be told from
/// an inner one.
fn actions(text: &str) -> Vec<(usize, String)> {
    let mut line = 1;
    let mut found = Vec::new();
    for (position, part) in text.split("{{").enumerate() {
        if let (Some((inside, _)), true) = (part.split_once("}}"), position > 0) {
            let inside = inside.trim_start_matches('-').trim_start();
            found.push((line, format!(" {inside}").replace('(', "( ")));
        }
        line += part.matches('\n').count();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::detect;
    use crate::base::RepoPath;
    use crate::model::{File, FileTree, PackageName};
    use crate::package::read_manifest;

    fn check(manifest: &str, file: &str, expected: &str) {
        let text = format!("version: '1'\n{manifest}");
        let manifest = read_manifest("manifest.yaml", &PackageName::parse("blog").unwrap(), &text).unwrap().manifest;
        let files = FileTree::from_iter([(RepoPath::parse("a.yaml").unwrap(), File::text(file))]);
        let found =
            detect(&manifest, &files).map_or_else(|finding| finding.to_string(), |found| found.word().to_owned());
        assert_eq!(found, expected, "{text}{file}");
    }

    #[test]
    fn what_is_written_decides() {
        check("dialect: v1\nis: x\n", "a: {{ .apps.blog.x }}", "v1");
        check("dialect: v3\n", "a: {{ .apps.blog.x }}", "v3");
    }

    #[test]
    fn files_show_the_older_generations() {
        check("", "a: {{ .apps.blog.x }}", "v2");
        check("", "a: {{ (.apps.blog.x) | quote }}", "v2");
        check("", "a: {{ .cloud.domain }}", "v2");
        check("", "a: {{ (ds \"config\").apps.blog.x }}", "v1");
        check("", "a: {{ .config.apps.blog.x }}\nb: {{ .apps.blog.x }}", "v1");
        check("", "a: {{ .domain }}", "v3");
        check("defaultConfig: {cloud: {x: 1}}\n", "a: {{ .cloud.x }}", "v3");
        check("requiredSecrets: [apps.blog.x]\n", "a: b", "v3");
    }

    #[test]
    fn two_generations_in_one_package_are_refused_with_both_places() {
        let expected = |line: usize, what: &str| {
            format!(
                "manifest.yaml:{line}: P020: the package is of two dialects: manifest.yaml:{line} {what} as v3 does, \
                 a.yaml:2 reads .apps as older ones do"
            )
        };
        let file = "a: b\nc: {{ .apps.blog.x }}";
        check("is: x\n", file, &expected(2, "has is"));
        check("requires: [{name: a, alias: b}]\n", file, &expected(2, "has an alias"));
        let required = "requires: [a]\nrequiredSecrets: [apps.a.x, a.y]\n";
        check(required, file, &expected(3, "names a secret by reference"));
    }
}
