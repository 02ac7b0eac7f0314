//! Pure. Templates that a person customised: `apps/<app>/.custom/<path>` stands for the package's file of that path.
//!
//! What both started from is the package as the base generation shows it, theirs is the package as the new one shows it; the trees
//! of generations hold no customised templates themselves. Trees that do are states of a branch, and there a customised template is a file
//! like any other. Not here: compiling with them (`compile`), templates as such (`template`).

use super::links::Withheld;
use super::rename;
use super::rules::Rules;
use super::template::templates_in;
use super::tree::{Merged, Three, settle};
use crate::base::RepoPath;
use crate::model::FileTree;

/// Directory of an app with its customised templates.
const CUSTOM: &str = ".custom";
/// Directory of an app that shows its package.
const VIEW: &str = ".package";

/// Returns whether a path is that of a customised template.
pub fn is_customised(path: &RepoPath) -> bool {
    path.as_str().split('/').nth(2) == Some(CUSTOM) && path.is_within("apps")
}

/// Merges the customised templates of an app, and nothing else, into what the trees say of its package.
pub fn merge_customised(trees: Three<&FileTree>, rules: &Rules) -> Merged {
    let mut merged = Merged::default();
    take_customised(trees, rules, &mut merged);
    merged
}

/// Adds the merged templates to a merge.
pub(super) fn take_customised(trees: Three<&FileTree>, rules: &Rules, merged: &mut Merged) {
    if !trees.ours.paths().any(is_customised) && !trees.theirs.paths().any(is_customised) {
        return;
    }
    let (sides, is_of_branch) = (sides(trees), is_of_branch(trees));
    let (mut withheld, mut rules) = (Withheld::default(), rules.clone());
    for trio in rename::pair(sides.as_ref(), rules.limits.comparisons) {
        // New files of the package that nobody customised.
        if trio.base.is_none() && trio.ours.is_none() && !is_of_branch {
            continue;
        }
        let text = |path: &Option<RepoPath>, tree: &FileTree| -> String {
            path.as_ref().and_then(|path| tree.text(path.as_str())).unwrap_or_default().to_owned()
        };
        let texts = [text(&trio.base, &sides.base), text(&trio.ours, &sides.ours), text(&trio.theirs, &sides.theirs)];
        rules.templates = templates_in(&texts.each_ref().map(String::as_str));
        settle(&trio, sides.as_ref(), &mut withheld, (&mut rules, merged));
    }
}

fn is_of_branch(trees: Three<&FileTree>) -> bool {
    trees.base.paths().chain(trees.theirs.paths()).any(is_customised)
}

/// Returns the three sides of every customised template, each at its own path.
fn sides(trees: Three<&FileTree>) -> Three<FileTree> {
    let own = |tree: &FileTree| -> FileTree {
        tree.iter().filter(|(path, _)| is_customised(path)).map(|(path, file)| (path.clone(), file.clone())).collect()
    };
    if is_of_branch(trees) {
        return trees.map(own);
    }
    let ours = own(trees.ours);
    let (base, theirs) = (shown(trees.base), shown(trees.theirs));
    let is_there = |path: &RepoPath| ours.contains(path.as_str());
    // What the package calls otherwise now is found among its new files.
    let is_new = |path: &RepoPath| !base.contains(path.as_str());
    let pick = |tree: &FileTree, wanted: &dyn Fn(&RepoPath) -> bool| -> FileTree {
        tree.iter().filter(|(path, _)| wanted(path)).map(|(path, file)| (path.clone(), file.clone())).collect()
    };
    let theirs = pick(&theirs, &|path| is_there(path) || is_new(path));
    Three { base: pick(&base, &is_there), ours, theirs }
}

/// Returns the files of a package that a tree shows, each at the path that it has once it is customised.
fn shown(tree: &FileTree) -> FileTree {
    let moved = |path: &RepoPath| {
        let parts: Vec<&str> = path.as_str().splitn(4, '/').collect();
        match parts.as_slice() {
            ["apps", app, VIEW, rest] => RepoPath::parse(&format!("apps/{app}/{CUSTOM}/{rest}")).ok(),
            _ => None,
        }
    };
    tree.iter().filter_map(|(path, file)| Some((moved(path)?, file.clone()))).collect()
}

#[cfg(test)]
mod tests {
    use super::merge_customised;
    use crate::base::RepoPath;
    use crate::merge::{ConflictKind, Rules, Three, merge, resolve};
    use crate::model::{File, FileTree, Take};

    const TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  title: {{ .title }}\n  size: \"1\"\n  \
                            {{- if .wide }}\n  width: \"2\"\n  {{- end }}\n  last: z\n";

    fn tree(files: &[(&str, &str)]) -> FileTree {
        let path = |path: &str| RepoPath::parse(&format!("apps/blog/{path}")).unwrap();
        files.iter().map(|(name, text)| (path(name), File::text(text))).collect()
    }

    fn sides(theirs: &str) -> [FileTree; 3] {
        let mine = TEMPLATE.replace("size: \"1\"", "size: \"3\" # Mine.");
        let compiled = ("a.yaml", "a: 1\n");
        [
            tree(&[compiled, (".package/a.yaml", TEMPLATE), (".package/b.yaml", "b: 1\n")]),
            tree(&[compiled, (".package/a.yaml", TEMPLATE), (".package/b.yaml", "b: 1\n"), (".custom/a.yaml", &mine)]),
            tree(&[compiled, (".package/a.yaml", theirs), (".package/b.yaml", "b: 2\n")]),
        ]
    }

