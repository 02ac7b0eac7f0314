//! Applies and deletes single objects.
//!
//! Not here: which objects and in which order (`plan`, `apply`).

use http::Method;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::cache::Sent;
use super::call::{Call, DELETE_DEADLINE, Form, GET_DEADLINE, quoting};
use super::limit::Taken;
use super::{Inner, Kind};
use crate::model::{MANAGER, Object, Observed, OwnEntry};
use crate::target::{
    ApplyRequest, DeleteRequest, Deletion, Dependents, Mode, Ownership, PatchRequest, Refusal, RefusalKind, Written,
};

/// How often an object that changes between our read and our delete is read again.
const DELETE_ROUNDS: usize = 3;
/// Annotation on a namespace that we did not make.
const ENTERED: &str = "rewild.dev/entered";

impl Inner {
    /// Sends a write again while that can help, and takes in how busy the server is. For writes that are one if they are sent twice, or of
    /// which the second is refused.
    pub(super) async fn insist(&self, call: Call<'_>) -> Result<(u16, Value), Refusal> {
        self.send_while(call, |_| true).await.map(|(_, answer)| answer)
    }

    /// The same for a write that would be misunderstood if it came twice: it is sent again where the server was too busy to begin with it.
    async fn insist_once(&self, call: Call<'_>) -> Result<(u16, Value), Refusal> {
        self.send_while(call, |refusal| refusal.kind == RefusalKind::Busy).await.map(|(_, answer)| answer)
    }

    /// Returns the answer, and how often it was asked for before.
    async fn send_while(
        &self,
        call: Call<'_>,
        may_come_again: fn(&Refusal) -> bool,
    ) -> Result<(usize, (u16, Value)), Refusal> {
        let mut tries = 0;
        loop {
            let sent = Instant::now();
            let answer = self.aside(call.clone()).await;
            let is_overload = answer.as_ref().is_err_and(Refusal::is_overload);
            let taken = if is_overload { Taken::Badly } else { Taken::Well };
            self.writes.note(taken, sent.elapsed(), Instant::now());
            let refusal = match answer {
                Ok(answer) => {
                    self.note(None);
                    return Ok((tries, answer));
                }
                Err(refusal) => refusal,
            };
            let Some(pause) = refusal.pause(tries).filter(|_| may_come_again(&refusal)) else {
                return Err(self.judged(refusal).await);
            };
            tokio::time::sleep(pause).await;
            tries += 1;
        }
    }

    /// Finds out whether a server answers that failed at a write: that may have waited for a webhook, and then says nothing of the others.
    async fn judged(&self, refusal: Refusal) -> Refusal {
        let is_open = matches!(refusal.kind, RefusalKind::Timeout | RefusalKind::Server);
        if !is_open || refusal.unanswered.is_some() {
            self.note(Some(&refusal));
            return refusal;
        }
        match self.probe().await {
            Ok(()) => Refusal { kind: RefusalKind::Server, ..refusal },
            Err(why) => Refusal { kind: why.kind, message: format!("{}; {}", refusal.message, why.message), ..refusal },
        }
    }

    /// Sends one server-side apply; after a lost answer once more, because the same apply twice is one.
    pub(super) async fn apply(&self, request: &ApplyRequest, user: Option<&str>) -> Result<Written, Refusal> {
        let ApplyRequest { id, api_version, body, ownership, mode, hash, is_partial } = request;
        let mut path = self.object_path(&Kind::of(id, api_version), &id.namespace, &id.name).await?;
        path.push_str("?fieldManager=");
        path.push_str(MANAGER);
        path.push_str("&fieldValidation=Strict");
        if *ownership == Ownership::Take {
            path.push_str("&force=true");
        }
        if *mode == Mode::DryRun {
            path.push_str("&dryRun=All");
            self.counts.dry_run("compare");
        }
        let _place = self.writes.place().await;
        // Looked up before the request: the watch may bring the result of this write earlier than the answer comes.
        let before = self.cache().live(id).map(|live| live.resource_version);
        if *mode == Mode::Write {
            self.cache().begin_write(id);
        }
        let request = (Method::PATCH, path);
        let call = Call::write((format!("apply {id}"), id), request, (body, "application/apply-patch+yaml"));
        let answer = self.send_while(Call { user, ..call }, |_| true).await;
        let mut written = answer.and_then(|(tries, (code, value))| {
            written(code, value, hash, id).map(|written| Written { again: tries > 0, ..written })
        });
        if let Ok(written) = &mut written {
            written.unchanged = before.is_some_and(|version| version == written.observed.resource_version);
        }
        if *mode == Mode::Write {
            let news =
                self.cache().end_write(id, written.as_ref().ok(), if *is_partial { Sent::Part } else { Sent::Whole });
            if news {
                self.news.notify_one();
            }
        }
        match written {
            Ok(written) => Ok(written),
            Err(refusal) => Err(self.with_endpoints(refusal).await),
        }
    }

