//! Pure. Which side of a conflict is shown first, and why. Nobody takes it but a person.
//!
//! A newer version that is taken unasked is wrong too often; that it comes first and says so helps. Not here: taking sides (`resolve`).

use serde::Serialize;

use super::check::parts_of_image;
use super::conflict::Conflict;
use super::tree::Three;
use crate::model::Take;

/// Last steps of paths whose values are versions, however short.
const VERSIONS: [&str; 7] = ["version", "appVersion", "targetRevision", "tag", "newTag", "ref", "image"];

/// The side that comes first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Preselected {
    /// The side: mine or upstream.
    pub take: Take,
    /// Why it comes first, in one sentence.
    pub why: String,
}

impl Conflict {
    /// Returns the side that is shown first: the newer one of two versions that are both newer than base's, else mine.
    pub fn preselected(&self) -> Preselected {
        let newer = || {
            let line = |side: &Option<String>| {
                side.as_deref().map(str::trim).filter(|text| !text.contains('\n')).map(str::to_owned)
            };
            let sides = Three { base: line(&self.base)?, ours: line(&self.mine)?, theirs: line(&self.upstream)? };
            newer(&sides, self.key.rsplit(['.', ']']).next().unwrap_or_default())
        };
        newer().filter(|_| !self.is_redacted()).unwrap_or_else(|| Preselected {
            take: Take::Mine,
            why: "what you have stays unless you decide otherwise".to_owned(),
        })
    }
}

/// Returns the newer one of two versions of one thing.
fn newer(sides: &Three<String>, field: &str) -> Option<Preselected> {
    let all = sides.as_ref().map(|text| Written::of(text));
    if all.base.around != all.ours.around || all.base.around != all.theirs.around {
        return None;
    }
    let is_version =
        VERSIONS.contains(&field) || [&all.base, &all.ours, &all.theirs].into_iter().all(|it| it.is_plain());
    let (old, mine, upstream) = (&all.base.numbers, &all.ours.numbers, &all.theirs.numbers);
    if !is_version || mine <= old || upstream <= old || mine == upstream {
        return None;
    }
    let (base, mine_word, upstream_word) = (version(&sides.base), version(&sides.ours), version(&sides.theirs));
    Some(match mine < upstream {
        true => Preselected {
            take: Take::Upstream,
            why: format!("upstream's {upstream_word} is newer than your {mine_word}, and both than {base}"),
        },
        false => Preselected {
            take: Take::Mine,
            why: format!("your {mine_word} is newer than upstream's {upstream_word}, and both than {base}"),
        },
    })
}

/// Returns the version of an image, or the whole text.
fn version(text: &str) -> String {
    let text = text.rsplit(": ").next().unwrap_or(text).trim_matches(['"', '\'']);
    let (_, tag) = parts_of_image(text);
    if tag.is_empty() { text.to_owned() } else { tag.to_owned() }
}

/// A text as numbers and what stands around them.
struct Written {
    numbers: Vec<u64>,
    around: Vec<String>,
}

impl Written {
    fn of(text: &str) -> Self {
        let (mut numbers, mut around, mut rest) = (Vec::new(), Vec::new(), text);
        loop {
            let start = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            around.push(rest.get(..start).unwrap_or_default().to_owned());
            rest = rest.get(start..).unwrap_or_default();
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            match rest.get(..end).and_then(|digits| digits.parse().ok()) {
                Some(number) => numbers.push(number),
                None => return Self { numbers, around },
            }
            rest = rest.get(end..).unwrap_or_default();
        }
    }

    /// Returns whether it is a version by itself: numbers with two dots between them, or a `v` before the first.
    fn is_plain(&self) -> bool {
        let dots = self.around.iter().filter(|part| *part == ".").count();
        dots > 1 || dots > 0 && self.around.first().is_some_and(|part| part.ends_with('v'))
    }
}

#[cfg(test)]
mod tests {
    use crate::base::RepoPath;
    use crate::merge::{Conflict, ConflictKind, Texts};
    use crate::model::Take;

    fn check(key: &str, [base, mine, upstream]: [&str; 3], expected: &Take) {
        let path = RepoPath::parse("apps/a/pod.yaml").unwrap();
        let text = |text: &str| Some(text.to_owned());
        let texts = Texts { base: text(base), mine: text(mine), upstream: text(upstream) };
        let conflict = Conflict { key: key.to_owned(), ..Conflict::new(ConflictKind::Value, &path, texts, "") };
        assert_eq!(&conflict.preselected().take, expected, "{base} {mine} {upstream}");
    }

    #[test]
    fn the_newer_of_two_versions_comes_first() {
        let (mine, upstream) = (Take::Mine, Take::Upstream);
        check("web.image", ["a.io/x:1.2", "a.io/x:1.3", "a.io/x:1.10"], &upstream);
        check("web.image", ["a.io/x:1.2", "a.io/x:1.10", "a.io/x:1.3"], &mine);
        check("resources[0]", ["g.test/b?ref=v1.1", "g.test/b?ref=v1.2", "g.test/b?ref=v1.3"], &upstream);
        check("", ["TAG=1.2.3\n", "TAG=1.2.4\n", "TAG=1.3.0\n"], &upstream);
        check("chart.version", ["1", "2", "3"], &upstream);
    }

    #[test]
    fn what_is_no_version_of_one_thing_is_mine_first() {
        let mine = Take::Mine;
        check("web.image", ["a.io/x:1.2", "b.io/x:1.3", "a.io/x:1.4"], &mine);
        check("web.image", ["a.io/x:1.5", "a.io/x:1.3", "a.io/x:1.6"], &mine);
        check("web.image", ["a.io/x:1.2", "a.io/x:1.3-rc", "a.io/x:1.4"], &mine);
        check("spec.replicas", ["1", "2", "3"], &mine);
        check("limits.memory", ["1.5Gi", "2.5Gi", "3.5Gi"], &mine);
        check("a", ["one\n1.2.3\n", "one\n1.2.4\n", "one\n1.2.5\n"], &mine);
    }
}
