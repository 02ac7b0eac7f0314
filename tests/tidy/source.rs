//! The tree as text: files, what of a line is code, what is a test, where functions begin and end.
//!
//! Reads after `cargo fmt`, so that braces and indentation can be relied on. Not here: rules (`tidy.rs`, `manifest.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// One Rust file.
pub(crate) struct Source {
    /// Path from the top of the repository.
    pub(crate) path: String,
    /// The file as it is.
    pub(crate) text: String,
    /// The same length and lines, with comments and the insides of texts blanked.
    pub(crate) code: String,
    /// Whether each line is test code.
    pub(crate) test_lines: Vec<bool>,
}

/// A function with a body.
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: String,
    /// First line, counted from 1.
    pub(crate) line: usize,
    /// Lines from `fn` to the closing brace.
    pub(crate) lines: usize,
    /// What stands before `fn` on its line.
    pub(crate) before: String,
    /// Name to body.
    pub(crate) signature: String,
    /// Whether it is test code.
    pub(crate) test: bool,
}

/// Returns the top of the repository.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns all files below a directory, as paths from the top of the repository, sorted.
pub(crate) fn files(under: &str) -> Vec<String> {
    let mut found = BTreeSet::new();
    collect(&root().join(under), &mut found);
    found.into_iter().collect()
}

fn collect(directory: &Path, found: &mut BTreeSet<String>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if let Ok(relative) = path.strip_prefix(root()) {
            found.insert(relative.to_string_lossy().into_owned());
        }
    }
}

/// Reads a file of the repository; nothing if it is not there or no text.
pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_default()
}

/// Returns every Rust file below `src` and `tests`, read once.
pub(crate) fn sources() -> &'static [Source] {
    static SOURCES: OnceLock<Vec<Source>> = OnceLock::new();
    SOURCES.get_or_init(read_sources)
}

fn read_sources() -> Vec<Source> {
    let mut sources: Vec<Source> = files("src")
        .into_iter()
        .chain(files("tests"))
        .filter(|path| path.ends_with(".rs"))
        .map(|path| Source::new(&path, read(&path)))
        .collect();
    let reached = reached(&sources);
    for source in &mut sources {
        if reached.get(&source.path) == Some(&Reach::Test) {
            source.test_lines.fill(true);
        }
    }
    sources
}

impl Source {
    /// Takes a text apart.
    pub(crate) fn new(path: &str, text: String) -> Self {
        let code = blank(&text);
        let test_lines = test_lines(&code);
        Self { path: path.to_owned(), text, code, test_lines }
    }

    /// Returns the module of `src` that the file belongs to, `lib` and `main` for the two roots, nothing outside.
    pub(crate) fn module(&self) -> Option<&str> {
        let rest = self.path.strip_prefix("src/")?;
        rest.split('/').next().map(|first| first.trim_end_matches(".rs"))
    }

