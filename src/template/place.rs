//! Pure. Finds the line and column of a failure and quotes the action it stands in.
//!
//! Not here: printing findings (`cli`).

use crate::model::Diagnostic;

use super::ast::Span;
use super::failure::Failure;
use super::limits::MAX_SUBJECT_CHARS;

/// A file being rendered.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// Its path.
    pub(super) file: &'a str,
    /// Its text.
    pub(super) text: &'a str,
}

impl Source<'_> {
    /// Returns what people see of a failure in an action.
    pub(super) fn finding(&self, failure: Failure, span: Span) -> Diagnostic {
        let (line, column) = self.position(failure.at.unwrap_or(span.start));
        let subject = self.text.get(span.start..span.end).unwrap_or("");
        Diagnostic::error(failure.id, self.file, line, failure.message).at(column, cut(subject)).with_hint(failure.hint)
    }

    /// Returns the same for a failure before the action is known: its line is quoted.
    pub(super) fn syntax_finding(&self, failure: Failure) -> Diagnostic {
        let at = failure.at.unwrap_or(0).min(self.text.len());
        let before = self.text.get(..at).unwrap_or("");
        let opening = before.rfind("{{").filter(|open| !before.get(*open..).is_some_and(|text| text.contains("}}")));
        let start = opening.unwrap_or(at);
        let rest = self.text.get(start..).unwrap_or("");
        let end = rest.find("}}").map_or_else(|| rest.find('\n').unwrap_or(rest.len()), |end| end + 2);
        self.finding(failure, Span { start, end: start + end })
    }

    /// Returns line and column of a byte, both from 1, the column in characters.
    fn position(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        (line, before.get(line_start..).unwrap_or("").chars().count() + 1)
    }
}

/// Cuts a text to what is quoted in a finding.
fn cut(text: &str) -> String {
    if text.chars().count() <= MAX_SUBJECT_CHARS {
        return text.to_owned();
    }
    text.chars().take(MAX_SUBJECT_CHARS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::Source;
    use crate::template::ast::Span;
    use crate::template::failure::Failure;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let source = Source { file: "a.yaml", text: "é: 1\nè: {{ .x }}\n" };
        let at = source.text.find(".x").unwrap();
        let finding = source.finding(Failure::new("T201", "m").at(at), Span { start: at - 3, end: at + 5 });
        assert_eq!((finding.line, finding.column, finding.subject.as_str()), (2, 7, "{{ .x }}"));
    }

    #[test]
    fn a_long_action_is_cut() {
        let text = format!("{{{{ \"{}\" }}}}", "x".repeat(200));
        let source = Source { file: "a", text: &text };
        let finding = source.finding(Failure::new("T205", "m"), Span { start: 0, end: text.len() });
        assert_eq!(finding.subject.chars().count(), 120);
    }
}
