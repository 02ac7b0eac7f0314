//! Our ApplySet parent: one ConfigMap per instance that names the kinds and namespaces of our objects, so that other tools can list them
//! and a lost store can be rebuilt. It grows before the first object of a kind or namespace is applied.
//!
//! Not here: the label on members (`plan::marks`), when it shrinks (`pipeline::sweep`).

mod shrink;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::call::{Call, Form, GET_DEADLINE, WRITE_DEADLINE};
use super::{Inner, Kind, locked};
use crate::model::{Spread, apply_set};
use crate::target::{Quoting, Refusal, RefusalKind};

/// How often a parent that somebody else writes at the same time is read again.
const WRITE_ROUNDS: usize = 3;
/// How long after a write of the parent the next one waits for company. The first of a burst is written at once; in a long one each costs more
/// the more it names, and other apps are written meanwhile.
const GATHER: Duration = Duration::from_millis(400);
/// Most bytes of names in a parent: a server takes 256 KiB of annotations from an object, and others write some there, too.
const NAMES_LIMIT: usize = 200 * 1024;
/// Label that makes an object a parent; kubectl ships this name.
const ID_LABEL: &str = "applyset.kubernetes.io/id";
/// Annotation with the tool that owns the set.
const TOOLING: &str = "applyset.kubernetes.io/tooling";
/// Annotation with the kinds of the members.
const GROUP_KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
/// Annotation with the namespaces of the members beside the parent's own.
const NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";

/// What a parent names.
#[derive(Clone, PartialEq, Default, Debug)]
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

    /// Returns these without some.
    fn without(&self, less: &Self) -> Self {
        Self {
            kinds: self.kinds.difference(&less.kinds).cloned().collect(),
            namespaces: self.namespaces.difference(&less.namespaces).cloned().collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.namespaces.is_empty()
    }

    /// Returns the names of kinds and namespaces in a parent that lies in a namespace.
    fn of(spread: &Spread, parent: &str) -> Self {
        Self {
            kinds: spread.kinds.iter().map(|(group, kind)| named(group, kind)).collect(),
            namespaces: spread.namespaces.iter().filter(|namespace| *namespace != parent).cloned().collect(),
        }
    }

    /// Returns how many bytes of annotations name these, their commas with them.
    fn bytes(&self) -> usize {
        self.kinds.iter().chain(&self.namespaces).map(|name| name.len() + 1).sum()
    }
}

/// Returns the name of a kind in the parent.
fn named(group: &str, kind: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") }
}

/// The parent as we know it, and what waits to be written into it. Passes that wait at the same moment share one write.
#[derive(Default)]
pub(super) struct Parent {
    /// What it named when we read or wrote it last.
    known: Mutex<Members>,
    /// What somebody wants it to name, or did.
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

/// The parent as a server keeps it.
trait Server {
    /// Reads the parent, if it is there.
    async fn read_parent(&self) -> Result<Option<Value>, Refusal>;
    /// Writes the parent over the version that is known, or makes it, and returns the answer.
    async fn write_parent(&self, version: Option<&str>, members: &Members) -> Result<Value, Refusal>;
    /// Returns the parent's name.
    fn parent_name(&self) -> String;
    /// Returns in which of some kinds and namespaces objects of the set are found, or could be: whoever must not look has not seen that there
    /// are none. The set names `all`.
    async fn found(&self, some: &Members, all: &Members) -> Result<Members, Refusal>;
}

impl Parent {
    /// Lets others come along with a write that follows another one soon.
    async fn gather(&self, turn: &Turn) {
        if let Some(written) = turn.written {
            sleep_until(written + GATHER).await;
        }
    }

    /// Reads the parent if it is not known; it has no version then if it is not there.
    async fn read(&self, server: &impl Server, turn: &mut Turn) -> Result<(), Refusal> {
        if turn.version.is_none() {
            let live = server.read_parent().await?;
            turn.version = live.as_ref().and_then(version_of);
            *locked(&self.known) = live.as_ref().map(members).unwrap_or_default();
        }
        Ok(())
    }

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
        self.gather(&turn).await;
        for _ in 0..WRITE_ROUNDS {
            self.read(server, &mut turn).await?;
            let Turn { version, written: when } = &mut *turn;
            let mut next = locked(&self.known).clone();
            if version.is_some() && next.holds(wanted) {
                return Ok(());
            }
            next.add(wanted);
            if next.bytes() > NAMES_LIMIT {
                // Nobody else fails by it.
                let mut all = locked(&self.wanted);
                *all = all.without(wanted);
                return Err(too_many(&server.parent_name()));
            }
            let mut shared = next.clone();
            shared.add(&locked(&self.wanted));
            if shared.bytes() <= NAMES_LIMIT {
                next = shared;
            }
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
        let kinds = kinds.iter().map(|kind| (kind.group.clone(), kind.kind.clone())).collect();
        let namespaces = namespaces.iter().filter(|namespace| !namespace.is_empty()).cloned().collect();
        let wanted = Members::of(&Spread { kinds, namespaces }, &self.control_namespace);
        self.parent.grow(self, &wanted).await
    }

