//! Pure. Which lines of two texts differ, with the choices that git makes among equally short answers.
//!
//! A three-way merge is only as equal to git's as the two line differences under it. Where lines repeat, many shortest
//! differences exist; crates pick another one than git, so the walk is ours: linear-space Myers with git's order of
//! diagonals, its cost bounds, its removal of lines without partner and its sliding of groups.
//! Not here: the merge itself (`text`), differences shown to people (`base::text_diff`).

use foldhash::{HashMap, HashMapExt as _};

mod compact;
mod prune;
mod split;

/// A run of lines that one side has and the other replaces; ranges count lines from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Change {
    /// First line in the old text.
    pub(super) old: usize,
    /// Lines of the old text that go.
    pub(super) old_lines: usize,
    /// First line in the new text.
    pub(super) new: usize,
    /// Lines of the new text that come.
    pub(super) new_lines: usize,
}

/// Splits a text into lines that keep their line end; the last one may have none.
pub(super) fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::with_capacity(newlines(text) + 1);
    let mut start = 0;
    for newline in memchr::memchr_iter(b'\n', text.as_bytes()) {
        lines.extend(text.get(start..=newline));
        start = newline + 1;
    }
    lines.extend(text.get(start..).filter(|rest| !rest.is_empty()));
    lines
}

/// Pairs of lines that are compared to find that two texts have none in common between their equal ends.
const FEW_PAIRS: usize = 64;

/// Returns how many lines of a text are ended.
pub(super) fn newlines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// Returns the changes from `old` to `new` in order, never touching each other.
pub(super) fn changes(old: &[&str], new: &[&str]) -> Vec<Change> {
    let (mut gone, mut come) = (vec![false; old.len()], vec![false; new.len()]);
    if is_one_change((old, &mut gone), (new, &mut come)) {
        compact::slide((old, &mut gone), &come);
        compact::slide((new, &mut come), &gone);
        return script(&gone, &come);
    }
    searched(old, new)
}

/// Returns the changes that a walk through both texts finds.
fn searched(old: &[&str], new: &[&str]) -> Vec<Change> {
    let (old, new) = symbols(old, new);
    let (mut gone, mut come) = (vec![false; old.len()], vec![false; new.len()]);
    let kept = prune::prune((&old, &mut gone), (&new, &mut come));
    split::walk(&kept, &mut gone, &mut come);
    compact::slide((&old, &mut gone), &come);
    compact::slide((&new, &mut come), &gone);
    script(&gone, &come)
}

/// Marks the few lines between the equal ends of two texts if they have none in common; returns whether it did. Whatever way is taken
/// through such lines, all of them are marked, so none need be searched.
fn is_one_change(old: (&[&str], &mut [bool]), new: (&[&str], &mut [bool])) -> bool {
    let ((old, gone), (new, come)) = (old, new);
    let (head, tail) = equal_ends(old, new);
    let (old_lines, new_lines) = (old.len() - head - tail, new.len() - head - tail);
    if old_lines.saturating_mul(new_lines) > FEW_PAIRS
        || old.iter().skip(head).take(old_lines).any(|line| new.iter().skip(head).take(new_lines).any(|it| it == line))
    {
        return false;
    }
    gone.iter_mut().skip(head).take(old_lines).for_each(|mark| *mark = true);
    come.iter_mut().skip(head).take(new_lines).for_each(|mark| *mark = true);
    true
}

/// Returns how many lines two texts have alike at their beginning, and at their end behind those.
pub(super) fn equal_ends<T: PartialEq>(old: &[T], new: &[T]) -> (usize, usize) {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let room = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(a, b)| a == b).count();
    (head, tail)
}

/// Gives equal lines equal numbers, so that the walk compares numbers.
fn symbols<'a>(old: &[&'a str], new: &[&'a str]) -> (Vec<usize>, Vec<usize>) {
    let mut known: HashMap<&'a str, usize> = HashMap::with_capacity(old.len());
    let mut number = |line: &&'a str| {
        let next = known.len();
        *known.entry(*line).or_insert(next)
    };
    (old.iter().map(&mut number).collect(), new.iter().map(&mut number).collect())
}

/// Reads the two rows of marks as a list of changes.
fn script(gone: &[bool], come: &[bool]) -> Vec<Change> {
    let mut found = Vec::new();
    let (mut old, mut new) = (0, 0);
    while old < gone.len() || new < come.len() {
        let old_lines = run(gone, old);
        let new_lines = run(come, new);
        if old_lines + new_lines > 0 {
            found.push(Change { old, old_lines, new, new_lines });
        }
        // One unmarked line of each side follows a change, because unmarked lines pair up.
        old += old_lines + 1;
        new += new_lines + 1;
    }
    found
}

/// Counts the marks from a position on.
fn run(marks: &[bool], from: usize) -> usize {
    marks.iter().skip(from).take_while(|mark| **mark).count()
}

#[cfg(test)]
mod tests {
    use super::{changes, lines, searched};

    fn check(old: &str, new: &str, expected: &[(usize, usize, usize, usize)]) {
        let spell = |letters: &str| letters.chars().map(|c| format!("{c}\n")).collect::<String>();
        let (old, new) = (spell(old), spell(new));
        let found: Vec<_> = changes(&lines(&old), &lines(&new))
            .into_iter()
            .map(|change| (change.old, change.old_lines, change.new, change.new_lines))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn equal_texts_have_no_change() {
        check("abc", "abc", &[]);
        check("", "", &[]);
    }

    #[test]
    fn a_line_put_in_the_middle_is_one_insertion() {
        check("abc", "abxc", &[(2, 0, 2, 1)]);
    }

    #[test]
    fn everything_goes_and_everything_comes() {
        check("ab", "", &[(0, 2, 0, 0)]);
        check("", "ab", &[(0, 0, 0, 2)]);
        check("ab", "xy", &[(0, 2, 0, 2)]);
    }

    #[test]
    fn what_is_known_without_a_search_is_what_the_search_finds() {
        let mut texts: Vec<Vec<&str>> = vec![Vec::new()];
        for length in 0..5 {
            let longer = texts.iter().filter(|text| text.len() == length);
            let longer = longer.flat_map(|text| ["a", "b", "c"].map(|line| [text.as_slice(), &[line]].concat()));
            texts.extend(longer.collect::<Vec<_>>());
        }
        for (old, new) in texts.iter().flat_map(|old| texts.iter().map(move |new| (old, new))) {
            assert_eq!(changes(old, new), searched(old, new), "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_repeated_line_is_added_at_the_end_of_its_run() {
        check("aab", "aaab", &[(2, 0, 2, 1)]);
    }
}
