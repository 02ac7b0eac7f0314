//! A proxy before the cluster that answers in its place, loses answers, closes what it should keep open, or bends what a watch tells.
//!
//! Also read by `tests/live/weather.rs`. Not here: what must hold all the same (`weather.rs`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Largest body of a request.
const MAX_BODY: usize = 4 * 1024 * 1024;
/// Length of a frame that nobody reads to its end.
const TOO_LONG: usize = 9 * 1024 * 1024;
/// Nesting that no parser follows.
const DEPTH: usize = 1_000;

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// A code with this `Retry-After`, which may be empty, instead of an answer.
    Refuse(u16, &'static str),
    /// The request is carried out and its answer breaks off.
    LoseAnswer,
    /// The request is carried out and half of its answer comes, as if that were all.
    Truncate,
    /// The request is not carried out and has no answer.
    Reset,
    /// The request is not carried out, and its connection stays open.
    Hold,
    /// The request is carried out when it is released.
    Delay,
    /// The request is carried out, and its answer comes when it is released.
    DelayAnswer,
}

/// To which requests it goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum To {
    Writes,
    Watches,
    /// Watches that begin with a list.
    Lists,
    /// Pages of lists after the first.
    Pages,
    /// Changes of what has a path that ends so.
    WritesOf(&'static str),
    /// Reads of what has a path that ends so.
    ReadsOf(&'static str),
    /// Everything about the kinds of an API group.
    Group(&'static str),
    /// Everything but watches.
    Calls,
    All,
}

/// What becomes of the frames of watches.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Frames {
    /// They come as they are.
    #[default]
    Straight,
    /// Of each path, the first watch that has something to say says nothing more; the others are straight.
    Silent,
    /// Each comes twice.
    Twice,
    /// After each comes the one before it of the same object once more.
    Again,
    /// Only bookmarks come.
    Bookmarks,
    /// All but those of this type come.
    Without(&'static str),
    /// Lists are those that came first of all, and their watches end with them.
    Stale,
    /// Half of a frame comes, and the watch ends.
    Cut,
    /// Each object is nested deeper than a parser follows.
    Deep,
    /// Of the object of this name nothing comes that can be read.
    Unreadable(&'static str),
}

#[derive(Default)]
struct Weather {
    fault: Option<(To, Fault)>,
    left: usize,
    hits: usize,
}

/// How frames are bent, and what came of it.
#[derive(Default)]
struct Bend {
    frames: Frames,
    /// The paths of which a watch was silenced.
    silenced: BTreeSet<String>,
    /// The paths of which a list was complete.
    listed: BTreeSet<String>,
}

struct Shared {
    cluster: Mutex<String>,
    client: reqwest::Client,
    weather: Mutex<Weather>,
    /// Whether what is delayed may go on.
    released: watch::Sender<bool>,
    bend: Mutex<Bend>,
    /// By path, the frames of the first list that a watch began with.
    lists: Mutex<BTreeMap<String, Vec<Bytes>>>,
    /// By path and object, its last frame.
    last: Mutex<BTreeMap<String, Bytes>>,
    /// The paths of all deletions that were asked for.
    deletions: Mutex<Vec<String>>,
}

/// The proxy; it ends with this.
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    address: String,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    /// Starts a proxy before a cluster.
    pub(crate) async fn start(cluster: &str) -> Self {
        Self::start_with(cluster, reqwest::Client::new()).await
    }

    /// Starts a proxy before a cluster that takes this client for somebody it knows.
    pub(crate) async fn start_with(cluster: &str, client: reqwest::Client) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let bend = Mutex::default();
        let (weather, lists, last, deletions) = Default::default();
        let released = watch::Sender::new(false);
        let shared = Arc::new(Shared {
            cluster: Mutex::new(cluster.to_owned()),
            client,
            weather,
            released,
            bend,
            lists,
            last,
            deletions,
        });
        let router = Router::new().fallback(pass).with_state(shared.clone());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { shared, address, task }
    }

    /// Returns its address.
    pub(crate) fn url(&self) -> &str {
        &self.address
    }

    /// Stands before another cluster from now on.
    pub(crate) fn lead_to(&self, cluster: &str) {
        cluster.clone_into(&mut self.shared.cluster.lock().unwrap());
    }

    /// Lets the next requests of a sort go wrong.
    pub(crate) fn spoil(&self, to: To, fault: Fault, times: usize) {
        self.shared.released.send_replace(false);
        *self.shared.weather.lock().unwrap() = Weather { fault: Some((to, fault)), left: times, hits: 0 };
    }

    /// Bends the frames of watches from now on.
    pub(crate) fn bend(&self, frames: Frames) {
        *self.shared.bend.lock().unwrap() = Bend { frames, ..Bend::default() };
    }

    /// Returns whether every path that was listed before was listed again since frames are bent as they are.
    pub(crate) fn listed_anew(&self) -> bool {
        let bend = self.shared.bend.lock().unwrap();
        let lists = self.shared.lists.lock().unwrap();
        lists.keys().all(|path| bend.listed.contains(path))
    }

    /// Lets go on what is delayed.
    pub(crate) fn release(&self) {
        self.shared.released.send_replace(true);
    }

    /// Ends the bad weather.
    pub(crate) fn clear(&self) {
        self.shared.weather.lock().unwrap().left = 0;
    }

    /// Returns how often a deletion of what has this path was asked for.
    pub(crate) fn deletions(&self, path: &str) -> usize {
        self.shared.deletions.lock().unwrap().iter().filter(|it| *it == path).count()
    }

    /// Returns how many requests or frames went wrong.
    pub(crate) fn hits(&self) -> usize {
        self.shared.weather.lock().unwrap().hits
    }
}

impl Shared {
    fn fault(&self, request: &Request) -> Option<Fault> {
        let mut weather = self.weather.lock().unwrap();
        let (to, fault) = weather.fault?;
        let meant = match to {
            To::Writes => request.method() != Method::GET,
            To::WritesOf(path) => request.method() != Method::GET && request.uri().path().ends_with(path),
            To::ReadsOf(path) => request.method() == Method::GET && request.uri().path().ends_with(path),
            To::Watches => is_watch(request),
            To::Lists => asks(request, "sendInitialEvents"),
            To::Pages => asks(request, "continue="),
            To::Group(group) => request.uri().path().starts_with(&format!("/apis/{group}/")),
            To::Calls => !is_watch(request),
            To::All => true,
        };
        if !meant || weather.left == 0 {
            return None;
        }
        weather.left -= 1;
        weather.hits += 1;
        Some(fault)
    }

    async fn released(&self) {
        let _ = self.released.subscribe().wait_for(|released| *released).await;
    }

    fn hit(&self) {
        self.weather.lock().unwrap().hits += 1;
    }
}

fn is_watch(request: &Request) -> bool {
    asks(request, "watch=1")
}

fn asks(request: &Request, what: &str) -> bool {
    request.uri().query().is_some_and(|query| query.contains(what))
}

async fn pass(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    if request.method() == Method::DELETE {
        shared.deletions.lock().unwrap().push(request.uri().path().to_owned());
    }
    match shared.fault(&request) {
        None => forward(&shared, request).await,
        Some(Fault::Refuse(code, after)) => refusal(code, after),
        Some(Fault::Reset) => broken(),
        Some(Fault::LoseAnswer) => {
            forward(&shared, request).await;
            broken()
        }
        Some(Fault::Truncate) => {
            let (parts, body) = forward(&shared, request).await.into_parts();
            let bytes = axum::body::to_bytes(body, MAX_BODY).await.unwrap_or_default();
            Response::from_parts(parts, Body::from(bytes.slice(..bytes.len() / 2)))
        }
        Some(Fault::Hold) => std::future::pending().await,
        Some(Fault::Delay) => {
            shared.released().await;
            forward(&shared, request).await
        }
        Some(Fault::DelayAnswer) => {
            let answer = forward(&shared, request).await;
            shared.released().await;
            answer
        }
    }
}

async fn forward(shared: &Arc<Shared>, request: Request) -> Response {
    let watch = is_watch(&request).then(|| (request.uri().path().to_owned(), request.uri().to_string()));
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MAX_BODY).await.unwrap();
    let cluster = shared.cluster.lock().unwrap().clone();
    let target = format!("{cluster}{}", parts.uri.path_and_query().map_or("/", |path| path.as_str()));
    let mut forwarded = shared.client.request(parts.method, target).body(body);
    for name in ["accept", "content-type"] {
        if let Some(value) = parts.headers.get(name) {
            forwarded = forwarded.header(name, value);
        }
    }
    let Ok(answer) = forwarded.send().await else { return broken() };
    let mut response = Response::builder().status(answer.status());
    if let Some(kind) = answer.headers().get("content-type") {
        response = response.header("content-type", kind);
    }
    let body = match watch.filter(|_| answer.status().is_success()) {
        None => Body::from_stream(answer.bytes_stream()),
        Some((path, uri)) => Body::from_stream(Watch::open(shared, path, &uri, answer).frames()),
    };
    response.body(body).unwrap()
}