    /// Asks the server whether it would take a new object like this one. Under its own name it would only answer that the object is there.
    pub(super) async fn try_create(&self, request: &ApplyRequest, user: Option<&str>) -> Result<(), Refusal> {
        let ApplyRequest { id, api_version, body, .. } = request;
        let path = self.collection_path(&Kind::of(id, api_version), &id.namespace).await?;
        let mut body = body.clone();
        if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("name");
            metadata.shift_remove("uid");
            metadata.insert("generateName".to_owned(), Value::from(format!("{}-", id.name)));
        }
        if id.group.is_empty() && id.kind == "Service" {
            without_node_ports(&mut body);
        }
        self.counts.dry_run("recreate");
        let _place = self.writes.place().await;
        let request = (Method::POST, format!("{path}?dryRun=All&fieldManager={MANAGER}&fieldValidation=Strict"));
        let call = Call::write((format!("try a new {id}"), id), request, (&body, "application/json"));
        self.insist(Call { user, ..call }).await.map(|_| ())
    }

    /// Sends a JSON patch under our name; not again where its answer is lost, because its steps are about one version.
    pub(super) async fn patch(&self, request: &PatchRequest, user: Option<&str>) -> Result<(), Refusal> {
        let PatchRequest { id, api_version, steps } = request;
        let path = self.object_path(&Kind::of(id, api_version), &id.namespace, &id.name).await?;
        let _place = self.writes.place().await;
        let request = (Method::PATCH, format!("{path}?fieldManager={MANAGER}"));
        let call = Call::write((format!("change {id}"), id), request, (steps, "application/json-patch+json"));
        self.insist_once(Call { form: Form::Metadata, user, ..call }).await.map(|_| ())
    }

    /// Deletes an object that is still the one we mean and nobody else's: read, compare uid, labels and owner, delete with uid and version as
    /// preconditions.
    pub(super) async fn delete(&self, request: &DeleteRequest, user: Option<&str>) -> Result<Deletion, Refusal> {
        let DeleteRequest { id, api_version, uid, labels, stays, dependents, trace: _ } = request;
        let path = match self.object_path(&Kind::of(id, api_version), &id.namespace, &id.name).await {
            Err(refusal) if refusal.kind == RefusalKind::UnknownKind => return Ok(Deletion::Gone),
            other => other?,
        };
        let _place = self.writes.place().await;
        let mut refusal =
            Refusal::new(RefusalKind::Changed, format!("delete {id}: it changed {DELETE_ROUNDS} times meanwhile"));
        for _ in 0..DELETE_ROUNDS {
            let read = Call {
                form: Form::Metadata,
                ..Call::get(format!("read {id} before its deletion"), path.clone(), GET_DEADLINE)
            };
            let live = match self.insist(read).await {
                Ok((_, value)) => Object::from_value(value).unwrap_or_default(),
                Err(gone) if gone.kind == RefusalKind::NotFound => return Ok(Deletion::Gone),
                Err(other) => return Err(other),
            };
            if text(&live, "uid") != uid {
                // Another incarnation stands in its place: ours is gone, this one is not ours to delete.
                return Ok(Deletion::Gone);
            }
            if let Some((key, _)) = labels.iter().find(|(key, value)| live.label(key) != Some(value)) {
                let message = format!("delete {id}: it no longer carries our label {key}, so it is left alone");
                return Err(Refusal::new(RefusalKind::Conflict(Vec::new()), message));
            }
            if let Some(why) = stays.why(&live) {
                let message = format!("delete {id}: it is left alone, because {why}");
                return Err(Refusal::new(RefusalKind::Conflict(Vec::new()), message));
            }
            let policy = match dependents {
                Dependents::Collected => "Background",
                Dependents::Orphaned => "Orphan",
            };
            let body = json!({
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "propagationPolicy": policy,
                "preconditions": {"uid": uid, "resourceVersion": text(&live, "resourceVersion")},
            });
            let answer = self
                .insist(Call {
                    attempt: format!("delete {id}"),
                    method: Method::DELETE,
                    path: path.clone(),
                    body: Some((&body, "application/json")),
                    user,
                    form: Form::Full,
                    quoting: quoting(id),
                    deadline: DELETE_DEADLINE,
                })
                .await;
            match answer {
                Ok((_, value)) => {
                    return Ok(if value.get("metadata").and_then(|m| m.get("deletionTimestamp")).is_some() {
                        Deletion::Begun
                    } else {
                        Deletion::Gone
                    });
                }
                Err(gone) if gone.kind == RefusalKind::NotFound => return Ok(Deletion::Gone),
                Err(changed) if matches!(changed.kind, RefusalKind::Changed | RefusalKind::UidMismatch) => {
                    refusal = changed
                }
                Err(other) => return Err(other),
            }
        }
        Err(refusal)
    }

    /// Removes our labels, annotations and managed fields entry. Applying an empty object instead would delete every field that
    /// only we own.
    pub(super) async fn release(&self, request: &DeleteRequest, user: Option<&str>) -> Result<(), Refusal> {
        let DeleteRequest { id, api_version, uid, trace, .. } = request;
        let path = self.object_path(&Kind::of(id, api_version), &id.namespace, &id.name).await?;
        let Some(live) = self.read(id, api_version, Form::Metadata).await? else { return Ok(()) };
        if text(&live, "uid") != uid {
            return Ok(());
        }
        let ours = |map: &str| -> Map<String, Value> {
            let map = live.metadata().and_then(|metadata| metadata.get(map)).and_then(Value::as_object);
            let marks = map.into_iter().flat_map(Map::keys).filter(|key| is_mark(key));
            marks.map(|key| (key.clone(), Value::Null)).collect()
        };
        let mut annotations = ours("annotations");
        if let Some((key, value)) = trace.as_ref().filter(|_| live.annotation(ENTERED).is_none()) {
            annotations.insert(key.clone(), Value::from(value.as_str()));
        }
        let entries: Vec<Value> = live
            .metadata()
            .and_then(|metadata| metadata.get("managedFields"))
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|entry| {
                let mut entry = entry.clone();
                if let Some(fields) = entry.as_object_mut()
                    && fields.get("manager").and_then(Value::as_str) == Some(MANAGER)
                {
                    fields.insert("manager".to_owned(), Value::from("wild-released"));
                    fields.insert("operation".to_owned(), Value::from("Update"));
                }
                entry
            })
            .collect();
        let body = json!({"metadata": {
            "uid": uid,
            "resourceVersion": text(&live, "resourceVersion"),
            "labels": ours("labels"),
            "annotations": annotations,
            "managedFields": entries,
        }});
        let _place = self.writes.place().await;
        let request = (Method::PATCH, format!("{path}?fieldManager=wild-released"));
        let body = (&body, "application/merge-patch+json");
        let call = Call::write((format!("release {id}"), id), request, body);
        self.insist(Call { user, ..call }).await?;
        self.cache().forget(id);
        Ok(())
    }
}

