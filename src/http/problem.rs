//! Format. `application/problem+json` of RFC 9457 with the three parts that people read: `detail` (what was attempted), `because` and `try`;
//! `exitCode` is the code of the command that asked, and `error` is what older clients of the predecessor look for.
//!
//! Not here: printing it (`cli`).

use axum::body::Body;
use axum::http::{HeaderValue, Response as HttpResponse, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::base::chain;
use crate::compile;
use crate::git;
use crate::model::{Diagnostic, RefusalText};
use crate::pipeline;
use crate::store;

/// Why a request was not done.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Problem {
    status: u16,
    exit_code: u8,
    what: String,
    because: String,
    remedy: String,
    findings: Vec<Diagnostic>,
}

impl Problem {
    /// Returns a problem whose command ends with 2.
    pub(super) fn new(
        status: u16,
        what: impl Into<String>,
        because: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (what, because, remedy) = (what.into(), because.into(), remedy.into());
        Self { status, exit_code: 2, what, because, remedy, findings: Vec::new() }
    }

    /// Returns the problem with another exit code.
    #[must_use]
    pub(super) fn with_exit_code(mut self, code: u8) -> Self {
        self.exit_code = code;
        self
    }

    /// Returns the problem with another reason, where the own one could quote a secret.
    #[must_use]
    pub(super) fn without_reason(mut self, because: &str) -> Self {
        self.because = because.to_owned();
        self
    }

    /// Returns the problem of something in a request that does not parse.
    pub(super) fn unreadable(what: impl Into<String>, because: impl Into<String>) -> Self {
        Self::new(422, what, because, "wild --help")
    }

    /// Returns the problem of a refusal.
    pub(super) fn of_refusal(refusal: &RefusalText) -> Self {
        let RefusalText { code, what, because, remedy, diagnostics } = refusal;
        let status = if *code == 2 { 422 } else { 409 };
        let findings = diagnostics.clone();
        Self {
            status,
            exit_code: *code,
            what: what.clone(),
            because: because.clone(),
            remedy: remedy.clone(),
            findings,
        }
    }

    fn document(&self) -> Value {
        let Self { status, exit_code, what, because, remedy, findings } = self;
        let slug = match status {
            400 | 422 => "invalid",
            401 | 403 => "not-allowed",
            404 | 405 => "not-found",
            409 => "blocked",
            504 => "timed-out",
            _ => "failed",
        };
        let title = StatusCode::from_u16(*status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Failed");
        json!({
            "type": format!("https://rewild.dev/problems/{slug}"),
            "title": title,
            "status": status,
            "detail": what,
            "code": slug,
            "because": because,
            "try": remedy,
            "error": format!("{what}: {because}"),
            "exitCode": exit_code,
            "errors": findings.iter().map(error).collect::<Vec<_>>(),
        })
    }
}

/// Returns a finding as an entry of `errors`. One that a grant ends names it.
fn error(found: &Diagnostic) -> Value {
    let mut error = json!({"pointer": "", "detail": found.to_string()});
    if found.id == compile::NOT_GRANTED
        && let Some(fields) = error.as_object_mut()
    {
        fields.insert("grant".to_owned(), Value::from(found.subject.clone()));
        fields.insert("asks".to_owned(), Value::from(found.message.clone()));
    }
    error
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = HttpResponse::new(Body::from(self.document().to_string()));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}

impl From<pipeline::Error> for Problem {
    fn from(error: pipeline::Error) -> Self {
        match error {
            pipeline::Error::Refused(refusal) => Self::of_refusal(&refusal),
            pipeline::Error::Git(error) => error.into(),
            pipeline::Error::Store(error) => error.into(),
            pipeline::Error::Settings(error) => {
                Self::new(500, "use a file of the instance", chain(&error), "wild status")
            }
        }
    }
}

impl From<git::Error> for Problem {
    fn from(error: git::Error) -> Self {
        Self::new(500, "read the repository", chain(&error), "git fsck, in the repository of the instance")
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        Self::new(500, "use the store", chain(&error), "check the disk of the state directory")
    }
}

impl From<&compile::Refusal> for Problem {
    fn from(refusal: &compile::Refusal) -> Self {
        let code = match refusal {
            compile::Refusal::User(_) => 2,
            compile::Refusal::Undecided(_) => 3,
            compile::Refusal::Blocked(_) => 6,
        };
        let compile::Explanation { what, because, remedy, diagnostics } = refusal.explanation().clone();
        Self::of_refusal(&RefusalText { code, what, because, remedy, diagnostics })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_holds_the_three_parts_the_exit_code_and_the_older_text() {
        let problem = Problem::new(404, "find the app x", "there is none", "wild app list").document();
        let expected = json!({
            "type": "https://rewild.dev/problems/not-found", "title": "Not Found", "status": 404, "detail": "find the app x",
            "code": "not-found", "because": "there is none", "try": "wild app list", "error": "find the app x: there is none",
            "exitCode": 2, "errors": [],
        });
        assert_eq!(problem, expected);
    }

    #[test]
    fn a_refusal_keeps_its_exit_code_and_its_findings() {
        let refusal = RefusalText {
            code: 6,
            what: "a".into(),
            because: "b".into(),
            remedy: "c".into(),
            diagnostics: vec![Diagnostic::error("T201", "x.yaml", 3, "no such key")],
        };
        let document = Problem::of_refusal(&refusal).document();
        assert_eq!((document["status"].as_u64(), document["exitCode"].as_u64()), (Some(409), Some(6)));
        assert_eq!(document["errors"][0]["detail"], "x.yaml:3: T201: no such key");
    }
}
