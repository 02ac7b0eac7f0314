//! Pure. What each side may do with an entry of a list or map, against everything the other side may do with it. The cells are made
//! over kinds of lists and maps of the Kubernetes world, with no, one and two neighbours, and with the neighbours in another order on one
//! side. What the sides did says what must come out, byte for byte, and what must be left to decide.
//!
//! Where the specification leaves something open, every result it allows is listed (`allowed`) or the pair is not asked (`is_open`).

use super::super::conflict::{Conflict, ConflictKind};
use super::super::file::merge_file;
use super::super::rules::Rules;
use super::super::tree::Three;
use crate::base::RepoPath;

mod forms;

use forms::{FORMS, Form};

/// What a side does with the entry, or beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Kept,
    First,
    Second,
    Both,
    Same,
    FieldAdded,
    FieldDeleted,
    Deleted,
    Replaced,
    DeletedElsewhere,
    Before,
    Behind,
    BehindLike,
    BehindEqual,
    BehindOther,
    Comment,
    Quoted,
    Moved,
}

use State::*;

const STATES: [State; 18] = [
    Kept,
    First,
    Second,
    Both,
    Same,
    FieldAdded,
    FieldDeleted,
    Deleted,
    Replaced,
    DeletedElsewhere,
    Before,
    Behind,
    BehindLike,
    BehindEqual,
    BehindOther,
    Comment,
    Quoted,
    Moved,
];

/// Which neighbours there are.
const SHAPES: [&str; 4] = ["E", "LE", "ER", "LER"];

/// One cell of so many is asked, unless all are.
const SHARE: usize = 97;

/// Whose neighbours stand in another order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turned {
    Nobody,
    Ours,
    Theirs,
}

/// The entry as a side has it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    first: String,
    second: Option<String>,
    extra: Option<String>,
    comment: Option<&'static str>,
    is_quoted: bool,
}

/// What a side holds. `E` is the entry, `L` and `R` are its neighbours. `X` is new in ours and `Y` in theirs, `S` is new in both and equal,
/// and `C` is new in both with other content.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Side {
    order: String,
    entry: Option<Entry>,
    /// Whether what is new is as like the entry as its key allows.
    is_like: bool,
    state: State,
}

/// A result: what stands where, and the kinds of what is left to decide.
type Outcome = (String, Vec<ConflictKind>);

fn has(form: Form, traits: &str) -> bool {
    form.2.contains(|known| traits.contains(known))
}

fn unlike(form: Form) -> &'static str {
    if form.4.is_empty() { form.3 } else { form.4 }
}

fn is_new(token: char) -> bool {
    "XYSC".contains(token)
}

/// Returns what tells an entry apart: a word and a number.
fn name(token: char) -> (&'static str, &'static str) {
    match token {
        'L' => ("early", "21"),
        'R' => ("tail", "27"),
        'X' => ("mined", "31"),
        'Y' => ("upper", "36"),
        'S' => ("shared", "43"),
        'C' => ("twice", "49"),
        _ => ("gone", "24"),
    }
}

/// Writes what stands above the entries, and returns the column of the entries.
fn above(form: Form) -> (String, usize) {
    let (mut out, mut column) = match form.0 {
        "" => (String::new(), 0),
        "kustomize" => ("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n".to_owned(), 0),
        object => {
            let (api, kind) = object.split_once(' ').unwrap();
            (format!("apiVersion: {api}\nkind: {kind}\nmetadata:\n  name: shop\n"), if has(form, "b") { 2 } else { 0 })
        }
    };
    for line in form.1.split('|').filter(|line| !line.is_empty()) {
        if line.starts_with("- ") {
            // An item stands at the column of its list's key.
            column -= 2;
            out.push_str(&format!("{:column$}{line}\n", ""));
            column += if line.ends_with(':') { 4 } else { 2 };
        } else if line.contains(": ") {
            out.push_str(&format!("{:column$}{line}\n", ""));
        } else {
            out.push_str(&format!("{:column$}{line}:\n", ""));
            column += 2;
        }
    }
    let back = if form.3.starts_with("- ") { 2 } else { 0 };
    let further = if has(form, ">") { 2 } else { 0 };
    (out, column + further - back)
}

