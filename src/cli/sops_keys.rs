//! What files that SOPS encrypted are merged with, for commands that merge without a daemon.
//!
//! Not here: where keys come from (`settings`), the merge (`merge`).

use super::session::Session;
use crate::base::RepoPath;
use crate::merge::{SopsKeys, is_encrypted};
use crate::settings::{self, SopsSources};
use crate::yaml::sops::{Seed, SopsFile};

/// Returns the keys for some files, each with the texts of its sides; nothing where none is encrypted. What is wrong with a source of keys is
/// told only where a file stays closed.
pub(super) async fn sops_keys(session: &mut Session<'_>, files: &[(RepoPath, Vec<&str>)]) -> Option<SopsKeys> {
    let encrypted = files.iter().filter(|(path, texts)| is_encrypted(path, texts.iter().copied()));
    let read: Vec<SopsFile> =
        encrypted.flat_map(|(_, texts)| texts).filter_map(|text| SopsFile::read(text).ok()).collect();
    if read.is_empty() {
        return None;
    }
    let sources = SopsSources::of(&session.environment.variables, &session.environment.directory);
    let found = sources.data_keys(&read).await;
    if read.iter().any(|file| file.key_among(&found.data_keys).is_err()) {
        found.problems.iter().for_each(|problem| session.note(problem));
    }
    let mut seed = [0; 32];
    settings::fill(&mut seed).ok()?;
    Some(SopsKeys { data_keys: found.data_keys, seed: Seed::new(seed), time: (session.environment.clock)() })
}
