//! The one entry point of all requests to the API server: a deadline over the whole call, refusals told apart, reachability noted.
//!
//! Not here: watches, which last (`watch`).

use std::time::{Duration, Instant};

use http::{Method, Request};
use kube::client::Body;
use serde_json::Value;

use super::discovery::of_group;
use super::reply::{self, Unread};
use super::{Inner, Kind, json, locked};
use crate::model::{Object, ObjectId};
use crate::target::quoted::quotes_secret;
use crate::target::{Quoting, Refusal, RefusalKind};

/// How long reading one object may take.
pub(super) const GET_DEADLINE: Duration = Duration::from_secs(10);
/// How long a write may take; an admission webhook may use 30 s of it.
pub(super) const WRITE_DEADLINE: Duration = Duration::from_secs(35);
/// How long a deletion may take.
pub(super) const DELETE_DEADLINE: Duration = Duration::from_secs(30);
/// How long asking for the kinds of a group may take.
pub(super) const DISCOVERY_DEADLINE: Duration = Duration::from_secs(15);
/// Watches that are quiet at the same time ask for one answer in so long.
const DOUBT_PAUSE: Duration = Duration::from_secs(1);
/// Accept header for answers that hold metadata only.
pub(super) const METADATA_FORM: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/// The same for lists, which the server refuses in the form of single objects.
const METADATA_LIST_FORM: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// How much of an object is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// All of it.
    Full,
    /// Its metadata.
    Metadata,
    /// The metadata of each object of a list.
    MetadataList,
}

/// A request before it is sent.
#[derive(Clone)]
pub(super) struct Call<'a> {
    /// What is attempted on what, for messages.
    pub(super) attempt: String,
    /// Method.
    pub(super) method: Method,
    /// Path and query.
    pub(super) path: String,
    /// Body and its content type.
    pub(super) body: Option<(&'a Value, &'static str)>,
    /// As whom it is sent, if not as ourselves.
    pub(super) user: Option<&'a str>,
    /// What form the answer has.
    pub(super) form: Form,
    /// Whether the answer may be quoted.
    pub(super) quoting: Quoting,
    /// How long it may take, answer included.
    pub(super) deadline: Duration,
}

impl Call<'_> {
    /// Returns a read of a path.
    pub(super) fn get(attempt: impl Into<String>, path: String, deadline: Duration) -> Self {
        Call {
            attempt: attempt.into(),
            method: Method::GET,
            path,
            body: None,
            user: None,
            form: Form::Full,
            quoting: Quoting::Allowed,
            deadline,
        }
    }
}

impl<'a> Call<'a> {
    /// Returns a write about an object, with its body and the content type of that.
    pub(super) fn write(
        (attempt, id): (String, &ObjectId),
        (method, path): (Method, String),
        body: (&'a Value, &'static str),
    ) -> Self {
        let (form, quoting) = (Form::Full, quoting(id));
        Call { attempt, method, path, body: Some(body), user: None, form, quoting, deadline: WRITE_DEADLINE }
    }
}

impl Inner {
    /// Sends a request and returns status code and JSON answer of a success, or the refusal.
    pub(super) async fn call(&self, call: Call<'_>) -> Result<(u16, Value), Refusal> {
        let result = self.aside(call).await;
        // That it failed at one request says neither that it answers nor that it does not.
        if !matches!(&result, Err(refusal) if refusal.kind == RefusalKind::Server) {
            self.note(result.as_ref().err());
        }
        result
    }

    /// The same for what a server knows without its store: an answer does not end its silence.
    pub(super) async fn ask(&self, call: Call<'_>) -> Result<(u16, Value), Refusal> {
        let result = self.aside(call).await;
        match &result {
            Err(refusal) if refusal.is_unreachable() => self.note(Some(refusal)),
            _ => self.note_word(),
        }
        result
    }

    /// The same, and nothing is concluded from it about whether the server answers.
    pub(super) async fn aside(&self, call: Call<'_>) -> Result<(u16, Value), Refusal> {
        let attempt = call.attempt.clone();
        let deadline = call.deadline / self.patience.haste;
        let method = call.method.clone();
        let begun = Instant::now();
        // A program that signs in has a deadline of its own.
        let result = match self.client_after(begun).await {
            Ok(client) => tokio::time::timeout(deadline, self.introduced(client, call, begun)).await,
            Err(refusal) => Ok(Err(refusal)),
        };
        let result = match result {
            Ok(result) => result,
            Err(_) => {
                self.counts.request(&method, 0);
                let message = format!("{attempt}: no answer within {} s", deadline.as_secs());
                Err(Refusal::new(RefusalKind::Timeout, message))
            }
        };
        self.counts.took(&method, begun.elapsed());
        result
    }

    /// Sends a request, and once more with other credentials where the server does not know those that we have and somebody put new ones there.
    async fn introduced(&self, client: kube::Client, call: Call<'_>, begun: Instant) -> Result<(u16, Value), Refusal> {
        match self.exchange(client, call.clone()).await {
            Err(refusal) if refusal.kind == RefusalKind::Unauthorized && self.connection.reload(begun).await => {
                self.exchange(self.client().await?, call).await
            }
            answer => answer,
        }
    }

    /// Returns the client for a call that began at a time, with other credentials where the server does not know those that we have.
    async fn client_after(&self, begun: Instant) -> Result<kube::Client, Refusal> {
        match self.client().await {
            Err(refusal) if refusal.kind == RefusalKind::Unauthorized && self.connection.reload(begun).await => {
                self.client().await
            }
            client => client,
        }
    }

