//! Pure. Makes an instance follow a further upstream: an entry in `.wild/config.yaml`.
//!
//! Not here: fetching it (`git`).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::edit::subject;
use super::proposal::{Join, Proposal, TreeEdit};
use super::refusal::Refusal;
use super::sources::settings_of;
use crate::base::RepoPath;
use crate::model::{AppName, Diagnostic, File, FileTree, SETTINGS_PATH, Verify};
use crate::yaml::{self, Dialect};

/// Key of the list.
const DIRECTORIES: &str = "directories";
/// Stands in for an app in a proposal that is about none.
const NO_APP: &str = "all";

/// Adds an upstream to the settings.
pub fn add_directory(
    files: &FileTree,
    name: &str,
    (url, branch): (&str, &str),
    verify: Verify,
) -> Result<Proposal, Refusal> {
    let what = format!("add the directory {name}");
    let refuse = |because: String| Err(Refusal::user(what.clone(), because, "wild directory list"));
    let found = |findings| Refusal::found(what.clone(), "git log -p -- .wild/config.yaml", findings);
    let stand_in = match AppName::parse(NO_APP).and_then(|none| AppName::parse(name).map(|_| none)) {
        Ok(none) => none,
        Err(error) => return refuse(error.to_string()),
    };
    if let Err(because) = check_url(url) {
        return refuse(because.to_owned());
    }
    let settings = settings_of(files).map_err(found)?;
    let mut proposal = Proposal::nothing(&stand_in);
    match settings.directories.iter().find(|directory| directory.name == name) {
        Some(known) if known.url == url && known.branch == branch && known.verify == verify => return Ok(proposal),
        Some(known) => return refuse(format!("there is a directory {name} already, at {}", known.url)),
        None => {}
    }
    let text = files.text(SETTINGS_PATH).unwrap_or_default();
    let mut entry = vec![("name", name), ("url", url), ("branch", branch)];
    if verify != Verify::None {
        entry.push(("verify", verify.word()));
    }
    let edited = append(text, &entry).map_err(found)?;
    proposal.main = RepoPath::parse(SETTINGS_PATH).ok().map(|path| TreeEdit {
        changes: BTreeMap::from([(path, Some(File::text(&edited)))]),
        subject: subject("config", NO_APP, &format!("add directory {name}")),
        body: format!("{url}, branch {branch}"),
        trailers: Vec::new(),
        join: Join::None,
    });
    proposal.summary = vec![format!("directory {name} added")];
    Ok(proposal)
}

/// Refuses addresses that would put a password into git, or that a program could read as an option.
fn check_url(url: &str) -> Result<(), &'static str> {
    let authority =
        url.split_once("://").map(|(_, rest)| rest.split_once('/').map_or(rest, |(authority, _)| authority));
    let user = authority.and_then(|authority| authority.rsplit_once('@')).map(|(user, _)| user);
    if url.is_empty() || url.starts_with('-') || url.chars().any(|c| c.is_control() || c.is_whitespace()) {
        Err("its address is empty, begins with a hyphen or holds white space")
    } else if user.is_some_and(|user| user.contains(':')) {
        Err("its address holds a password, and the settings are committed")
    } else {
        Ok(())
    }
}

/// Adds an entry behind the last one, and writes the whole list anew only where its form leaves no other way.
fn append(text: &str, entry: &[(&str, &str)]) -> Result<String, Vec<Diagnostic>> {
    let document = yaml::load_one(SETTINGS_PATH, text, Dialect::Gomplate)?;
    let mut list =
        document.as_ref().and_then(|document| document.value.get(DIRECTORIES)?.as_array().cloned()).unwrap_or_default();
    let map: serde_json::Map<String, Value> =
        entry.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    list.push(Value::Object(map));
    let line = document.as_ref().and_then(|document| document.line_of(&[DIRECTORIES])).unwrap_or(0);
    let spliced = splice(text, line, entry).filter(|spliced| {
        let read = yaml::load_one(SETTINGS_PATH, spliced, Dialect::Gomplate).ok().flatten();
        read.as_ref().and_then(|read| read.value.get(DIRECTORIES)?.as_array()) == Some(&list)
    });
    match spliced {
        Some(spliced) => Ok(spliced),
        None => yaml::edit::set(SETTINGS_PATH, text, &[DIRECTORIES], &Value::Array(list)),
    }
}

