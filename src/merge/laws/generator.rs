//! Pure. Makes three files from a number: a base, and two sides that each edited it and may have written it in another style.

/// Three sides of a file.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) base: String,
    pub(super) ours: String,
    pub(super) theirs: String,
}

/// A source of numbers that depends on its seed alone.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % sides.max(1)
    }

    fn is(&mut self, one_in: usize) -> bool {
        self.roll(one_in) == 0
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.roll(words.len())]
    }
}

/// A value in the making.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Tree {
    Scalar(String),
    Block(Vec<String>),
    Map(Vec<Entry>),
    List(Vec<Entry>),
}

/// An entry of a map, or an item of a list, whose key is not written.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) comment: Option<String>,
    pub(super) tree: Tree,
}

/// How a side writes.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) step: usize,
    pub(super) dash: usize,
    pub(super) quotes: bool,
    pub(super) blanks: bool,
}

const WORDS: [&str; 12] =
    ["one", "two", "8080", "true", "on", "0755", "1.10", "a b", "null", "x:y", "500m", "https://quarry.example/x"];
const KEYS: [&str; 8] = ["alpha", "beta", "gamma", "delta", "size", "mode", "label", "zone"];
const NAMES: [&str; 8] = ["web", "cache", "queue", "mail", "proxy", "store", "cron", "agent"];

/// Makes a case.
pub(super) fn case(seed: u64) -> Case {
    let mut dice = Dice(seed | 1);
    (0..8).for_each(|_| {
        dice.roll(2);
    });
    let count = 1 + dice.roll(2);
    let base: Vec<Tree> = (0..count).map(|number| document(&mut dice, number)).collect();
    let style = Style { step: 2, dash: dice.roll(2) * 2, quotes: false, blanks: dice.is(3) };
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    for side in [&mut ours, &mut theirs] {
        for _ in 0..=dice.roll(3) {
            let number = dice.roll(side.len());
            edit(&mut side[number], &mut dice, 0);
        }
    }
    let restyled = |dice: &mut Dice| match dice.roll(6) {
        0 => Style { step: 4, ..style },
        1 => Style { dash: 2 - style.dash, ..style },
        2 => Style { quotes: true, ..style },
        _ => style,
    };
    let (mine, upstream) = (restyled(&mut dice), restyled(&mut dice));
    let ends = |text: String, crlf: bool| if crlf { text.replace('\n', "\r\n") } else { text };
    let crlf = dice.is(12);
    Case { base: write(&base, style), ours: ends(write(&ours, mine), crlf), theirs: write(&theirs, upstream) }
}

/// Makes a case whose sides edit parts of the file that have nothing in common, and the file with the edits of both.
pub(super) fn apart(seed: u64) -> (Case, String) {
    let mut dice = Dice(seed | 1);
    (0..8).for_each(|_| {
        dice.roll(2);
    });
    let count = 1 + dice.roll(2);
    let base: Vec<Tree> = (0..count).map(|number| document(&mut dice, number)).collect();
    let style = Style { step: 2, dash: dice.roll(2) * 2, quotes: false, blanks: dice.is(3) };
    let (mut ours, mut theirs, mut both) = (base.clone(), base.clone(), base.clone());
    for (side, key) in [(&mut ours, "spec"), (&mut theirs, "data")] {
        for (made, known) in side.iter_mut().zip(&mut both) {
            let (made, known) = (part(made, key), part(known, key));
            (0..=dice.roll(2)).for_each(|_| edit(made, &mut dice, 1));
            known.clone_from(made);
        }
    }
    let case = Case { base: write(&base, style), ours: write(&ours, style), theirs: write(&theirs, style) };
    (case, write(&both, style))
}

fn part<'a>(tree: &'a mut Tree, key: &str) -> &'a mut Tree {
    let Tree::Map(entries) = tree else { unreachable!("a document is a map") };
    &mut entries.iter_mut().find(|entry| entry.key == key).unwrap().tree
}

pub(super) fn entry(key: &str, tree: Tree) -> Entry {
    Entry { key: key.to_owned(), comment: None, tree }
}

fn word(dice: &mut Dice) -> Tree {
    Tree::Scalar(dice.pick(&WORDS).to_owned())
}

