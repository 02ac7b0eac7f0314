//! Pure. Objects that wait until others are healthy, because their author named them; deletions go the other way.
//!
//! The annotation holds `GROUP/KIND/NAME` or `GROUP/namespaces/NAMESPACE/KIND/NAME`, several with commas between them; the group of core
//! kinds is empty. Not here: what an object needs by its content (`references`), waves (`waves`).

use std::collections::{BTreeMap, BTreeSet};

use super::action::{Blocked, Plan};
use super::snapshot::Snapshot;
use super::wanted::Wanted;
use super::wellness;
use super::write::{Brings, Write};
use crate::base::order::order;
use crate::health::HealthState;
use crate::model::{Object, ObjectId};

/// Annotation by which an author says what must be healthy before an object goes out.
const DEPENDS_ON: &str = "rewild.dev/depends-on";
/// The same, as other tools know it.
const ALIAS: &str = "config.kubernetes.io/depends-on";

/// Returns what an object carries of both annotations, as one list.
pub fn written(object: &Object) -> String {
    let texts = [DEPENDS_ON, ALIAS].into_iter().filter_map(|key| object.annotation(key));
    texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join(",")
}

/// Returns the objects that such a list names, or the first part of it that names none.
pub(super) fn named(list: &str) -> Result<BTreeSet<ObjectId>, String> {
    if list.is_empty() {
        return Ok(BTreeSet::new());
    }
    let one = |part: &str| {
        let part = part.trim();
        let id = match part.split('/').collect::<Vec<_>>().as_slice() {
            [group, "namespaces", namespace, kind, name] => ObjectId::new(group, kind, namespace, name),
            [group, kind, name] => ObjectId::new(group, kind, "", name),
            _ => return Err(part.to_owned()),
        };
        if id.kind.is_empty() || id.name.is_empty() { Err(part.to_owned()) } else { Ok(id) }
    };
    list.split(',').map(one).collect()
}

/// Returns the objects that a wanted object waits for; none if its list does not read, which is refused elsewhere.
pub(super) fn of(wanted: &Wanted) -> BTreeSet<ObjectId> {
    named(&written(&wanted.payload)).unwrap_or_default()
}

/// Refuses objects that wait for nothing that the app has, for something of a later wave, or for themselves.
pub(super) fn refuse(wanted: &mut [Wanted]) {
    let edges: BTreeMap<ObjectId, BTreeSet<ObjectId>> = wanted.iter().map(|one| (one.id.clone(), of(one))).collect();
    if edges.values().all(BTreeSet::is_empty) {
        return;
    }
    let waves: BTreeMap<ObjectId, i32> = wanted.iter().map(|one| (one.id.clone(), one.wave)).collect();
    let circles = circles(edges.clone());
    for one in wanted.iter_mut().filter(|one| one.refused.is_none()) {
        let named = edges.get(&one.id).into_iter().flatten();
        let unknown = named.clone().find(|id| !waves.contains_key(*id));
        let later = named.clone().find(|id| waves.get(*id).is_some_and(|wave| *wave > one.wave));
        let circle = circles.iter().find(|circle| circle.contains(&one.id));
        let mistake = match (unknown, circle, later) {
            (Some(unknown), ..) => format!("depends on {unknown}, which is no object of the app"),
            (None, Some(circle), _) => format!("depends on itself: {}", walk(circle, &one.id)),
            (None, None, Some(later)) => format!("depends on {}, which goes out in a later wave", later.short()),
            (None, None, None) => continue,
        };
        let place = if one.source.is_empty() { String::new() } else { format!("{}: ", one.source) };
        one.refused = Some(Blocked {
            object: Some(one.id.clone()),
            reason: "InvalidObject".into(),
            message: format!("{place}{} {mistake}", one.id.short()),
            hint: String::new(),
        });
    }
}

/// Returns all circles, each in the order in which its objects name each other; one that shares an object with another once.
fn circles(mut edges: BTreeMap<ObjectId, BTreeSet<ObjectId>>) -> Vec<Vec<ObjectId>> {
    let mut circles = Vec::new();
    while let Err(circle) = order(&edges) {
        for id in &circle {
            edges.remove(id);
        }
        if circle.is_empty() {
            break;
        }
        circles.push(circle);
    }
    circles
}

/// Returns a circle as people read it, from one object to the same.
fn walk(circle: &[ObjectId], first: &ObjectId) -> String {
    let start = circle.iter().position(|id| id == first).unwrap_or(0);
    let turned = circle.iter().cycle().skip(start).take(circle.len() + 1);
    turned.map(ObjectId::short).collect::<Vec<_>>().join(" → ")
}