/// Writes an entry behind the last line of a list in block form, indented as its items are.
fn splice(text: &str, list_line: usize, entry: &[(&str, &str)]) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let body = lines.iter().enumerate().skip(list_line);
    let block = body.take_while(|(_, line)| line.starts_with([' ', '-', '#', '\n', '\r']));
    let (last, _) = block.clone().filter(|(_, line)| line.starts_with([' ', '-']) && !line.trim().is_empty()).last()?;
    let indent: String =
        block.map(|(_, line)| line).find_map(|line| line.split_once("- ").map(|(indent, _)| indent.to_owned()))?;
    if !indent.trim().is_empty() {
        return None;
    }
    let mut out: String = lines.iter().take(last + 1).copied().collect();
    if !out.ends_with('\n') {
        out.push('\n');
    }
    for (position, (key, value)) in entry.iter().enumerate() {
        let dash = if position == 0 { "- " } else { "  " };
        out.push_str(&format!("{indent}{dash}{key}: {}\n", yaml::write_scalar(value)));
    }
    out.extend(lines.iter().skip(last + 1).copied());
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{add_directory, append};
    use crate::base::RepoPath;
    use crate::model::{File, FileTree, Verify};

    const HEAD: &str = "apiVersion: rewild.dev/v1\ninstanceId: k3f7\n";
    const ENTRY: [(&str, &str); 2] = [("name", "own"), ("url", "https://git.example.org/own")];

    fn check(text: &str, expected: &str) {
        assert_eq!(append(text, &ENTRY).unwrap(), expected);
    }

    #[test]
    fn an_entry_goes_behind_the_last_one_and_no_other_byte_changes() {
        check(
            "# mine\ndirectories:\n  # the main one\n  - name: wild # it\n    url: 'https://x'\n\nreconcile: {interval: 10m}\n",
            "# mine\ndirectories:\n  # the main one\n  - name: wild # it\n    url: 'https://x'\n  - name: own\n    \
             url: https://git.example.org/own\n\nreconcile: {interval: 10m}\n",
        );
    }

    #[test]
    fn a_list_that_is_missing_or_in_flow_form_is_written_anew() {
        check("a: 1\n", "a: 1\ndirectories:\n- name: own\n  url: https://git.example.org/own\n");
        let flow = append("directories: [{name: wild, url: 'https://x'}]\nb: 2\n", &ENTRY).unwrap();
        assert!(flow.ends_with("b: 2\n") && flow.contains("own"), "{flow}");
    }

    fn request(url: &str, rest: &str) -> Result<Option<String>, String> {
        let path = RepoPath::parse(".wild/config.yaml").unwrap();
        let files = FileTree::from_iter([(path, File::text(&format!("{HEAD}{rest}")))]);
        match add_directory(&files, "own", (url, "main"), Verify::None) {
            Ok(proposal) => Ok(proposal.main.map(|edit| edit.subject)),
            Err(refusal) => Err(refusal.to_string()),
        }
    }

    #[test]
    fn a_directory_becomes_one_commit() {
        assert_eq!(request("https://git.example.org/own", ""), Ok(Some("config(all): add directory own".to_owned())));
    }

    #[test]
    fn a_directory_that_is_there_needs_no_commit() {
        let there = "directories:\n- {name: own, url: https://git.example.org/own, branch: main}\n";
        assert_eq!(request("https://git.example.org/own", there), Ok(None));
        let other = "add the directory own: there is a directory own already, at https://git.example.org/own";
        assert_eq!(request("https://git.example.org/other", there), Err(other.to_owned()));
    }

    #[test]
    fn an_address_with_a_password_is_refused() {
        assert!(request("https://me:secret@git.example.org/own", "").is_err());
        assert!(request("--upload-pack=x", "").is_err());
        assert!(request("ssh://git@git.example.org/own", "").is_ok());
    }
}
