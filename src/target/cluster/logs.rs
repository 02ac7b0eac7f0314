//! Logs of containers, line by line as the API server passes them on, and the pods they come from.
//!
//! Not here: whose pods they are (`http`).

use std::pin::Pin;
use std::time::Duration;

use futures::io::AsyncBufReadExt;
use futures::{AsyncBufRead, StreamExt, stream};
use http::Request;
use kube::client::Body;
use serde_json::Value;

use super::Inner;
use super::call::{Call, DISCOVERY_DEADLINE, GET_DEADLINE};
use super::reply;
use crate::model::{Object, ObjectId};
use crate::target::address::segment;
use crate::target::{LogLines, LogRequest, Refusal, RefusalKind};

/// Pods of a namespace that are listed.
const PODS_LIMIT: usize = 500;
/// Longest line, in bytes; what is longer goes on in another line.
const MAX_LINE_BYTES: u64 = 16 * 1024;
/// Most bytes that are asked for of a log that ends.
const MAX_LOG_BYTES: usize = 4 * 1024 * 1024;

impl Inner {
    /// Lists the pods of a namespace.
    pub(super) async fn pods(&self, namespace: &str) -> Result<Vec<Object>, Refusal> {
        let path = format!("/api/v1/namespaces/{}/pods?limit={PODS_LIMIT}", segment(namespace));
        let (_, list) = self.call(Call::get(format!("list pods in {namespace}"), path, DISCOVERY_DEADLINE)).await?;
        let items = list.get("items").and_then(Value::as_array).into_iter().flatten();
        Ok(items.filter_map(|item| Object::from_value(item.clone())).collect())
    }

    /// Opens the log of a container. Only the opening has a deadline: a log that is followed ends with its container.
    pub(super) async fn log(&self, request: &LogRequest) -> Result<LogLines, Refusal> {
        let LogRequest { namespace, pod, container, tail, since_seconds, .. } = request;
        let id = ObjectId::new("", "Pod", namespace, pod);
        let attempt = format!("read the log of {container} in {id}");
        let mut uri = format!(
            "/api/v1/namespaces/{}/pods/{}/log?container={}&timestamps=true&tailLines={tail}",
            segment(namespace),
            segment(pod),
            segment(container)
        );
        if let Some(seconds) = since_seconds {
            uri.push_str(&format!("&sinceSeconds={seconds}"));
        }
        if request.previous {
            uri.push_str("&previous=true");
        }
        if request.follow {
            uri.push_str("&follow=true");
        } else {
            uri.push_str(&format!("&limitBytes={MAX_LOG_BYTES}"));
        }
        let follows = request.follow;
        let broken = |kind, what: String| Refusal::new(kind, format!("{attempt}: {what}"));
        let request = Request::builder()
            .uri(uri)
            .body(Body::empty())
            .map_err(|error| broken(RefusalKind::Server, error.to_string()))?;
        let client = self.client().await?;
        let opening = async {
            match client.send(request).await {
                Ok(answer) => reply::lines(answer, &attempt).await,
                Err(error) => Err(broken(RefusalKind::Server, crate::base::chain(&error))),
            }
        };
        let lines = match tokio::time::timeout(GET_DEADLINE / self.patience.haste, opening).await {
            // Behind the API server stands the node of the pod, so that this says nothing about the API server.
            Err(_) => return Err(broken(RefusalKind::Server, "the node of the pod did not answer".to_owned())),
            Ok(opened) => opened?,
        };
        let rest = Rest { lines: Box::pin(lines), left: MAX_LOG_BYTES, pause: GET_DEADLINE / self.patience.haste };
        let read = stream::unfold(rest, move |rest| next_line(rest, follows));
        Ok(read.boxed())
    }
}

/// What of a log is still to be read.
struct Rest<L> {
    lines: Pin<Box<L>>,
    /// Bytes that it may still have, if it is not followed.
    left: usize,
    /// How long the next line of one that is not followed may take.
    pause: Duration,
}

/// Returns the next line of a log. One that breaks off, goes on beyond what was asked for or stands still has ended; what came until then is
/// what there is.
async fn next_line<L: AsyncBufRead>(mut rest: Rest<L>, follows: bool) -> Option<(String, Rest<L>)> {
    let mut line = Vec::new();
    let mut limited = futures::AsyncReadExt::take(&mut rest.lines, MAX_LINE_BYTES);
    let read = limited.read_until(b'\n', &mut line);
    let read = if follows { read.await } else { tokio::time::timeout(rest.pause, read).await.ok()? };
    match read {
        Ok(0) | Err(_) => return None,
        Ok(bytes) if !follows => rest.left = rest.left.checked_sub(bytes)?,
        Ok(_) => {}
    }
    Some((String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned(), rest))
}
