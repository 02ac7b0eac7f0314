//! Pure. Texts of files as people are shown them: values that look like secrets are hidden, and that two of them differ is not.
//!
//! A text that reads as YAML or JSON is judged by its keys, and every line of any text by what it assigns. Not here: which names are those of
//! secrets (`model::veil`).

use std::collections::BTreeMap;
use std::ops::Range;

use super::sops::block_header;
use super::tree::{self, Content, Node, Style, Tree};
use crate::base::limits::MAX_YAML_DEPTH;
use crate::model::veil::{DIFFERS, Hiding, Part, disjoint, is_hidden, of_arguments, parts};
use crate::model::{MASK, Veil};

/// Keys of an item of a list by which it is told from the others.
const NAMING: [&str; 4] = ["name", "path", "key", "header"];

/// Returns a text with a mark in place of every value that looks like a secret.
pub fn veiled(text: &str, veil: &Veil) -> String {
    replaced(text, &hidden(text, veil), |_| MASK)
}

/// Returns two texts as they are shown beside each other. A hidden value of the second that the first does not have at its place is marked so.
pub fn veiled_pair(before: &str, after: &str, veil: &Veil) -> [String; 2] {
    let (old, new) = (hidden(before, veil), hidden(after, veil));
    let mut known: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for found in &old {
        known.entry(&found.place).or_default().push(&found.value);
    }
    let mark = |found: &Found| match known.get(found.place.as_str()) {
        Some(values) if !values.contains(&found.value.as_str()) => DIFFERS,
        Some(_) | None => MASK,
    };
    [replaced(before, &old, |_| MASK), replaced(after, &new, mark)]
}

/// A value that is hidden.
struct Found {
    /// The keys on the way to it.
    place: String,
    value: String,
    span: Range<usize>,
}

fn replaced(text: &str, found: &[Found], mark: impl Fn(&Found) -> &'static str) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for found in found.iter().filter(|found| !found.span.is_empty()) {
        if found.span.start < at {
            continue;
        }
        out.push_str(text.get(at..found.span.start).unwrap_or_default());
        out.push_str(mark(found));
        at = found.span.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Returns the values of a text that are hidden, in order.
fn hidden(text: &str, veil: &Veil) -> Vec<Found> {
    let mut found = Vec::new();
    let mut shown = Vec::new();
    if let Ok(tree) = tree::parse("", text, MAX_YAML_DEPTH) {
        let mut walk = Walk { tree: &tree, text, veil, found: &mut found, shown: &mut shown };
        for root in &tree.roots {
            walk.node(*root, Hiding::Shown, "");
        }
    }
    let judged = merged(found.iter().map(|found: &Found| found.span.clone()).chain(shown).collect());
    let is_free = |span: &Range<usize>| {
        let before = judged.partition_point(|judged| judged.start < span.end);
        before.checked_sub(1).and_then(|at| judged.get(at)).is_none_or(|judged| judged.end <= span.start)
    };
    let of_line = |Part { name, span }: Part| {
        let value = text.get(span.clone()).unwrap_or_default().to_owned();
        Found { place: name, value, span }
    };
    let lines: Vec<Found> = parts(text, veil).into_iter().filter(|part| is_free(&part.span)).map(of_line).collect();
    found.extend(lines);
    found.sort_by_key(|found| found.span.start);
    found
}

/// Returns ranges in order, with those in one that overlap.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            Some(_) | None => merged.push(range),
        }
    }
    merged
}

struct Walk<'a> {
    tree: &'a Tree,
    text: &'a str,
    veil: &'a Veil,
    found: &'a mut Vec<Found>,
    /// Scalars that the tree says are shown, whatever their line looks like.
    shown: &'a mut Vec<Range<usize>>,
}

