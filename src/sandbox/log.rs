//! The log of a container. Nothing runs here, so a log holds one line: that the container counts as running.
//!
//! Not here: when a pod becomes ready (`controllers/pod.rs`).

use serde_json::Value;

use crate::sandbox::call::Call;
use crate::sandbox::failure::Failure;
use crate::sandbox::server::Answer;
use crate::sandbox::store::{Key, Sort, Store};

/// Answers a request for a log.
pub(crate) fn answer(store: &Store, call: &Call) -> Result<Answer, Failure> {
    let key = Key::of(call.kind, &call.namespace, &call.name);
    let pod = store.get(Sort::of(call.kind), &key).ok_or_else(|| Failure::not_found(call.kind, &call.name))?;
    let asked = call.query.text("container");
    if asked.is_empty() {
        let all = pod.pointer("/spec/containers").and_then(Value::as_array).into_iter().flatten();
        let names: Vec<&str> = all.filter_map(|container| container.get("name")?.as_str()).collect();
        if names.len() > 1 {
            let (pod, names) = (&call.name, names.join(" "));
            let why = format!("a container name must be specified for pod {pod}, choose one of: [{names}]");
            return Err(Failure::bad_request(why));
        }
    }
    let containers = ["initContainers", "containers"].iter().filter_map(|key| pod.pointer(&format!("/spec/{key}")));
    let mut containers = containers.filter_map(Value::as_array).flatten();
    let fits = |container: &&Value| asked.is_empty() || container.get("name").and_then(Value::as_str) == Some(asked);
    let Some(container) = containers.find(fits) else {
        let pod = &call.name;
        return Err(Failure::bad_request(format!("container {asked} is not valid for pod {pod}")));
    };
    let name = container.get("name").and_then(Value::as_str).unwrap_or("");
    if call.query.is_true("previous") {
        let pod = &call.name;
        return Err(Failure::bad_request(format!(
            "previous terminated container \"{name}\" in pod \"{pod}\" not found"
        )));
    }
    if pod.pointer("/spec/nodeName").is_none() {
        return Ok(Answer::Text(204, ""));
    }
    if call.query.text("tailLines") == "0" {
        return Ok(Answer::Lines(String::new()));
    }
    let image = container.get("image").and_then(Value::as_str).unwrap_or("");
    let since = pod.pointer("/status/startTime").or(pod.pointer("/metadata/creationTimestamp"));
    let time = match since.and_then(Value::as_str).filter(|_| call.query.is_true("timestamps")) {
        Some(time) => format!("{time} "),
        None => String::new(),
    };
    Ok(Answer::Lines(format!("{time}{name}: nothing runs in the sandbox, {image} counts as running\n")))
}