/// Writes an entry; a line whose value it lacks is left out.
fn written(template: &str, token: char, entry: &Entry, column: usize) -> String {
    let (word, number) = name(token);
    let mut out = String::new();
    if let Some(comment) = entry.comment {
        out.push_str(&format!("{:column$}# {comment}\n", ""));
    }
    for line in template.lines() {
        let is_absent = line.contains("$Q") && entry.second.is_none() || line.contains("$F") && entry.extra.is_none();
        if is_absent {
            continue;
        }
        let line = line.replace("$N", word).replace("$I", number).replace("$P", &entry.first);
        let line = line.replace("$Q", entry.second.as_deref().unwrap_or_default());
        let line = line.replace("$F", entry.extra.as_deref().unwrap_or_default());
        let line = match line.strip_prefix("- ").filter(|_| entry.is_quoted) {
            Some(text) => format!("- \"{text}\""),
            None => line,
        };
        out.push_str(&format!("{:column$}{line}\n", ""));
    }
    out
}

fn plain(first: &str, second: &str) -> Entry {
    Entry { first: first.to_owned(), second: Some(second.to_owned()), extra: None, comment: None, is_quoted: false }
}

/// Writes a file; `sides` say what their new entries hold.
fn text(form: Form, order: &str, entry: Option<&Entry>, sides: [&Side; 2]) -> String {
    let (mut out, column) = above(form);
    if order.is_empty() {
        let empty = if has(form, "m") { "{}" } else { "[]" };
        return format!("{} {empty}\n", out.trim_end());
    }
    let kept = plain("one", "two");
    let is_like = |token: char| sides.iter().any(|side| side.is_like && side.order.contains(token));
    for token in order.chars() {
        let made = match token {
            'E' => written(form.3, 'E', entry.unwrap_or(&kept), column),
            'L' => written(form.3, 'L', &plain("lp", "lq"), column),
            'R' => written(form.3, 'R', &plain("rp", "rq"), column),
            'S' => written(unlike(form), 'S', &plain("sp", "sq"), column),
            // Ours stands first among the sides.
            'C' => match sides.iter().position(|side| side.order.contains('C')) {
                Some(0) => written(unlike(form), 'C', &plain("cm", "cq"), column),
                _ => written(unlike(form), 'C', &plain("cu", "cq"), column),
            },
            _ if is_like(token) => written(unlike(form), token, &kept, column),
            'X' => written(unlike(form), 'X', &plain("xp", "xq"), column),
            _ => written(unlike(form), 'Y', &plain("yp", "yq"), column),
        };
        out.push_str(&made);
    }
    out
}

/// Returns whether entries of a form can be in a state.
fn can(form: Form, state: State, shape: &str) -> bool {
    let holds = |value: &str| form.3.contains(value);
    match state {
        First | Same => holds("$P"),
        Second | FieldDeleted => holds("$Q"),
        Both => holds("$P") && holds("$Q"),
        FieldAdded => holds("$F"),
        BehindOther => unlike(form).contains("$P") && !has(form, "q"),
        BehindLike => holds("$P") && has(form, "km") && !has(form, "a"),
        Quoted => holds("$P") || has(form, "sv"),
        DeletedElsewhere => shape != "E",
        Moved => shape != "E" && has(form, "fm"),
        Kept | Deleted | Replaced | Before | Behind | BehindEqual | Comment => true,
    }
}

