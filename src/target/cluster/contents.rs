//! Everything that lives in a namespace, by asking every listable kind of every group.
//!
//! Complete or a refusal: a group that does not answer hides objects, and what cannot be seen must not count as absent.
//! Not here: what follows for the namespace (`plan`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::call::{Call, DISCOVERY_DEADLINE, Form};
use super::discovery::of_group;
use super::{Inner, Kind};
use crate::model::Object;
use crate::target::Refusal;

/// Objects of one kind that are looked at; a namespace with more is not empty in any case.
const PAGE_SIZE: usize = 500;
/// Kinds that show other objects again, so that they need not be counted twice.
const VIEWS: [&str; 2] = ["events", "podmetrics"];

impl Inner {
    /// Returns the metadata of all objects in a namespace, with `kind` set.
    pub(super) async fn contents(&self, namespace: &str) -> Result<Vec<Object>, Refusal> {
        let (mut found, mut listed) = (Vec::new(), BTreeSet::new());
        for version in self.group_versions().await? {
            let path = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
            let group = version.rsplit_once('/').map_or("", |(group, _)| group);
            let ask = Call::get(format!("ask for the kinds of {version}"), path.clone(), DISCOVERY_DEADLINE);
            let (_, list) = self.ask(ask).await.map_err(|refusal| of_group(group, refusal))?;
            for (plural, kind) in listable(&list) {
                if !listed.insert((group.to_owned(), plural.clone())) {
                    continue;
                }
                let page = format!("{path}/namespaces/{namespace}/{plural}?limit={PAGE_SIZE}");
                let call = Call {
                    form: Form::MetadataList,
                    ..Call::get(format!("list {kind} in {namespace}"), page, DISCOVERY_DEADLINE)
                };
                // A kind that was there a moment ago and cannot be listed is doubt, too: its objects may come back with it.
                let (_, objects) = self.call(call).await.map_err(|refusal| of_group(group, refusal))?;
                for item in objects.get("items").and_then(Value::as_array).into_iter().flatten() {
                    let Some(mut object) = Object::from_value(item.clone()) else { continue };
                    object.0.insert("kind".to_owned(), Value::from(kind.clone()));
                    object.0.insert("apiVersion".to_owned(), Value::from(version.clone()));
                    found.push(object);
                }
            }
        }
        Ok(found)
    }

    /// Counts the objects of a kind in all namespaces: those of one page, and what the server says is left.
    pub(super) async fn tally(&self, kind: &Kind) -> Result<usize, Refusal> {
        let page = format!("{}?limit={PAGE_SIZE}", self.list_path(kind).await?);
        let call =
            Call { form: Form::MetadataList, ..Call::get(format!("count {}", kind.kind), page, DISCOVERY_DEADLINE) };
        let (_, list) = self.call(call).await?;
        let shown = list.get("items").and_then(Value::as_array).map_or(0, Vec::len);
        let left = list.pointer("/metadata/remainingItemCount").and_then(Value::as_u64).unwrap_or(0);
        Ok(shown.saturating_add(usize::try_from(left).unwrap_or(usize::MAX)))
    }

    /// Returns the versions of every group, of each the preferred one first: a kind may be served in another one alone.
    async fn group_versions(&self) -> Result<Vec<String>, Refusal> {
        let mut versions = vec!["v1".to_owned()];
        let (_, groups) = self.ask(Call::get("ask for the API groups", "/apis".to_owned(), DISCOVERY_DEADLINE)).await?;
        for group in groups.get("groups").and_then(Value::as_array).into_iter().flatten() {
            let preferred =
                group.get("preferredVersion").and_then(|version| version.get("groupVersion")).and_then(Value::as_str);
            let all = group.get("versions").and_then(Value::as_array).into_iter().flatten();
            let others =
                all.filter_map(|version| version.get("groupVersion")?.as_str()).filter(|it| Some(*it) != preferred);
            versions.extend(preferred.into_iter().chain(others).map(str::to_owned));
        }
        Ok(versions)
    }
}

fn listable(list: &Value) -> Vec<(String, String)> {
    let resources = list.get("resources").and_then(Value::as_array).into_iter().flatten();
    resources
        .filter_map(|entry| {
            let plural = entry.get("name")?.as_str()?;
            let kind = entry.get("kind")?.as_str()?;
            let lists = entry.get("verbs")?.as_array()?.iter().any(|verb| verb.as_str() == Some("list"));
            let wanted =
                entry.get("namespaced")?.as_bool()? && lists && !plural.contains('/') && !VIEWS.contains(&plural);
            wanted.then(|| (plural.to_owned(), kind.to_owned()))
        })
        .collect()
}
