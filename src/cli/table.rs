//! Tables for people: upper-case headers, two spaces between columns, `-` for nothing, no borders.
//!
//! Not here: JSON and YAML (`format.rs`).

use comfy_table::Table;
use comfy_table::presets::NOTHING;

use super::error::line;
use crate::base::Timestamp;

/// Spaces to the right of a column.
const GAP: u16 = 2;

/// Returns a table; cut to a width where one is given.
pub(super) fn table(headers: &[&str], rows: impl IntoIterator<Item = Vec<String>>, width: Option<usize>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(headers.iter().map(|header| header.to_uppercase()));
    for row in rows {
        table.add_row(row.iter().map(|cell| if cell.is_empty() { "-".to_owned() } else { line(cell) }));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    let mut text = String::new();
    for row in table.lines() {
        text.push_str(&cut(row.trim_end(), width));
        text.push('\n');
    }
    text
}

/// Cuts a line to a width and says so.
fn cut(line: &str, width: Option<usize>) -> String {
    match width {
        Some(width) if line.chars().count() > width => {
            let kept: String = line.chars().take(width.saturating_sub(1)).collect();
            format!("{kept}…")
        }
        _ => line.to_owned(),
    }
}

/// Returns how long ago a time was, as people say it.
pub(super) fn ago(time: &str, now: Timestamp) -> String {
    let Ok(time) = Timestamp::parse(time) else { return "-".to_owned() };
    format!("{} ago", span(now.since(time).as_secs()))
}

/// Returns a number of seconds as people say it, in its two largest units at most.
pub(super) fn span(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (2.., ..) => format!("{days}d"),
        (1, ..) => format!("1d{}h", hours - 24),
        (0, 1.., _) => format!("{hours}h{}m", minutes - hours * 60),
        (0, 0, 1..) => format!("{minutes}m{}s", seconds - minutes * 60),
        (0, 0, 0) => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_nothing_is_a_dash() {
        let rows = vec![vec!["ghost".to_owned(), String::new()], vec!["a".to_owned(), "1.0\u{7}".to_owned()]];
        assert_eq!(table(&["app", "version"], rows, None), "APP    VERSION\nghost  -\na      1.0\\u{7}\n");
    }

    #[test]
    fn a_line_is_cut_only_where_a_width_is_known() {
        let rows = || vec![vec!["a long cell".to_owned()]];
        assert_eq!(table(&["x"], rows(), Some(6)), "X\na lon…\n");
        assert_eq!(table(&["x"], rows(), None), "X\na long cell\n");
    }

    #[test]
    fn times_are_told_in_two_units() {
        for (seconds, expected) in
            [(0, "0s"), (59, "59s"), (90, "1m30s"), (7_265, "2h1m"), (90_000, "1d1h"), (864_000, "10d")]
        {
            assert_eq!(span(seconds), expected);
        }
    }
}