/// Makes what a side holds; `values` are those that it gives the entry, `new` is what it adds.
fn side(
    form: Form,
    state: State,
    shape: &str,
    is_turned: bool,
    (values, comment, new): ([&str; 3], &'static str, char),
) -> Side {
    let [first, second, extra] = values.map(str::to_owned);
    let mut entry = plain("one", "two");
    match state {
        First => entry.first = first,
        Second => entry.second = Some(second),
        Both => (entry.first, entry.second) = (first, Some(second)),
        Same => entry.first = "eq".to_owned(),
        FieldAdded => entry.extra = Some(extra),
        FieldDeleted => entry.second = None,
        Comment => entry.comment = Some(comment),
        Quoted if has(form, "sv") => entry.is_quoted = true,
        Quoted => entry.first = "\"one\"".to_owned(),
        _ => {}
    }
    let shape = if is_turned { "REL" } else { shape };
    let is_at_end = shape != "LE";
    let elsewhere = |token: char| {
        let others = shape.replace('E', "");
        if is_at_end { format!("{others}{token}") } else { format!("{token}{others}") }
    };
    let order = match state {
        Deleted => shape.replace('E', ""),
        Replaced => shape.replace('E', &new.to_string()),
        DeletedElsewhere => elsewhere(new),
        Moved => elsewhere('E'),
        Before => shape.replace('E', &format!("{new}E")),
        Behind | BehindLike => shape.replace('E', &format!("E{new}")),
        BehindEqual => shape.replace('E', "ES"),
        BehindOther => shape.replace('E', "EC"),
        _ => shape.to_owned(),
    };
    let entry = Some(entry).filter(|_| order.contains('E'));
    Side { order, entry, is_like: state == BehindLike, state }
}

fn data(value: &str) -> &str {
    value.trim_matches('"')
}

/// Merges one value of the entry.
fn merged_value(
    base: Option<&str>,
    ours: Option<&str>,
    theirs: Option<&str>,
) -> (Option<String>, Option<ConflictKind>) {
    let own = |value: Option<&str>| value.map(str::to_owned);
    let [before, mine, upstream] = [base, ours, theirs].map(|value| value.map(data));
    if mine == upstream {
        return (own(if ours == base { theirs } else { ours }), None);
    }
    if mine == before {
        return (own(theirs), None);
    }
    if upstream == before {
        return (own(ours), None);
    }
    let kind = match (base, ours, theirs) {
        (None, ..) => ConflictKind::BothAdded,
        (_, None, _) => ConflictKind::DeleteEdit,
        (.., None) => ConflictKind::EditDelete,
        _ => ConflictKind::Value,
    };
    (own(ours), Some(kind))
}

/// Returns whether the data of the entry changed.
fn is_edited(entry: &Entry) -> bool {
    data(&entry.first) != "one" || entry.second.as_deref() != Some("two") || entry.extra.is_some()
}

/// Merges the entry: what is left of it, and what is left to decide.
fn merged_entry(ours: Option<&Entry>, theirs: Option<&Entry>) -> (Option<Entry>, Vec<ConflictKind>) {
    let (ours, theirs) = match (ours, theirs) {
        (None, None) => return (None, Vec::new()),
        (None, Some(theirs)) if is_edited(theirs) => return (None, vec![ConflictKind::DeleteEdit]),
        (Some(ours), None) if is_edited(ours) => return (Some(ours.clone()), vec![ConflictKind::EditDelete]),
        // A comment or another style does not hold a deletion up.
        (None, Some(_)) | (Some(_), None) => return (None, Vec::new()),
        (Some(ours), Some(theirs)) => (ours, theirs),
    };
    let (first, of_first) = merged_value(Some("one"), Some(&ours.first), Some(&theirs.first));
    let (second, of_second) = merged_value(Some("two"), ours.second.as_deref(), theirs.second.as_deref());
    let (extra, of_extra) = merged_value(None, ours.extra.as_deref(), theirs.extra.as_deref());
    // Whoever changed a text wrote its quotes.
    let is_quoted = match (is_edited(ours), is_edited(theirs)) {
        (true, false) => ours.is_quoted,
        (false, true) => theirs.is_quoted,
        (true, true) | (false, false) => ours.is_quoted || theirs.is_quoted,
    };
    let entry =
        Entry { first: first.unwrap_or_default(), second, extra, comment: ours.comment.or(theirs.comment), is_quoted };
    (Some(entry), [of_first, of_second, of_extra].into_iter().flatten().collect())
}

fn only(order: &str, held: impl Fn(char) -> bool) -> String {
    order.chars().filter(|token| held(*token)).collect()
}

/// Puts theirs' new entries behind their nearest predecessor that ours has and ours' new ones there, else before their nearest successor.
fn placed(frame: &str, theirs: &str, new: &str) -> String {
    let mut out: Vec<char> = frame.chars().collect();
    for token in new.chars() {
        let (before, behind) = theirs.split_once(token).unwrap_or_default();
        let at = |other: char, out: &[char]| out.iter().position(|held| *held == other && !new.contains(other));
        let after = before.chars().rev().find_map(|other| at(other, &out));
        let place = match after {
            Some(found) => {
                let further = out.iter().skip(found + 1).take_while(|other| is_new(**other)).count();
                found + 1 + further
            }
            None => behind.chars().find_map(|other| at(other, &out)).unwrap_or(out.len()),
        };
        out.insert(place, token);
    }
    out.into_iter().collect()
}

/// Puts further entries at any place and in any order between others.
fn scattered(frame: &str, further: &str) -> Vec<String> {
    let mut found = vec![frame.to_owned()];
    for token in further.chars() {
        let with = |(known, at): (&String, usize)| {
            let mut order = known.clone();
            order.insert(at, token);
            order
        };
        found = found.iter().flat_map(|known| (0..=known.len()).map(move |at| (known, at))).map(with).collect();
    }
    found
}

/// What both sides hold, for the question of where it stands.
struct Merging<'a> {
    form: Form,
    base: &'a str,
    ours: &'a Side,
    theirs: &'a Side,
    /// What the result holds of base.
    shared: String,
    mine: String,
    upstream: String,
}

