//! Prints the story: one line per command with how long it took, and below it what was seen.
//!
//! Not here: what is told (`story.rs`).

use std::time::Duration;

use tokio::time::Instant;

use super::super::error::line;
use super::super::output::Output;

/// Pause after each command when a person watches.
const PAUSE: Duration = Duration::from_millis(900);
/// Steps of the story.
pub(super) const STEPS: usize = 10;
/// Width of `10/10 customise  `, so that commands stand below each other.
const MARGIN: usize = 17;

/// How the story is told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Whether there is time to read after each command.
    pub(super) pauses: bool,
    /// Whether a spinner shows what is being done.
    pub(super) animated: bool,
}

/// Tells one story.
pub(super) struct Teller<'a> {
    out: &'a mut dyn Output,
    pace: Pace,
    begun: Instant,
    number: usize,
    step: &'static str,
    command: String,
    since: Instant,
}

impl<'a> Teller<'a> {
    /// Begins a story.
    pub(super) fn new(out: &'a mut dyn Output, pace: Pace) -> Self {
        let now = Instant::now();
        Self { out, pace, begun: now, number: 0, step: "begin", command: String::new(), since: now }
    }

    /// Begins a step.
    pub(super) fn step(&mut self, name: &'static str) {
        self.number += 1;
        self.step = name;
    }

    /// Begins a command of the step.
    pub(super) fn command(&mut self, command: &str) {
        self.command = command.to_owned();
        self.since = Instant::now();
        if self.pace.animated {
            self.out.progress(&format!("{}{command} …", self.margin()));
        }
    }

    /// Ends a command of the step that holds, with what was seen.
    pub(super) async fn holds(&mut self, seen: &str) {
        let took = self.since.elapsed().as_secs_f64();
        let told = format!("{}{} … ok ({took:.1} s)\n{:MARGIN$}{}\n", self.margin(), self.command, "", line(seen));
        if self.pace.animated {
            self.out.progress("");
        }
        self.out.data(&told);
        if self.pace.pauses {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Ends the story well.
    pub(super) fn end(&mut self) {
        let took = self.begun.elapsed().as_secs_f64();
        self.out.data(&format!("All {STEPS} steps hold ({took:.1} s).\n"));
    }

    /// Returns the step and the command that do not hold.
    pub(super) fn failed(&mut self) -> (String, String) {
        if self.pace.animated {
            self.out.progress("");
        }
        self.out.data(&format!("{}{} … does not hold\n", self.margin(), self.command));
        (format!("{}/{STEPS} {}", self.number, self.step), self.command.clone())
    }

    fn margin(&self) -> String {
        format!("{:<MARGIN$}", format!("{}/{STEPS} {}", self.number, self.step))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::output::Captured;
    use super::*;

    #[tokio::test]
    async fn every_command_is_told_in_two_lines_with_its_time() {
        let mut out = Captured::default();
        let mut teller = Teller::new(&mut out, Pace { pauses: false, animated: false });
        teller.step("add");
        teller.command("wild app add stonedb");
        teller.holds("main 7c1e0aa").await;
        teller.command("wild app deploy stonedb");
        assert_eq!(teller.failed(), ("1/10 add".to_owned(), "wild app deploy stonedb".to_owned()));
        let lines: Vec<&str> = out.data.lines().collect();
        assert!(lines[0].starts_with("1/10 add         wild app add stonedb … ok ("), "{lines:?}");
        assert_eq!(lines[1], "                 main 7c1e0aa");
        assert_eq!(lines[2], "1/10 add         wild app deploy stonedb … does not hold");
        assert_eq!((lines.len(), out.notes.as_str()), (3, ""));
    }
}
