//! Pure. Which package of an upstream brings the definition of a kind.
//!
//! Files are looked through as texts, because templates are no YAML yet. Not here: rendering them (`compile`).

use super::directory::candidates;
use crate::model::{FileTree, PackageName};

/// Returns the package that brings the definition of a kind, the first by name; `path` is the directory of packages from the settings.
pub fn package_defining(tree: &FileTree, path: &str, group: &str, kind: &str) -> Option<PackageName> {
    candidates(tree, path).into_iter().find_map(|(name, directories)| {
        let files = directories.iter().flat_map(|directory| {
            let prefix = format!("{directory}/");
            tree.paths().filter(move |path| path.as_str().starts_with(&prefix) && path.is_yaml())
        });
        let defines = |text: &str| text.split("\n---").any(|document| is_definition(document, group, kind));
        let found = files.filter_map(|path| tree.text(path.as_str())).any(defines);
        if found { PackageName::parse(&name).ok() } else { None }
    })
}

/// Returns whether a text is a definition of a kind, in block or flow style.
fn is_definition(document: &str, group: &str, kind: &str) -> bool {
    if !document.contains("CustomResourceDefinition") {
        return false;
    }
    let words: Vec<&str> = document
        .split(|letter: char| letter.is_whitespace() || matches!(letter, '{' | '}' | ',' | '"' | '\''))
        .filter(|word| !word.is_empty())
        .collect();
    let says = |key: &str, value: &str| words.windows(2).any(|pair| pair == [key, value]);
    says("group:", group) && says("kind:", kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::RepoPath;
    use crate::model::File;

    #[test]
    fn the_package_that_brings_a_definition_is_found_in_both_styles() {
        let manifest = "name: x\nversion: \"1\"\n";
        let block = "kind: Other\n---\nkind: CustomResourceDefinition\nspec:\n  group: block.example.org\n  names:\n    kind: \"Block\"\n";
        let flow = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: flow.example.org, names: {plural: flows, kind: Flow}}\n";
        let files = [
            ("one/manifest.yaml", manifest),
            ("one/deep/er/crd.yaml", block),
            ("two/manifest.yaml", manifest),
            ("two/crd.yaml", flow),
            ("notes/crd.txt", block),
        ];
        let tree: FileTree =
            files.into_iter().map(|(path, text)| (RepoPath::parse(path).unwrap(), File::text(text))).collect();
        let check = |group: &str, kind: &str, expected: Option<&str>| {
            let found = package_defining(&tree, "", group, kind);
            assert_eq!(found.as_ref().map(PackageName::as_str), expected, "{group} {kind}");
        };
        check("block.example.org", "Block", Some("one"));
        check("flow.example.org", "Flow", Some("two"));
        check("flow.example.org", "Block", None);
        check("other.example.org", "Flow", None);
    }
}
