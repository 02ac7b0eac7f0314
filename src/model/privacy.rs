//! Pure. Who may read a file that holds what nobody else is to read.
//!
//! Not here: looking at files and narrowing them (`settings`, `target`), telling it (`http`, `cli`).

use serde::{Deserialize, Serialize};

/// Bits of a mode by which anybody but the owner may do anything.
const OTHERS: u32 = 0o077;
/// Bits of a mode by which whoever is neither the owner nor of the group may do anything.
const STRANGERS: u32 = 0o007;

/// What is to be made of a file by its owner and its mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Privacy {
    /// Nobody else may read it.
    Private,
    /// It is ours and others may read it: its mode is narrowed.
    Wide,
    /// It is root's and everybody may read it, which only root can change.
    Open,
    /// It is another user's, who may write into it what he wants.
    Foreign,
}

/// Returns what is to be made of a file of this owner and mode by a process of this user. What root gave to a group is read: so secrets are
/// put into containers.
pub fn privacy(owner: u32, mode: u32, user: u32) -> Privacy {
    match owner {
        owner if owner == user && mode & OTHERS == 0 => Privacy::Private,
        owner if owner == user => Privacy::Wide,
        0 if mode & STRANGERS == 0 => Privacy::Private,
        0 => Privacy::Open,
        _ => Privacy::Foreign,
    }
}

/// Returns whether a file is what an editor or a tool leaves beside a file when that is changed: a copy with all that is in it.
pub fn is_copy_of(name: &str, found: &str) -> bool {
    if found == name || !found.contains(name) {
        return false;
    }
    let rest = found.replacen(name, "*", 1);
    let is_swap = rest.strip_prefix(".*.").is_some_and(|end| end.len() == 3 && end.starts_with("sw"));
    let is_numbered = rest.strip_prefix("*.~").is_some_and(|end| end.ends_with('~'));
    is_swap
        || is_numbered
        || matches!(
            rest.as_str(),
            "*~" | "#*#" | "*.bak" | "*.orig" | "*.save" | "*.rej" | "*.old" | "*.tmp" | ".*.tmp" | "*.new"
        )
}

/// A file that others could read until its mode was narrowed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Narrowed {
    /// The file.
    pub path: String,
    /// The mode that it had, in octal digits.
    pub mode: String,
}

impl Narrowed {
    /// Returns one of a file with the mode that it had.
    pub fn new(path: String, mode: u32) -> Self {
        Self { path, mode: format!("{:04o}", mode & 0o7777) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_editors_leave_is_known_by_its_name() {
        for name in [
            "s.yaml~",
            ".s.yaml.swp",
            ".s.yaml.swo",
            "#s.yaml#",
            "s.yaml.bak",
            "s.yaml.orig",
            "s.yaml.~1~",
            "s.yaml.save",
        ] {
            assert!(is_copy_of("s.yaml", name), "{name}");
        }
        for name in ["s.yaml", "s.yaml.lock", "as.yaml", "s.yaml.d", "t.yaml~", ".s.yaml.swpx", "~"] {
            assert!(!is_copy_of("s.yaml", name), "{name}");
        }
    }

    #[test]
    fn a_file_is_private_if_nobody_else_may_read_it() {
        let check = |owner, mode, expected| assert_eq!(privacy(owner, mode, 1000), expected, "{owner} {mode:o}");
        for mode in [0o600, 0o400, 0o700, 0o100_600] {
            check(1000, mode, Privacy::Private);
        }
        for mode in [0o644, 0o640, 0o606, 0o620, 0o601, 0o777, 0o100_644] {
            check(1000, mode, Privacy::Wide);
        }
        check(0, 0o640, Privacy::Private);
        check(0, 0o440, Privacy::Private);
        check(0, 0o644, Privacy::Open);
        check(1001, 0o600, Privacy::Foreign);
        assert_eq!(privacy(1000, 0o600, 0), Privacy::Foreign);
        assert_eq!(privacy(0, 0o644, 0), Privacy::Wide);
        assert_eq!(Narrowed::new("a".into(), 0o100_644).mode, "0644");
    }
}