/// Returns whether a label or annotation is one of our marks.
fn is_mark(key: &str) -> bool {
    key.starts_with("rewild.dev/") || key == "applyset.kubernetes.io/part-of"
}

fn text<'a>(object: &'a Object, key: &str) -> &'a str {
    object.metadata().and_then(|metadata| metadata.get(key)).and_then(Value::as_str).unwrap_or("")
}

/// Reads the answer to an apply.
fn written(code: u16, value: Value, hash: &str, id: &crate::model::ObjectId) -> Result<Written, Refusal> {
    let object = Object::from_value(value)
        .ok_or_else(|| Refusal::new(RefusalKind::Server, format!("apply {id}: the answer is no object")))?;
    let own = OwnEntry::of(object.metadata().and_then(|metadata| metadata.get("managedFields")));
    let observed = Observed {
        uid: text(&object, "uid").to_owned(),
        resource_version: text(&object, "resourceVersion").to_owned(),
        generation: object.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0),
        fields: own.fields,
        time: own.time,
        hash: hash.to_owned(),
    };
    Ok(Written { observed, created: code == 201, again: false, unchanged: false, object })
}

/// Takes the ports of nodes out of a Service that is only tried: the one that is still there has them.
fn without_node_ports(service: &mut Value) {
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return };
    spec.shift_remove("healthCheckNodePort");
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(port) = port.as_object_mut() {
            port.shift_remove("nodePort");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::without_node_ports;

    #[test]
    fn a_service_is_tried_without_the_ports_that_the_old_one_still_has() {
        let mut service = json!({"spec": {"type": "NodePort", "healthCheckNodePort": 30001,
            "ports": [{"port": 80, "nodePort": 30000}, {"port": 81}]}});
        without_node_ports(&mut service);
        assert_eq!(service, json!({"spec": {"type": "NodePort", "ports": [{"port": 80}, {"port": 81}]}}));
    }
}
