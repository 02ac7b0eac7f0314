//! Pure. A law over all values and all spellings: whatever our own reader reads as a secret value, the search finds.
//!
//! Not here: key material and files that claim to be encrypted (`tests`).

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::forms::folded;
use super::{Leak, Role, Search, judge};
use crate::model::{NoSecrets, SecretValue};
use crate::yaml::{self, Dialect};

/// Values that are drawn, each in every style.
const VALUES: usize = 600;
/// Fewest honest spellings of a style; what our reader reads as another text is none.
const ENOUGH: usize = 60;

/// How a scalar is laid out.
#[derive(Clone, Debug)]
struct Layout {
    /// Blanks of one step of indentation.
    step: usize,
    /// Mappings that it stands in.
    depth: usize,
    /// At which of its blanks the lines are broken, over and over.
    breaks: Vec<bool>,
    line_end: &'static str,
}

/// A way to spell a text: its name, and what it makes of a text.
type Style = (&'static str, fn(&str, &Layout) -> String);

const YAML_STYLES: [Style; 12] = [
    ("plain", |value, layout| below(layout, &broken(value, layout, "\n\n"))),
    ("plain behind an anchor", |value, layout| below(layout, &format!("&a {}", broken(value, layout, "\n\n")))),
    ("plain on the next line", |value, layout| below(layout, &format!("\n{}", broken(value, layout, "\n\n")))),
    ("single quotes", |value, layout| {
        below(layout, &format!("'{}'", broken(&value.replace('\'', "''"), layout, "\n\n")))
    }),
    ("double quotes", |value, layout| below(layout, &format!("\"{}\"", broken(&escaped(value), layout, "\n\n")))),
    ("double quotes over lines", |value, layout| below(layout, &format!("\"{}\"", cut(value, layout)))),
    ("literal", |value, layout| below(layout, &format!("|\n{value}"))),
    ("literal, stripped", |value, layout| below(layout, &format!("|-\n{value}"))),
    ("literal, kept", |value, layout| below(layout, &format!("|+\n{value}\n"))),
    ("folded", |value, layout| below(layout, &format!(">\n{}", broken(value, layout, "\n\n")))),
    ("folded, stripped", |value, layout| below(layout, &format!(">-\n{}", broken(value, layout, "\n\n")))),
    ("folded behind a tag", |value, layout| below(layout, &format!("!!str >- # x\n{}", broken(value, layout, "\n\n")))),
];

const OTHER_STYLES: [Style; 12] = [
    ("our writer", |value, layout| nested(layout, &|inner| yaml::write(&inner), value)),
    ("our writer of sorted files", |value, layout| nested(layout, &|inner| yaml::write_sorted(&inner), value)),
    ("JSON", |value, layout| nested(layout, &|inner| inner.to_string(), value)),
    ("JSON in JSON", |value, _| serde_json::json!({"a": serde_json::json!({"key": value}).to_string()}).to_string()),
    ("YAML in JSON", |value, layout| {
        serde_json::json!({"a": below(layout, &format!(">-\n{}", broken(value, layout, "\n\n")))}).to_string()
    }),
    ("TOML", |value, _| format!("key = \"{}\"\n", escaped(value).replace('\n', "\\n"))),
    ("TOML over lines", |value, layout| format!("key = \"\"\"\\\n{}\"\"\"\n", cut(value, layout))),
    ("a literal of TOML", |value, _| format!("key = '''\n{value}'''\n")),
    ("a shell", |value, _| format!("KEY='{}'\n", value.replace('\'', "'\\''"))),
    ("a table", |value, _| format!("a,\"{}\",b\n", value.replace('"', "\"\""))),
    ("XML", |value, _| format!("<a>{}</a>", value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))),
    ("a paragraph", |value, layout| format!("it is {} and so on\n", broken(value, layout, "\n"))),
];

