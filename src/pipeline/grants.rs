//! What an app may have of other apps' secrets, judged by the committed revision alone, and secrets.yaml brought to that.
//!
//! It runs before anything of a pass looks at a value: what nobody granted by now goes out of the file, what was granted comes in. So a value is
//! copied only after its grant is on record, whatever way the commit took, and an update that nobody deployed leaves nothing behind. Not here: the
//! judgement (`package`), grants in the settings (`compile`).

use std::sync::Arc;

use super::commit::System;
use super::overview::Overview;
use super::read::Sight;
use super::{Error, Instance, approvals, statuses};
use crate::base::RepoPath;
use crate::compile;
use crate::model::{AppName, FileTree, Operation, Secrets};
use crate::observe;
use crate::package::{self, SecretCopy, SecretNeeds, Settlement};
use crate::plan::{Presence, UnapprovedGrants};

/// Looks at secrets.yaml for one app: another app may change a value that this one copies at the same moment, and the third look shows that.
const MAX_LOOKS: usize = 3;

/// The secrets as an app may see them.
pub(super) struct Judged {
    /// All values, without those that the app may not have.
    pub(super) secrets: Arc<Secrets>,
    /// What it reads of other apps and may not have.
    pub(super) withheld: Vec<SecretCopy>,
    /// Grants that wait for a person's word.
    pub(super) unapproved: Option<UnapprovedGrants>,
}

/// Brings secrets.yaml to what an app may have, and returns the values.
pub(super) async fn settle(
    instance: &Instance,
    app: &AppName,
    sight: &Sight,
    operation: Option<&Operation>,
) -> Result<Judged, Error> {
    // The head counts as seen only once it is known what of it waits for a person.
    statuses::seen(instance).await?;
    approvals::approve(instance, app, operation.and_then(|operation| operation.request.as_ref())).await?;
    let secrets = instance.secrets.read()?;
    let taken_back = taken_back(app, sight, &secrets);
    instance.secrets.settle(&taken_back, &[])?;
    for _ in 0..MAX_LOOKS {
        let secrets = instance.secrets.read()?;
        let unapproved = approvals::waiting(instance, app).await;
        let needs = needs(app, sight, &secrets, unapproved.as_ref());
        let Some(needs) = needs.filter(|needs| !needs.is_settled(&secrets)) else { break };
        let context = compile::secret_context(app, &with_config(sight)).unwrap_or_default();
        let mut entropy = System { failure: None };
        let Settlement { withdraw, add } = package::settle(&needs.with_context(context), &secrets, &mut entropy);
        if let Some(failure) = entropy.failure {
            return Err(failure.into());
        }
        if withdraw.is_empty() && add.is_empty() {
            break;
        }
        instance.secrets.settle(&withdraw, &add)?;
    }
    judge(instance, app, sight).await
}

/// Returns the values without writing anything.
pub(super) async fn judge(instance: &Instance, app: &AppName, sight: &Sight) -> Result<Judged, Error> {
    let secrets = instance.secrets.read()?;
    let unapproved = approvals::waiting(instance, app).await;
    let Some(needs) = needs(app, sight, &secrets, unapproved.as_ref()) else {
        return Ok(Judged { secrets, withheld: Vec::new(), unapproved });
    };
    let withheld = needs.withheld(&secrets);
    let withdrawn = needs.withdrawn(&secrets);
    if withdrawn.is_empty() {
        return Ok(Judged { secrets, withheld, unapproved });
    }
    let mut seen = Secrets::clone(&secrets);
    withdrawn.iter().for_each(|path| seen.remove(path));
    Ok(Judged { secrets: Arc::new(seen), withheld, unapproved })
}

/// Returns what an app wants, judged; nothing of one that does not read, or neither reads a secret of another app nor has a value of one. One that
/// is gone wants nothing of others, whatever way it went and whether it was ever deployed.
fn needs(
    app: &AppName,
    sight: &Sight,
    secrets: &Secrets,
    unapproved: Option<&UnapprovedGrants>,
) -> Option<SecretNeeds> {
    let is_there = matches!(sight.presence, Presence::Kept | Presence::Added | Presence::Moves);
    let needs = match observe::secret_needs(&sight.files, app) {
        _ if !is_there => SecretNeeds::none(app.clone()),
        Ok(Some(needs)) => needs,
        Ok(None) => SecretNeeds::none(app.clone()),
        Err(_) => return None,
    };
    if needs.copies.is_empty() && secrets.origins().of_app(app.as_str()).next().is_none() {
        return None;
    }
    let mut granted = sight.settings.grants_of(app.as_str()).secrets;
    granted.retain(|grant| unapproved.is_none_or(|unapproved| !unapproved.holds_secret(grant)));
    Some(judged(needs, &sight.overview, &granted, secrets))
}

/// Returns the values of an app whose manifest does not read that hold what it is not granted any more. The others stay: nobody knows what it
/// wants, and what made them may be chance.
fn taken_back(app: &AppName, sight: &Sight, secrets: &Secrets) -> Vec<String> {
    if observe::secret_needs(&sight.files, app).is_ok() {
        return Vec::new();
    }
    let granted = sight.settings.grants_of(app.as_str()).secrets;
    let all = secrets.origins().of_app(app.as_str());
    all.filter(|(_, origin)| !package::is_granted(origin, &granted)).map(|(path, _)| path.to_owned()).collect()
}

/// Returns needs with a judgement of every copy by a revision.
pub(super) fn judged(needs: SecretNeeds, overview: &Overview, granted: &[String], secrets: &Secrets) -> SecretNeeds {
    let consents = compile::consents(&overview.files, granted, &needs, secrets.origins());
    needs.judged(&consents)
}

/// Returns the files of an app with the config of the instance.
fn with_config(sight: &Sight) -> FileTree {
    let mut files = sight.files.clone();
    if let (Ok(path), Some(config)) = (RepoPath::parse("config.yaml"), sight.overview.files.get("config.yaml")) {
        files.insert(path, config.clone());
    }
    files
}
