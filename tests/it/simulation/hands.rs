//! What people do to objects beside the engine, and what became of it.
//!
//! A person changes one field that is ours, as `kubectl edit` or `kubectl scale` does, or deletes an object. Each change is to be answered
//! once: put right by one write, or overtaken by what is wanted newly or no more. Not here: when they do it (`mod.rs`).

use std::collections::{BTreeMap, BTreeSet};

use rewild::model::ObjectId;
use rewild::plan::marks;
use rewild::target::{FieldConflict, Refusal, RefusalKind};
use serde_json::{Value, json};

use super::target::{State, is_going};

/// What a person does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Hand {
    /// Changes a field that we wrote.
    Edits(ObjectId),
    /// Deletes an object, or its time to live is over.
    Deletes(ObjectId),
    /// Makes an object of somebody else, or takes it away again.
    Stranger(ObjectId),
}

/// What people did since it was asked for last.
#[derive(Clone, Default, Debug)]
pub(crate) struct Ledger {
    /// Changes that nobody has answered yet.
    pub(super) open: BTreeSet<ObjectId>,
    /// How often an object was changed.
    pub(crate) edits: BTreeMap<ObjectId, usize>,
    /// How often that was put right.
    pub(crate) corrected: BTreeMap<ObjectId, usize>,
    /// How often it went with what was wanted newly, or with the object.
    pub(crate) overtaken: BTreeMap<ObjectId, usize>,
    /// How often an object was deleted.
    pub(crate) deletions: BTreeMap<ObjectId, usize>,
}

fn count(map: &mut BTreeMap<ObjectId, usize>, id: &ObjectId) {
    *map.entry(id.clone()).or_default() += 1;
}

impl Ledger {
    /// Notes a write; returns whether it put right what a person had changed.
    pub(super) fn written(&mut self, id: &ObjectId, is_news: bool) -> bool {
        if !self.open.remove(id) {
            return false;
        }
        count(if is_news { &mut self.overtaken } else { &mut self.corrected }, id);
        !is_news
    }

    /// Notes that an object is gone.
    pub(super) fn gone(&mut self, id: &ObjectId) {
        if self.open.remove(id) {
            count(&mut self.overtaken, id);
        }
    }

    /// Checks that each change was answered, and none of them more than once.
    pub(crate) fn check(&self, what: &str) {
        assert!(self.open.is_empty(), "{what}: nobody put right {:?}", self.open);
        for id in self.edits.keys().chain(self.corrected.keys()) {
            let of = |map: &BTreeMap<ObjectId, usize>| map.get(id).copied().unwrap_or(0);
            let answers = of(&self.corrected) + of(&self.overtaken);
            assert_eq!(
                of(&self.edits),
                answers,
                "{what}: {id} was put right more often or less than changed\n{self:?}"
            );
        }
    }
}

/// Returns the field of ours that a person changes, what it becomes, through which manager and subresource.
fn field_of(object: &Value) -> Option<([&'static str; 2], Value, [&'static str; 2])> {
    match object["kind"].as_str()? {
        "ConfigMap" if object["immutable"] != json!(true) => {
            Some((["data", "version"], json!("by hand"), ["kubectl-edit", ""]))
        }
        "Secret" => Some((["data", "value"], json!("Ynk="), ["kubectl-edit", ""])),
        "Deployment" => Some((["spec", "replicas"], json!(7), ["kubectl", "scale"])),
        _ => None,
    }
}

impl State {
    /// Does what a person does; returns whether there was anything to do it to.
    pub(super) fn disturb(&mut self, hand: &Hand) -> bool {
        match hand {
            Hand::Edits(id) => self.edit(id),
            Hand::Deletes(id) => self.vanish(id),
            Hand::Stranger(id) => {
                if self.objects.remove(id).is_none() && self.namespace_is_ours(id) {
                    let body = json!({"apiVersion": "v1", "kind": id.kind, "metadata": {"name": id.name, "namespace": id.namespace}});
                    let metadata = self.metadata(&body, None);
                    self.objects.insert(id.clone(), json!({"apiVersion": "v1", "kind": id.kind, "metadata": metadata}));
                }
                true
            }
        }
    }

    fn namespace_is_ours(&self, id: &ObjectId) -> bool {
        let namespace = self.objects.get(&ObjectId::new("", "Namespace", "", &id.namespace));
        // One that outlived its app is not there in peace.
        namespace.is_some_and(|it| !is_going(it) && it["metadata"]["labels"].get(marks::INSTANCE).is_some())
    }

    /// Deletes an object; namespaces with all that is in them.
    fn vanish(&mut self, id: &ObjectId) -> bool {
        let is_there = self.objects.contains_key(id);
        if is_there {
            self.ledger.gone(id);
            count(&mut self.ledger.deletions, id);
            self.touched.insert(id.clone());
            self.objects.remove(id);
        }
        is_there
    }

    /// Changes a field that is ours and is as we wrote it.
    fn edit(&mut self, id: &ObjectId) -> bool {
        let is_changed = self.ledger.open.contains(id);
        let ours = |live: &&Value| live["metadata"]["labels"].get(marks::INSTANCE).is_some() && !is_going(live);
        let Some(live) = self.objects.get(id).filter(ours).filter(|_| !is_changed).cloned() else { return false };
        let Some(([section, key], value, [manager, subresource])) = field_of(&live) else { return false };
        let mut edited = live.clone();
        edited[section][key] = value;
        edited["metadata"] = self.metadata(&edited, Some(&live));
        let api_version = edited["apiVersion"].clone();
        let [section, key] = [section, key].map(|name| format!("f:{name}"));
        let time = self.time();
        let entries = edited["metadata"]["managedFields"].as_array_mut().unwrap();
        entries[0]["fieldsV1"][&section].as_object_mut().unwrap().shift_remove(&key);
        let mut entry = json!({"manager": manager, "operation": "Update", "apiVersion": api_version, "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": {section: {key: {}}}});
        if !subresource.is_empty() {
            entry["subresource"] = json!(subresource);
        }
        entries.push(entry);
        self.objects.insert(id.clone(), edited);
        self.ledger.open.insert(id.clone());
        count(&mut self.ledger.edits, id);
        self.touched.insert(id.clone());
        true
    }

    /// Returns the refusal of a write that takes nothing from others, where a person holds a field of it.
    pub(super) fn conflict(&self, id: &ObjectId) -> Option<Refusal> {
        let live = self.objects.get(id).filter(|_| self.ledger.open.contains(id))?;
        let ([section, key], _, [manager, _]) = field_of(live)?;
        let field = FieldConflict { field: format!(".{section}.{key}"), manager: manager.to_owned() };
        Some(Refusal::new(RefusalKind::Conflict(vec![field]), format!("apply {id}: conflict")))
    }
}
