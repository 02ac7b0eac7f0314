//! What is looked at beside apps when somebody asks whether all is well: hooks, grants, secrets in git.
//!
//! Not here: apps, clusters and modes of files, which every pass and every opening looks at.

use super::overview::overview;
use super::{Error, Instance, approvals, leaks};
use crate::git::hook::{self, Inspected};
use crate::model::{Check, CheckFinding, CheckKind, SETTINGS_PATH, SecretOrigin};
use crate::package;

/// Findings of a kind that are told; the rest is like them.
const MAX_FINDINGS: usize = 50;

/// Looks at all of it.
pub async fn checks(instance: &Instance) -> Result<Vec<Check>, Error> {
    Ok(vec![hooks(instance).await?, grants(instance).await?, secrets_in_git(instance).await?])
}

async fn hooks(instance: &Instance) -> Result<Check, Error> {
    let Inspected { ours, faults } = hook::inspect(&instance.repository).await?;
    let told = match ours.as_slice() {
        [] => "Nothing checks a push before it is taken: wild hook install".to_owned(),
        ours => format!("Git runs the hooks that look at what comes in: {}", ours.join(", ")),
    };
    let findings = faults.iter().map(|fault| CheckFinding {
        what: fault.to_string(),
        because: "what it would look at comes in unseen".to_owned(),
        remedy: format!("wild hook install {}", instance.repository.path().display()),
    });
    Ok(Check::of(CheckKind::Hooks, told, findings.collect()))
}

async fn grants(instance: &Instance) -> Result<Check, Error> {
    let (overview, secrets) = (overview(instance).await?, instance.secrets.read()?);
    let (mut granted, mut copied, mut findings) = (0, 0, Vec::new());
    let settings = overview.settings().ok();
    for app in overview.apps.keys() {
        let grants = settings.as_ref().map(|settings| settings.grants_of(app.as_str())).unwrap_or_default();
        granted += approvals::count(&grants);
        if let Some(waiting) = approvals::waiting(instance, app).await {
            findings.push(CheckFinding {
                what: format!("grants of {app} wait for a person: {}", waiting.grants.join(", ")),
                because: "they came in one push with what they are for".to_owned(),
                remedy: format!("wild operation list --app {app}"),
            });
        }
        let origins = secrets.origins().of_app(app.as_str());
        for (path, origin) in origins.filter(|(_, origin)| is_of_another(app.as_str(), origin)) {
            copied += 1;
            if !package::is_granted(origin, &grants.secrets) {
                findings.push(CheckFinding {
                    what: format!("{path} holds a value of another app that is not granted"),
                    because: format!("{SETTINGS_PATH} says nothing of it"),
                    remedy: format!("wild app reconcile {app}"),
                });
            }
        }
    }
    findings.truncate(MAX_FINDINGS);
    let told = format!(
        "{granted} grants are on record in {SETTINGS_PATH}, and each of the {copied} values that apps have of others is granted"
    );
    Ok(Check::of(CheckKind::Grants, told, findings))
}

fn is_of_another(app: &str, origin: &SecretOrigin) -> bool {
    let own = format!("apps.{app}.");
    origin.paths().into_iter().any(|path| !path.starts_with(&own))
}

async fn secrets_in_git(instance: &Instance) -> Result<Check, Error> {
    let overview = overview(instance).await?;
    let found = leaks::at(instance, &overview).await?;
    let findings = found.all().iter().take(MAX_FINDINGS).map(|leaked| CheckFinding {
        what: leaked.to_string(),
        because: "whoever reads the repository reads it".to_owned(),
        remedy: leaked.leak.remedy(),
    });
    let told = format!("{} at {} holds no secret in clear", instance.branch, overview.head.short());
    Ok(Check::of(CheckKind::SecretsInGit, told, findings.collect()))
}
