//! Pure. Cuts a file into its documents.
//!
//! A line that begins with `---` starts a document wherever it stands, also inside block text; that is YAML's own
//! rule, so no parser is needed to see it. A line of three dots ends one, and is a document of its own with what stands behind it up to the next
//! separator. Not here: reading a document (`parse`).

/// Cuts a text into documents; each begins with its separator line, the first one possibly without. Joined they are the
/// text.
pub fn split(text: &str) -> Vec<&str> {
    // Most files are one document, and then nothing in them begins a line like that.
    let has = |mark: &[u8]| memchr::memmem::find(text.as_bytes(), mark).is_some();
    if !has(b"\n---") && !has(b"\n...") {
        return if text.is_empty() { Vec::new() } else { vec![text] };
    }
    let mut documents = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let mut has_content = false;
    for line in text.split_inclusive('\n') {
        let is_end = is_end_mark(line);
        if (is_end || is_separator(line)) && (has_content || start != at) {
            documents.extend(text.get(start..at));
            start = at;
            has_content = false;
        }
        has_content |= is_end || is_separator(line) || !is_blank(line);
        at += line.len();
    }
    documents.extend(text.get(start..).filter(|rest| !rest.is_empty()));
    documents
}

fn is_separator(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// Returns whether a line ends a document.
pub(super) fn is_end_mark(line: &str) -> bool {
    line.strip_prefix("...").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::split;

    fn check(text: &str, expected: &[&str]) {
        let found = split(text);
        assert_eq!(found, expected);
        assert_eq!(found.concat(), text);
    }

    #[test]
    fn each_document_begins_with_its_separator() {
        check("", &[]);
        check("a: 1\n", &["a: 1\n"]);
        check("---\na: 1\n---\nb: 2\n", &["---\na: 1\n", "---\nb: 2\n"]);
        check("a: 1\n--- # two\nb: 2", &["a: 1\n", "--- # two\nb: 2"]);
        check("a: |\n  x\n---\nb: 2\n", &["a: |\n  x\n", "---\nb: 2\n"]);
    }

    #[test]
    fn comments_before_the_first_separator_are_a_document_of_their_own() {
        check("# one\n---\na: 1\n", &["# one\n", "---\na: 1\n"]);
    }

    #[test]
    fn a_line_of_three_dots_ends_a_document() {
        check("a: 1\n...\n", &["a: 1\n", "...\n"]);
        check("a: 1\n...\n# c\n---\nb: 2\n", &["a: 1\n", "...\n# c\n", "---\nb: 2\n"]);
        check("...a: 1\n", &["...a: 1\n"]);
    }

    #[test]
    fn three_dashes_in_a_word_or_below_an_indentation_separate_nothing() {
        check("a: 1\n---x: 2\n", &["a: 1\n---x: 2\n"]);
        check("a: |\n  ---\nb: 2\n", &["a: |\n  ---\nb: 2\n"]);
    }
}
