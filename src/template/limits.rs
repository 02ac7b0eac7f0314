//! Pure. What one rendering may cost: the bounds, and the budget that counts against them.
//!
//! Not here: limits of whole packages and apps (`base::limits`, `package`).

use super::failure::Failure;

/// Largest template, in bytes. The largest template of a real package has 40 KiB.
pub(super) const MAX_TEMPLATE_BYTES: usize = 1024 * 1024;
/// Actions in one file.
pub(super) const MAX_ACTIONS: usize = 20_000;
/// Nesting of blocks, parentheses and calls together, while parsing and while running. Each level costs stack.
pub(super) const MAX_DEPTH: usize = 100;
/// Nesting of a value that is converted, printed or compared; deeper than any YAML document may be.
pub(super) const MAX_VALUE_DEPTH: usize = 200;
/// Steps of one file: one per node visited and one per 64 bytes produced or scanned. Takes less than a second.
pub(super) const MAX_FUEL: u64 = 5_000_000;
/// Output of one file, in bytes.
pub(super) const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;
/// Bytes that all functions of one file may produce together.
pub(super) const MAX_PRODUCED_BYTES: usize = 64 * 1024 * 1024;
/// Largest single text, in bytes.
pub(super) const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// Longest list and largest map.
pub(super) const MAX_ELEMENTS: usize = 100_000;
/// Longest regular expression, in bytes.
pub(super) const MAX_PATTERN_BYTES: usize = 4 * 1024;
/// Largest compiled regular expression, in bytes.
pub(super) const MAX_PATTERN_PROGRAM_BYTES: usize = 1024 * 1024;
/// Rounds of a key that is made of a password.
pub(super) const MAX_KEY_ROUNDS: usize = 1_000_000;
/// Findings reported together for one file.
pub(super) const MAX_FINDINGS: usize = 20;
/// Characters of an action that are quoted in a finding.
pub(super) const MAX_SUBJECT_CHARS: usize = 120;
/// Bytes that are produced or scanned for one step of fuel.
const BYTES_PER_STEP: usize = 64;
/// What an element of a list or map is counted as, in bytes.
const ELEMENT_BYTES: usize = 32;

/// What is left of the limits of one rendering.
pub(super) struct Budget {
    fuel: u64,
    produced: usize,
}

impl Budget {
    /// Returns the full budget of one file.
    pub(super) fn new() -> Self {
        Self::with_fuel(MAX_FUEL)
    }

    /// Returns a budget of so many steps.
    pub(super) fn with_fuel(fuel: u64) -> Self {
        Self { fuel, produced: 0 }
    }

    /// Counts steps.
    pub(super) fn steps(&mut self, steps: usize) -> Result<(), Failure> {
        let left = self.fuel.checked_sub(u64::try_from(steps).unwrap_or(u64::MAX));
        self.fuel =
            left.ok_or_else(|| Failure::limit("T103", format!("the template takes more than {MAX_FUEL} steps")))?;
        Ok(())
    }

    /// Counts bytes that are looked at.
    pub(super) fn scan(&mut self, bytes: usize) -> Result<(), Failure> {
        self.steps(bytes / BYTES_PER_STEP)
    }

    /// Counts a text of this length before it is made.
    pub(super) fn text(&mut self, bytes: usize) -> Result<(), Failure> {
        if bytes > MAX_TEXT_BYTES {
            return Err(Failure::limit("T105", format!("a text would have more than {MAX_TEXT_BYTES} bytes")));
        }
        self.produce(bytes)
    }

    /// Counts a list or map of this length before it is made.
    pub(super) fn elements(&mut self, count: usize) -> Result<(), Failure> {
        if count > MAX_ELEMENTS {
            return Err(Failure::limit("T105", format!("a list would have more than {MAX_ELEMENTS} elements")));
        }
        self.produce(count.saturating_mul(ELEMENT_BYTES))
    }

    fn produce(&mut self, bytes: usize) -> Result<(), Failure> {
        self.scan(bytes)?;
        self.produced = self.produced.saturating_add(bytes);
        if self.produced > MAX_PRODUCED_BYTES {
            let message = format!("the functions of the template produce more than {MAX_PRODUCED_BYTES} bytes");
            return Err(Failure::limit("T104", message));
        }
        Ok(())
    }
}

/// Refuses a nesting of values that no YAML document can have.
pub(super) fn check_value_depth(depth: usize) -> Result<(), Failure> {
    if depth > MAX_VALUE_DEPTH {
        return Err(Failure::limit("T102", format!("a value is nested deeper than {MAX_VALUE_DEPTH} levels")));
    }
    Ok(())
}