impl Merging<'_> {
    /// Returns whether each side changed the order, by what all three hold and by what the side and base hold. Where the entry is gone on
    /// one side the two may differ, and which of them is meant is not decided.
    fn reordered(&self) -> Vec<(bool, bool)> {
        let (ours, theirs) = (&self.ours.order, &self.theirs.order);
        let common = only(self.base, |token| ours.contains(token) && theirs.contains(token));
        let differs = |order: &str, held: &str| only(order, |token| held.contains(token)) != held;
        let of_base = |order: &str| only(self.base, |token| order.contains(token));
        let by_all = (differs(ours, &common), differs(theirs, &common));
        let by_own = (differs(ours, &of_base(ours)), differs(theirs, &of_base(theirs)));
        if by_all == by_own { vec![by_all] } else { vec![by_all, by_own] }
    }

    /// Returns the orders that the result may have if a side changed the order.
    fn in_another_order(&self, is_mine: bool, is_upstream: bool) -> Vec<String> {
        let (ours, theirs) = (&self.ours.order, &self.theirs.order);
        let is_map = has(self.form, "m");
        let is_whole = |order: &str| order.contains('E') || !self.shared.contains('E');
        let held = |order: &str, new: &str| only(order, |token| self.shared.contains(token) || new.contains(token));
        // All that is new and all that moved comes from one side: as that has it.
        if self.upstream.is_empty() && is_mine && is_whole(ours) {
            return vec![held(ours, &self.mine)];
        }
        if self.mine.is_empty() && !is_mine && !is_map && is_whole(theirs) {
            return vec![held(theirs, &self.upstream)];
        }
        let mut orders = Vec::new();
        // The order of a map is no data, so that ours may stay.
        if is_mine || is_map {
            orders.push(ours);
        }
        if is_upstream && !is_mine {
            orders.push(theirs);
        }
        let mut found = Vec::new();
        for order in orders {
            let rest = if is_whole(order) { "" } else { "E" };
            found.extend(scattered(&held(order, ""), &format!("{rest}{}{}", self.mine, self.upstream)));
        }
        found
    }

    /// Returns the orders that the result may have if no side changed the order, and those where an insert of theirs is a question.
    fn in_order(&self) -> (Vec<String>, Vec<String>) {
        let ours = &self.ours.order;
        let frame = only(ours, |token| self.shared.contains(token) || self.mine.contains(token));
        let mut found = vec![placed(&frame, &self.theirs.order, &self.upstream)];
        if self.shared.contains('E') && !self.theirs.order.contains('E') {
            // Theirs put something in the place of an entry that stays: before or behind it.
            let without = placed(&frame.replace('E', ""), &self.theirs.order, &self.upstream);
            found.extend(
                scattered(&frame, &self.upstream).into_iter().filter(|order| order.replace('E', "") == without),
            );
        }
        if is_loose(self.form) {
            let swapped = |order: &String| {
                let pairs = self.mine.chars().flat_map(|mine| self.upstream.chars().map(move |other| (mine, other)));
                pairs
                    .map(|(mine, other)| order.replace(&format!("{mine}{other}"), &format!("{other}{mine}")))
                    .collect::<Vec<_>>()
            };
            let more: Vec<String> = found.iter().flat_map(swapped).collect();
            found.extend(more);
        }
        let mut asked = Vec::new();
        if has(self.form, "qzi") {
            for order in &found {
                let beside = |token: char| {
                    self.mine.chars().any(|mine| {
                        [format!("{mine}{token}"), format!("{token}{mine}")].iter().any(|pair| order.contains(pair))
                    })
                };
                asked
                    .extend(self.upstream.chars().filter(|token| beside(*token)).map(|token| order.replace(token, "")));
            }
        }
        (found, asked)
    }
}

