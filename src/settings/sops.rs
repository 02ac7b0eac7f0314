//! Keys of files that SOPS encrypted: where age identities come from, and the data keys that they open.
//!
//! The sources are those of SOPS: `SOPS_AGE_KEY`, `SOPS_AGE_KEY_FILE`, the file `sops/age/keys.txt` in the person's configuration, and
//! `SOPS_AGE_KEY_CMD`. All of them are what the one who started us wrote out; nothing that a repository holds names a key or a
//! command. The command is started only where no other source opens a file. It has this process's variables, because what keeps keys
//! wants its session, but for the secrets among them; it has a deadline, and what it prints is bounded.
//!
//! Not here: the files (`yaml::sops`), merging them (`merge`).

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use age::armor::ArmoredReader;
use age::x25519::Identity;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

use crate::model::{Purpose, SecretBytes, SecretValue};
use crate::yaml::sops::{DataKey, SopsFile};

/// Bytes of a file of identities, or of what a command prints.
const MAX_IDENTITIES_BYTES: u64 = 64 * 1024;
/// Identities that are tried on a file.
const MAX_IDENTITIES: usize = 64;
/// Bytes of a data key as age encrypts it for one recipient; a few hundred in the ordinary case.
const MAX_BLOB_BYTES: usize = 16 * 1024;
/// Bytes of a data key.
const DATA_KEY_BYTES: u64 = 32;
/// How long a command that gives keys may take; a person may have to unlock what keeps them.
const COMMAND_DEADLINE: Duration = Duration::from_secs(60);
/// Recipients for which a command is asked.
const MAX_ASKED: usize = 8;

/// What tells a command which key is wanted, as SOPS does.
const RECIPIENT: &str = "SOPS_AGE_RECIPIENT";
/// Variables that hold a secret of ours.
const SECRET_VARIABLES: [&str; 2] = ["SOPS_AGE_KEY", "WILD_TOKEN"];

/// Where identities come from. It shows nothing of itself, because variables may hold anybody's secrets.
#[derive(Clone)]
pub struct SopsSources {
    given: Option<SecretValue>,
    file: Option<PathBuf>,
    usual: Option<PathBuf>,
    command: Option<String>,
    /// What the command has of our variables.
    variables: Vec<(String, String)>,
}

/// Data keys of files, and why a source gave none.
#[derive(Clone, Debug, Default)]
pub struct SopsFound {
    /// The data keys.
    pub data_keys: Vec<DataKey>,
    /// What is wrong with a source, without anything that it holds.
    pub problems: Vec<String>,
}

impl SopsSources {
    /// Reads the sources from the variables of this process; `directory` is the one that paths are relative to.
    pub fn of(variables: &BTreeMap<String, String>, directory: &Path) -> Self {
        let variable = |name: &str| variables.get(name).filter(|value| !value.is_empty());
        let config = variable("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.or_else(|| variable("HOME").map(|home| Path::new(home).join(".config")));
        let is_secret = |name: &String| SECRET_VARIABLES.contains(&name.as_str());
        Self {
            given: variable("SOPS_AGE_KEY").map(|key| SecretValue::new(key.clone())),
            file: variable("SOPS_AGE_KEY_FILE").map(|file| directory.join(file)),
            usual: config.map(|config| config.join("sops/age/keys.txt")),
            command: variable("SOPS_AGE_KEY_CMD").cloned(),
            variables: variables
                .iter()
                .filter(|(name, _)| !is_secret(name))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        }
    }

    /// Returns the data keys of files that these sources open.
    pub async fn data_keys(&self, files: &[SopsFile]) -> SopsFound {
        let mut found = SopsFound::default();
        let mut identities = Vec::new();
        if let Some(given) = &self.given {
            let given = given.expose(Purpose::Credential);
            take("SOPS_AGE_KEY", given, &mut identities, &mut found.problems);
        }
        for (path, is_named) in [(&self.file, true), (&self.usual, false)] {
            let Some(path) = path else { continue };
            match read(path) {
                Ok(Some(text)) => {
                    let text = text.expose(Purpose::Credential);
                    take(&path.display().to_string(), text, &mut identities, &mut found.problems);
                }
                Ok(None) if is_named => found.problems.push(format!("{} is not there", path.display())),
                Ok(None) => {}
                Err(why) => found.problems.push(format!("{}: {why}", path.display())),
            }
        }
        let mut asked = Vec::new();
        for file in files {
            if file.key_among(&found.data_keys).is_ok() {
                continue;
            }
            let mut key = open(file, &identities);
            if key.is_none()
                && let Some(command) = &self.command
            {
                self.ask(command, file, (&mut asked, &mut identities), &mut found.problems).await;
                key = open(file, &identities);
            }
            found.data_keys.extend(key);
        }
        found
    }

    /// Asks the command for the identities of the recipients of a file.
    async fn ask(
        &self,
        command: &str,
        file: &SopsFile,
        (asked, identities): (&mut Vec<String>, &mut Vec<Identity>),
        problems: &mut Vec<String>,
    ) {
        for recipient in file.recipients() {
            if asked.len() >= MAX_ASKED || asked.contains(&recipient.name) {
                continue;
            }
            asked.push(recipient.name.clone());
            match self.run(command, &recipient.name).await {
                Ok(text) => {
                    take("SOPS_AGE_KEY_CMD", text.expose(Purpose::Credential), identities, problems);
                    if open(file, identities).is_some() {
                        return;
                    }
                }
                Err(why) => {
                    problems.push(format!("SOPS_AGE_KEY_CMD {why}"));
                    return;
                }
            }
        }
    }

    async fn run(&self, command: &str, recipient: &str) -> Result<SecretValue, String> {
        let words = words(command).ok_or("has a quote without its partner")?;
        let (program, arguments) = words.split_first().ok_or("is empty")?;
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env(RECIPIENT, recipient)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("did not start: {error}"))?;
        let _group = Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw));
        let output = child.stdout.take();
        let work = async {
            let mut text = String::new();
            if let Some(output) = output {
                // Reading stops at the limit; the command then fails on its closed pipe.
                output.take(MAX_IDENTITIES_BYTES).read_to_string(&mut text).await.map_err(|_| "printed no text")?;
            }
            let text = SecretValue::new(text);
            let status = child.wait().await.map_err(|_| "could not be waited for")?;
            if status.success() { Ok(text) } else { Err("failed") }
        };
        let late = |_| format!("took longer than {} s", COMMAND_DEADLINE.as_secs());
        timeout(COMMAND_DEADLINE, work).await.map_err(late)?.map_err(str::to_owned)
    }
}

