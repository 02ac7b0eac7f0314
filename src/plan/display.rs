//! Pure. A plan as text for people: `+` made, `~` changed, `-` deleted, `o` released, `!` held back, `*` drifted, `=` as wanted.
//!
//! Not here: the line about what was done (`cli`).

use std::fmt::Write as _;

use super::action::{Action, Blocked, DriftItem, DriftKind, Plan, Verb, Verdict};

/// Returns a plan as lines, always the same for the same plan; empty for a plan of nothing.
pub fn display(plan: &Plan) -> String {
    let mut text = String::new();
    let width =
        |text: fn(&Action) -> &str| plan.actions.iter().map(|action| text(action).chars().count()).max().unwrap_or(0);
    let (kinds, names) = (width(|action| &action.object.kind), width(|action| &action.object.name));
    for action in &plan.actions {
        let (kind, name) = (&action.object.kind, &action.object.name);
        let _ = writeln!(text, "{} {kind:kinds$}  {name:names$}  {}", symbol(action), action.reason);
    }
    for item in plan.drifted() {
        let _ = writeln!(text, "* {}", drift(item));
    }
    for blocked in &plan.blocked {
        let _ = writeln!(text, "! {}", held_back(blocked));
    }
    for (id, waits_for) in &plan.later {
        let _ = writeln!(text, "… {}  waits until {} is healthy", id.short(), waits_for.join(", "));
    }
    for id in &plan.leaving {
        let _ = writeln!(text, "… {}  is being deleted", id.short());
    }
    for note in &plan.notes {
        let _ = writeln!(text, "i {note}");
    }
    let counts =
        [(plan.unchanged.len(), "unchanged"), (plan.recovered.len(), "recovered"), (plan.forgotten.len(), "forgotten")];
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    if !counts.is_empty() {
        let _ = writeln!(text, "= {}", counts.join("   "));
    }
    text
}

fn symbol(action: &Action) -> char {
    match (&action.verb, &action.uid) {
        (Verb::Apply { .. }, None) => '+',
        (Verb::Apply { .. }, Some(_)) => '~',
        (Verb::Delete { .. }, _) => '-',
        (Verb::Release, _) => 'o',
        (Verb::Free { .. }, _) => '-',
        (Verb::Hold { .. }, _) => '~',
        (Verb::Return { .. }, _) => '+',
        (Verb::LetGo { .. }, _) => 'o',
    }
}

fn held_back(blocked: &Blocked) -> String {
    let Blocked { object: _, reason, message, hint } = blocked;
    if hint.is_empty() { format!("{reason}: {message}") } else { format!("{reason}: {message} (try: {hint})") }
}

fn drift(item: &DriftItem) -> String {
    let DriftItem { object, kind, paths, manager, how, since, harmless: _, verdict } = item;
    let mut text = format!("{}  {}", object.short(), word(*kind));
    if !paths.is_empty() {
        let _ = write!(text, " {}", paths.join(", "));
    }
    if !manager.is_empty() {
        let _ = write!(text, " by {manager}");
    }
    if !how.is_empty() {
        let _ = write!(text, " ({how})");
    }
    if !since.is_empty() {
        let _ = write!(text, " at {since}");
    }
    match verdict {
        Verdict::Revert => text,
        Verdict::Report => format!("{text}, left as it is"),
    }
}

fn word(kind: DriftKind) -> &'static str {
    match kind {
        DriftKind::Changed => "changed",
        DriftKind::Removed => "removed",
        DriftKind::Bookkeeping => "lost our marks",
        DriftKind::Missing => "is gone",
        DriftKind::Replaced => "was made anew",
        DriftKind::OwnershipLost => "lost its owner",
        DriftKind::Extra => "has in addition",
        DriftKind::AuditMismatch => "is found by the audit to differ in",
    }
}
