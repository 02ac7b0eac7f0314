//! Whether anything stands behind the service of a webhook that did not answer: the first thing that whoever repairs it asks.
//!
//! Not here: which webhook that is (`told`).

use serde_json::Value;

use super::Inner;
use super::call::{Call, GET_DEADLINE};
use crate::target::address::segment;
use crate::target::{Guard, Refusal};

/// Slices of one service that are looked at; one holds a hundred endpoints.
const MAX_SLICES: usize = 10;

impl Inner {
    /// Adds to a refusal whether the service behind the webhook has endpoints.
    pub(super) async fn with_endpoints(&self, refusal: Refusal) -> Refusal {
        let Some(Guard { namespace, name }) = refusal.unanswered.clone() else { return refusal };
        let path = format!(
            "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices?limit={MAX_SLICES}&labelSelector=kubernetes.io%2Fservice-name%3D{}",
            segment(&namespace),
            segment(&name)
        );
        let attempt = format!("list the endpoints of the service {namespace}/{name}");
        let said = match self.call(Call::get(attempt, path, GET_DEADLINE)).await {
            Ok((_, slices)) => match ready(&slices) {
                0 => "has no ready endpoint".to_owned(),
                1 => "has a ready endpoint".to_owned(),
                many => format!("has {many} ready endpoints"),
            },
            Err(why) => format!("may have none: {why}"),
        };
        Refusal { message: format!("{}; its service {namespace}/{name} {said}", refusal.message), ..refusal }
    }
}

/// Returns how many endpoints of these slices are ready; one that says nothing of it is.
fn ready(slices: &Value) -> usize {
    let items = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let endpoints = items(slices, "items").iter().flat_map(|slice| items(slice, "endpoints")).collect::<Vec<_>>();
    endpoints.iter().filter(|one| one.pointer("/conditions/ready") != Some(&Value::Bool(false))).count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ready;

    #[test]
    fn endpoints_that_are_not_ready_do_not_count() {
        let slices = json!({"items": [
            {"endpoints": [{"conditions": {"ready": true}}, {"conditions": {"ready": false}}]},
            {"endpoints": [{"conditions": {}}]},
            {"endpoints": null},
        ]});
        assert_eq!(ready(&slices), 2);
        assert_eq!(ready(&json!({"items": []})), 0);
    }
}