fn document(dice: &mut Dice, number: usize) -> Tree {
    let name = entry("name", Tree::Scalar(format!("quarry-{number}")));
    let mut entries = vec![
        entry("apiVersion", Tree::Scalar("apps/v1".to_owned())),
        entry("kind", Tree::Scalar("Deployment".to_owned())),
        entry("metadata", Tree::Map(vec![name, entry("labels", map(dice))])),
    ];
    let containers = entry("containers", Tree::List(named(dice, 3)));
    let pod = entry("template", Tree::Map(vec![entry("spec", Tree::Map(vec![containers, entry("notes", map(dice))]))]));
    entries.push(entry("spec", Tree::Map(vec![entry("replicas", Tree::Scalar("1".to_owned())), pod])));
    let data = vec![
        entry("text.conf", Tree::Block((0..4).map(|line| format!("line {line} {}", dice.pick(&KEYS))).collect())),
        entry("words", Tree::List((0..dice.roll(4)).map(|_| entry("", word(dice))).collect())),
    ];
    entries.push(entry("data", Tree::Map(data)));
    for entry in &mut entries {
        if dice.is(4) {
            entry.comment = Some(format!("# about {}", entry.key));
        }
    }
    Tree::Map(entries)
}

fn map(dice: &mut Dice) -> Tree {
    let mut keys: Vec<&str> = KEYS.to_vec();
    let count = 1 + dice.roll(4);
    let key = |_| {
        let key = keys.remove(dice.roll(keys.len()));
        entry(key, word(dice))
    };
    Tree::Map((0..count).map(key).collect())
}

fn named(dice: &mut Dice, most: usize) -> Vec<Entry> {
    let mut names: Vec<&str> = NAMES.to_vec();
    let count = 1 + dice.roll(most);
    let named = |_| {
        let name = names.remove(dice.roll(names.len()));
        item(dice, name)
    };
    (0..count).map(named).collect()
}

fn item(dice: &mut Dice, name: &str) -> Entry {
    let mut entries =
        vec![entry("name", Tree::Scalar(name.to_owned())), entry("image", Tree::Scalar(format!("reg/{name}:1")))];
    if dice.is(2) {
        let variable = |name: &str, dice: &mut Dice| {
            entry("", Tree::Map(vec![entry("name", Tree::Scalar(name.to_uppercase())), entry("value", word(dice))]))
        };
        entries.push(entry("env", Tree::List(vec![variable("mode", dice), variable("size", dice)])));
    }
    if dice.is(3) {
        let args = ["--level=info", "--quiet", "--depth=3"];
        entries.push(entry(
            "args",
            Tree::List(args.iter().map(|arg| entry("", Tree::Scalar((*arg).to_owned()))).collect()),
        ));
    }
    Entry { key: String::new(), comment: None, tree: Tree::Map(entries) }
}

/// Makes one edit somewhere below a tree; identities of objects stay.
fn edit(tree: &mut Tree, dice: &mut Dice, depth: usize) {
    match tree {
        Tree::Scalar(text) => *text = format!("{}{}", dice.pick(&WORDS), if dice.is(2) { "" } else { "9" }),
        Tree::Block(lines) => {
            let place = dice.roll(lines.len());
            lines[place] = format!("line {}", dice.pick(&WORDS));
        }
        Tree::Map(entries) => edit_map(entries, dice, depth),
        Tree::List(items) => edit_list(items, dice, depth),
    }
}

fn edit_map(entries: &mut Vec<Entry>, dice: &mut Dice, depth: usize) {
    let fixed = ["apiVersion", "kind", "name", "metadata", "spec", "template"];
    let is_free = |entry: &Entry| !fixed.contains(&entry.key.as_str());
    match dice.roll(if depth == 0 { 8 } else { 5 }) {
        0 if depth > 0 => {
            let key = dice.pick(&KEYS);
            if !entries.iter().any(|entry| entry.key == key) {
                let place = dice.roll(entries.len() + 1);
                entries.insert(place, entry(key, word(dice)));
            }
        }
        1 if entries.iter().any(is_free) && depth > 0 => {
            let free: Vec<usize> = (0..entries.len()).filter(|place| is_free(&entries[*place])).collect();
            entries.remove(free[dice.roll(free.len())]);
        }
        2 => {
            let place = dice.roll(entries.len());
            if let Some(entry) = entries.get_mut(place) {
                entry.comment = Some(format!("# {}", dice.pick(&NAMES)));
            }
        }
        _ => {
            let places: Vec<usize> = (0..entries.len())
                .filter(|place| is_free(&entries[*place]) || !matches!(entries[*place].tree, Tree::Scalar(_)))
                .collect();
            if let Some(place) = places.get(dice.roll(places.len())) {
                edit(&mut entries[*place].tree, dice, depth + 1);
            }
        }
    }
}