/// Breaks the lines of a text at some of its lone blanks; a line break in it is written as YAML has it where lines are folded.
fn broken(value: &str, layout: &Layout, line_break: &str) -> String {
    let signs: Vec<char> = value.chars().collect();
    let mut breaks = layout.breaks.iter().cycle();
    let mut out = String::new();
    for (at, sign) in signs.iter().enumerate() {
        let beside = [at.wrapping_sub(1), at + 1].map(|at| signs.get(at).is_some_and(|sign| !sign.is_whitespace()));
        match sign {
            ' ' if beside == [true; 2] && breaks.next() == Some(&true) => out.push('\n'),
            '\n' => out.push_str(line_break),
            sign => out.push(*sign),
        }
    }
    out
}

/// Writes a text for double quotes; its line breaks stay.
fn escaped(value: &str) -> String {
    let quoted = serde_json::to_string(&value.replace('\n', "\u{1}")).unwrap();
    quoted.strip_prefix('"').unwrap().strip_suffix('"').unwrap().replace("\\u0001", "\n")
}

/// Writes a text for double quotes with line breaks anywhere in it that stand for nothing.
fn cut(value: &str, layout: &Layout) -> String {
    let mut breaks = layout.breaks.iter().cycle();
    let sign = |c: char| {
        let written = match c {
            ' ' => "\\ ".to_owned(),
            '\t' => "\\t".to_owned(),
            c if !c.is_ascii() => format!("\\U{:08x}", u32::from(c)),
            c => escaped(&c.to_string()).replace('\n', "\\n"),
        };
        if breaks.next() == Some(&true) { written + "\\\n" } else { written }
    };
    value.chars().map(sign).collect()
}

/// Puts a scalar into mappings below each other.
fn below(layout: &Layout, scalar: &str) -> String {
    let pad = |depth: usize| " ".repeat(depth * layout.step);
    let outer: String = (0..layout.depth).map(|depth| format!("{}k{depth}:\n", pad(depth))).collect();
    let inside = pad(layout.depth + 1);
    let indented = scalar.lines().enumerate().map(|(number, line)| match (number, line) {
        (0, line) => line.to_owned(),
        (_, "") => String::new(),
        (_, line) => format!("{inside}{line}"),
    });
    let scalar = indented.collect::<Vec<_>>().join("\n");
    format!("{outer}{}key: {scalar}\n{}next: 1\n", pad(layout.depth), pad(layout.depth)).replace('\n', layout.line_end)
}

fn nested(layout: &Layout, write: &dyn Fn(serde_json::Value) -> String, value: &str) -> String {
    let inner = serde_json::json!({"key": value, "next": 1});
    write((0..layout.depth).rev().fold(inner, |inner, depth| serde_json::json!({format!("k{depth}"): inner})))
}

/// Returns what our reader reads.
fn read(text: &str, layout: &Layout) -> Option<String> {
    let loaded = yaml::load("f", text, Dialect::Kube).ok()?;
    let mut value = &loaded.documents.first()?.value;
    for depth in 0..layout.depth {
        value = value.get(format!("k{depth}"))?;
    }
    Some(value.get("key")?.as_str()?.to_owned())
}

fn is_found(value: &str, text: &[u8]) -> bool {
    let secret = SecretValue::new(value.to_owned());
    let search = Search::of([("apps.blog.key", &secret)].into_iter());
    let found = judge(text, Role::Other, &search, &NoSecrets::default());
    let lines = text.split(|byte| *byte == b'\n').count();
    found.iter().any(|it| it.leak == Leak::Value("apps.blog.key".to_owned()) && (1..=lines).contains(&it.line))
}

/// Draws values: words of all sorts of signs, with blanks and line breaks between them.
fn values() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => "[A-Za-z0-9]{2,9}",
        2 => "[a-z]{1,4}['\"\\\\:#<&>%$-]{1,2}[a-zäß€😀]{1,4}",
        1 => "[!-~]{1,6}",
        1 => "[äöüé中]{1,5}",
    ];
    let between = prop_oneof![8 => Just(" "), 2 => Just("  "), 2 => Just("\n"), 1 => Just("\n\n"), 1 => Just("\t"), 2 => Just("")];
    proptest::collection::vec((word, between), 1..8).prop_map(|parts| {
        let joined: String = parts.iter().flat_map(|(word, between)| [word.as_str(), between]).collect();
        joined.trim_ascii().to_owned()
    })
}