impl fmt::Debug for SopsSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SopsSources(hidden)")
    }
}

/// The process group of a command: what it started dies with it.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            // The group is gone already in the ordinary case.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

/// Reads a file of identities; nothing if it is not there.
fn read(path: &Path) -> Result<Option<SecretValue>, String> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let mut text = String::new();
    let length = file.take(MAX_IDENTITIES_BYTES + 1).read_to_string(&mut text).map_err(|error| error.to_string());
    let text = SecretValue::new(text);
    match length? as u64 {
        0..=MAX_IDENTITIES_BYTES => Ok(Some(text)),
        _ => Err("it is larger than 64 KiB".to_owned()),
    }
}

/// Takes the identities of a text, one on a line; a line that begins with `#` is a comment.
fn take(source: &str, text: &str, identities: &mut Vec<Identity>, problems: &mut Vec<String>) {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut others = 0_usize;
    let mut count = 0_usize;
    for word in lines.flat_map(|line| line.split([' ', '\t', ','])).filter(|word| !word.is_empty()) {
        match word.parse::<Identity>() {
            Ok(identity) if identities.len() < MAX_IDENTITIES => identities.push(identity),
            Ok(_) => problems.push(format!("{source} holds more than {MAX_IDENTITIES} identities")),
            Err(_) => others += 1,
        }
        count += 1;
    }
    if others > 0 {
        problems.push(format!("{source} holds {others} of {count} identities that are no age secret key"));
    } else if count == 0 {
        problems.push(format!("{source} holds no identity"));
    }
}

/// Decrypts the data key of a file with the first identity that it is encrypted for.
fn open(file: &SopsFile, identities: &[Identity]) -> Option<DataKey> {
    let blobs = file.recipients().iter().map(|recipient| recipient.blob.as_bytes());
    blobs.filter(|blob| blob.len() <= MAX_BLOB_BYTES).find_map(|blob| {
        let decryptor = age::Decryptor::new_buffered(ArmoredReader::new(blob)).ok()?;
        let reader = decryptor.decrypt(identities.iter().map(|identity| identity as &dyn age::Identity)).ok()?;
        let mut bytes = Vec::with_capacity(64);
        let read = reader.take(DATA_KEY_BYTES + 1).read_to_end(&mut bytes);
        let bytes = SecretBytes::new(bytes);
        read.ok()?;
        DataKey::new(bytes.expose(Purpose::SopsFile).to_vec())
    })
}

