//! Answers on what was opened, until told to stop; then lets requests that run come to their end.
//!
//! Not here: opening it (`listen.rs`), what a caller may (`caller.rs`).

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::util::MapRequest;

use super::caller::Caller;
use super::listen::Listeners;
use super::{metrics, router};
use crate::daemon::Daemon;

/// Connections that are open at once, on all listeners.
const CONNECTION_LIMIT: usize = 1_024;
/// Longest time until the head of a request is in.
const HEAD_DEADLINE: Duration = Duration::from_secs(10);
/// Largest head of a request, in bytes: the longest of ours names a secret and who asks.
const HEAD_BYTES: usize = 16 * 1024;
/// Most headers of a request.
const HEAD_COUNT: usize = 100;
/// Longest time for requests that run when the daemon stops.
const DRAIN_DEADLINE: Duration = Duration::from_secs(3);
/// Wait after a failed accept, such as one without a free file descriptor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until stopped, then removes the socket.
pub async fn serve(daemon: Daemon, listeners: Listeners, stop: CancellationToken) {
    let Listeners { api, metrics: metrics_listener, socket } = listeners;
    let places = Arc::new(Semaphore::new(CONNECTION_LIMIT));
    let routes = router(daemon.clone());
    let serving = |router: Router| Serving { router, places: places.clone(), stop: stop.clone() };
    let mut running = JoinSet::new();
    if let Some(listener) = api {
        running.spawn(serve_port(listener, serving(routes.clone())));
    }
    if let Some(listener) = metrics_listener {
        running.spawn(serve_port(listener, serving(metrics::router(daemon))));
    }
    let path = socket.as_ref().map(|(_, path)| path.clone());
    if let Some((listener, _)) = socket {
        running.spawn(serve_socket(listener, serving(routes)));
    }
    while running.join_next().await.is_some() {}
    if let Some(path) = path {
        // A daemon that starts later removes what is left.
        let _ = std::fs::remove_file(path);
    }
}

/// What is served on one listener.
#[derive(Clone)]
struct Serving {
    router: Router,
    places: Arc<Semaphore>,
    stop: CancellationToken,
}

async fn serve_port(listener: TcpListener, serving: Serving) {
    let accept = || async { listener.accept().await.map(|(stream, _)| Some((stream, Caller::Port))) };
    serve_listener(accept, serving).await;
}

async fn serve_socket(listener: UnixListener, serving: Serving) {
    let own = rustix::process::geteuid().as_raw();
    let accept = || async {
        let (stream, _) = listener.accept().await?;
        // Whoever is neither our own user nor root gets no answer at all.
        let peer = stream.peer_cred().map(|peer| peer.uid()).ok().filter(|uid| *uid == own || *uid == 0);
        Ok(peer.map(|uid| (stream, Caller::Socket { uid })))
    };
    serve_listener(accept, serving).await;
}

async fn serve_listener<S, F>(accept: impl Fn() -> F, serving: Serving)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = std::io::Result<Option<(S, Caller)>>>,
{
    let mut connections = JoinSet::new();
    loop {
        let (stream, caller) = tokio::select! {
            () = serving.stop.cancelled() => break,
            accepted = accept() => match accepted {
                Ok(Some(accepted)) => accepted,
                Ok(None) => continue,
                Err(error) => {
                    tracing::warn!(error = %error, "a connection was not accepted");
                    let _ = tokio::time::timeout(ACCEPT_PAUSE, serving.stop.cancelled()).await;
                    continue;
                }
            },
        };
        while connections.try_join_next().is_some() {}
        // At the limit a caller waits in the system's queue.
        let Ok(place) = serving.places.clone().acquire_owned().await else { break };
        let serving = serving.clone();
        connections.spawn(async move {
            serve_connection((stream, caller), serving).await;
            drop(place);
        });
    }
    drop(accept);
    let _ = tokio::time::timeout(DRAIN_DEADLINE, async { while connections.join_next().await.is_some() {} }).await;
}

async fn serve_connection<S>((stream, caller): (S, Caller), serving: Serving)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Serving { router, places: _, stop } = serving;
    let routes = MapRequest::new(router, said_by(caller));
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEAD_COUNT);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    tokio::pin!(connection);
    // How a connection ends is the caller's business.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(DRAIN_DEADLINE, connection).await;
        }
    }
}

/// Returns what notes on a request who sent it.
fn said_by<B>(caller: Caller) -> impl Fn(Request<B>) -> Request<B> + Clone {
    move |mut request| {
        request.extensions_mut().insert(caller);
        request
    }
}
