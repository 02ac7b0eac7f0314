//! What goes along with the deletions of a plan, counted on the target for a person who is about to agree.
//!
//! Reads only, a bounded number of objects. What cannot be read is told as unknown and holds nothing up. Not here: the sentences
//! (`plan::cascade`).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::model::{Object, ObjectId};
use crate::plan::cascade::{Cascade, by_kind, takes_others};
use crate::plan::{Plan, Verb};
use crate::target::{Kind, Refusal, Target};

/// Objects of a plan whose content is counted.
const MAX_COUNTED: usize = 20;
/// Claims in namespaces that go of which the volume is looked at.
const MAX_CLAIMS: usize = 50;

/// Returns what goes along with the deletions of a plan, held back or not.
pub(super) async fn of(plan: &Plan, target: &dyn Target) -> Vec<Cascade> {
    let mut cascades = Vec::new();
    let mut claims = BTreeSet::new();
    for id in plan.victims.iter().filter(|id| takes_others(id)).take(MAX_COUNTED) {
        match id.kind.as_str() {
            "PersistentVolumeClaim" => _ = claims.insert(id.clone()),
            "Namespace" => match target.contents(&id.name).await {
                Ok(inside) => {
                    cascades.push(Cascade::Content(id.clone(), by_kind(&inside)));
                    claims.extend(inside.iter().map(Object::id).filter(is_claim));
                }
                Err(refusal) => cascades.push(Cascade::Unknown(id.clone(), refusal.message)),
            },
            _ => cascades.push(instances(id, target).await.unwrap_or_else(|why| Cascade::Unknown(id.clone(), why))),
        }
    }
    for claim in claims.into_iter().filter(|claim| !is_held(plan, claim)).take(MAX_CLAIMS) {
        let volume = volume(&claim, target).await;
        cascades.push(match volume {
            Ok(volume) => Cascade::Volume(claim, volume),
            Err(refusal) => Cascade::Unknown(claim, refusal.message),
        });
    }
    cascades
}

fn is_claim(id: &ObjectId) -> bool {
    id.group.is_empty() && id.kind == "PersistentVolumeClaim"
}

/// Returns whether the plan itself says what becomes of the volume of a claim.
fn is_held(plan: &Plan, claim: &ObjectId) -> bool {
    let holds = |verb: &Verb| matches!(verb, Verb::Hold { volume } if volume.claim.id() == *claim);
    plan.actions.iter().any(|action| holds(&action.verb))
}

/// Counts the objects of a kind that is defined by an object.
async fn instances(id: &ObjectId, target: &dyn Target) -> Result<Cascade, String> {
    let said = |refusal: Refusal| refusal.message;
    let definition = target.get(id, "apiextensions.k8s.io/v1").await.map_err(said)?;
    let Some(kind) = definition.as_ref().and_then(defined) else { return Err("its kind is not served".to_owned()) };
    Ok(Cascade::Instances(id.clone(), target.tally(&kind).await.map_err(said)?))
}

/// Returns the kind that a definition defines, in a version that is served.
fn defined(definition: &Object) -> Option<Kind> {
    let text = |path: &[&str]| definition.at(path)?.as_str().map(str::to_owned);
    let versions = definition.at(&["spec", "versions"])?.as_array()?;
    let served = versions.iter().find(|version| version.get("served").and_then(Value::as_bool) == Some(true))?;
    let version = served.get("name")?.as_str()?.to_owned();
    Some(Kind { group: text(&["spec", "group"])?, version, kind: text(&["spec", "names", "kind"])? })
}

/// Returns the volume behind a claim, with the policy that says what becomes of it.
async fn volume(claim: &ObjectId, target: &dyn Target) -> Result<Option<(String, String)>, Refusal> {
    let text = |object: &Object, path: &[&str]| object.at(path).and_then(Value::as_str).map(str::to_owned);
    let found = target.get(claim, "v1").await?;
    let Some(name) = found.and_then(|claim| text(&claim, &["spec", "volumeName"])) else { return Ok(None) };
    let volume = target.get(&ObjectId::new("", "PersistentVolume", "", &name), "v1").await?;
    let policy = volume.and_then(|volume| text(&volume, &["spec", "persistentVolumeReclaimPolicy"]));
    // The server fills in `Retain` where nobody chose.
    Ok(Some((name, policy.unwrap_or_else(|| "Retain".to_owned()))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{AppName, CommitId};
    use crate::target::RefusalKind;
    use crate::target::scripted::Scripted;

    #[tokio::test]
    async fn what_goes_along_is_read_and_what_cannot_be_read_is_told() {
        let object = |value: Value| Object::from_value(value).unwrap();
        let claim = |name: &str, volume: &str| {
            object(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {"volumeName": volume},
                "metadata": {"name": name, "namespace": "blog"}}))
        };
        let volume = object(json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-1"},
            "spec": {"persistentVolumeReclaimPolicy": "Delete"}}));
        let definition = object(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "gizmos.example.org"}, "spec": {"group": "example.org", "names": {"kind": "Gizmo"},
            "versions": [{"name": "v0", "served": false}, {"name": "v1", "served": true}]}}));
        let (data, refused) = (claim("data", "pv-1"), claim("refused", ""));
        let inside = claim("inside", "pv-2");
        let no = Refusal::new(RefusalKind::Forbidden, "read it: no".to_owned());
        let namespace = ObjectId::new("", "Namespace", "", "blog");
        let target = Scripted {
            objects: [
                (data.id(), Ok(data.clone())),
                (volume.id(), Ok(volume)),
                (definition.id(), Ok(definition.clone())),
                (refused.id(), Err(no)),
                (inside.id(), Ok(inside.clone())),
            ]
            .into(),
            inside: vec![inside],
            tally: 3,
            ..Scripted::default()
        };
        let commit = CommitId::parse(&"a".repeat(40)).unwrap();
        let mut plan = Plan::nothing(AppName::parse("blog").unwrap(), commit);
        let config = ObjectId::new("", "ConfigMap", "blog", "settings");
        plan.victims = vec![config, data.id(), definition.id(), namespace, refused.id()];
        let told: Vec<String> = of(&plan, &target).await.iter().map(Cascade::told).collect();
        let expected = [
            "CustomResourceDefinition/gizmos.example.org takes 3 objects of its kind with it",
            "Namespace/blog takes 1 object with it: 1 PersistentVolumeClaim",
            "PersistentVolumeClaim/data takes its volume pv-1 with it, by its policy Delete",
            "PersistentVolumeClaim/inside leaves its volume pv-2, by its policy Retain",
            "what goes with PersistentVolumeClaim/refused could not be counted: read it: no",
        ];
        assert_eq!(told, expected);
    }
}
