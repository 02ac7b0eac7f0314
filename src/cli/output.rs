//! Where a command writes: data to standard output, everything else to standard error, and how it asks.
//!
//! Not here: what is written (`format.rs`, `error.rs`), whether a person may be asked (`environment.rs`).

use std::io::{BufRead, Read, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Time between two pictures of a spinner: ten a second are smooth and cost nothing.
const SPIN_INTERVAL: Duration = Duration::from_millis(100);
/// Most bytes that are read from standard input; a push of a hundred thousand refs fits.
const INPUT_LIMIT: u64 = 16 * 1024 * 1024;
/// Most bytes of one line of standard input; three large files in JSON fit.
const LINE_LIMIT: u64 = 128 * 1024 * 1024;

/// The streams of a command.
pub trait Output: Send {
    /// Writes data as it is.
    fn data(&mut self, text: &str);
    /// Writes a line for a person.
    fn note(&mut self, line: &str);
    /// Shows what is being waited for, in place of what was shown before. An empty text ends it.
    fn progress(&mut self, line: &str);
    /// Asks a question and returns the answer; nothing if nobody answers.
    fn ask(&mut self, question: &str) -> Option<String>;
    /// Asks for something that does not show while it is typed; nothing if nobody answers.
    fn ask_hidden(&mut self, question: &str) -> Option<String>;
    /// Reads all of standard input; nothing if it is no text or too long.
    fn input(&mut self) -> Option<String>;
    /// Reads one line of standard input; nothing at its end, or if the line is no text or too long.
    fn line(&mut self) -> Option<String>;
}

/// How progress is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Motion {
    /// A spinner.
    Animated,
    /// One line per change.
    Plain,
}

/// The streams of this process.
pub struct Standard {
    motion: Motion,
    bar: Option<ProgressBar>,
}

impl Standard {
    /// Returns the streams of this process.
    pub fn new(motion: Motion) -> Self {
        Self { motion, bar: None }
    }
}

impl Output for Standard {
    fn data(&mut self, text: &str) {
        // A reader that went away, such as `head`, has what it wanted.
        let mut stdout = std::io::stdout().lock();
        let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    }

    fn note(&mut self, line: &str) {
        let write = || {
            let _ = writeln!(std::io::stderr().lock(), "{line}");
        };
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn progress(&mut self, line: &str) {
        match (self.motion, line.is_empty()) {
            (_, true) => {
                if let Some(bar) = self.bar.take() {
                    bar.finish_and_clear();
                }
            }
            (Motion::Plain, false) => self.note(line),
            (Motion::Animated, false) => {
                let bar = self.bar.get_or_insert_with(|| {
                    let bar = ProgressBar::new_spinner().with_style(ProgressStyle::default_spinner());
                    bar.enable_steady_tick(SPIN_INTERVAL);
                    bar
                });
                bar.set_message(line.to_owned());
            }
        }
    }

    fn ask(&mut self, question: &str) -> Option<String> {
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{question} ").and_then(|()| stderr.flush());
        let mut answer = String::new();
        match std::io::stdin().lock().read_line(&mut answer) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(answer.trim().to_owned()),
        }
    }

    fn ask_hidden(&mut self, question: &str) -> Option<String> {
        let terminal = std::io::stdin();
        let shown = rustix::termios::tcgetattr(&terminal).ok()?;
        let mut hidden = shown.clone();
        hidden.local_modes.remove(rustix::termios::LocalModes::ECHO);
        let when = rustix::termios::OptionalActions::Flush;
        rustix::termios::tcsetattr(&terminal, when, &hidden).ok()?;
        let answer = self.ask(question);
        let back = rustix::termios::tcsetattr(&terminal, when, &shown);
        // The line end that was typed did not show either.
        self.note("");
        back.ok().and(answer)
    }

    fn input(&mut self) -> Option<String> {
        let mut text = String::new();
        let read = std::io::stdin().lock().take(INPUT_LIMIT).read_to_string(&mut text);
        read.ok().filter(|bytes| u64::try_from(*bytes).is_ok_and(|bytes| bytes < INPUT_LIMIT)).map(|_| text)
    }

    fn line(&mut self) -> Option<String> {
        let mut text = String::new();
        let read = std::io::stdin().lock().take(LINE_LIMIT).read_line(&mut text).ok()?;
        (read > 0 && u64::try_from(read).is_ok_and(|bytes| bytes < LINE_LIMIT)).then_some(text)
    }
}

/// Streams that are kept, for commands that run inside a process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Captured {
    /// What was written to standard output.
    pub data: String,
    /// What was written to standard error.
    pub notes: String,
    /// What standard input holds; questions are answered by its lines.
    pub given: String,
}

impl Output for Captured {
    fn data(&mut self, text: &str) {
        self.data.push_str(text);
    }

    fn note(&mut self, line: &str) {
        self.notes.push_str(line);
        self.notes.push('\n');
    }

    fn progress(&mut self, line: &str) {
        if !line.is_empty() {
            self.note(line);
        }
    }

    fn ask(&mut self, question: &str) -> Option<String> {
        self.note(question);
        let (line, rest) = match self.given.split_once('\n') {
            Some((line, rest)) => (line.to_owned(), rest.to_owned()),
            None if self.given.is_empty() => return None,
            None => (self.given.clone(), String::new()),
        };
        self.given = rest;
        Some(line)
    }

    fn ask_hidden(&mut self, question: &str) -> Option<String> {
        self.ask(question)
    }

    fn input(&mut self) -> Option<String> {
        Some(std::mem::take(&mut self.given))
    }

    fn line(&mut self) -> Option<String> {
        let end = self.given.find('\n').map_or(self.given.len(), |newline| newline + 1);
        let rest = self.given.split_off(end);
        let line = std::mem::replace(&mut self.given, rest);
        (!line.is_empty()).then_some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captured_streams_keep_data_and_notes_apart() {
        let mut out = Captured { given: "ghost\n".to_owned(), ..Captured::default() };
        out.data("a\n");
        out.note("b");
        out.progress("");
        assert_eq!(out.ask("name?").as_deref(), Some("ghost"));
        assert_eq!(out.ask("name?"), None);
        assert_eq!((out.data.as_str(), out.notes.as_str()), ("a\n", "b\nname?\nname?\n"));
    }
}
