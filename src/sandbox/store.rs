//! The objects of the cluster with one rising version, and the recent changes that watches read.
//!
//! Not here: what a write does to an object before it is kept (`write.rs`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::base::{Timestamp, sha256};
use crate::sandbox::controllers::Controller;
use crate::schema::{Kind, Scope};

/// Changes of one kind that are kept for watches; a watch that falls further behind starts anew.
pub(crate) const MAX_EVENTS: usize = 10_000;
/// The version of an empty cluster. A real one has written a few hundred objects before anybody connects.
const FIRST_VERSION: u64 = 100;

/// Group and plural of a kind, which name where its objects are kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Sort {
    pub(crate) group: &'static str,
    pub(crate) plural: &'static str,
}

/// Namespace and name; the namespace is empty for cluster-scoped objects.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// How an object changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Added,
    Modified,
    Deleted,
}

/// One change of one object.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) change: Change,
    pub(crate) key: Key,
    /// The object after the change; as it was last, with the version of the deletion, if it is gone.
    pub(crate) object: Arc<Value>,
    /// The object before the change.
    pub(crate) before: Option<Arc<Value>>,
    pub(crate) version: u64,
}

#[derive(Default, Debug)]
struct Table {
    objects: BTreeMap<Key, Arc<Value>>,
    events: VecDeque<Event>,
    /// Changes up to this version are no longer kept.
    forgotten: u64,
}

/// The whole cluster.
pub(crate) struct Store {
    version: u64,
    tables: BTreeMap<Sort, Table>,
    /// Objects that changed and that no controller has looked at yet.
    pub(crate) dirty: BTreeSet<(Sort, Key)>,
    /// Objects that are gone and whose relatives no controller has looked at yet.
    pub(crate) gone: Vec<Arc<Value>>,
    /// Objects that name an owner, by the owner's uid.
    dependents: BTreeMap<String, BTreeSet<(Sort, Key)>>,
    /// The controllers that run.
    pub(crate) running: BTreeSet<Controller>,
    /// Workloads that are kept from becoming ready; an empty name stands for a whole namespace.
    held: BTreeSet<Key>,
    seed: u64,
    made: u64,
    clock: Clock,
    bytes: usize,
    /// Most bytes of objects.
    limit: usize,
}

/// Where the cluster reads the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

impl Sort {
    pub(crate) fn of(kind: &Kind) -> Self {
        Self { group: kind.group, plural: kind.plural }
    }
}

impl Key {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// Returns the key of an object in a request's namespace; cluster-scoped kinds have none.
    pub(crate) fn of(kind: &Kind, namespace: &str, name: &str) -> Self {
        match kind.scope {
            Scope::Namespaced => Self::new(namespace, name),
            Scope::Cluster | Scope::Unknown => Self::new("", name),
        }
    }
}

impl Store {
    pub(crate) fn new(seed: u64, clock: Clock, limit: usize) -> Self {
        Self {
            version: FIRST_VERSION,
            tables: BTreeMap::new(),
            dirty: BTreeSet::new(),
            gone: Vec::new(),
            dependents: BTreeMap::new(),
            running: BTreeSet::new(),
            held: BTreeSet::new(),
            seed,
            made: 0,
            clock,
            bytes: 0,
            limit,
        }
    }

    /// Returns the version of the last change.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Returns the present time as the API writes it.
    pub(crate) fn now_text(&self) -> String {
        super::canon::seconds(self.now())
    }

    pub(crate) fn get(&self, sort: Sort, key: &Key) -> Option<&Arc<Value>> {
        self.tables.get(&sort)?.objects.get(key)
    }

    /// Returns the objects of a kind in the order of namespace and name; an empty namespace means all.
    pub(crate) fn list<'a>(
        &'a self,
        sort: Sort,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a Key, &'a Arc<Value>)> + 'a {
        let objects = self.tables.get(&sort).map(|table| table.objects.range(Key::new(namespace, "")..));
        let objects = objects.into_iter().flatten();
        objects.take_while(move |(key, _)| namespace.is_empty() || key.namespace == namespace)
    }

    /// Returns the objects of a kind as they were at a version, or nothing if that is no longer known.
    pub(crate) fn list_at(&self, sort: Sort, version: u64) -> Option<BTreeMap<Key, Arc<Value>>> {
        let Some(table) = self.tables.get(&sort) else { return Some(BTreeMap::new()) };
        if version < table.forgotten {
            return None;
        }
        let mut objects = table.objects.clone();
        for event in table.events.iter().rev().take_while(|event| event.version > version) {
            match &event.before {
                Some(before) => objects.insert(event.key.clone(), Arc::clone(before)),
                None => objects.remove(&event.key),
            };
        }
        Some(objects)
    }