impl Walk<'_> {
    fn node(&mut self, index: usize, hiding: Hiding, place: &str) {
        let tree = self.tree;
        let node = tree.node(index);
        match &node.content {
            Content::Map(pairs) => {
                let of_key = |name: &str| pairs.iter().find(|(key, _)| scalar(tree.node(*key)) == Some(name));
                let text_of = |name: &str| of_key(name).and_then(|(_, value)| scalar(tree.node(*value)));
                let beside = NAMING.iter().find_map(|name| text_of(name));
                let is_secret = text_of("kind") == Some("Secret");
                for (key, value) in pairs {
                    let key = scalar(tree.node(*key)).unwrap_or_default();
                    let is_data = is_secret && matches!(key, "data" | "stringData") && hiding != Hiding::Revealed;
                    let above = if is_data { Hiding::All } else { hiding };
                    self.node(*value, self.veil.below(above, key, beside), &format!("{place}.{key}"));
                }
            }
            Content::List(items) => {
                let words: Vec<String> =
                    items.iter().map(|item| scalar(tree.node(*item)).unwrap_or_default().to_owned()).collect();
                let mut given = of_arguments(&words, self.veil);
                for (number, item) in items.iter().enumerate() {
                    let place = format!("{place}[{}]", label(tree, *item, number));
                    let parts = given.remove(&number).unwrap_or_default();
                    match &tree.node(*item).content {
                        Content::Scalar(value) => self.scalar(tree.node(*item), (value, parts), hiding, &place),
                        Content::List(_) | Content::Map(_) | Content::Alias(_) => self.node(*item, hiding, &place),
                    }
                }
            }
            Content::Scalar(value) => self.scalar(node, (value, Vec::new()), hiding, place),
            Content::Alias(_) => {}
        }
    }

    /// Notes what is hidden of a scalar; `given` is what of it the words before it in a list say is secret.
    fn scalar(&mut self, node: &Node, (value, given): (&str, Vec<Part>), hiding: Hiding, place: &str) {
        let span = span_of(self.text, node);
        let is_whole = given.iter().any(|part| part.span == (0..value.len())) && hiding != Hiding::Revealed;
        if is_hidden(if is_whole { Hiding::Below } else { hiding }, value) {
            self.found.push(Found { place: place.to_owned(), value: value.to_owned(), span });
            return;
        }
        let quote = usize::from(matches!(node.style, Style::Double | Style::Single));
        let inner = span.start + quote..span.end.saturating_sub(quote).max(span.start + quote);
        let raw = self.text.get(inner.clone()).unwrap_or_default();
        let parts = match (hiding, offsets(raw, value, node.style)) {
            (Hiding::Revealed, _) => Vec::new(),
            (_, Some(offsets)) => {
                let parts = disjoint(parts(value, self.veil).into_iter().chain(given).collect());
                parts.into_iter().filter_map(|part| part.within(&offsets)).collect()
            }
            (_, None) if raw == value => disjoint(parts(raw, self.veil).into_iter().chain(given).collect()),
            (_, None) => parts(raw, self.veil),
        };
        for Part { name: _, span } in parts {
            let value = raw.get(span.clone()).unwrap_or_default().to_owned();
            let span = inner.start + span.start..inner.start + span.end;
            self.found.push(Found { place: place.to_owned(), value, span });
        }
        // Of a text over several lines every line may be an assignment of its own.
        if !span.is_empty() && (hiding == Hiding::Revealed || !raw.contains('\n')) {
            self.shown.push(span);
        }
    }
}

impl Part {
    /// Returns the part where the text of it is written.
    fn within(self, offsets: &BTreeMap<usize, usize>) -> Option<Self> {
        Some(Self { span: *offsets.get(&self.span.start)?..*offsets.get(&self.span.end)?, ..self })
    }
}

/// Returns where each character of a value stands between its quotes, and where it ends; nothing if it is not written in one line of quotes.
fn offsets(raw: &str, value: &str, style: Style) -> Option<BTreeMap<usize, usize>> {
    let mut offsets = BTreeMap::new();
    let mut at = 0;
    for (index, c) in value.char_indices() {
        offsets.insert(index, at);
        let rest = raw.get(at..)?;
        let escape = rest.strip_prefix('\\').and_then(|escape| escape.chars().next());
        at += match (style, escape) {
            (Style::Double, Some('x')) => 4,
            (Style::Double, Some('u')) => 6,
            (Style::Double, Some('U')) => 10,
            (Style::Double, Some(_)) => 2,
            (Style::Single, _) if rest.starts_with("''") => 2,
            (Style::Double | Style::Single, _) if rest.starts_with(c) => c.len_utf8(),
            _ => return None,
        };
    }
    offsets.insert(value.len(), at);
    (at == raw.len()).then_some(offsets)
}

fn scalar(node: &Node) -> Option<&str> {
    match &node.content {
        Content::Scalar(text) => Some(text),
        Content::List(_) | Content::Map(_) | Content::Alias(_) => None,
    }
}

/// Returns what tells an item of a list from the others.
fn label(tree: &Tree, item: usize, number: usize) -> String {
    let Content::Map(pairs) = &tree.node(item).content else { return number.to_string() };
    let of_key = |name: &&str| {
        let (_, value) = pairs.iter().find(|(key, _)| scalar(tree.node(*key)) == Some(name))?;
        scalar(tree.node(*value))
    };
    NAMING.iter().find_map(of_key).map_or_else(|| number.to_string(), str::to_owned)
}

