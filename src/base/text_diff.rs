//! Pure. Differences between two texts as people read them.
//!
//! Not here: the line merge (`merge::text`) and differences between objects (`plan::display`).

use similar::TextDiff;

/// Lines of context around each change.
const CONTEXT_LINES: usize = 3;

/// Returns a unified diff with the two labels as file names, or an empty text if nothing differs.
pub fn unified(before: &str, after: &str, labels: (&str, &str)) -> String {
    if before == after {
        return String::new();
    }
    TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(CONTEXT_LINES)
        .header(labels.0, labels.1)
        .to_string()
}
