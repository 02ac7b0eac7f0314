//! Pushing: forward only, never forced, with a result for each ref; a ref is deleted only where the caller saw it.
//!
//! Not here: pull requests and statuses (`forge`).

use crate::base::escaped;
use crate::model::CommitId;

use super::super::error::Error;
use super::super::refs::check_name;
use super::super::repository::Repository;
use super::{Remote, Scratch, TRANSFER};

/// A commit of ours and the ref of the remote that moves to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PushRef {
    /// The commit.
    pub commit: CommitId,
    /// Full name there, such as `refs/heads/main`.
    pub to: String,
}

/// The result for one ref.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PushedRef {
    /// Full name there.
    pub name: String,
    /// What the remote did.
    pub result: Pushed,
}

/// What a remote did with a ref.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pushed {
    /// It moved, or is new.
    Moved,
    /// It was there already.
    Unchanged,
    /// It stays where it was.
    Rejected {
        /// The remote's word for it.
        reason: String,
    },
}

/// Pushes commits to refs of a remote. A ref that would not move forward is rejected, which is a result and no error.
pub async fn push(repository: &Repository, remote: &Remote, refs: &[PushRef]) -> Result<Vec<PushedRef>, Error> {
    let attempt = format!("push to {}", remote.url);
    let mut args: Vec<String> = ["push", "--porcelain", "--no-verify", "--"].map(str::to_owned).into();
    args.push(remote.url.as_str().to_owned());
    for wanted in refs {
        check_name(&wanted.to)?;
        args.push(format!("{}:{}", wanted.commit, wanted.to));
    }
    let scratch = Scratch::create(remote, Some(repository)).await?;
    let exit = scratch.run(remote, attempt.clone(), args, TRANSFER).await?;
    let results = parse(&exit.stdout);
    let mut pushed = Vec::new();
    for wanted in refs {
        match results.iter().find(|result| result.name == wanted.to) {
            Some(result) => pushed.push(result.clone()),
            None => return Err(Error::Remote { attempt, reason: exit.complaint() }),
        }
    }
    Ok(pushed)
}

/// Deletes a ref of a remote if it is still where the caller saw it.
pub async fn push_deletion(remote: &Remote, name: &str, expected: &CommitId) -> Result<Pushed, Error> {
    check_name(name)?;
    let attempt = format!("delete {name} of {}", remote.url);
    let lease = format!("--force-with-lease={name}:{expected}");
    let mut args: Vec<String> = ["push", "--porcelain", "--no-verify", &lease, "--"].map(str::to_owned).into();
    args.extend([remote.url.as_str().to_owned(), format!(":{name}")]);
    let scratch = Scratch::create(remote, None).await?;
    let exit = scratch.run(remote, attempt.clone(), args, TRANSFER).await?;
    match parse(&exit.stdout).into_iter().find(|result| result.name == name) {
        Some(result) => Ok(result.result),
        None => Err(Error::Remote { attempt, reason: exit.complaint() }),
    }
}

/// Reads git's table: a mark, `from:to`, and a remark, separated by tabs.
fn parse(text: &str) -> Vec<PushedRef> {
    let mut results = Vec::new();
    for line in text.lines() {
        let mut fields = line.split('\t');
        let (Some(mark), Some(refs), Some(remark)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let Some((_, name)) = refs.split_once(':') else { continue };
        let result = match mark {
            " " | "*" | "-" => Pushed::Moved,
            "=" => Pushed::Unchanged,
            _ => Pushed::Rejected { reason: escaped(remark) },
        };
        results.push(PushedRef { name: name.to_owned(), result });
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_table_is_one_result() {
        let text = "To /srv/x\n \tabc:refs/heads/a\t1..2\n*\tabc:refs/heads/b\t[new branch]\n=\tabc:refs/heads/c\t[up to \
                    date]\n!\tabc:refs/heads/d\t[rejected] (fetch first)\nDone\n";
        let shown: Vec<_> = parse(text).into_iter().map(|found| (found.name, found.result)).collect();
        let rejected = Pushed::Rejected { reason: "[rejected] (fetch first)".to_owned() };
        let name = |letter: &str| format!("refs/heads/{letter}");
        assert_eq!(
            shown,
            [
                (name("a"), Pushed::Moved),
                (name("b"), Pushed::Moved),
                (name("c"), Pushed::Unchanged),
                (name("d"), rejected)
            ]
        );
    }
}
