//! Who a person is to git: `user.name` and `user.email` of their own configuration.
//!
//! The one place that reads a person's configuration, for the author of what they ask for; nothing else of it changes what we do.
//!
//! Not here: where its files lie (`cli`).

use std::path::{Path, PathBuf};

use git2::{Config, ConfigLevel};

/// A name and an address, as far as they are set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Identity {
    /// `user.name`.
    pub name: Option<String>,
    /// `user.email`.
    pub email: Option<String>,
}

/// Reads the identity out of configuration files, of which later ones win. A file that is not there or does not parse says nothing.
pub fn identity(files: &[PathBuf]) -> Identity {
    let mut identity = Identity::default();
    for file in files {
        let Some(config) = open(file) else { continue };
        let text =
            |key: &str| config.get_string(key).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        identity.name = text("user.name").or(identity.name);
        identity.email = text("user.email").or(identity.email);
    }
    identity
}

fn open(file: &Path) -> Option<Config> {
    let mut config = Config::new().ok()?;
    config.add_file(file, ConfigLevel::App, false).ok()?;
    Some(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_file_wins_and_what_does_not_read_says_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(directory.path().join(name), text).unwrap();
            directory.path().join(name)
        };
        let own = file("own", "[user]\n\tname = Zoë\n\temail = zoe@example.org\n");
        let repository = file("repository", "[user]\n\temail = zoe@work.example.org\n");
        let broken = file("broken", "[user\n");
        let found = identity(&[own.clone(), repository, broken, directory.path().join("absent")]);
        let both = (Some("Zoë".to_owned()), Some("zoe@work.example.org".to_owned()));
        assert_eq!((found.name, found.email), both);
        assert_eq!(identity(&[]), Identity::default());
    }
}
