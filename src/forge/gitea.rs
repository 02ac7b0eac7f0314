//! Gitea and Forgejo: `POST /api/v1/repos/{owner}/{repository}/statuses/{sha}`.
//!
//! Not here: other forges.

use serde_json::json;

use super::{Answer, CommitStatus, Error, Forge, StatusState, client};
use crate::base::Bounded;
use crate::model::{Purpose, SecretValue};

/// How much of a refusal is read, in bytes: its first line is quoted.
const MAX_REFUSAL_BYTES: usize = 16 * 1024;
/// Longest part of an answer that an error quotes, in characters.
const MAX_QUOTE_CHARS: usize = 200;

/// A repository on a Gitea.
#[derive(Debug)]
pub struct Gitea {
    origin: String,
    statuses: String,
    token: SecretValue,
    client: reqwest::Client,
}

impl Gitea {
    /// Names the repository by the address of its remote, such as `https://git.example.org/alice/cloud.git`.
    pub fn new(remote: &str, token: SecretValue) -> Result<Self, Error> {
        let wrong = || Error::Url { url: remote.to_owned() };
        let (scheme, rest) = remote.split_once("://").ok_or_else(wrong)?;
        let (host, path) = rest.split_once('/').ok_or_else(wrong)?;
        let path = path.trim_end_matches('/').trim_end_matches(".git");
        let mut parts = path.rsplitn(3, '/');
        let (Some(repository), Some(owner)) = (parts.next(), parts.next()) else { return Err(wrong()) };
        if !matches!(scheme, "http" | "https") || host.contains('@') || repository.is_empty() || owner.is_empty() {
            return Err(wrong());
        }
        // Gitea may live below a path of its host.
        let prefix = parts.next().map(|prefix| format!("/{prefix}")).unwrap_or_default();
        let origin = format!("{scheme}://{host}");
        let statuses = format!("{origin}{prefix}/api/v1/repos/{owner}/{repository}/statuses");
        let client = client().map_err(|source| Error::Unreachable {
            attempt: "set up a client",
            forge: origin.clone(),
            source,
        })?;
        Ok(Self { origin, statuses, token, client })
    }

    async fn post(&self, status: &CommitStatus) -> Result<(), Error> {
        let attempt = "post a commit status";
        let CommitStatus { commit, context, state, description, target_url } = status;
        let body = json!({
            "context": context,
            "state": word(*state),
            "description": description,
            "target_url": target_url,
        });
        let mut answer = self
            .client
            .post(format!("{}/{commit}", self.statuses))
            .header("Authorization", format!("token {}", self.token.expose(Purpose::Credential)))
            .json(&body)
            .send()
            .await
            .map_err(|source| Error::Unreachable {
                attempt,
                forge: self.origin.clone(),
                source: source.without_url(),
            })?;
        if answer.status().is_success() {
            return Ok(());
        }
        let code = answer.status().as_u16();
        // What is behind the part that is quoted is not waited for.
        let mut bounded = Bounded::new(MAX_REFUSAL_BYTES);
        while let Ok(Some(piece)) = answer.chunk().await {
            if !bounded.take_some(&piece) {
                break;
            }
        }
        let text = String::from_utf8_lossy(&bounded.into_bytes()).into_owned();
        let message = text.lines().next().unwrap_or_default().chars().take(MAX_QUOTE_CHARS).collect();
        Err(Error::Refused { attempt, forge: self.origin.clone(), status: code, message })
    }
}

impl Forge for Gitea {
    fn post_status<'a>(&'a self, status: &'a CommitStatus) -> Answer<'a, ()> {
        Box::pin(self.post(status))
    }
}

/// Returns Gitea's word for a state.
fn word(state: StatusState) -> &'static str {
    match state {
        StatusState::Pending => "pending",
        StatusState::Success => "success",
        StatusState::Warning => "warning",
        StatusState::Failure => "failure",
        StatusState::Error => "error",
    }
}

#[cfg(test)]
mod tests {
    use super::Gitea;
    use crate::model::SecretValue;

    fn check(remote: &str, expected: Option<&str>) {
        let found = Gitea::new(remote, SecretValue::new("t".into())).ok().map(|gitea| gitea.statuses);
        assert_eq!(found.as_deref(), expected, "{remote}");
    }

    #[test]
    fn the_address_of_a_remote_names_the_repository() {
        rustls::crypto::ring::default_provider().install_default().ok();
        check("http://127.0.0.1:3000/alice/cloud.git", Some("http://127.0.0.1:3000/api/v1/repos/alice/cloud/statuses"));
        check(
            "https://example.org/git/alice/cloud/",
            Some("https://example.org/git/api/v1/repos/alice/cloud/statuses"),
        );
        check("https://example.org/cloud", None);
        check("ssh://git@example.org/alice/cloud", None);
        check("https://bob:pass@example.org/alice/cloud", None);
    }
}