/// Returns all results that are right.
fn allowed(form: Form, base: &Side, ours: &Side, theirs: &Side) -> (Option<Entry>, Vec<Outcome>) {
    let is_same = |a: &Side, b: &Side| {
        a.order == b.order && a.entry == b.entry && !a.order.contains(['C']) && a.is_like == b.is_like
    };
    if is_same(ours, theirs) || is_same(theirs, base) {
        return (ours.entry.clone(), vec![(ours.order.clone(), Vec::new())]);
    }
    if is_same(ours, base) {
        return (theirs.entry.clone(), vec![(theirs.order.clone(), Vec::new())]);
    }
    let (entry, mut kinds) = merged_entry(ours.entry.as_ref(), theirs.entry.as_ref());
    if ours.order.contains('C') && theirs.order.contains('C') {
        kinds.push(ConflictKind::BothAdded);
    }
    kinds.sort();
    let mine = only(&ours.order, is_new);
    let upstream = only(&theirs.order, |token| is_new(token) && !mine.contains(token));
    let shared = only(&base.order, |token| token != 'E' || entry.is_some());
    let merging = Merging { form, base: &base.order, ours, theirs, shared, mine, upstream };
    let readings = merging.reordered();
    let mut found: Vec<Outcome> = Vec::new();
    if readings.iter().any(|(mine, upstream)| *mine || *upstream) {
        for (is_mine, is_upstream) in readings {
            let is_neither = !is_mine && !is_upstream;
            let orders = merging.in_another_order(is_mine || is_neither, is_upstream);
            found.extend(orders.into_iter().map(|order| (order, kinds.clone())));
        }
    } else {
        let (orders, asked) = merging.in_order();
        let mut with_order = [&kinds[..], &[ConflictKind::Order]].concat();
        with_order.sort();
        found.extend(orders.into_iter().map(|order| (order, kinds.clone())));
        found.extend(asked.into_iter().map(|order| (order, with_order.clone())));
    }
    if entry.is_some() && theirs.state == Replaced && !kinds.is_empty() {
        // What stands in the place of an entry that stays may belong to the question about it.
        let more: Vec<Outcome> = found.iter().map(|(order, kinds)| (order.replace('Y', ""), kinds.clone())).collect();
        found.extend(more);
    }
    (entry, found)
}

/// Returns whether lines of entries are alike, so that the lines that git takes may put two new entries of one place in either order.
fn is_loose(form: Form) -> bool {
    is_plain(form) || [form.3, unlike(form)].iter().any(|template| template.lines().any(|line| !line.contains('$')))
}

/// Returns whether a list holds texts that nothing tells apart.
fn is_plain(form: Form) -> bool {
    has(form, "s") && !has(form, "f") && form.0 != "kustomize"
}

/// Returns whether the specification does not decide a pair of states. A comment above a line that other entries have too goes with its
/// entry, or stays where git has it. One text in the place of another is a change of it, or a deletion and an addition.
fn is_open(form: Form, mine: State, upstream: State) -> bool {
    let one_is = |state: State| mine == state || upstream == state;
    let first = form.3.lines().next().unwrap_or_default();
    let is_shared = !first.contains("$N") && !first.contains("$I");
    let moves = [Deleted, Replaced, DeletedElsewhere, Before, Moved];
    let is_replaced = |state: State| matches!(state, Replaced | Comment);
    one_is(Comment) && is_shared && moves.into_iter().any(one_is)
        || is_plain(form) && one_is(Replaced) && is_replaced(mine) && is_replaced(upstream)
}

/// A cell of the matrix.
#[derive(Clone, Copy)]
struct Cell {
    form: Form,
    shape: &'static str,
    turned: Turned,
    mine: State,
    upstream: State,
}

