//! Our ApplySet parent: one ConfigMap per instance that names the kinds and namespaces of our objects, so that other tools can list them
//! and a lost store can be rebuilt. It grows before the first object of a kind or namespace is applied.
//!
//! Not here: the label on members (`plan::marks`).

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::call::{Call, Form, GET_DEADLINE, WRITE_DEADLINE};
use super::{Inner, Kind, locked};
use crate::base::sha256;
use crate::target::{Quoting, Refusal, RefusalKind};

/// How often a parent that somebody else writes at the same time is read again.
const WRITE_ROUNDS: usize = 3;
/// How long after a write of the parent the next one waits for company. The first of a burst is written at once; in a long one each costs more
/// the more it names, and other apps are written meanwhile.
const GATHER: Duration = Duration::from_millis(400);
/// Label that makes an object a parent; kubectl ships this name.
const ID_LABEL: &str = "applyset.kubernetes.io/id";
/// Annotation with the tool that owns the set.
const TOOLING: &str = "applyset.kubernetes.io/tooling";
/// Annotation with the kinds of the members.
const GROUP_KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
/// Annotation with the namespaces of the members beside the parent's own.
const NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";

/// What a parent names.
#[derive(Clone, Default)]
struct Members {
    kinds: BTreeSet<String>,
    namespaces: BTreeSet<String>,
}

impl Members {
    fn holds(&self, wanted: &Self) -> bool {
        wanted.kinds.is_subset(&self.kinds) && wanted.namespaces.is_subset(&self.namespaces)
    }

    fn add(&mut self, more: &Self) {
        self.kinds.extend(more.kinds.iter().cloned());
        self.namespaces.extend(more.namespaces.iter().cloned());
    }
}

/// The parent as we know it, and what waits to be written into it. Passes that wait at the same moment share one write.
#[derive(Default)]
pub(super) struct Parent {
    /// What it named when we read or wrote it last.
    known: Mutex<Members>,
    /// What somebody wants it to name; only ever grows, like the parent.
    wanted: Mutex<Members>,
    /// For whoever may write it.
    turn: tokio::sync::Mutex<Turn>,
}

/// What the next writer of the parent has to know.
#[derive(Default)]
struct Turn {
    /// Its version; nothing until it was read, or when somebody else wrote it.
    version: Option<String>,
    /// When it was written last.
    written: Option<Instant>,
}

/// Returns the id of the set with this parent: sha256 over its identity, as kubectl computes it.
fn set_id(name: &str, namespace: &str) -> String {
    // The trailing dot stands before the empty group of ConfigMap.
    let digest = sha256(format!("{name}.{namespace}.ConfigMap.").as_bytes());
    format!("applyset-{}-v1", URL_SAFE_NO_PAD.encode(digest.0))
}

/// The parent as a server keeps it.
trait Server {
    /// Reads the parent, if it is there.
    async fn read_parent(&self) -> Result<Option<Value>, Refusal>;
    /// Writes the parent over the version that is known, or makes it, and returns the answer.
    async fn write_parent(&self, version: Option<&str>, members: &Members) -> Result<Value, Refusal>;
    /// Returns the parent's name.
    fn parent_name(&self) -> String;
}

impl Parent {
    /// Makes sure that the parent names these members. The wish is noted before anything is waited for, so the next write holds it.
    async fn grow(&self, server: &impl Server, wanted: &Members) -> Result<(), Refusal> {
        if locked(&self.known).holds(wanted) {
            return Ok(());
        }
        locked(&self.wanted).add(wanted);
        let mut turn = self.turn.lock().await;
        if locked(&self.known).holds(wanted) {
            return Ok(());
        }
        if let Some(written) = turn.written {
            sleep_until(written + GATHER).await;
        }
        let Turn { version, written: when } = &mut *turn;
        for _ in 0..WRITE_ROUNDS {
            if version.is_none() {
                let live = server.read_parent().await?;
                *version = live.as_ref().and_then(version_of);
                *locked(&self.known) = live.as_ref().map(members).unwrap_or_default();
            }
            let mut next = locked(&self.known).clone();
            if version.is_some() && next.holds(wanted) {
                return Ok(());
            }
            next.add(&locked(&self.wanted));
            match server.write_parent(version.as_deref(), &next).await {
                Err(refusal) => {
                    *version = None;
                    // One that was removed by hand is made anew.
                    if !matches!(refusal.kind, RefusalKind::Changed | RefusalKind::NotFound) {
                        return Err(refusal);
                    }
                }
                Ok(written) => {
                    *version = version_of(&written);
                    *when = Some(Instant::now());
                    *locked(&self.known) = next;
                    return Ok(());
                }
            }
        }
        Err(Refusal::new(
            RefusalKind::Changed,
            format!("grow the ApplySet {}: somebody else keeps writing it", server.parent_name()),
        ))
    }
}

