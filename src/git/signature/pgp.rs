//! Signatures of OpenPGP: `gpgv` says whether one is of a key in a keyring. It reads that keyring and nothing of its user's.
//!
//! Not here: how the child is bounded (`child.rs`).

use std::path::Path;
use std::time::Duration;

use super::super::checks::signature::SignedPart;
use super::super::child::{Program, run_program};
use super::super::error::{Error, io};
use super::super::lane;
use super::super::network::Folder;
use super::Unsigned;

/// Longest check of one signature.
const DEADLINE: Duration = Duration::from_secs(30);
/// Bytes of memory that it may take.
const MAX_MEMORY: u64 = 128 * 1024 * 1024;
/// How each line begins that is meant for programs.
const STATUS: &str = "[GNUPG:] ";

/// Returns who signed, by a keyring.
pub(super) async fn signer(
    keyring: &Path,
    part: &SignedPart,
    scratch: &Path,
) -> Result<Result<String, Unsigned>, Error> {
    let attempt = "check a signature of OpenPGP";
    // The program says of a keyring that is not there only that it holds no key.
    if let Err(error) = tokio::fs::File::open(keyring).await {
        return Ok(Err(Unsigned::unread(keyring, &error.to_string())));
    }
    let folder = Folder::create(scratch).await?;
    let (signature, payload) = (folder.path().join("signature"), folder.path().join("payload"));
    let (part, files) = (part.clone(), [signature.clone(), payload.clone()]);
    lane::run(attempt.to_owned(), move || {
        let [signature, payload] = files;
        std::fs::write(signature, part.signature).map_err(io(attempt))?;
        std::fs::write(payload, part.payload).map_err(io(attempt))
    })
    .await?;
    let text = |path: &Path| path.display().to_string();
    let args = ["--status-fd", "1", "--homedir", &text(folder.path()), "--keyring", &text(keyring)].map(str::to_owned);
    let program = Program {
        name: "gpgv",
        attempt: attempt.to_owned(),
        home: folder.path(),
        args: args.into_iter().chain(["--".to_owned(), text(&signature), text(&payload)]).collect(),
        deadline: DEADLINE,
        memory: MAX_MEMORY,
    };
    let exit = run_program(program).await?;
    let said = verdict(&exit.stdout);
    Ok(match said {
        Ok(_) if !exit.success => Err(Unsigned::Bad),
        Err(Unsigned::Unread(_)) => Err(Unsigned::Unread(format!("gpgv says nothing of it: {}", exit.complaint()))),
        said => said,
    })
}

/// Returns what `gpgv` says of a signature. Only one good signature counts, of a key that is neither too old nor withdrawn.
fn verdict(status: &str) -> Result<String, Unsigned> {
    let (mut good, mut valid) = (Vec::new(), 0_usize);
    for line in status.lines().filter_map(|line| line.strip_prefix(STATUS)) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (key, name) = rest.split_once(' ').unwrap_or((rest, ""));
        match word {
            "GOODSIG" => good.push(if name.is_empty() { key } else { name }),
            "VALIDSIG" => valid += 1,
            "NO_PUBKEY" => return Err(Unsigned::Unknown(key.to_owned())),
            "BADSIG" => return Err(Unsigned::Bad),
            "EXPSIG" | "EXPKEYSIG" | "REVKEYSIG" => return Err(Unsigned::Outdated(name.to_owned())),
            _ => {}
        }
    }
    match (good.as_slice(), valid) {
        ([name], 1) => Ok((*name).to_owned()),
        ([], 0) => Err(Unsigned::Unread(String::new())),
        _ => Err(Unsigned::Bad),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_good_signature_of_a_key_that_counts_is_a_signature() {
        let said = |lines: &[&str]| {
            verdict(&lines.iter().map(|line| format!("[GNUPG:] {line}\n")).collect::<String>())
                .map_err(|no| no.to_string())
        };
        let good = "GOODSIG 0123456789ABCDEF Alice <alice@example.org>";
        let valid = "VALIDSIG 0123456789ABCDEF0123456789ABCDEF01234567 2026-11-26 1795724544 0 4 0 22 10 00 0123";
        assert_eq!(said(&["NEWSIG", good, valid]).as_deref(), Ok("Alice <alice@example.org>"));
        let bad = Unsigned::Bad.to_string();
        for (lines, expected) in [
            (&["NEWSIG", good][..], bad.as_str()),
            (&["NEWSIG", good, valid, good, valid], &bad),
            (&["BADSIG 01 Alice"], &bad),
            (&["ERRSIG 01 22 10 00 1 9", "NO_PUBKEY 0123"], "it is signed by a key that nobody allowed, 0123"),
            (&["EXPKEYSIG 01 Alice", valid], "it is signed by Alice, whose key does not count at that time"),
            (&["REVKEYSIG 01 Alice", valid], "it is signed by Alice, whose key does not count at that time"),
            (&["EXPSIG 01 Alice", valid], "it is signed by Alice, whose key does not count at that time"),
            (&["NODATA 4"], ""),
        ] {
            assert_eq!(said(lines), Err(expected.to_owned()), "{lines:?}");
        }
        assert_eq!(verdict(good), Err(Unsigned::Unread(String::new())), "what is no status says nothing");
    }
}
