//! Format. What keeps an upstream from being followed, as it is remembered and shown.
//!
//! Pure. Not here: finding it out (`pipeline`), the settings of an upstream (`settings.rs`).

use serde::{Deserialize, Serialize};

use super::CommitId;

/// What keeps an upstream from being followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpstreamTrouble {
    /// It cannot be fetched.
    Unreachable,
    /// It went back or rewrote its history.
    Rewound,
    /// It holds no package any more, or far fewer than before.
    Emptied,
    /// Nobody signed it who may, and it must be signed.
    Unsigned,
    /// The branch that is followed is not there any more.
    Vanished,
    /// What was fetched of it cannot be read.
    Unreadable,
}

impl UpstreamTrouble {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Rewound => "rewound",
            Self::Emptied => "emptied",
            Self::Unsigned => "unsigned",
            Self::Vanished => "vanished",
            Self::Unreadable => "unreadable",
        }
    }

    /// Returns whether a person may accept it, so that the upstream is followed all the same.
    pub fn is_acceptable(self) -> bool {
        match self {
            Self::Rewound | Self::Emptied | Self::Unsigned => true,
            Self::Unreachable | Self::Unreadable | Self::Vanished => false,
        }
    }

    /// Returns the command that helps with an upstream.
    pub fn remedy(self, directory: &str) -> String {
        match self {
            Self::Rewound | Self::Emptied => format!("wild directory fetch {directory} --accept-rewind"),
            // Whether a key is missing or a signature is, nobody but a person can know.
            Self::Unsigned => format!(
                "wild directory fetch {directory} --accept-rewind takes this one commit, allowedSigners of daemon.yaml says who may sign"
            ),
            Self::Unreachable | Self::Unreadable => format!("wild directory fetch {directory}, once it answers"),
            Self::Vanished => format!("wild directory fetch {directory}, once the branch is there again"),
        }
    }
}

/// What was found when an upstream was looked at last.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DirectoryTrouble {
    /// What.
    pub kind: UpstreamTrouble,
    /// The commit that is followed.
    pub from: Option<CommitId>,
    /// The commit that the upstream offers; nothing of it is taken.
    pub to: Option<CommitId>,
    /// One sentence with both commits.
    pub message: String,
    /// The command that helps.
    pub hint: String,
}

impl DirectoryTrouble {
    /// Returns what keeps an upstream of this name from being followed; `why` says what was found.
    pub fn new(
        kind: UpstreamTrouble,
        directory: &str,
        (from, to): (Option<CommitId>, Option<CommitId>),
        why: &str,
    ) -> Self {
        let message = match (&from, &to) {
            (Some(from), Some(to)) => format!("upstream {} {}..{}: {why}", kind.word(), from.short(), to.short()),
            (None, Some(to)) => format!("upstream {} {}: {why}", kind.word(), to.short()),
            (Some(from), None) => format!("upstream {} {}: {why}", kind.word(), from.short()),
            (None, None) => why.to_owned(),
        };
        Self { kind, from, to, message, hint: kind.remedy(directory) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_commits_and_the_command_are_told() {
        let commit = |digit: &str| CommitId::parse(&digit.repeat(40)).unwrap();
        let both = (Some(commit("a")), Some(commit("b")));
        let found = DirectoryTrouble::new(UpstreamTrouble::Rewound, "sample", both, "it went back");
        assert_eq!(found.message, "upstream rewound aaaaaaa..bbbbbbb: it went back");
        assert_eq!(found.hint, "wild directory fetch sample --accept-rewind");
        let stored = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<DirectoryTrouble>(&stored).unwrap(), found);
        let gone = DirectoryTrouble::new(UpstreamTrouble::Vanished, "sample", (Some(commit("a")), None), "no branch");
        assert_eq!(gone.message, "upstream vanished aaaaaaa: no branch");
        let silent = DirectoryTrouble::new(UpstreamTrouble::Unreachable, "sample", (None, None), "no answer");
        assert_eq!(silent.message, "no answer");
    }
}