fn layouts() -> impl Strategy<Value = Layout> {
    let breaks = proptest::collection::vec(any::<bool>(), 1..6);
    (1..5_usize, 0..4_usize, breaks, prop_oneof![3 => Just("\n"), 1 => Just("\r\n")])
        .prop_map(|(step, depth, breaks, line_end)| Layout { step, depth, breaks, line_end })
}

/// Below eight bytes, blanks beside each other counted as one, a folded value is sought as it is only.
fn is_sought(value: &str) -> bool {
    folded(value).len() >= 8
}

#[test]
fn whatever_our_reader_reads_as_a_value_is_found_in_every_style_indentation_and_width() {
    let mut runner = TestRunner::deterministic();
    let mut honest = [0; YAML_STYLES.len()];
    let mut missed = Vec::new();
    for _ in 0..VALUES {
        let value = values().prop_filter("long", |value| is_sought(value)).new_tree(&mut runner).unwrap().current();
        let layout = layouts().new_tree(&mut runner).unwrap().current();
        for (number, (style, write)) in YAML_STYLES.iter().enumerate() {
            let text = write(&value, &layout);
            if read(&text, &layout).is_some_and(|read| read.trim_end_matches('\n') == value) {
                honest[number] += 1;
                if !is_found(&value, text.as_bytes()) {
                    missed.push(format!("{style}: {value:?} in {text:?}"));
                }
            }
        }
        for (style, write) in OTHER_STYLES {
            let text = write(&value, &layout);
            if !is_found(&value, text.as_bytes()) {
                missed.push(format!("{style}: {value:?} in {text:?}"));
            }
        }
        let wide: [fn(u16) -> [u8; 2]; 2] = [u16::to_le_bytes, u16::to_be_bytes];
        for bytes in wide {
            let text: Vec<u8> = format!("key: {value}\n").encode_utf16().flat_map(bytes).collect();
            if !is_found(&value, &text) {
                missed.push(format!("UTF-16: {value:?}"));
            }
        }
    }
    let styles = YAML_STYLES.map(|(style, _)| style);
    println!("{:?}", styles.iter().zip(honest).collect::<Vec<_>>());
    assert!(missed.is_empty(), "{} missed, such as {:#?}", missed.len(), &missed[..missed.len().min(12)]);
    assert!(honest.iter().all(|count| *count >= ENOUGH), "a style is hardly tried: {honest:?}");
}

#[test]
fn what_was_missed_once_is_found() {
    let value = "correct horse battery staple moonlight";
    for text in [
        "a: >-\n  correct horse\n  battery staple\n  moonlight\n",
        "a: correct horse battery\n   staple moonlight\n",
        "the password is correct horse\r\nbattery staple moonlight\r\n",
        "a: \"correct horse battery staple\\\n  \\ moonlight\"\n",
        "a:\n  correct\n\n  horse battery staple moonlight\n",
    ] {
        assert!(is_found(value, text.as_bytes()), "{text:?}");
    }
    let quotes = "it's o'neil's pass'word";
    for text in [
        "a: 'it''s o''neil''s\n  pass''word'\n",
        "a='it'\\''s o'\\''neil'\\''s pass'\\''word'",
        "<a b='it&apos;s o&apos;neil&apos;s pass&apos;word'/>",
        "<a b='it&#39;s o&#39;neil&#39;s pass&#39;word'/>",
    ] {
        assert!(is_found(quotes, text.as_bytes()), "{text:?}");
    }
    let latin: Vec<u8> = "pässwörd-straße".chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    assert!(is_found("pässwörd-straße", &latin));
}

#[test]
fn words_that_only_come_in_another_order_or_with_others_between_are_no_value() {
    for text in [
        "correct horse\nstaple battery moonlight\n",
        "correct horse - battery staple moonlight\n",
        "correcthorsebatterystaplemoonlight\n",
        "a: correct\nb: horse battery staple moonlight\n",
    ] {
        assert!(!is_found("correct horse battery staple moonlight", text.as_bytes()), "{text:?}");
    }
}