    /// Returns the changes of a kind after a version, or nothing if not all of them are known any more.
    pub(crate) fn changes(&self, sort: Sort, after: u64) -> Option<Vec<Event>> {
        let Some(table) = self.tables.get(&sort) else { return Some(Vec::new()) };
        if after < table.forgotten {
            return None;
        }
        let start = table.events.partition_point(|event| event.version <= after);
        Some(table.events.iter().skip(start).cloned().collect())
    }

    /// Forgets all changes, so that every watch from an older version has to start anew.
    pub(crate) fn compact(&mut self) {
        for table in self.tables.values_mut() {
            table.events.clear();
            table.forgotten = self.version;
        }
    }

    /// Returns whether the objects take all the room they may.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= self.limit
    }

    /// Keeps an object under a new version and returns it.
    pub(crate) fn put(&mut self, sort: Sort, key: &Key, mut object: Value) -> Arc<Value> {
        self.version += 1;
        set_version(&mut object, self.version);
        let object = Arc::new(object);
        self.bytes = self.bytes.saturating_add(weight(&object));
        let table = self.tables.entry(sort).or_default();
        let before = table.objects.insert(key.clone(), Arc::clone(&object));
        let change = if before.is_some() { Change::Modified } else { Change::Added };
        self.remember(sort, Event { change, key: key.clone(), object: Arc::clone(&object), before, version: 0 });
        object
    }

    /// Removes an object and returns it with the version of its deletion.
    pub(crate) fn delete(&mut self, sort: Sort, key: &Key) -> Option<Arc<Value>> {
        let before = self.tables.get_mut(&sort)?.objects.remove(key)?;
        self.version += 1;
        let mut object = (*before).clone();
        set_version(&mut object, self.version);
        let object = Arc::new(object);
        let event = Event {
            change: Change::Deleted,
            key: key.clone(),
            object: Arc::clone(&object),
            before: Some(before),
            version: 0,
        };
        self.remember(sort, event);
        Some(object)
    }

    /// Keeps workloads of a name from being ready.
    pub(crate) fn hold(&mut self, namespace: &str, name: &str) {
        self.held.insert(Key::new(namespace, name));
        self.touch_namespace(namespace);
    }

    /// Lets workloads of a name be ready.
    pub(crate) fn release(&mut self, namespace: &str, name: &str) {
        self.held.remove(&Key::new(namespace, name));
        self.touch_namespace(namespace);
    }

    /// Returns whether a workload is kept from being ready.
    pub(crate) fn is_held(&self, key: &Key) -> bool {
        self.held.contains(key) || self.held.contains(&Key::new(&key.namespace, ""))
    }

    /// Makes controllers look at everything.
    pub(crate) fn touch_all(&mut self) {
        self.touch_namespace("");
    }

    fn touch_namespace(&mut self, namespace: &str) {
        for (sort, table) in &self.tables {
            let keys = table.objects.keys().filter(|key| namespace.is_empty() || key.namespace == namespace);
            self.dirty.extend(keys.map(|key| (*sort, key.clone())));
        }
    }

    /// Returns the objects that name an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<(Sort, Key)> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Returns all kinds that have objects.
    pub(crate) fn sorts(&self) -> Vec<Sort> {
        self.tables.iter().filter(|(_, table)| !table.objects.is_empty()).map(|(sort, _)| *sort).collect()
    }

    fn index_owners(&mut self, sort: Sort, key: &Key, before: Option<&Value>, after: Option<&Value>) {
        for uid in before.into_iter().flat_map(owners) {
            if let Some(set) = self.dependents.get_mut(uid) {
                set.remove(&(sort, key.clone()));
                if set.is_empty() {
                    self.dependents.remove(uid);
                }
            }
        }
        for uid in after.into_iter().flat_map(owners) {
            self.dependents.entry(uid.to_owned()).or_default().insert((sort, key.clone()));
        }
    }

    fn remember(&mut self, sort: Sort, mut event: Event) {
        event.version = self.version;
        if let Some(before) = &event.before {
            self.bytes = self.bytes.saturating_sub(weight(before));
        }
        self.dirty.insert((sort, event.key.clone()));
        if event.change == Change::Deleted {
            self.gone.push(Arc::clone(&event.object));
        }
        let after = (event.change != Change::Deleted).then_some(&*event.object);
        self.index_owners(sort, &event.key, event.before.as_deref(), after);
        let table = self.tables.entry(sort).or_default();
        table.events.push_back(event);
        if table.events.len() > MAX_EVENTS
            && let Some(oldest) = table.events.pop_front()
        {
            table.forgotten = oldest.version;
        }
    }

    /// Returns a new uid.
    pub(crate) fn uid(&mut self) -> String {
        let mut digits = self.digits();
        // Version and variant of a random identifier.
        digits.replace_range(12..13, "4");
        digits.replace_range(16..17, "8");
        let part = |from: usize, to: usize| digits.get(from..to).unwrap_or("").to_owned();
        [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
    }

    /// Returns a new suffix for a generated name.
    pub(crate) fn suffix(&mut self, length: usize) -> String {
        const LETTERS: [char; 27] = [
            'b', 'c', 'd', 'f', 'g', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'q', 'r', 's', 't', 'v', 'w', 'x', 'z', '2',
            '4', '5', '6', '7', '8', '9',
        ];
        let digits = self.digits();
        let pick = |pair: &[char]| {
            let number = usize::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap_or(0);
            LETTERS.get(number % LETTERS.len()).copied().unwrap_or('b')
        };
        digits.chars().collect::<Vec<_>>().chunks(2).take(length).map(pick).collect()
    }

    /// Returns some number below a bound.
    pub(crate) fn pick(&mut self, bound: u64) -> u64 {
        let digits: String = self.digits().chars().take(15).collect();
        u64::from_str_radix(&digits, 16).unwrap_or(0) % bound.max(1)
    }

    fn digits(&mut self) -> String {
        self.made += 1;
        let digest = sha256(format!("{}/{}", self.seed, self.made).as_bytes());
        digest.to_hex().chars().take(32).collect()
    }
}