    fn three(sides: &[FileTree; 3]) -> Three<&FileTree> {
        let [base, ours, theirs] = sides;
        Three { base, ours, theirs }
    }

    #[test]
    fn what_upstream_changes_in_a_template_arrives_in_the_customised_one() {
        let sides = sides(&TEMPLATE.replace("width: \"2\"", "width: \"4\"").replace("last: z", "last: y"));
        let merged = merge(three(&sides), &Rules::default());
        assert!(merged.conflicts.is_empty(), "{:?}", merged.conflicts);
        let text = merged.files.text("apps/blog/.custom/a.yaml").unwrap();
        for line in ["size: \"3\" # Mine.", "  {{- if .wide }}\n  width: \"4\"\n  {{- end }}", "last: y"] {
            assert!(text.contains(line), "{text}");
        }
        assert_eq!(merged.files.text("apps/blog/.package/b.yaml"), Some("b: 2\n"));
        assert_eq!(merged.files.len(), 4, "nothing that is not customised becomes so");
        let alone = merge_customised(three(&sides), &Rules::default());
        assert_eq!(alone.files.paths().map(RepoPath::as_str).collect::<Vec<_>>(), ["apps/blog/.custom/a.yaml"]);
    }

    #[test]
    fn what_both_changed_is_a_conflict_that_can_be_resolved() {
        let sides = sides(&TEMPLATE.replace("size: \"1\"", "size: \"2\""));
        let rules = Rules::default();
        let merged = merge(three(&sides), &rules);
        let [conflict] = &merged.conflicts[..] else { panic!("{:?}", merged.conflicts) };
        assert_eq!((conflict.kind, conflict.path.as_str()), (ConflictKind::Value, "apps/blog/.custom/a.yaml"));
        for (take, expected) in [(Take::Mine, "size: \"3\" # Mine."), (Take::Upstream, "size: \"2\"")] {
            let decisions = [(conflict.id.clone(), take)].into();
            let resolved = resolve(&merged.files, &merged.conflicts, &decisions, (three(&sides), &rules)).unwrap();
            assert!(resolved.open.is_empty());
            let text = resolved.files.text("apps/blog/.custom/a.yaml").unwrap();
            assert!(text.contains(expected) && text.contains("last: z"), "{text}");
        }
    }

    #[test]
    fn a_template_that_upstream_deletes_is_asked_about_and_one_that_it_renames_is_followed() {
        let [base, ours, theirs] = sides(TEMPLATE);
        let mut gone = theirs.clone();
        gone.remove(&RepoPath::parse("apps/blog/.package/a.yaml").unwrap());
        let merged = merge_customised(Three { base: &base, ours: &ours, theirs: &gone }, &Rules::default());
        assert!(!merged.conflicts.is_empty());
        assert!(
            merged.conflicts.iter().all(|conflict| conflict.kind == ConflictKind::EditDelete),
            "{:?}",
            merged.conflicts
        );
        assert_eq!(merged.files, tree(&[(".custom/a.yaml", ours.text("apps/blog/.custom/a.yaml").unwrap())]));
        let edited = TEMPLATE.replace("last: z", "last: y");
        gone.insert(RepoPath::parse("apps/blog/.package/c.yaml").unwrap(), File::text(&edited));
        let merged = merge_customised(Three { base: &base, ours: &ours, theirs: &gone }, &Rules::default());
        assert!(merged.conflicts.is_empty(), "{:?}", merged.conflicts);
        let text = merged.files.text("apps/blog/.custom/c.yaml").unwrap();
        assert!(merged.files.len() == 1 && text.contains("last: y") && text.contains("# Mine."), "{text}");
    }

    #[test]
    fn between_states_of_a_branch_they_are_files_like_others() {
        let [base, ours, _] = sides(TEMPLATE);
        let gone: FileTree = ours
            .iter()
            .filter(|(path, _)| !path.as_str().contains("/.custom/"))
            .map(|(p, f)| (p.clone(), f.clone()))
            .collect();
        assert_eq!(gone, base);
        let merged = merge(Three { base: &ours, ours: &ours, theirs: &gone }, &Rules::default());
        assert_eq!(merged.files, gone, "one that a side gave up is gone");
        let merged = merge(Three { base: &gone, ours: &gone, theirs: &ours }, &Rules::default());
        assert_eq!(merged.files, ours);
    }

    #[test]
    fn they_are_no_objects_of_the_app() {
        let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: \"1\", y: \"1\"}\n";
        let list = ("kustomization.yaml", "resources: [a.yaml]\n");
        let base = tree(&[list, ("a.yaml", object), (".package/a.yaml", object)]);
        let mine = object.replace("x: \"1\"", "x: \"2\"");
        let ours = tree(&[list, ("a.yaml", &mine), (".package/a.yaml", object), (".custom/a.yaml", &mine)]);
        let upstream = object.replace("y: \"1\"", "y: \"2\"");
        let compiled = mine.replace("y: \"1\"", "y: \"2\"");
        let theirs = tree(&[list, ("a.yaml", &compiled), (".package/a.yaml", &upstream)]);
        let merged = merge(Three { base: &base, ours: &ours, theirs: &theirs }, &Rules::default());
        assert!(
            merged.conflicts.is_empty() && merged.notices.is_empty(),
            "{:?} {:?}",
            merged.conflicts,
            merged.notices
        );
        assert_eq!(merged.files.text("apps/blog/a.yaml"), Some(compiled.as_str()));
        assert_eq!(merged.files.text("apps/blog/.custom/a.yaml"), Some(compiled.as_str()));
    }
}