/// An open watch.
struct Watch {
    shared: Arc<Shared>,
    path: String,
    bytes: BoxStream<'static, reqwest::Result<Bytes>>,
    rest: Vec<u8>,
    out: VecDeque<Bytes>,
    ended: bool,
    /// The frames of its list, until that is complete.
    list: Option<Vec<Bytes>>,
}

impl Watch {
    fn open(shared: &Arc<Shared>, path: String, uri: &str, answer: reqwest::Response) -> Self {
        let bend = shared.bend.lock().unwrap();
        let is_list = uri.contains("sendInitialEvents");
        let stale = (bend.frames == Frames::Stale && is_list).then(|| shared.lists.lock().unwrap().get(&path).cloned());
        let out: VecDeque<Bytes> = stale.flatten().unwrap_or_default().into();
        let ended = !out.is_empty();
        if ended {
            shared.hit();
        }
        Self {
            shared: shared.clone(),
            path,
            bytes: answer.bytes_stream().boxed(),
            rest: Vec::new(),
            out,
            ended,
            list: is_list.then(Vec::new),
        }
    }

    fn frames(self) -> impl futures::Stream<Item = Result<Bytes, std::io::Error>> {
        stream::unfold(self, |mut watch| async move { watch.next().await.map(|frame| (Ok(frame), watch)) })
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.out.pop_front() {
                return Some(frame);
            }
            if self.ended {
                return None;
            }
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line = Bytes::from(self.rest.drain(..=end).collect::<Vec<u8>>());
                self.bend(line).await;
            } else {
                self.rest.extend_from_slice(&self.bytes.next().await?.ok()?);
            }
        }
    }

    /// Takes a frame in and puts out what is to come of it.
    async fn bend(&mut self, line: Bytes) {
        let frame: Value = serde_json::from_slice(&line).unwrap();
        let metadata = &frame["object"]["metadata"];
        let sort = frame["type"].as_str().unwrap();
        let key = format!("{} {} {}", self.path, metadata["namespace"], metadata["name"]);
        if let Some(list) = &mut self.list {
            list.push(line.clone());
            if metadata["annotations"]["k8s.io/initial-events-end"] == "true" {
                let list = self.list.take().unwrap();
                self.shared.bend.lock().unwrap().listed.insert(self.path.clone());
                self.shared.lists.lock().unwrap().entry(self.path.clone()).or_insert(list);
            }
        }
        let before = self.shared.last.lock().unwrap().insert(key, line.clone());
        let (frames, first) = {
            let mut bend = self.shared.bend.lock().unwrap();
            (bend.frames, bend.silenced.insert(self.path.clone()))
        };
        let out: Vec<Bytes> = match frames {
            Frames::Silent if first => {
                self.shared.hit();
                std::future::pending().await
            }
            Frames::Straight | Frames::Silent | Frames::Stale => return self.out.push_back(line),
            Frames::Twice => vec![line.clone(), line],
            Frames::Again if sort == "MODIFIED" && before.is_some() => {
                [Some(line), before].into_iter().flatten().collect()
            }
            Frames::Bookmarks if sort != "BOOKMARK" => Vec::new(),
            Frames::Without(other) if sort == other => Vec::new(),
            Frames::Cut => {
                self.ended = true;
                vec![line.slice(..line.len() / 2)]
            }
            Frames::Deep => {
                let text = String::from_utf8(line.to_vec()).unwrap();
                let deep = format!("\"object\":{{\"deep\":{}{},", "[".repeat(DEPTH), "]".repeat(DEPTH));
                assert!(text.contains("\"object\":{"), "{text}");
                vec![text.replacen("\"object\":{", &deep, 1).into()]
            }
            Frames::Unreadable(name) if metadata["name"] == name => unreadable(name).into(),
            Frames::Again | Frames::Bookmarks | Frames::Without(_) | Frames::Unreadable(_) => {
                return self.out.push_back(line);
            }
        };
        self.shared.hit();
        self.out.extend(out);
    }
}

