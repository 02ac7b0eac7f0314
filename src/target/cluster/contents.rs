//! Everything that lives in a namespace, by asking every listable kind of every group.
//!
//! Complete or a refusal: a group that does not answer hides objects, and what cannot be seen must not count as absent.
//! Not here: what follows for the namespace (`plan`).

use std::collections::BTreeSet;

use futures::{StreamExt, stream};
use serde_json::Value;

use super::call::{Call, DISCOVERY_DEADLINE, Form};
use super::discovery::of_group;
use super::{Inner, Kind};
use crate::model::Object;
use crate::target::Refusal;
use crate::target::address::segment;

/// Objects of one kind that are looked at; a namespace with more is not empty in any case.
const PAGE_SIZE: usize = 500;
/// Kinds that show other objects again, so that they need not be counted twice.
const VIEWS: [&str; 2] = ["events", "podmetrics"];

/// Requests that are on their way side by side: what the first list says must still be new when the last one is in.
const WIDTH: usize = 8;

/// A kind that can be listed.
struct Listable {
    /// `apiVersion` to speak.
    version: String,
    plural: String,
    kind: String,
}

impl Inner {
    /// Returns the metadata of all objects in a namespace, with `kind` set.
    pub(super) async fn contents(&self, namespace: &str) -> Result<Vec<Object>, Refusal> {
        let versions = self.group_versions().await?;
        // Made before they are polled, here and below: a closure that is kept across an await would pin lifetimes.
        let asks: Vec<_> = versions.iter().map(|version| self.listable(version)).collect();
        let (mut kinds, mut known) = (Vec::new(), BTreeSet::new());
        let mut answers = stream::iter(asks).buffered(WIDTH);
        while let Some(answer) = answers.next().await {
            let new = |it: &Listable| known.insert((group_of(&it.version).to_owned(), it.plural.clone()));
            kinds.extend(answer?.into_iter().filter(new));
        }
        let asks: Vec<_> = kinds.iter().map(|kind| self.all_of(namespace, kind)).collect();
        let mut found = Vec::new();
        let mut answers = stream::iter(asks).buffered(WIDTH);
        while let Some(answer) = answers.next().await {
            found.extend(answer?);
        }
        Ok(found)
    }

    /// Returns the kinds of a version that live in namespaces and can be listed.
    async fn listable(&self, version: &str) -> Result<Vec<Listable>, Refusal> {
        let ask = Call::get(format!("ask for the kinds of {version}"), path_of(version), DISCOVERY_DEADLINE);
        let (_, list) = self.ask(ask).await.map_err(|refusal| of_group(group_of(version), refusal))?;
        let named = |(plural, kind)| Listable { version: version.to_owned(), plural, kind };
        Ok(listable(&list).into_iter().map(named).collect())
    }

    /// Returns the metadata of the objects of a kind in a namespace.
    async fn all_of(&self, namespace: &str, listable: &Listable) -> Result<Vec<Object>, Refusal> {
        let Listable { version, plural, kind } = listable;
        let page = format!("{}/namespaces/{}/{plural}?limit={PAGE_SIZE}", path_of(version), segment(namespace));
        let call = Call {
            form: Form::MetadataList,
            ..Call::get(format!("list {kind} in {namespace}"), page, DISCOVERY_DEADLINE)
        };
        // A kind that was there a moment ago and cannot be listed is doubt, too: its objects may come back with it.
        let (_, list) = self.call(call).await.map_err(|refusal| of_group(group_of(version), refusal))?;
        let mut found = Vec::new();
        for item in list.get("items").and_then(Value::as_array).into_iter().flatten() {
            let Some(mut object) = Object::from_value(item.clone()) else { continue };
            object.0.insert("kind".to_owned(), Value::from(kind.clone()));
            object.0.insert("apiVersion".to_owned(), Value::from(version.clone()));
            found.push(object);
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
    pub(super) async fn group_versions(&self) -> Result<Vec<String>, Refusal> {
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

fn group_of(version: &str) -> &str {
    version.rsplit_once('/').map_or("", |(group, _)| group)
}

fn path_of(version: &str) -> String {
    if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") }
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