    /// Returns code lines with their number from 1 and whether they are test code.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = (usize, &str, bool)> {
        let flags = self.test_lines.iter().copied().chain(std::iter::repeat(false));
        self.code.lines().zip(flags).enumerate().map(|(index, (line, test))| (index + 1, line, test))
    }

    /// Returns the raw text of a line.
    pub(crate) fn raw(&self, line: usize) -> &str {
        self.text.lines().nth(line.saturating_sub(1)).unwrap_or("")
    }

    /// Returns the number of lines, of test lines among them.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        (self.text.lines().count(), self.test_lines.iter().filter(|test| **test).count())
    }

    /// Returns the line of a byte offset.
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        self.code.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    /// Returns whether a line is test code.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.test_lines.get(line.saturating_sub(1)).copied().unwrap_or(false)
    }

    /// Returns every place where a word stands as a whole identifier.
    pub(crate) fn words<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.code.match_indices(word).map(|(at, _)| at).filter(move |at| {
            let before = self.code.get(..*at).and_then(|text| text.chars().next_back());
            let after = self.code.get(at + word.len()..).and_then(|text| text.chars().next());
            let first = word.chars().next().is_some_and(is_word);
            let last = word.chars().next_back().is_some_and(is_word);
            let goes_on = (first && before.is_some_and(is_word)) || (last && after.is_some_and(is_word));
            !goes_on
        })
    }

    /// Returns what follows a byte offset.
    pub(crate) fn after(&self, offset: usize) -> &str {
        self.code.get(offset..).unwrap_or("")
    }

    /// Returns every function with a body.
    pub(crate) fn functions(&self) -> Vec<Function> {
        self.words("fn").filter_map(|at| self.function(at)).collect()
    }

    fn function(&self, at: usize) -> Option<Function> {
        let rest = self.after(at);
        let name: String = rest.get(2..)?.trim_start().chars().take_while(|c| is_word(*c)).collect();
        let (mut round, mut curly, mut body) = (0_i32, 0_i32, None);
        for (offset, byte) in rest.bytes().enumerate() {
            match byte {
                b'(' | b'[' => round += 1,
                b')' | b']' => round -= 1,
                b';' if round == 0 && curly == 0 => return None,
                b'{' => {
                    if curly == 0 {
                        body = Some(offset);
                    }
                    curly += 1;
                }
                b'}' => {
                    curly -= 1;
                    if curly == 0 {
                        let line = self.line_at(at);
                        let lines = self.line_at(at + offset) - line + 1;
                        let begin = self.code.get(..at)?.rfind('\n').map_or(0, |newline| newline + 1);
                        let before = self.code.get(begin..at)?.trim().to_owned();
                        let signature = rest.get(..body?)?.to_owned();
                        let test = self.is_test(line);
                        return (!name.is_empty()).then_some(Function { name, line, lines, before, signature, test });
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// Returns whether a character can be part of an identifier.
pub(crate) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the identifier that a text begins with.
pub(crate) fn ident(text: &str) -> String {
    text.chars().take_while(|c| is_word(*c)).collect()
}

/// Blanks comments and the insides of texts; keeps length and lines.
fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        let word_before = at > 0 && bytes.get(at - 1).is_some_and(|byte| is_word(char::from(*byte)));
        let (keep, length) = match rest {
            [b'/', b'/', ..] => (0, rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())),
            [b'/', b'*', ..] => (0, block_comment(rest)),
            [b'"', ..] => (1, text_literal(rest)),
            [b'r' | b'b' | b'c', ..] if !word_before => raw_literal(rest),
            [b'\'', ..] => (1, char_literal(rest)),
            _ => (0, 0),
        };
        if length == 0 {
            at += 1;
            continue;
        }
        for byte in out.iter_mut().skip(at + keep).take(length - 2 * keep) {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at += length;
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match rest.get(at..) {
            Some([b'/', b'*', ..]) => {
                depth += 1;
                at += 2;
            }
            Some([b'*', b'/', ..]) => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

fn text_literal(rest: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Returns how much of a prefixed literal to keep on each side and its length; (0, 0) if it is none.
fn raw_literal(rest: &[u8]) -> (usize, usize) {
    let prefix = rest.iter().take_while(|byte| matches!(byte, b'r' | b'b' | b'c')).count();
    let hashes = rest.iter().skip(prefix).take_while(|byte| **byte == b'#').count();
    let raw = rest.iter().take(prefix).any(|byte| *byte == b'r');
    if prefix > 2 || !raw || rest.get(prefix + hashes) != Some(&b'"') {
        return (0, 0);
    }
    let mut end = vec![b'"'];
    end.resize(1 + hashes, b'#');
    let begin = prefix + hashes + 1;
    let inside = rest.get(begin..).unwrap_or_default();
    let length = inside.windows(end.len()).position(|window| window == end).unwrap_or(inside.len());
    // The prefix is longer than the end mark by the letters; keeping the shorter on both sides is enough.
    (hashes + 1, begin + length + end.len())
}

/// Returns the length of a character literal; 0 for a lifetime.
fn char_literal(rest: &[u8]) -> usize {
    match rest {
        [_, b'\\', _, tail @ ..] => tail.iter().position(|byte| *byte == b'\'').map_or(0, |at| at + 4),
        [_, tail @ ..] => {
            let width = tail.first().map_or(1, |first| match first {
                0xF0.. => 4,
                0xE0.. => 3,
                0xC0.. => 2,
                _ => 1,
            });
            if tail.get(width) == Some(&b'\'') { width + 2 } else { 0 }
        }
        [] => 0,
    }
}

/// Marks the lines of items under `#[cfg(test)]`.
fn test_lines(code: &str) -> Vec<bool> {
    let lines: Vec<&str> = code.lines().collect();
    let mut marks = vec![false; lines.len()];
    let (mut inside, mut depth) = (false, 0_i32);
    for (line, mark) in lines.iter().zip(&mut marks) {
        let trimmed = line.trim();
        if !inside && (trimmed.starts_with("#[cfg(test)]") || trimmed.starts_with("#[cfg(all(test")) {
            (inside, depth) = (true, 0);
            *mark = true;
            continue;
        }
        if !inside {
            continue;
        }
        *mark = true;
        for byte in trimmed.bytes() {
            match byte {
                b'{' | b'(' | b'[' => depth += 1,
                b'}' | b')' | b']' => depth -= 1,
                _ => {}
            }
        }
        let ends = trimmed.ends_with('}') || trimmed.ends_with(';') || trimmed.ends_with(',');
        if depth <= 0 && ends && !trimmed.starts_with("#[") {
            inside = false;
        }
    }
    marks
}

/// How a file is reached from the roots.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Only by tests.
    Test,
    /// By the library or the binary.
    Product,
}

/// Follows every `mod` from the roots and returns the files that are reached.
pub(crate) fn reached(sources: &[Source]) -> BTreeMap<String, Reach> {
    let by_path: BTreeMap<&str, &Source> = sources.iter().map(|source| (source.path.as_str(), source)).collect();
    let mut reached = BTreeMap::new();
    let mut open: Vec<(String, Reach)> = vec![
        ("src/lib.rs".to_owned(), Reach::Product),
        ("src/main.rs".to_owned(), Reach::Product),
        ("build.rs".to_owned(), Reach::Product),
    ];
    for folder in ["", "tests/fuzz/"] {
        let targets = read(&format!("{folder}Cargo.toml"));
        let paths = targets.lines().filter_map(|line| line.strip_prefix("path = \"")?.strip_suffix('"'));
        let paths = paths.map(|path| format!("{folder}{path}")).filter(|path| path.starts_with("tests/"));
        open.extend(paths.map(|path| (path, Reach::Test)));
    }
    while let Some((path, reach)) = open.pop() {
        let Some(source) = by_path.get(path.as_str()) else { continue };
        if reached.get(&path).is_some_and(|known| *known >= reach) {
            continue;
        }
        reached.insert(path.clone(), reach);
        for (line, child) in children(source) {
            let reach = if source.is_test(line) { Reach::Test } else { reach };
            open.extend(child.into_iter().map(|child| (child, reach)));
        }
    }
    reached
}

/// Returns the files that each `mod name;` of a file can mean.
fn children(source: &Source) -> Vec<(usize, Vec<String>)> {
    let (folder, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let is_root = !source.path.starts_with("src/") && folder.matches('/').count() == 0;
    let own = if matches!(file, "mod.rs" | "lib.rs" | "main.rs") || is_root {
        folder.to_owned()
    } else {
        format!("{folder}/{}", file.trim_end_matches(".rs"))
    };
    let mut found = Vec::new();
    for at in source.words("mod") {
        let name = ident(source.after(at + 3).trim_start());
        let line = source.line_at(at);
        if name.is_empty() || !source.after(at + 3).trim_start().get(name.len()..).is_some_and(|t| t.starts_with(';')) {
            continue;
        }
        let named = source.raw(line.saturating_sub(1)).trim();
        let path = named.strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]"));
        found.push(match path {
            Some(path) => (line, vec![format!("{folder}/{path}")]),
            None => (line, vec![format!("{own}/{name}.rs"), format!("{own}/{name}/mod.rs")]),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn comments_and_texts_are_no_code() {
        let text = "let a = \"unsafe\"; // unsafe\nlet b = r#\"unsafe \"#; /* unsafe */ let c = '\"'; let d: &'static str = \"x\\\"unsafe\";";
        let source = Source::new("src/x.rs", text.to_owned());
        assert_eq!(source.words("unsafe").count(), 0, "{}", source.code);
        assert_eq!(source.words("let").count(), 4, "{}", source.code);
        assert_eq!(source.code.len(), text.len());
    }

    #[test]
    fn a_test_module_ends_at_its_brace() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {\n        c();\n    }\n}\nfn d() {}\n#[cfg(test)]\nmod e;\nfn f() {}\n";
        let source = Source::new("src/x.rs", text.to_owned());
        let product: Vec<usize> = source.code_lines().filter(|(_, _, test)| !test).map(|(line, ..)| line).collect();
        assert_eq!(product, [1, 8, 11]);
    }

    #[test]
    fn a_function_is_counted_from_its_name_to_its_brace() {
        let text =
            "pub fn a(\n    b: [u8; 2],\n) -> u8\nwhere\n    T: U,\n{\n    {}\n}\ntrait T {\n    fn none(&self);\n}\n";
        let functions = Source::new("src/x.rs", text.to_owned()).functions();
        let found: Vec<(&str, usize, usize)> = functions.iter().map(|f| (f.name.as_str(), f.line, f.lines)).collect();
        assert_eq!(found, [("a", 1, 8)]);
    }
}