/// How many frames that cannot be read come in the place of one.
pub(crate) const UNREADABLE: usize = 5;

/// Returns frames of an object that is not UTF-8, that is too long, that has no name, that has no version and that is no object.
fn unreadable(name: &str) -> [Bytes; UNREADABLE] {
    let named = format!("{{\"type\":\"MODIFIED\",\"object\":{{\"metadata\":{{\"name\":\"{name}\"}},\"x\":\"");
    let ending = |text: &[u8]| Bytes::from([named.as_bytes(), text, b"\"}}\n"].concat());
    let of = |object: Value| Bytes::from(format!("{}\n", json!({"type": "MODIFIED", "object": object})));
    let (unnamed, unversioned) = (json!({"metadata": {"name": 5}}), json!({"metadata": {"name": name}}));
    [ending(b"\xff"), ending(&vec![b'x'; TOO_LONG]), of(unnamed), of(unversioned), of(json!([name]))]
}

fn refusal(code: u16, after: &str) -> Response {
    let reason = match code {
        410 => "Expired",
        504 => "Timeout",
        _ => "InternalError",
    };
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": "the weather is bad"});
    let mut response = (StatusCode::from_u16(code).unwrap(), status.to_string()).into_response();
    if !after.is_empty() {
        response.headers_mut().insert("retry-after", after.parse().unwrap());
    }
    response
}

/// Returns an answer that breaks off.
fn broken() -> Response {
    let lost = stream::once(async { Err::<Bytes, _>(std::io::Error::other("lost")) });
    Response::new(Body::from_stream(lost.boxed()))
}