impl Inner {
    /// Makes sure that the parent names these kinds and namespaces.
    pub(super) async fn grow_apply_set(
        &self,
        kinds: &BTreeSet<Kind>,
        namespaces: &BTreeSet<String>,
    ) -> Result<(), Refusal> {
        let named = |kind: &Kind| match kind.group.as_str() {
            "" => kind.kind.clone(),
            group => format!("{}.{group}", kind.kind),
        };
        let elsewhere = |namespace: &&String| !namespace.is_empty() && **namespace != self.control_namespace;
        let wanted = Members {
            kinds: kinds.iter().map(named).collect(),
            namespaces: namespaces.iter().filter(elsewhere).cloned().collect(),
        };
        self.parent.grow(self, &wanted).await
    }

    /// Returns the path of the ConfigMaps in our own namespace.
    pub(super) fn own_config_maps(&self) -> String {
        format!("/api/v1/namespaces/{}/configmaps", self.control_namespace)
    }

    pub(super) async fn make_control_namespace(&self) -> Result<(), Refusal> {
        let name = &self.control_namespace;
        let path = format!("/api/v1/namespaces/{name}");
        match self.call(Call::get(format!("read namespace {name}"), path, GET_DEADLINE)).await {
            Ok(_) => return Ok(()),
            Err(refusal) if refusal.kind == RefusalKind::NotFound => {}
            Err(refusal) => return Err(refusal),
        }
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "wild"}}});
        let made = self
            .call(Call {
                attempt: format!("make namespace {name}"),
                method: Method::POST,
                path: "/api/v1/namespaces?fieldManager=wild-apply-set".to_owned(),
                body: Some((&body, "application/json")),
                user: None,
                form: Form::Full,
                quoting: Quoting::Allowed,
                deadline: WRITE_DEADLINE,
            })
            .await;
        match made {
            // Somebody else made it meanwhile, which is as good.
            Err(refusal) if refusal.kind == RefusalKind::Changed => Ok(()),
            other => other.map(|_| ()),
        }
    }
}

impl Server for Inner {
    fn parent_name(&self) -> String {
        format!("wild-{}", self.instance)
    }

    async fn read_parent(&self) -> Result<Option<Value>, Refusal> {
        let name = self.parent_name();
        let path = format!("{}/{name}", self.own_config_maps());
        let parent = match self.call(Call::get(format!("read the ApplySet {name}"), path, GET_DEADLINE)).await {
            Ok((_, value)) => value,
            Err(refusal) if refusal.kind == RefusalKind::NotFound => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let tool = annotation(&parent, TOOLING);
        if tool.split('/').next() != Some("wild") {
            let message = format!("use the ApplySet {name}: it belongs to {tool:?}, not to wild");
            return Err(Refusal::new(RefusalKind::Conflict(Vec::new()), message));
        }
        Ok(Some(parent))
    }

    async fn write_parent(&self, version: Option<&str>, members: &Members) -> Result<Value, Refusal> {
        let name = self.parent_name();
        let join = |set: &BTreeSet<String>| set.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        let mut body = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "namespace": self.control_namespace,
                "labels": {ID_LABEL: set_id(&name, &self.control_namespace), "app.kubernetes.io/managed-by": "wild"},
                "annotations": {
                    TOOLING: concat!("wild/v", env!("CARGO_PKG_VERSION")),
                    GROUP_KINDS: join(&members.kinds),
                    NAMESPACES: join(&members.namespaces),
                },
            },
        });
        let call = |method, path, body, attempt: String| Call {
            attempt,
            method,
            path,
            body: Some((body, "application/json")),
            user: None,
            form: Form::Full,
            quoting: Quoting::Allowed,
            deadline: WRITE_DEADLINE,
        };
        if let (Some(version), Some(metadata)) = (version, body.get_mut("metadata").and_then(Value::as_object_mut)) {
            metadata.insert("resourceVersion".to_owned(), Value::from(version));
            let path = format!("{}/{name}?fieldManager=wild-apply-set", self.own_config_maps());
            // A second one after a lost answer is refused, and the parent is read again.
            let answer = self.insist(call(Method::PUT, path, &body, format!("grow the ApplySet {name}"))).await;
            return answer.map(|(_, value)| value);
        }
        self.make_control_namespace().await?;
        let path = format!("{}?fieldManager=wild-apply-set", self.own_config_maps());
        self.insist(call(Method::POST, path, &body, format!("make the ApplySet {name}"))).await.map(|(_, value)| value)
    }
}