fn span_of(text: &str, node: &Node) -> Range<usize> {
    if node.style != Style::BlockText {
        return node.start.byte..node.end;
    }
    let block = text.get(node.start.byte..node.end).unwrap_or_default();
    block_header(text, node.start.byte)..node.start.byte + block.trim_end_matches(['\n', ' ']).len()
}

#[cfg(test)]
mod notations;
#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(veiled(text, &Veil::default()), expected, "{text}");
    }

    #[test]
    fn values_are_hidden_by_key_name_and_kind() {
        check("a: 1\npassword: 'it''s'\nb: 2\n", "a: 1\npassword: (hidden)\nb: 2\n");
        check(
            "env:\n- name: DB_PASSWORD\n  value: hunter2\n- value: \"x\"\n  name: API_KEY\n- name: A\n  value: b\n",
            "env:\n- name: DB_PASSWORD\n  value: (hidden)\n- value: (hidden)\n  name: API_KEY\n- name: A\n  value: b\n",
        );
        check(
            "{\"token\": \"x\", \"env\": [{\"name\": \"PW_PASS\", \"value\": \"y\"}]}",
            "{\"token\": (hidden), \"env\": [{\"name\": \"PW_PASS\", \"value\": (hidden)}]}",
        );
        check(
            "kind: Secret\nmetadata: {name: a}\nstringData:\n  user: me\n  key: |\n    a\n    b\n---\nkind: ConfigMap\ndata:\n  user: me\n",
            "kind: Secret\nmetadata: {name: a}\nstringData:\n  user: (hidden)\n  key: (hidden)\n---\nkind: ConfigMap\ndata:\n  user: me\n",
        );
        check(
            "volumes:\n- name: x\n  secret:\n    secretName: blog-secrets\n    defaultMode: 420\n",
            "volumes:\n- name: x\n  secret:\n    secretName: blog-secrets\n    defaultMode: 420\n",
        );
        check(
            "valueFrom:\n  secretKeyRef: {name: a, key: password}\n",
            "valueFrom:\n  secretKeyRef: {name: a, key: password}\n",
        );
        check(
            "args: [--token, x, \"--password=y\", --port=5]\n",
            "args: [--token, (hidden), \"--password=(hidden)\", --port=5]\n",
        );
        check("url: postgres://a:b@c/d\n", "url: postgres://(hidden)@c/d\n");
        check(
            "password: ENC[AES256_GCM,data:x]\ntoken: null\nsecret: $(X)\n",
            "password: ENC[AES256_GCM,data:x]\ntoken: null\nsecret: $(X)\n",
        );
    }

    #[test]
    fn what_is_no_yaml_is_judged_line_by_line() {
        check(
            "DB_PASSWORD=hunter2\nexport TOKEN='x'\nPORT=5\n",
            "DB_PASSWORD=(hidden)\nexport TOKEN='(hidden)'\nPORT=5\n",
        );
        check(
            "data:\n  app.ini: |\n    [db]\n    password = x\n    host = y\n",
            "data:\n  app.ini: |\n    [db]\n    password = (hidden)\n    host = y\n",
        );
        check("{{ if .x }}\npassword: x\n{{ end }}\n", "{{ if .x }}\npassword: (hidden)\n{{ end }}\n");
        check("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb\n", "a\n(hidden)\nb\n");
        check("see https://me:pw@host/ there: [\n", "see https://(hidden)@host/ there: [\n");
    }

    #[test]
    fn that_hidden_values_differ_is_seen() {
        let pair = |before: &str, after: &str| veiled_pair(before, after, &Veil::default());
        assert_eq!(pair("password: a\n", "password: b\n"), ["password: (hidden)\n", "password: (hidden, differs)\n"]);
        assert_eq!(
            pair("x: 1\npassword: a\n", "password: a\n"),
            ["x: 1\npassword: (hidden)\n", "password: (hidden)\n"]
        );
        let env =
            |a: &str, b: &str| format!("env:\n- {{name: A_TOKEN, value: {a}}}\n- {{name: B_TOKEN, value: {b}}}\n");
        assert_eq!(pair(&env("1", "2"), &env("1", "3"))[1], env("(hidden)", "(hidden, differs)"));
        assert_eq!(pair("PASSWORD=a\n\t- [\n", "PASSWORD=b\n\t- [\n")[1], "PASSWORD=(hidden, differs)\n\t- [\n");
    }

    #[test]
    fn one_name_is_revealed_on_request() {
        let veil = Veil::but(Some("TOKEN".to_owned()));
        let text = "TOKEN: a\nPASSWORD: b\nenv: [{name: TOKEN, value: c}]\n";
        assert_eq!(veiled(text, &veil), "TOKEN: a\nPASSWORD: (hidden)\nenv: [{name: TOKEN, value: c}]\n");
    }
}