    pub(super) async fn exchange(&self, client: kube::Client, call: Call<'_>) -> Result<(u16, Value), Refusal> {
        let Call { attempt, method, path, body, user, form, quoting, deadline: _ } = call;
        let broken = |what: &str| Refusal::new(RefusalKind::Server, format!("{attempt}: {what}"));
        let accept = match form {
            Form::Full => "application/json",
            Form::Metadata => METADATA_FORM,
            Form::MetadataList => METADATA_LIST_FORM,
        };
        let request = Request::builder().method(method.clone()).uri(path).header("Accept", accept);
        let request = match user {
            Some(user) => request.header("Impersonate-User", user),
            None => request,
        };
        let request = match body {
            Some((value, content_type)) => {
                request.header("Content-Type", content_type).body(Body::from(value.to_string().into_bytes()))
            }
            None => request.body(Body::empty()),
        };
        let request = request.map_err(|error| broken(&format!("the request cannot be built: {error}")))?;
        let answer = client.send(request).await.map_err(|error| {
            self.counts.request(&method, 0);
            let kind = if was_sent(&error) { RefusalKind::Timeout } else { RefusalKind::Unreachable };
            Refusal::new(kind, format!("{attempt}: {}", crate::base::chain(&error)))
        })?;
        let code = answer.status().as_u16();
        self.counts.request(&method, code);
        // A date, or a number that no wait could be, says no more than that the server is busy.
        let asked = answer.headers().get("Retry-After").and_then(|value| value.to_str().ok()?.parse::<u32>().ok());
        let bytes = reply::whole(answer).await.map_err(|unread| match unread {
            Unread::TooLarge(size) => broken(&format!("the answer is refused: {size}")),
            Unread::Broken(error) => {
                Refusal::new(RefusalKind::Timeout, format!("{attempt}: {}", crate::base::chain(&error)))
            }
        })?;
        let value: Value = json::read(&bytes).unwrap_or(Value::Null);
        if (200..300).contains(&code) {
            return if value.is_null() { Err(broken("the answer is no JSON")) } else { Ok((code, value)) };
        }
        let message = value.get("message").and_then(Value::as_str).unwrap_or_default();
        let is_secret = body.is_some_and(|(sent, _)| quotes_secret(message, sent));
        let quoting = if is_secret { Quoting::Forbidden } else { quoting };
        let refusal = Refusal::from_status(&attempt, code, &value, quoting);
        Err(Refusal { retry_after: asked.map(|seconds| Duration::from_secs(u64::from(seconds))), ..refusal })
    }

    /// Reads the namespace of our own objects, which no server answers whose store does not. That it is not there, or not to be read by us,
    /// is an answer; that the server is busy leaves open what was thought of it.
    pub(super) async fn probe(&self) -> Result<(), Refusal> {
        if locked(&self.reachability).is_silent() {
            self.connection.renew().await;
        }
        let path = format!("/api/v1/namespaces/{}", self.control_namespace);
        let call = Call::get("ask the API server whether it answers", path, GET_DEADLINE);
        let answer = match self.aside(Call { form: Form::Metadata, ..call }).await {
            Err(refusal) if refusal.kind == RefusalKind::Busy => return Err(refusal),
            Err(refusal) if refusal.kind == RefusalKind::Server => {
                Err(Refusal { kind: RefusalKind::Unreachable, ..refusal })
            }
            Err(refusal) if refusal.is_unreachable() => Err(refusal),
            Ok(_) | Err(_) => Ok(()),
        };
        self.note(answer.as_ref().err());
        answer
    }

    /// Asks whether a server answers from which nothing came for a while; refuses if it does not.
    pub(super) async fn doubt(&self) -> Result<(), Refusal> {
        let mut doubted = self.doubted.lock().await;
        if doubted.is_some_and(|at| at.elapsed() < DOUBT_PAUSE) {
            return match self.silence() {
                Some(why) => Err(Refusal::new(RefusalKind::Unreachable, why)),
                None => Ok(()),
            };
        }
        let answer = self.probe().await.or_else(|why| if why.is_unreachable() { Err(why) } else { Ok(()) });
        *doubted = Some(Instant::now());
        answer
    }

    /// Reads one object.
    pub(super) async fn read(&self, id: &ObjectId, api_version: &str, form: Form) -> Result<Option<Object>, Refusal> {
        let path = match self.object_path(&Kind::of(id, api_version), &id.namespace, &id.name).await {
            Err(refusal) if refusal.kind == RefusalKind::UnknownKind => return Ok(None),
            // Nothing can be there.
            Err(Refusal { kind: RefusalKind::Invalid(_), .. }) => return Ok(None),
            other => other?,
        };
        let _permit = self.reads.acquire().await;
        let call = Call { form, quoting: quoting(id), ..Call::get(format!("read {id}"), path, GET_DEADLINE) };
        match self.call(call).await {
            Ok((_, value)) => Ok(Object::from_value(value)),
            Err(refusal) if refusal.kind == RefusalKind::NotFound => Ok(None),
            // A server that is busy itself says how long to wait; one that cannot reach the server behind a group does not.
            Err(refusal) if refusal.retry_after.is_none() => Err(of_group(&id.group, refusal)),
            Err(refusal) => Err(refusal),
        }
    }
}

/// Returns whether a request without an answer may have been carried out: a connection was there.
fn was_sent(error: &kube::Error) -> bool {
    let first: &(dyn std::error::Error + 'static) = error;
    let mut causes = std::iter::successors(Some(first), |error| error.source());
    causes
        .find_map(|cause| cause.downcast_ref::<hyper_util::client::legacy::Error>())
        .is_some_and(|it| !it.is_connect())
}

/// Returns whether answers about an object may be quoted: not those about a Secret.
pub(super) fn quoting(id: &ObjectId) -> Quoting {
    if id.group.is_empty() && id.kind == "Secret" { Quoting::Forbidden } else { Quoting::Allowed }
}
