//! Lets a namespace go whose deletion does not end, because nobody is left who would remove its finalizers, and what it holds.
//!
//! Not here: whether that is due (`plan::recovery`), what lives in a namespace (`contents`).

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Inner;
use super::call::{Call, Form, WRITE_DEADLINE};
use crate::model::{Object, ObjectId};
use crate::target::{DeleteRequest, Dependents, FreeRequest, Kind, Quoting, Refusal, RefusalKind, Stays};

/// The finalizer that the cluster removes from a namespace when it is empty.
const CLUSTERS_OWN: &str = "kubernetes";
/// Looks at an object that changes each time before it is let go.
const FREE_ROUNDS: usize = 5;
/// How long what a namespace holds may take to be listed until that says nothing any more.
const LISTING_AGE: Duration = Duration::from_secs(5);
/// How long the last write to a namespace may take.
const FINALIZE_DEADLINE: Duration = Duration::from_secs(15);

impl Inner {
    /// Lets an object go. Its controllers write to it as well, so one that changed between the look and the write is looked at again.
    pub(super) async fn free(&self, request: &FreeRequest) -> Result<(), Refusal> {
        let is_namespace = request.id.group.is_empty() && request.id.kind == "Namespace";
        let mut answer = Ok(());
        for _ in 0..FREE_ROUNDS {
            answer = if is_namespace { self.free_namespace(request).await } else { self.loosen(request).await };
            if !matches!(&answer, Err(refusal) if refusal.kind == RefusalKind::Changed) {
                break;
            }
        }
        answer
    }

    /// Asks for the deletion of an object, or takes finalizers off one that is being deleted; the version that was read is the precondition.
    async fn loosen(&self, request: &FreeRequest) -> Result<(), Refusal> {
        let FreeRequest { id, api_version, uid, finalizers } = request;
        let Some(live) = self.read(id, api_version, Form::Metadata).await? else { return Ok(()) };
        let text = |key: &str| live.at(&["metadata", key]).and_then(Value::as_str).unwrap_or("");
        if text("uid") != uid {
            return Ok(());
        }
        if text("deletionTimestamp").is_empty() {
            let request = DeleteRequest {
                id: id.clone(),
                api_version: api_version.clone(),
                uid: uid.clone(),
                labels: Vec::new(),
                stays: Stays::default(),
                dependents: Dependents::Collected,
                trace: None,
            };
            return self.delete(&request, None).await.map(|_| ());
        }
        let Some(kept) = without(live.at(&["metadata", "finalizers"]), finalizers) else { return Ok(()) };
        let body = json!({"metadata": {"uid": uid, "resourceVersion": text("resourceVersion"), "finalizers": kept}});
        let path = self.object_path(&Kind::of(id, api_version), &id.namespace, &id.name).await?;
        let path = format!("{path}?fieldManager=wild");
        self.change(id, Method::PATCH, path, (&body, "application/merge-patch+json")).await?;
        Ok(())
    }

    /// Reads the namespace, lists everything in it, and only if that is nothing takes the finalizers off; the version that was read is the
    /// precondition of each write.
    async fn free_namespace(&self, request: &FreeRequest) -> Result<(), Refusal> {
        let FreeRequest { id, api_version: _, uid, finalizers } = request;
        let namespace = id.name.as_str();
        let Some(live) = self.read(id, "v1", Form::Full).await? else { return Ok(()) };
        let text = |key: &str| live.at(&["metadata", key]).and_then(Value::as_str).unwrap_or("");
        if text("uid") != uid || text("deletionTimestamp").is_empty() {
            return Ok(());
        }
        let begun = Instant::now();
        let rest = self.contents(namespace).await?;
        if let Some(first) = rest.first() {
            let message = format!("let {id} go: it holds {} again", first.id().short());
            return Err(Refusal::new(RefusalKind::Changed, message));
        }
        let path = self.object_path(&Kind::of(id, "v1"), "", namespace).await?;
        still_true(id, begun.elapsed())?;
        let live = match without(live.at(&["metadata", "finalizers"]), finalizers) {
            None => live.to_value(),
            Some(kept) => {
                let body = json!({"metadata": {
                    "uid": uid, "resourceVersion": text("resourceVersion"), "finalizers": kept,
                }});
                let path = format!("{path}?fieldManager=wild");
                self.change(id, Method::PATCH, path, (&body, "application/merge-patch+json")).await?
            }
        };
        let Some(kept) = without(live.pointer("/spec/finalizers"), &[CLUSTERS_OWN.to_owned()]) else { return Ok(()) };
        let Some(mut object) = Object::from_value(live) else { return Ok(()) };
        object.0.insert("spec".to_owned(), json!({"finalizers": kept}));
        let body = object.to_value();
        still_true(id, begun.elapsed())?;
        self.change(id, Method::PUT, format!("{path}/finalize"), (&body, "application/json")).await?;
        Ok(())
    }

    async fn change(
        &self,
        id: &ObjectId,
        method: Method,
        path: String,
        body: (&Value, &'static str),
    ) -> Result<Value, Refusal> {
        let deadline = if method == Method::PUT { FINALIZE_DEADLINE } else { WRITE_DEADLINE };
        let call = Call {
            attempt: format!("let {id} go"),
            method,
            path,
            body: Some(body),
            user: None,
            form: Form::Full,
            quoting: Quoting::Allowed,
            deadline,
        };
        Ok(self.insist(call).await?.1)
    }
}

/// Refuses to rest on a list that was begun too long ago.
fn still_true(id: &ObjectId, age: Duration) -> Result<(), Refusal> {
    if age <= LISTING_AGE {
        return Ok(());
    }
    let limit = LISTING_AGE.as_secs();
    let message = format!("let {id} go: listing what it holds took more than {limit} s, so it is listed anew");
    Err(Refusal::new(RefusalKind::Changed, message))
}

/// Returns a list of finalizers without some of them; nothing if it holds none of these.
fn without(list: Option<&Value>, gone: &[String]) -> Option<Vec<Value>> {
    let list = list?.as_array()?;
    let kept: Vec<Value> =
        list.iter().filter(|name| !gone.iter().any(|gone| Some(gone.as_str()) == name.as_str())).cloned().collect();
    (kept.len() < list.len()).then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_took_too_long_proves_nothing() {
        let id = ObjectId::new("", "Namespace", "", "blog");
        assert_eq!(still_true(&id, LISTING_AGE).err(), None);
        let late = still_true(&id, LISTING_AGE + Duration::from_millis(1)).err();
        assert_eq!(late.map(|refusal| refusal.kind), Some(RefusalKind::Changed));
    }
}