fn annotation(object: &Value, key: &str) -> String {
    let found = object.get("metadata").and_then(|metadata| metadata.get("annotations")).and_then(|all| all.get(key));
    found.and_then(Value::as_str).unwrap_or("").to_owned()
}

fn version_of(object: &Value) -> Option<String> {
    object.get("metadata")?.get("resourceVersion")?.as_str().map(str::to_owned)
}

fn members(parent: &Value) -> Members {
    let list = |key| annotation(parent, key).split(',').filter(|entry| !entry.is_empty()).map(str::to_owned).collect();
    Members { kinds: list(GROUP_KINDS), namespaces: list(NAMESPACES) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::pin::pin;
    use std::sync::Mutex;

    use futures::future::join_all;
    use futures::poll;
    use serde_json::{Value, json};
    use tokio::sync::Semaphore;

    use super::{Members, Parent, Server, set_id};
    use crate::target::Refusal;

    /// Passes that bring a namespace each.
    const PASSES: usize = 20;

    /// A server that gives as many answers as it is let, and keeps what it was asked.
    struct Held {
        answers: Semaphore,
        asked: Mutex<Vec<String>>,
    }

    impl Held {
        fn letting(answers: usize) -> Self {
            Self { answers: Semaphore::new(answers), asked: Mutex::default() }
        }

        async fn take(&self, request: String) {
            self.asked.lock().unwrap().push(request);
            self.answers.acquire().await.unwrap().forget();
        }
    }

    impl Server for Held {
        async fn read_parent(&self) -> Result<Option<Value>, Refusal> {
            self.take("read".to_owned()).await;
            Ok(None)
        }

        async fn write_parent(&self, version: Option<&str>, members: &Members) -> Result<Value, Refusal> {
            let verb = if version.is_some() { "grow" } else { "make" };
            self.take(format!("{verb} with {}", members.namespaces.len())).await;
            Ok(json!({"metadata": {"resourceVersion": "1"}}))
        }

        fn parent_name(&self) -> String {
            String::new()
        }
    }

    fn wishes() -> Vec<Members> {
        let wish = |pass| Members { kinds: BTreeSet::new(), namespaces: [format!("app-{pass}")].into() };
        (0..PASSES).map(wish).collect()
    }

    /// Lets passes grow the parent: the first alone, until it waits, and then the others with it. Returns what the server was asked.
    async fn asked_of(server: Held) -> Vec<String> {
        let (parent, wishes) = (Parent::default(), wishes());
        let mut passes = wishes.iter().map(|wish| parent.grow(&server, wish));
        let mut first = pin!(passes.next().unwrap());
        let early = poll!(&mut first);
        let mut others = pin!(join_all(passes));
        assert!(poll!(&mut others).is_pending());
        server.answers.add_permits(PASSES);
        if early.is_pending() {
            first.await.unwrap();
        }
        for grown in others.await {
            grown.unwrap();
        }
        let asked = server.asked.lock().unwrap();
        asked.clone()
    }

    #[tokio::test]
    async fn passes_that_wait_for_the_same_answer_share_one_write() {
        assert_eq!(asked_of(Held::letting(0)).await, ["read", "make with 20"]);
    }

    #[tokio::test]
    async fn passes_that_come_while_it_is_written_or_after_share_the_next_write() {
        // On several threads an answer may be there before the next pass begins.
        for answers in [1, 2] {
            assert_eq!(asked_of(Held::letting(answers)).await, ["read", "make with 1", "grow with 20"]);
        }
    }

    #[test]
    fn the_id_is_the_one_that_kubectl_computes() {
        assert_eq!(set_id("wild-k3f7q2m5xd", "wild-system"), "applyset-mw2I1HYCUjLDctz_JROMAY8VL-wLNpGkvi3AV_dsE5k-v1");
    }
}