fn cells() -> Vec<Cell> {
    let mut found = Vec::new();
    for form in FORMS {
        for shape in SHAPES.into_iter().filter(|shape| *shape != "E" || !has(form, "t")) {
            let is_free = shape == "LER" && has(form, "fm");
            let turns: &[Turned] =
                if is_free { &[Turned::Nobody, Turned::Ours, Turned::Theirs] } else { &[Turned::Nobody] };
            for turned in turns.iter().copied() {
                for mine in STATES.into_iter().filter(|state| can(form, *state, shape)) {
                    let states =
                        STATES.into_iter().filter(|state| can(form, *state, shape) && !is_open(form, mine, *state));
                    found.extend(states.map(|upstream| Cell { form, shape, turned, mine, upstream }));
                }
            }
        }
    }
    found
}

fn path(form: Form) -> RepoPath {
    let name = match form.0 {
        "" => "values",
        "kustomize" => "kustomization",
        _ => "all",
    };
    RepoPath::parse(&format!("apps/quarry/{name}.yaml")).unwrap()
}

/// Returns whether what theirs put in the place of the entry is in the result, or shown where the entry is asked about.
fn is_told(form: Form, theirs: &Side, text: &str, conflicts: &[Conflict]) -> bool {
    let (word, number) = name('Y');
    let shows = |text: &str| text.contains(word) || text.contains(number);
    let is_asked = || conflicts.iter().any(|conflict| conflict.upstream.as_deref().is_some_and(shows));
    !theirs.order.contains('Y') || shows(text) || form.1 == "stringData" || is_asked()
}

/// Returns what is wrong about a cell.
fn wrong(cell: Cell) -> Option<String> {
    let Cell { form, shape, turned, mine, upstream } = cell;
    let base = side(form, Kept, shape, false, (["", "", ""], "", ' '));
    let ours = side(form, mine, shape, turned == Turned::Ours, (["mp", "mq", "mf"], "m says so", 'X'));
    let theirs = side(form, upstream, shape, turned == Turned::Theirs, (["up", "uq", "uf"], "u says so", 'Y'));
    let (entry, outcomes) = allowed(form, &base, &ours, &theirs);
    let none = Side { order: String::new(), ..base.clone() };
    let before = text(form, &base.order, None, [&none, &none]);
    let left = text(form, &ours.order, ours.entry.as_ref(), [&ours, &none]);
    let right = text(form, &theirs.order, theirs.entry.as_ref(), [&none, &theirs]);
    let texts = Three { base: Some(&*before), ours: Some(&*left), theirs: Some(&*right) };
    let merged = merge_file(&path(form), texts, &Rules::default());
    let mut kinds: Vec<ConflictKind> = merged.conflicts.iter().map(|conflict| conflict.kind).collect();
    kinds.sort();
    let found = merged.text.unwrap_or_default();
    // Quotes are no data: whether theirs' go beside a comment of ours on the same line is not decided.
    let is_style = (mine, upstream) == (Comment, Quoted) && form.3.lines().count() == 1;
    let bare = entry.clone().map(|entry| Entry { first: data(&entry.first).to_owned(), is_quoted: false, ..entry });
    let is_right = outcomes.iter().any(|(order, wanted)| {
        let with = |entry: &Option<Entry>| text(form, order, entry.as_ref(), [&ours, &theirs]) == found;
        *wanted == kinds && (with(&entry) || is_style && with(&bare))
    });
    if is_right && merged.guard.is_none() && is_told(form, &theirs, &found, &merged.conflicts) {
        return None;
    }
    let (order, wanted) = outcomes.first()?;
    let wanted_text = text(form, order, entry.as_ref(), [&ours, &theirs]);
    let what = format!(
        "{mine:?} against {upstream:?} in {shape}, turned {turned:?}: {kinds:?} for {wanted:?}, guard {:?}",
        merged.guard
    );
    Some(format!(
        "{what}\n--- base\n{before}--- ours\n{left}--- theirs\n{right}--- wanted\n{wanted_text}--- found\n{found}"
    ))
}

#[test]
fn every_state_of_an_entry_meets_every_other_as_the_two_say() {
    let is_long = std::env::var_os("WILD_LONG").is_some();
    let cells = cells();
    let asked = cells.iter().enumerate().filter(|(number, _)| is_long || number % SHARE == 0);
    let wrong: Vec<String> =
        asked.filter_map(|(number, cell)| Some(format!("cell {number}: {}", wrong(*cell)?))).collect();
    assert!(wrong.is_empty(), "{}\n{} of {} are wrong", wrong.join("\n"), wrong.len(), cells.len());
}