    /// Returns the id of our set.
    fn set_id(&self) -> String {
        apply_set::id(&apply_set::parent_id(&self.instance, &self.control_namespace))
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
        apply_set::parent_id(&self.instance, &self.control_namespace).name.clone()
    }

    async fn found(&self, some: &Members, all: &Members) -> Result<Members, Refusal> {
        self.members_found(some, all).await
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
                "labels": {ID_LABEL: self.set_id(), "app.kubernetes.io/managed-by": "wild"},
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
            let answer = self.insist(call(Method::PUT, path, &body, format!("write the ApplySet {name}"))).await;
            return answer.map(|(_, value)| value);
        }
        self.make_control_namespace().await?;
        let path = format!("{}?fieldManager=wild-apply-set", self.own_config_maps());
        self.insist(call(Method::POST, path, &body, format!("make the ApplySet {name}"))).await.map(|(_, value)| value)
    }
}

fn too_many(parent: &str) -> Refusal {
    let message = format!(
        "grow the ApplySet {parent}: more than {} KiB of names of kinds and namespaces; split the apps among several instances, or put several apps into one namespace",
        NAMES_LIMIT / 1024
    );
    Refusal::new(RefusalKind::Settings, message)
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
    use std::pin::{Pin, pin};
    use std::sync::Mutex;

    use futures::future::join_all;
    use futures::poll;
    use serde_json::{Value, json};
    use tokio::sync::Semaphore;

    use super::{Members, NAMES_LIMIT, Parent, Server};
    use crate::model::Spread;
    use crate::target::{Refusal, Whereabouts};

    /// Passes that bring a namespace each.
    const PASSES: usize = 20;

    /// A server that gives as many answers as it is let, and keeps what it was asked.
    struct Held {
        answers: Semaphore,
        asked: Mutex<Vec<String>>,
        /// Namespaces in which it shows objects of the set.
        found: BTreeSet<String>,
    }

    impl Held {
        fn letting(answers: usize) -> Self {
            Self { answers: Semaphore::new(answers), asked: Mutex::default(), found: BTreeSet::new() }
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

        async fn found(&self, some: &Members, _all: &Members) -> Result<Members, Refusal> {
            self.take(format!("look for {}", some.namespaces.len())).await;
            Ok(Members { namespaces: &some.namespaces & &self.found, ..Members::default() })
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

    #[tokio::test]
    async fn more_names_than_a_server_takes_are_refused_before_it_is_asked() {
        let server = Held::letting(PASSES);
        let wish = |count: usize| Members {
            kinds: BTreeSet::new(),
            namespaces: (0..count).map(|number| format!("namespace-{number:05}")).collect(),
        };
        let parent = Parent::default();
        parent.grow(&server, &wish(NAMES_LIMIT / 16 - 1)).await.unwrap();
        let refused = parent.grow(&server, &wish(NAMES_LIMIT / 16 + 1)).await.unwrap_err();
        assert!(refused.message.contains("more than 200 KiB of names"), "{}", refused.message);
        assert_eq!(server.asked.lock().unwrap().len(), 2);
        // What was refused is not in the way of what still fits.
        parent.turn.lock().await.written = None;
        let small = members(&["a", "b"]);
        parent.grow(&server, &small).await.unwrap();
        assert_eq!(server.asked.lock().unwrap()[2..], ["grow with 12801"]);
    }

    /// What is known, told as often as it is let.
    struct Told(Spread, Semaphore);

    impl Whereabouts for Told {
        fn spread(&self) -> Pin<Box<dyn Future<Output = Option<Spread>> + Send + '_>> {
            Box::pin(async {
                self.1.acquire().await.unwrap().forget();
                Some(self.0.clone())
            })
        }
    }

    fn spread(namespaces: &[&str]) -> Spread {
        Spread { kinds: BTreeSet::new(), namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect() }
    }

    fn members(namespaces: &[&str]) -> Members {
        Members::of(&spread(namespaces), "wild-system")
    }

    /// Returns a parent that names these namespaces, and its server.
    async fn naming(namespaces: &[&str]) -> (Parent, Held) {
        let (parent, server) = (Parent::default(), Held::letting(2 * PASSES));
        parent.grow(&server, &members(namespaces)).await.unwrap();
        parent.turn.lock().await.written = None;
        server.asked.lock().unwrap().clear();
        (parent, server)
    }

    #[tokio::test]
    async fn what_nobody_knows_and_the_server_does_not_show_is_taken_out() {
        let (parent, mut server) = naming(&["a", "b", "c"]).await;
        server.found.insert("c".to_owned());
        let told = |namespaces: &[&str]| Told(spread(namespaces), Semaphore::new(PASSES));
        assert!(parent.shrink(&server, &told(&["a", "b", "c", "wild-system"]), "wild-system").await.unwrap());
        assert!(server.asked.lock().unwrap().is_empty(), "it costs a request");
        assert!(!parent.shrink(&server, &told(&["b"]), "wild-system").await.unwrap(), "c is not explained");
        assert_eq!(*server.asked.lock().unwrap(), ["look for 2", "grow with 2"]);
        parent.grow(&server, &members(&["b"])).await.unwrap();
        assert!(parent.shrink(&server, &told(&["b", "c"]), "wild-system").await.unwrap());
        assert_eq!(server.asked.lock().unwrap().len(), 2, "it is written for nothing");
        // What was wanted once does not come back with what is wanted now.
        parent.turn.lock().await.written = None;
        parent.grow(&server, &members(&["e"])).await.unwrap();
        assert_eq!(server.asked.lock().unwrap()[2..], ["grow with 3"]);
    }

    #[tokio::test]
    async fn whoever_needs_a_name_that_is_about_to_go_waits_and_has_it() {
        let (parent, server) = naming(&["a", "b"]).await;
        // What is known is told before the look, and once more before the write.
        let told = Told(spread(&["b"]), Semaphore::new(1));
        let mut shrinks = pin!(parent.shrink(&server, &told, "wild-system"));
        assert!(poll!(&mut shrinks).is_pending());
        let again = members(&["a"]);
        let mut grows = pin!(parent.grow(&server, &again));
        assert!(poll!(&mut grows).is_pending(), "it relies on a name that is about to go");
        told.1.add_permits(1);
        assert!(shrinks.await.unwrap());
        grows.await.unwrap();
        assert_eq!(*server.asked.lock().unwrap(), ["look for 1", "grow with 1", "grow with 2"]);
    }

    #[tokio::test]
    async fn one_that_is_given_up_leaves_nobody_with_half_of_the_names() {
        let (parent, server) = naming(&["a", "b"]).await;
        let told = Told(spread(&["b"]), Semaphore::new(1));
        {
            let mut shrinks = pin!(parent.shrink(&server, &told, "wild-system"));
            assert!(poll!(&mut shrinks).is_pending());
        }
        server.asked.lock().unwrap().clear();
        parent.grow(&server, &members(&["c"])).await.unwrap();
        assert_eq!(server.asked.lock().unwrap()[0], "read", "it writes what it does not know");
    }

    #[tokio::test]
    async fn what_becomes_known_while_it_is_looked_for_stays() {
        let (parent, server) = naming(&["a", "b"]).await;
        struct Late(Mutex<Vec<Spread>>);
        impl Whereabouts for Late {
            fn spread(&self) -> Pin<Box<dyn Future<Output = Option<Spread>> + Send + '_>> {
                Box::pin(async { self.0.lock().unwrap().pop() })
            }
        }
        let late = Late(Mutex::new(vec![spread(&["a", "b"]), spread(&["b"])]));
        parent.shrink(&server, &late, "wild-system").await.unwrap();
        assert_eq!(*server.asked.lock().unwrap(), ["look for 1"]);
        // Where it cannot be told what is known, nothing is taken out.
        assert!(!parent.shrink(&server, &late, "wild-system").await.unwrap());
        let once = || Late(Mutex::new(vec![spread(&["b"])]));
        assert!(!parent.shrink(&server, &once(), "wild-system").await.unwrap(), "it is for another time");
        assert_eq!(*server.asked.lock().unwrap(), ["look for 1", "look for 1"]);
        // What it names then is read by whoever needs it.
        parent.grow(&server, &members(&["a"])).await.unwrap();
        assert_eq!(server.asked.lock().unwrap()[2..], ["read", "make with 2"]);
    }
}