fn edit_list(items: &mut Vec<Entry>, dice: &mut Dice, depth: usize) {
    let is_map = |item: &Entry| matches!(item.tree, Tree::Map(_));
    let place = dice.roll(items.len());
    match dice.roll(6) {
        0 | 1 if items.first().is_some_and(is_map) => {
            let name = dice.pick(&NAMES);
            let known = |item: &Entry| matches!(&item.tree, Tree::Map(entries) if entries[0].tree == Tree::Scalar(name.to_owned()));
            if !items.iter().any(known) {
                let new = item(dice, name);
                items.insert(dice.roll(items.len() + 1), new);
            }
        }
        0 | 1 => items.insert(dice.roll(items.len() + 1), entry("", Tree::Scalar(format!("new-{}", dice.roll(50))))),
        2 if !items.is_empty() => {
            items.remove(place);
        }
        3 if items.len() > 1 => {
            let moved = items.remove(place);
            items.insert(dice.roll(items.len() + 1), moved);
        }
        _ => {
            if let Some(item) = items.get_mut(place) {
                edit(&mut item.tree, dice, depth + 1);
            }
        }
    }
}

/// Writes documents in a style.
pub(super) fn write(documents: &[Tree], style: Style) -> String {
    let mut out = String::new();
    for (number, document) in documents.iter().enumerate() {
        if number > 0 {
            out.push_str("---\n");
        }
        if let Tree::Map(entries) = document {
            write_map(&mut out, entries, 0, style);
        }
    }
    out
}

fn token(text: &str, style: Style) -> String {
    let quote =
        text.contains(": ") || style.quotes && !matches!(text, "8080" | "true" | "on" | "null" | "0755" | "1.10" | "1");
    if quote { format!("\"{text}\"") } else { text.to_owned() }
}

fn write_map(out: &mut String, entries: &[Entry], column: usize, style: Style) {
    for (number, entry) in entries.iter().enumerate() {
        if style.blanks && column == 0 && number > 0 {
            out.push('\n');
        }
        if let Some(comment) = &entry.comment {
            out.push_str(&format!("{:column$}{comment}\n", ""));
        }
        out.push_str(&format!("{:column$}{}:", "", entry.key));
        write_value(out, &entry.tree, column, style);
    }
}

fn write_value(out: &mut String, tree: &Tree, column: usize, style: Style) {
    match tree {
        Tree::Scalar(text) => out.push_str(&format!(" {}\n", token(text, style))),
        Tree::Block(lines) => {
            out.push_str(" |\n");
            let inner = column + style.step;
            lines.iter().for_each(|line| out.push_str(&format!("{:inner$}{line}\n", "")));
        }
        Tree::Map(entries) if entries.is_empty() => out.push_str(" {}\n"),
        Tree::List(items) if items.is_empty() => out.push_str(" []\n"),
        Tree::Map(entries) => {
            out.push('\n');
            write_map(out, entries, column + style.step, style);
        }
        Tree::List(items) => {
            out.push('\n');
            items.iter().for_each(|item| write_item(out, item, column + style.dash, style));
        }
    }
}

fn write_item(out: &mut String, item: &Entry, column: usize, style: Style) {
    match &item.tree {
        Tree::Map(entries) if !entries.is_empty() => {
            let mut text = String::new();
            let inner: Vec<Entry> = entries
                .iter()
                .enumerate()
                .map(|(n, e)| if n == 0 { Entry { comment: None, ..e.clone() } } else { e.clone() })
                .collect();
            write_map(&mut text, &inner, column + 2, Style { blanks: false, ..style });
            out.push_str(&format!("{:column$}- {}", "", text.trim_start()));
        }
        tree => {
            out.push_str(&format!("{:column$}-", ""));
            write_value(out, tree, column, style);
        }
    }
}