/// Parts a command into its words as a shell does: by blanks, with quotes and backslashes. Nothing is expanded.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(rest.next()),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA_KEY: [u8; 32] = [7; 32];

    fn file_for(identities: &[&Identity]) -> SopsFile {
        let item = |identity: &&Identity| {
            let blob = age::encrypt_and_armor(&identity.to_public(), &DATA_KEY).unwrap();
            let lines: String = blob.lines().map(|line| format!("            {line}\n")).collect();
            format!("        - recipient: {}\n          enc: |\n{lines}", identity.to_public())
        };
        let items: String = identities.iter().map(item).collect();
        SopsFile::read(&format!("a: 1\nsops:\n    age:\n{items}    lastmodified: x\n    mac: x\n")).unwrap()
    }

    fn text(identity: &Identity) -> String {
        use age::secrecy::ExposeSecret;
        identity.to_string().expose_secret().to_owned()
    }

    fn sources(variables: &[(&str, &str)], directory: &Path) -> SopsSources {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        SopsSources::of(&variables.iter().map(own).collect(), directory)
    }

    fn is_opened(found: &SopsFound) -> bool {
        found.data_keys.iter().any(|key| key.is(&DataKey::new(DATA_KEY.to_vec()).unwrap()))
    }

    #[tokio::test]
    async fn every_source_gives_the_data_key_of_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let (home, identity, other) = (directory.path(), Identity::generate(), Identity::generate());
        let file = file_for(&[&other, &identity]);
        let secret = text(&identity);
        std::fs::write(home.join("my keys"), format!("# created\n{}\n{secret}\n", text(&Identity::generate())))
            .unwrap();
        std::fs::create_dir_all(home.join("c/sops/age")).unwrap();
        std::fs::write(home.join("c/sops/age/keys.txt"), &secret).unwrap();
        let path = std::env::var("PATH").unwrap();
        let asks = format!("sh -c 'test $SOPS_AGE_RECIPIENT = {} && echo {secret} || echo'", identity.to_public());
        let config = home.join("c").display().to_string();
        for variables in [
            [("SOPS_AGE_KEY", secret.as_str()), ("X", "")],
            [("SOPS_AGE_KEY_FILE", "my keys"), ("X", "")],
            [("XDG_CONFIG_HOME", &config), ("X", "")],
            [("SOPS_AGE_KEY_CMD", "cat 'my keys'"), ("PATH", &path)],
            [("SOPS_AGE_KEY_CMD", &asks), ("PATH", &path)],
        ] {
            let mut sources = sources(&variables, home);
            // Commands run where we do, so the file is named in full.
            sources.command =
                sources.command.map(|it| it.replace("my keys", &home.join("my keys").display().to_string()));
            let found = sources.data_keys(std::slice::from_ref(&file)).await;
            assert!(is_opened(&found), "{variables:?} {:?}", found.problems);
            assert!(!format!("{sources:?} {found:?}").contains(&secret));
        }
    }

    #[tokio::test]
    async fn a_source_that_gives_nothing_is_named_and_shows_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let (home, path) = (directory.path(), std::env::var("PATH").unwrap());
        let file = file_for(&[&Identity::generate()]);
        std::fs::write(home.join("odd"), "AGE-SECRET-KEY-1HUNTER2\n").unwrap();
        for (name, value, expected) in [
            ("SOPS_AGE_KEY", "hunter2", "SOPS_AGE_KEY holds 1 of 1 identities that are no age secret key"),
            ("SOPS_AGE_KEY_FILE", "gone", "gone is not there"),
            ("SOPS_AGE_KEY_FILE", "odd", "holds 1 of 1 identities that are no age secret key"),
            ("SOPS_AGE_KEY_CMD", "false", "SOPS_AGE_KEY_CMD failed"),
            ("SOPS_AGE_KEY_CMD", "/no/such/program", "SOPS_AGE_KEY_CMD did not start"),
            ("SOPS_AGE_KEY_CMD", "echo 'x", "SOPS_AGE_KEY_CMD has a quote without its partner"),
            ("SOPS_AGE_KEY_CMD", "yes", "SOPS_AGE_KEY_CMD failed"),
        ] {
            let found = sources(&[(name, value), ("PATH", &path)], home).data_keys(std::slice::from_ref(&file)).await;
            assert!(found.data_keys.is_empty());
            assert!(found.problems.iter().any(|why| why.contains(expected)), "{value}: {:?}", found.problems);
            assert!(!format!("{:?}", found.problems).to_lowercase().contains("hunter2"));
        }
    }

    #[tokio::test]
    async fn a_command_sees_no_secret_of_ours() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("seen");
        let (path, command) = (std::env::var("PATH").unwrap(), format!("sh -c 'env >{}'", out.display()));
        let variables =
            [("SOPS_AGE_KEY", "hunter2"), ("WILD_TOKEN", "hunter2"), ("MINE", "x"), ("PATH", path.as_str())];
        let variables: Vec<_> = variables.into_iter().chain([("SOPS_AGE_KEY_CMD", command.as_str())]).collect();
        sources(&variables, directory.path()).data_keys(&[file_for(&[&Identity::generate()])]).await;
        let seen = std::fs::read_to_string(out).unwrap();
        assert!(
            seen.contains("MINE=x") && seen.contains("SOPS_AGE_RECIPIENT=age1") && !seen.contains("hunter2"),
            "{seen}"
        );
    }

    #[test]
    fn a_command_is_parted_as_a_shell_does_it() {
        let parted = |text: &str| words(text).map(|words| words.join("|"));
        assert_eq!(parted(" a  'b c' \"d \\\" e\" f\\ g '' ").as_deref(), Some("a|b c|d \" e|f g|"));
        assert_eq!(parted("a 'b"), None);
        assert_eq!(parted("").as_deref(), Some(""));
    }
}