/// Returns the uids of an object's owners.
fn owners(object: &Value) -> impl Iterator<Item = &str> {
    let list = object.get("metadata").and_then(|metadata| metadata.get("ownerReferences")).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|owner| owner.get("uid")?.as_str())
}

fn set_version(object: &mut Value, version: u64) {
    metadata_mut(object).insert("resourceVersion".to_owned(), json!(version.to_string()));
}

/// Returns `metadata` of an object, made if it is missing.
pub(crate) fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    child_mut(object, "metadata")
}

/// Returns a map of an object's metadata, such as `labels`, made if it is missing.
pub(crate) fn metadata_child_mut<'a>(object: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    child_of(metadata_mut(object), key)
}

/// Returns the map below a key, made if it is missing or something else.
pub(crate) fn child_mut<'a>(object: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    child_of(as_map(object), key)
}

fn child_of<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    as_map(map.entry(key).or_insert(Value::Null))
}

fn as_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            unreachable!("the value was made a map above")
        }
    }
}

/// Returns roughly how many bytes an object takes as text.
fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 6,
        Value::String(text) => text.len() + 3,
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 2,
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + 4 + weight(value)).sum::<usize>() + 2,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::{Key, MAX_EVENTS, Sort, Store};
    use crate::base::Timestamp;

    const SORT: Sort = Sort { group: "", plural: "configmaps" };

    fn store() -> Store {
        Store::new(7, Arc::new(|| Timestamp(0)), 1_000)
    }

    #[test]
    fn the_past_is_known_until_it_is_compacted() {
        let mut store = store();
        let (a, b) = (Key::new("x", "a"), Key::new("x", "b"));
        store.put(SORT, &a, json!({"data": 1}));
        let middle = store.version();
        store.put(SORT, &a, json!({"data": 2}));
        store.put(SORT, &b, json!({}));
        store.delete(SORT, &a);
        let then = store.list_at(SORT, middle).unwrap();
        assert_eq!(then.keys().collect::<Vec<_>>(), [&a]);
        assert_eq!(then[&a]["data"], 1);
        assert_eq!(store.changes(SORT, middle).unwrap().len(), 3);
        store.compact();
        assert!(store.changes(SORT, middle).is_none());
        assert!(store.changes(SORT, store.version()).is_some());
    }

    #[test]
    fn only_so_many_changes_are_kept() {
        let mut store = store();
        let start = store.version();
        for _ in 0..=MAX_EVENTS {
            store.put(SORT, &Key::new("x", "a"), json!({}));
        }
        assert!(store.changes(SORT, start).is_none());
        assert_eq!(store.changes(SORT, start + 1).unwrap().len(), MAX_EVENTS);
    }

    #[test]
    fn the_size_follows_the_objects() {
        let mut store = store();
        store.put(SORT, &Key::new("x", "a"), json!({"data": "x".repeat(2_000)}));
        assert!(store.is_full());
        store.delete(SORT, &Key::new("x", "a"));
        assert!(!store.is_full());
    }

    #[test]
    fn uids_are_of_the_usual_form_and_differ() {
        let mut store = store();
        let (one, two) = (store.uid(), store.uid());
        assert_ne!(one, two);
        assert_eq!(one.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert_eq!(store.suffix(5).len(), 5);
    }
}
