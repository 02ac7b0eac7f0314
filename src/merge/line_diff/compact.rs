//! Pure. Slides each run of changed lines to where git puts it: onto a change of the other side, else as far down as it
//! goes.
//!
//! A run may slide over a line that equals the line at its other end. Runs that meet become one.
//! Not here: finding the runs (`split`).

/// A run of changed lines, empty where two unchanged lines stand side by side.
#[derive(Clone, Copy)]
struct Run {
    start: usize,
    end: usize,
}

/// Slides the runs of one side; `other` are the marks of the other side.
pub(super) fn slide<T: PartialEq>(side: (&[T], &mut [bool]), other: &[bool]) {
    let (lines, marks) = side;
    let (mut run, mut opposite) = (first(marks), first(other));
    loop {
        if run.start < run.end {
            place(lines, marks, &mut run, (other, &mut opposite));
        }
        let (Some(next), Some(next_opposite)) = (following(marks, run), following(other, opposite)) else {
            return;
        };
        (run, opposite) = (next, next_opposite);
    }
}

/// Slides one run, keeping `opposite` the run of the other side at the same place.
fn place<T: PartialEq>(lines: &[T], marks: &mut [bool], run: &mut Run, other: (&[bool], &mut Run)) {
    let (other, opposite) = other;
    let mut partner;
    let mut highest;
    loop {
        let size = run.end - run.start;
        partner = None;
        while slide_up(lines, marks, run) {
            *opposite = preceding(other, *opposite).unwrap_or(*opposite);
        }
        highest = run.end;
        if opposite.start < opposite.end {
            partner = Some(run.end);
        }
        while slide_down(lines, marks, run) {
            *opposite = following(other, *opposite).unwrap_or(*opposite);
            if opposite.start < opposite.end {
                partner = Some(run.end);
            }
        }
        // A run that met another one has grown and may slide further.
        if size == run.end - run.start {
            break;
        }
    }
    if run.end == highest || partner.is_none() {
        return;
    }
    while opposite.start == opposite.end && slide_up(lines, marks, run) {
        *opposite = preceding(other, *opposite).unwrap_or(*opposite);
    }
}

fn is_marked(marks: &[bool], at: usize) -> bool {
    marks.get(at).copied().unwrap_or(false)
}

fn set(marks: &mut [bool], at: usize, mark: bool) {
    if let Some(cell) = marks.get_mut(at) {
        *cell = mark;
    }
}

fn end_from(marks: &[bool], start: usize) -> usize {
    start + marks.iter().skip(start).take_while(|mark| **mark).count()
}

fn start_from(marks: &[bool], end: usize) -> usize {
    end - marks.iter().take(end).rev().take_while(|mark| **mark).count()
}

fn first(marks: &[bool]) -> Run {
    Run { start: 0, end: end_from(marks, 0) }
}

fn following(marks: &[bool], run: Run) -> Option<Run> {
    (run.end < marks.len()).then(|| Run { start: run.end + 1, end: end_from(marks, run.end + 1) })
}

fn preceding(marks: &[bool], run: Run) -> Option<Run> {
    let end = run.start.checked_sub(1)?;
    Some(Run { start: start_from(marks, end), end })
}

fn slide_up<T: PartialEq>(lines: &[T], marks: &mut [bool], run: &mut Run) -> bool {
    let (Some(before), Some(last)) = (run.start.checked_sub(1), run.end.checked_sub(1)) else {
        return false;
    };
    if lines.get(before) != lines.get(last) {
        return false;
    }
    set(marks, before, true);
    set(marks, last, false);
    *run = Run { start: start_from(marks, before), end: last };
    true
}

fn slide_down<T: PartialEq>(lines: &[T], marks: &mut [bool], run: &mut Run) -> bool {
    if run.end >= lines.len() || lines.get(run.start) != lines.get(run.end) {
        return false;
    }
    set(marks, run.start, false);
    set(marks, run.end, true);
    let end = if is_marked(marks, run.end + 1) { end_from(marks, run.end + 1) } else { run.end + 1 };
    *run = Run { start: run.start + 1, end };
    true
}
