//! Pure. Files that a package keeps for itself: patterns of gitignore in `.wildignore`, or `.gomplateignore`.
//!
//! Not here: `render.skip` of the manifest, which is a list of globs (`glob.rs`).

use super::glob::matches;
use crate::base::RepoPath;
use crate::model::FileTree;

/// Names of the file, at the top of a package. Both mean the same.
const FILES: [&str; 2] = [".wildignore", ".gomplateignore"];

/// What a package keeps for itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ignore {
    /// In the order of the file; the last one that fits decides.
    patterns: Vec<Pattern>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Pattern {
    glob: String,
    /// Whether it takes files back that an earlier pattern left out.
    keeps: bool,
}

impl Ignore {
    /// Reads the patterns of a package.
    pub fn of(files: &FileTree) -> Self {
        let lines = FILES.iter().filter_map(|name| files.text(name)).flat_map(str::lines);
        Self { patterns: lines.filter_map(pattern).collect() }
    }

    /// Returns whether a file stays out of the app. A pattern that fits a directory fits everything in it.
    pub fn contains(&self, path: &RepoPath) -> bool {
        if FILES.contains(&path.as_str()) {
            return true;
        }
        let mut ignored = false;
        for Pattern { glob, keeps } in &self.patterns {
            let mut place = Some(path.clone());
            while let Some(current) = place {
                if matches(glob, current.as_str()) {
                    ignored = !keeps;
                    break;
                }
                place = current.parent();
            }
        }
        ignored
    }
}

fn pattern(line: &str) -> Option<Pattern> {
    let line = line.trim_end();
    let (keeps, glob) = line.strip_prefix('!').map_or((false, line), |glob| (true, glob));
    let glob = glob.trim_end_matches('/');
    (!glob.is_empty() && !glob.starts_with('#')).then(|| Pattern { glob: glob.to_owned(), keeps })
}

#[cfg(test)]
mod tests {
    use super::Ignore;
    use crate::base::RepoPath;
    use crate::model::{File, FileTree};

    fn check(patterns: &str, path: &str, expected: bool) {
        let files: FileTree = [(RepoPath::parse(".wildignore").unwrap(), File::text(patterns))].into_iter().collect();
        assert_eq!(Ignore::of(&files).contains(&RepoPath::parse(path).unwrap()), expected, "{path} by {patterns:?}");
    }

    #[test]
    fn patterns_fit_as_in_gitignore() {
        check("# notes\n\ntests/\n", "tests/a/b.yaml", true);
        check("tests/\n", "a/tests/b.yaml", true);
        check("/tests\n", "a/tests/b.yaml", false);
        check("*.orig\n!keep.orig\n", "a.orig", true);
        check("*.orig\n!keep.orig\n", "keep.orig", false);
        check("", "a.yaml", false);
        check("", ".wildignore", true);
    }
}