/// Takes out news of objects that wait for others; the plan names them and what they wait for. What was applied before is put back.
pub(super) fn hold(snapshot: &Snapshot, wanted: &[Wanted], writes: &mut Vec<(Wanted, Write)>, plan: &mut Plan) {
    let is_news = |write: &Write| write.brings == Brings::News;
    let mut open: BTreeSet<ObjectId> = plan.later.keys().cloned().collect();
    open.extend(plan.blocked.iter().filter_map(|blocked| blocked.object.clone()));
    open.extend(writes.iter().filter(|(_, write)| is_news(write)).map(|(one, _)| one.id.clone()));
    let is_well = |id: &ObjectId| {
        let state = wanted.iter().find(|one| one.id == *id).map(|one| wellness::of_wanted_object(snapshot, one).state);
        matches!(state, Some(HealthState::Healthy | HealthState::Suspended))
    };
    writes.retain(|(one, write)| {
        let waits: Vec<String> =
            of(one).iter().filter(|id| open.contains(*id) || !is_well(id)).map(ObjectId::short).collect();
        let goes = waits.is_empty() || !is_news(write);
        if !goes {
            plan.later.insert(one.id.clone(), waits);
        }
        goes
    });
}

/// Returns those of the objects to delete that others still need which go as well: they go when those are gone. Where all wait for each
/// other, none does.
pub(super) fn needed(
    snapshot: &Snapshot,
    deletes: &BTreeSet<ObjectId>,
    leaving: &BTreeSet<ObjectId>,
) -> BTreeSet<ObjectId> {
    let lists = deletes.union(leaving).filter_map(|id| Some((id, snapshot.live.get(id)?.depends_on.as_str())));
    let mut needed = BTreeSet::new();
    for (id, list) in lists.filter(|(_, list)| !list.is_empty()) {
        needed
            .extend(named(list).unwrap_or_default().into_iter().filter(|other| other != id && deletes.contains(other)));
    }
    if leaving.is_empty() && needed.len() == deletes.len() { BTreeSet::new() } else { needed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::Health;
    use crate::model::Object;
    use crate::plan::tests::check;
    use crate::plan::tests::world::{World, config, deployment, job};
    use crate::plan::{Presence, plan};

    fn on(mut object: Object, list: &str) -> Object {
        object.set_annotation(DEPENDS_ON, list);
        object
    }

    fn web() -> Object {
        on(deployment("web", "web:1"), "apps/namespaces/blog/Deployment/db, batch/namespaces/blog/Job/schema")
    }

    fn world() -> World {
        World::deployed(&[]).wants(&web()).wants(&deployment("db", "db:1")).wants(&job("schema"))
    }

    #[test]
    fn a_list_names_objects_as_other_tools_write_them() {
        let list = " apps/namespaces/blog/Deployment/db , /namespaces/blog/Secret/key,/Namespace/blog";
        let found: Vec<String> = named(list).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(found, ["Namespace/blog", "Secret blog/key", "Deployment.apps blog/db"]);
        for wrong in ["Deployment/db", "apps/namespaces/blog/Deployment", "apps//db", "a/b/c,", "apps/Deployment/"] {
            assert!(named(wrong).is_err(), "{wrong}");
        }
        let mut both = on(config("a", "1"), "/Namespace/a");
        both.set_annotation(ALIAS, "/Namespace/b");
        assert_eq!(named(&written(&both)).unwrap().len(), 2);
        assert_eq!(named(&written(&config("a", "1"))), Ok(BTreeSet::new()));
    }

    #[test]
    fn an_object_goes_out_when_those_it_depends_on_are_healthy() {
        let out = ["+ Deployment db new in ccccccc", "+ Job schema new in ccccccc"];
        check(
            &world(),
            &[out[0], out[1], "… Deployment/web waits until Deployment/db, Job/schema is healthy", "= 1 unchanged"],
        );
        let begun = World::deployed(&[deployment("db", "db:1"), job("schema")]).wants(&web());
        let one = begun
            .clone()
            .health("Deployment/db", Health::progressing("0 of 2"))
            .health("Job/schema", Health::healthy());
        check(&one, &["… Deployment/web waits until Deployment/db is healthy", "= 3 unchanged"]);
        let both = one.health("Deployment/db", Health::healthy());
        check(&both, &["+ Deployment web new in ccccccc", "= 3 unchanged"]);
    }

    #[test]
    fn what_changes_waits_for_what_changes() {
        let applied = World::deployed(&[deployment("db", "db:1"), job("schema"), web()]);
        let changed = applied
            .clone()
            .drops("Deployment/db")
            .wants(&deployment("db", "db:2"))
            .drops("Deployment/web")
            .wants(&on(deployment("web", "web:2"), "apps/namespaces/blog/Deployment/db"));
        check(
            &changed,
            &[
                "~ Deployment db changed in ccccccc",
                "… Deployment/web waits until Deployment/db is healthy",
                "= 2 unchanged",
            ],
        );
        // What was applied before is put back whatever it depends on.
        let lost = applied.health("Deployment/db", Health::degraded("it crashes")).loses("Deployment/web");
        check(&lost, &["+ Deployment web puts back what differs", "* Deployment/web is gone", "= 3 unchanged"]);
    }

    #[test]
    fn what_a_waiting_object_of_an_early_wave_depends_on_comes_forward() {
        let mut early = on(config("early", "1"), "/namespaces/blog/ConfigMap/first");
        early.set_annotation("rewild.dev/wave", "-5");
        let first = on(config("first", "1"), "/namespaces/blog/ConfigMap/base");
        let world =
            World::deployed(&[]).wants(&early).wants(&first).wants(&config("base", "1")).wants(&config("a", "1"));
        check(
            &world,
            &[
                "+ ConfigMap base new in ccccccc",
                "… ConfigMap/a waits until ConfigMap/early, ConfigMap/first, ConfigMap/base is healthy",
                "… ConfigMap/early waits until ConfigMap/first is healthy",
                "… ConfigMap/first waits until ConfigMap/base is healthy",
                "= 1 unchanged",
            ],
        );
    }

    #[track_caller]
    fn refused(objects: &[Object], expected: &[&str]) {
        let world = objects.iter().fold(World::deployed(&[]), |world, object| world.wants(object));
        let found: Vec<String> = plan(&world.snapshot).blocked.into_iter().map(|blocked| blocked.message).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        let at = "apps/blog/configmap-a.yaml:3: ConfigMap/a";
        let depends = |name: &str, list: &str| on(config(name, "1"), list);
        refused(
            &[depends("a", "apps/namespaces/blog/Deployment/db")],
            &[&format!("{at} depends on Deployment.apps blog/db, which is no object of the app")],
        );
        refused(
            &[depends("a", "Deployment/db")],
            &[&format!(
                "{at} depends on Deployment/db, which is neither GROUP/KIND/NAME nor GROUP/namespaces/NAMESPACE/KIND/NAME"
            )],
        );
        let circle = ["b", "c", "a"].map(|name| format!("/namespaces/blog/ConfigMap/{name}"));
        let objects = [depends("a", &circle[0]), depends("b", &circle[1]), depends("c", &circle[2])];
        refused(
            &objects,
            &[
                &format!("{at} depends on itself: ConfigMap/a → ConfigMap/b → ConfigMap/c → ConfigMap/a"),
                "apps/blog/configmap-b.yaml:3: ConfigMap/b depends on itself: ConfigMap/b → ConfigMap/c → ConfigMap/a → ConfigMap/b",
                "apps/blog/configmap-c.yaml:3: ConfigMap/c depends on itself: ConfigMap/c → ConfigMap/a → ConfigMap/b → ConfigMap/c",
            ],
        );
        let mut late = config("b", "1");
        late.set_annotation("rewild.dev/wave", "3");
        refused(
            &[depends("a", "/namespaces/blog/ConfigMap/b"), late],
            &[&format!("{at} depends on ConfigMap/b, which goes out in a later wave")],
        );
    }

    #[test]
    fn deletions_go_the_other_way() {
        let all = [web(), deployment("db", "db:1"), job("schema"), config("files", "1")];
        let dropped = |world: World| world.drops("Deployment/web").drops("Deployment/db").drops("Job/schema");
        let list = written(&web());
        let world = World::deployed(&all).live("Deployment/web", |live| live.depends_on = list.clone());
        let later = [
            "i Deployment/db goes when what depends on it is gone",
            "i Job/schema goes when what depends on it is gone",
        ];
        check(&dropped(world.clone()), &["- Deployment web no longer in ccccccc", later[0], later[1], "= 2 unchanged"]);
        let leaving = world.clone().live("Deployment/web", |live| live.terminating = true);
        assert!(plan(&dropped(leaving).snapshot).actions.is_empty());
        let gone = World::deployed(&all[1..]);
        assert_eq!(plan(&gone.drops("Deployment/db").drops("Job/schema").snapshot).actions.len(), 2);
        // Of a whole app it is the same, and a circle holds nothing.
        let removed = |world: &World| {
            let snapshot = &world.clone().with(|snapshot| snapshot.presence = Presence::RemovedKeepingData).snapshot;
            let actions = plan(snapshot).actions;
            actions.iter().map(|action| action.object.short()).collect::<Vec<_>>()
        };
        let first = removed(&world);
        assert!(
            first.contains(&"Deployment/web".to_owned()) && !first.contains(&"Deployment/db".to_owned()),
            "{first:?}"
        );
        let circle = world.live("Deployment/db", |live| live.depends_on = "apps/namespaces/blog/Deployment/web".into());
        let bound = circle.loses("ConfigMap/files").loses("Job/schema");
        assert!(removed(&bound).contains(&"Deployment/db".to_owned()));
    }
}
