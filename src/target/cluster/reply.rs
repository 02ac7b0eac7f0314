//! Answers of an API server while they come: up to a bound, and lines of those that do not end.
//!
//! Nothing unpacks what is compressed, so a bound of what comes is one of what is held. Not here: how long an answer may take (`call`).

use futures::{AsyncBufRead, TryStreamExt};
use http::Response;
use http_body_util::BodyExt;
use kube::client::Body;

use super::json;
use crate::base::{Bounded, TooLarge};
use crate::target::{Quoting, Refusal, RefusalKind};

/// Largest answer that is read, in bytes: an object is at most 1.5 MiB, a page of 500 metadata a little more.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// How much of a refusal is read, in bytes: a server names the fields that it finds wrong, and quotes them.
const MAX_REFUSAL_BYTES: usize = 256 * 1024;

/// Why an answer was not read to its end.
pub(super) enum Unread {
    /// It is larger than it may be.
    TooLarge(TooLarge),
    /// The connection broke.
    Broken(kube::Error),
}

/// Reads an answer that must be whole.
pub(super) async fn whole(answer: Response<Body>) -> Result<Vec<u8>, Unread> {
    if is_refusal(&answer) {
        return beginning(answer.into_body()).await.map_err(Unread::Broken);
    }
    let mut bounded = Bounded::new(MAX_ANSWER_BYTES);
    let length = answer.headers().get("Content-Length").and_then(|length| length.to_str().ok()?.parse().ok());
    bounded.expect(length).map_err(Unread::TooLarge)?;
    let mut body = answer.into_body();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(Unread::Broken)?;
        if let Some(piece) = frame.data_ref() {
            bounded.take_in(piece).map_err(Unread::TooLarge)?;
        }
    }
    Ok(bounded.into_bytes())
}

/// Reads a refusal as far as it is worth; what is behind that is not waited for.
async fn beginning(mut body: Body) -> Result<Vec<u8>, kube::Error> {
    let mut bounded = Bounded::new(MAX_REFUSAL_BYTES);
    while let Some(frame) = body.frame().await {
        if frame?.data_ref().is_some_and(|piece| !bounded.take_some(piece)) {
            break;
        }
    }
    Ok(bounded.into_bytes())
}

fn is_refusal(answer: &Response<Body>) -> bool {
    answer.status().is_client_error() || answer.status().is_server_error()
}

/// Returns the lines of an answer that goes on, or the refusal that it is.
pub(super) async fn lines(answer: Response<Body>, attempt: &str) -> Result<impl AsyncBufRead + use<>, Refusal> {
    if is_refusal(&answer) {
        let code = answer.status().as_u16();
        let bytes = beginning(answer.into_body()).await.unwrap_or_default();
        return Err(Refusal::from_status(attempt, code, &json::read(&bytes).unwrap_or_default(), Quoting::Allowed));
    }
    if !answer.status().is_success() {
        let message = format!("{attempt}: the server answered {}", answer.status().as_u16());
        return Err(Refusal::new(RefusalKind::Server, message));
    }
    Ok(answer.into_body().into_data_stream().map_err(std::io::Error::other).into_async_read())
}
