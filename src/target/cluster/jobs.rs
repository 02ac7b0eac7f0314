//! The Jobs that have run: one ConfigMap per instance. A Job that is gone after its run shows nowhere else once the store is lost.
//!
//! Not here: which Jobs these are (`plan`), our other ConfigMap (`apply_set`).

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Value, json};

use super::Inner;
use super::call::{Call, Form, GET_DEADLINE, WRITE_DEADLINE};
use crate::model::ObjectId;
use crate::target::{Quoting, Refusal, RefusalKind};

/// How often a ConfigMap that is made or removed by somebody else at the same time is written again.
const WRITE_ROUNDS: usize = 3;

/// Returns the key of a Job: a namespace has no dot, so no two Jobs share one.
fn key(id: &ObjectId) -> String {
    format!("{}.{}", id.namespace, id.name)
}

impl Inner {
    /// Returns the hash with which a Job has run, if it has. The ConfigMap is read once.
    pub(super) async fn job_done(&self, id: &ObjectId) -> Result<Option<String>, Refusal> {
        let mut known = self.jobs.lock().await;
        Ok(self.done(&mut known).await?.get(&key(id)).cloned())
    }

    /// Notes Jobs that have run, by their hash, and forgets others. What is noted already costs no request.
    pub(super) async fn note_jobs(&self, jobs: &[(ObjectId, Option<String>)]) -> Result<(), Refusal> {
        if jobs.is_empty() {
            return Ok(());
        }
        let mut known = self.jobs.lock().await;
        let done = self.done(&mut known).await?;
        let news: BTreeMap<String, Option<String>> = jobs
            .iter()
            .map(|(id, hash)| (key(id), hash.clone()))
            .filter(|(key, hash)| done.get(key) != hash.as_ref())
            .collect();
        if news.is_empty() {
            return Ok(());
        }
        self.write_jobs(&news).await?;
        for (key, hash) in news {
            match hash {
                Some(hash) => _ = done.insert(key, hash),
                None => _ = done.remove(&key),
            }
        }
        Ok(())
    }

    async fn done<'a>(
        &self,
        known: &'a mut Option<BTreeMap<String, String>>,
    ) -> Result<&'a mut BTreeMap<String, String>, Refusal> {
        if known.is_none() {
            let name = self.jobs_name();
            let path = format!("{}/{name}", self.own_config_maps());
            let read = match self.call(Call::get(format!("read {name}"), path, GET_DEADLINE)).await {
                Ok((_, value)) => value,
                Err(refusal) if refusal.kind == RefusalKind::NotFound => Value::Null,
                Err(refusal) => return Err(refusal),
            };
            let data = read.get("data").and_then(Value::as_object).into_iter().flatten();
            *known = Some(data.filter_map(|(key, hash)| Some((key.clone(), hash.as_str()?.to_owned()))).collect());
        }
        Ok(known.get_or_insert_default())
    }

    async fn write_jobs(&self, news: &BTreeMap<String, Option<String>>) -> Result<(), Refusal> {
        let (name, path) = (self.jobs_name(), self.own_config_maps());
        let patch = json!({"data": news});
        let mut answer = Ok(());
        for _ in 0..WRITE_ROUNDS {
            let at = format!("{path}/{name}?fieldManager=wild-apply-set");
            answer = self.send_jobs(Method::PATCH, at, (&patch, "application/merge-patch+json")).await;
            if !matches!(&answer, Err(refusal) if refusal.kind == RefusalKind::NotFound) {
                return answer;
            }
            let data: BTreeMap<&String, &String> =
                news.iter().filter_map(|(key, hash)| Some((key, hash.as_ref()?))).collect();
            if data.is_empty() {
                return Ok(());
            }
            self.make_control_namespace().await?;
            let labels = json!({"app.kubernetes.io/managed-by": "wild"});
            let metadata = json!({"name": name, "namespace": self.control_namespace, "labels": labels});
            let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
            let at = format!("{path}?fieldManager=wild-apply-set");
            answer = self.send_jobs(Method::POST, at, (&body, "application/json")).await;
            if !matches!(&answer, Err(refusal) if refusal.kind == RefusalKind::Changed) {
                return answer;
            }
        }
        answer
    }

    async fn send_jobs(&self, method: Method, path: String, body: (&Value, &'static str)) -> Result<(), Refusal> {
        let call = Call {
            attempt: format!("note in {} which jobs have run", self.jobs_name()),
            method,
            path,
            body: Some(body),
            user: None,
            form: Form::Full,
            quoting: Quoting::Allowed,
            deadline: WRITE_DEADLINE,
        };
        self.insist(call).await.map(|_| ())
    }

    fn jobs_name(&self) -> String {
        format!("wild-{}-jobs", self.instance)
    }
}
