//! What the watches of one cluster know, event by event.
//!
//! Not here: the watches themselves (`watch.rs`).

use std::time::{Duration, Instant};

use serde_json::json;

use super::{BTreeSet, Cache, Kind, PLACES_LIMIT, Place, Places, Sent, WatchState, decode};
use crate::model::{Editors, HealthRule, Object, ObjectId, Observed, OwnEntry};
use crate::target::{LiveObject, RefusalKind, TargetEvent, Written};

fn id() -> ObjectId {
    ObjectId::new("", "ConfigMap", "blog", "a")
}

fn object(version: &str, field: &str) -> Object {
    Object::from_value(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "a", "namespace": "blog", "uid": "u", "resourceVersion": version, "labels": {"rewild.dev/app": "blog"},
        "managedFields": [{"manager": "wild", "operation": "Apply", "apiVersion": "v1", "time": "t", "fieldsV1": {field: {}}}]}}))
    .unwrap()
}

fn live(version: &str, field: &str) -> Option<LiveObject> {
    Some(decode(&id(), &object(version, field), &[]))
}

fn written(version: &str, field: &str) -> Written {
    let object = object(version, field);
    let own = OwnEntry::of(object.at(&["metadata", "managedFields"]));
    let observed = Observed {
        uid: "u".into(),
        resource_version: version.into(),
        generation: 0,
        fields: own.fields,
        time: own.time,
        hash: String::new(),
    };
    Written { observed, created: false, again: false, unchanged: false, object }
}

fn cache() -> Cache {
    let mut cache = Cache::default();
    cache.open(&kind("ConfigMap"));
    cache
}

fn kind(kind: &str) -> Kind {
    Kind { group: String::new(), version: "v1".into(), kind: kind.into() }
}

#[test]
fn objects_with_the_mark_of_an_app_are_counted_and_named() {
    let mut cache = cache();
    assert_eq!(cache.count("blog"), 0);
    cache.event(&id(), live("5", "f:data"));
    cache.event(&id(), live("6", "f:data"));
    assert_eq!((cache.count("blog"), cache.members("blog")), (1, vec![(id(), "v1".to_owned())]));
    let moved = live("7", "f:data").map(|live| LiveObject { app: "other".into(), ..live });
    cache.event(&id(), moved);
    assert_eq!((cache.count("blog"), cache.count("other")), (0, 1));
    cache.event(&id(), None);
    assert_eq!((cache.count("other"), cache.members("other").len()), (0, 0));
}

fn drift() -> TargetEvent {
    TargetEvent::Drift { app: "blog".into() }
}

#[test]
fn the_echo_of_an_own_write_is_no_news() {
    let mut cache = cache();
    cache.begin_write(&id());
    assert!(!cache.end_write(&id(), Some(&written("5", "f:data")), Sent::Whole));
    assert!(!cache.event(&id(), live("5", "f:data")));
    assert!(cache.news.is_empty());
}

/// Returns an object of which another holds a field, and a controller its state.
fn shared(version: &str, holder: &str) -> Object {
    let mut object = object(version, "f:data").to_value();
    object["metadata"]["generation"] = json!(1);
    let entry = |manager: &str, subresource: &str| json!({"manager": manager, "operation": "Update", "subresource": subresource, "time": version, "fieldsV1": {"f:a": {}}});
    let entries = object["metadata"]["managedFields"].as_array_mut().unwrap();
    entries.push(entry("controller", "status"));
    if !holder.is_empty() {
        entries.push(json!({"manager": holder, "operation": "Update", "time": "t", "fieldsV1": {"f:spec": {}}}));
    }
    Object::from_value(object).unwrap()
}

#[test]
fn who_holds_what_a_write_left_out_is_kept_and_a_change_of_it_is_news() {
    let event = |cache: &mut Cache, version: &str, holder: &str| {
        cache.event(&id(), Some(decode(&id(), &shared(version, holder), &[])))
    };
    let holders = |cache: &Cache| {
        let managed = cache.live(&id()).unwrap().managed;
        managed.map(|managed| managed.as_array().unwrap().len())
    };
    // A write that was sent whole keeps nothing; one that was not, and the record of one, do.
    for (sent, is_partial) in [(Sent::Whole, false), (Sent::Part, true)] {
        let mut cache = cache();
        cache.begin_write(&id());
        let written = Written { object: shared("5", "tuner"), ..written("5", "f:data") };
        // A kind with generations, of which only the spec is of interest.
        let observed = Observed { generation: 1, ..written.observed.clone() };
        cache.end_write(&id(), Some(&Written { observed, ..written }), sent);
        assert!(!event(&mut cache, "5", "tuner") && !event(&mut cache, "6", "tuner"), "{is_partial}");
        assert_eq!(holders(&cache), is_partial.then_some(2));
        assert_eq!(event(&mut cache, "7", ""), is_partial);
    }
    let mut cache = cache();
    event(&mut cache, "5", "tuner");
    cache.expect(&id(), "u", &OwnEntry { fields: String::new(), time: "t".into() });
    assert_eq!(holders(&cache), None);
    cache.learn(&id(), &shared("4", "tuner"));
    assert_eq!(holders(&cache), None, "it is of another version");
    cache.learn(&id(), &shared("5", "tuner"));
    assert_eq!(holders(&cache), Some(2));
    assert!(!event(&mut cache, "6", "tuner") && event(&mut cache, "7", "scaler"));
}

#[test]
fn who_had_an_object_that_somebody_gives_another_mark_or_none_is_told() {
    let marked = |version: &str, app: &str| live(version, "f:b").map(|live| LiveObject { app: app.into(), ..live });
    for (app, is_in_flight) in [("other", false), ("other", true), ("", false), ("", true)] {
        let mut cache = cache();
        cache.expect(&id(), "u", &OwnEntry::of(object("5", "f:a").at(&["metadata", "managedFields"])));
        cache.event(&id(), live("5", "f:a"));
        cache.begin_write(&id());
        cache.event(&id(), live("6", "f:a"));
        let mut is_news = is_in_flight && cache.event(&id(), marked("7", app));
        is_news |= cache.end_write(&id(), Some(&written("6", "f:a")), Sent::Whole);
        is_news |= !is_in_flight && cache.event(&id(), marked("7", app));
        let owner = TargetEvent::Drift { app: "blog".into() };
        assert!(is_news && cache.news.contains(&owner), "{app:?} {is_in_flight}: {:?}", cache.news);
    }
}

#[test]
fn who_holds_what_is_not_kept_of_a_write_whose_event_came_before_its_answer() {
    let mut cache = cache();
    cache.expect(&id(), "u", &OwnEntry::of(object("5", "f:spec").at(&["metadata", "managedFields"])));
    cache.begin_write(&id());
    cache.event(&id(), live("6", "f:data"));
    assert!(cache.live(&id()).unwrap().managed.is_some(), "it may be of anybody's making");
    let seen = cache.seen("blog");
    cache.end_write(&id(), Some(&written("6", "f:data")), Sent::Whole);
    assert_eq!((cache.live(&id()).unwrap().managed, cache.seen("blog")), (None, seen));
}

#[test]
fn an_older_event_that_our_answer_overtook_is_no_news() {
    let mut cache = cache();
    cache.begin_write(&id());
    cache.end_write(&id(), Some(&written("5", "f:data")), Sent::Whole);
    assert!(!cache.event(&id(), live("4", "f:other")));
    assert!(!cache.event(&id(), live("5", "f:data")));
    assert!(cache.news.is_empty());
    assert!(cache.event(&id(), live("6", "f:other")));
    assert_eq!(cache.news.pop_first(), Some(drift()));
}

#[test]
fn an_edit_that_a_list_behind_the_own_write_shows_is_news() {
    let unparked = |until: fn(Instant) -> Option<Instant>| {
        let mut cache = cache();
        cache.begin_write(&id());
        cache.end_write(&id(), Some(&written("5", "f:data")), Sent::Whole);
        // The echo itself never comes: the stream began anew behind it.
        assert!(!cache.event(&id(), live("6", "f:other")));
        let is_news = cache.unpark(("", "ConfigMap"), None, until(Instant::now()).unwrap());
        (is_news, cache.news.pop_first(), cache.live(&id()).map(|live| live.resource_version))
    };
    assert_eq!(unparked(Some), (true, Some(drift()), Some("6".into())));
    // A list that began before the answer may show what was overtaken.
    let before = |now: Instant| now.checked_sub(Duration::from_secs(1));
    assert_eq!(unparked(before), (false, None, Some("5".into())));
}

#[test]
fn an_edit_seen_before_the_answer_is_judged_after_it() {
    let mut cache = cache();
    cache.begin_write(&id());
    assert!(!cache.event(&id(), live("5", "f:data")));
    assert!(!cache.event(&id(), live("6", "f:other")));
    assert!(cache.end_write(&id(), Some(&written("5", "f:data")), Sent::Whole));
    assert_eq!(cache.news.pop_first(), Some(drift()));
}

#[test]
fn apps_that_need_a_kind_which_could_not_be_seen_are_told_when_it_can() {
    let unknown: fn(&mut Cache) = |cache| cache.unknown("", "ConfigMap");
    let refused: fn(&mut Cache) = |cache| _ = cache.refused("", "ConfigMap", None, &RefusalKind::Unserved);
    for hide in [unknown, refused] {
        let mut cache = cache();
        cache.need("blog", &needing("ConfigMap"));
        cache.need("shop", &needing("Secret"));
        cache.synced("", "ConfigMap", None, Some(&[].into()));
        assert!(cache.news.is_empty(), "a first list says nothing that nobody asked for");
        let seen = cache.seen("blog");
        hide(&mut cache);
        cache.heard("", "ConfigMap", None);
        assert!(cache.news.is_empty());
        cache.synced("", "ConfigMap", None, Some(&[].into()));
        assert_eq!(cache.news.pop_first(), Some(TargetEvent::Health { app: "blog".into() }));
        assert!(cache.news.is_empty() && cache.seen("blog") > seen);
        cache.synced("", "ConfigMap", None, Some(&[].into()));
        assert!(cache.news.is_empty(), "it is told once");
    }
}

#[test]
fn apps_that_need_a_kind_of_which_nothing_came_for_long_are_told_when_something_does() {
    let heard: fn(&mut Cache) = |cache| assert!(cache.heard("", "ConfigMap", None));
    let listed: fn(&mut Cache) = |cache| _ = cache.synced("", "ConfigMap", None, Some(&[].into()));
    for comes in [heard, listed] {
        let mut cache = cache();
        cache.need("blog", &needing("ConfigMap"));
        cache.need("shop", &needing("Secret"));
        cache.synced("", "ConfigMap", None, Some(&[].into()));
        assert!(!cache.heard("", "ConfigMap", None) && cache.news.is_empty(), "nothing was doubted");
        cache.patience.fresh = Duration::ZERO;
        assert_eq!(cache.state("blog", "", "ConfigMap"), WatchState::Stale);
        comes(&mut cache);
        assert_eq!(cache.news.pop_first(), Some(TargetEvent::Health { app: "blog".into() }));
        assert!(cache.news.is_empty());
    }
}

#[test]
fn a_deletion_is_news_and_so_is_an_object_that_a_new_list_lacks() {
    let mut cache = cache();
    cache.begin_write(&id());
    cache.end_write(&id(), Some(&written("5", "f:data")), Sent::Whole);
    assert!(cache.event(&id(), None));
    cache.news.clear();
    cache.event(&id(), live("5", "f:data"));
    cache.synced("", "ConfigMap", None, Some(&[].into()));
    assert_eq!(cache.news.pop_first(), Some(drift()));
}

#[test]
fn the_first_word_of_a_controller_is_news_although_the_object_is_as_well_as_before() {
    let mut cache = Cache::default();
    let gizmo = Kind { group: "both.example.org".into(), ..kind("Gizmo") };
    cache.open(&gizmo);
    let id = ObjectId::new("both.example.org", "Gizmo", "blog", "one");
    let gizmo = |status: serde_json::Value| {
        let metadata = json!({"name": "one", "namespace": "blog", "labels": {"rewild.dev/app": "blog"}});
        let gizmo =
            json!({"apiVersion": "both.example.org/v1", "kind": "Gizmo", "metadata": metadata, "status": status});
        Some(decode(&id, &Object::from_value(gizmo).unwrap(), &[]))
    };
    cache.event(&id, gizmo(json!({})));
    cache.news.clear();
    assert!(!cache.event(&id, gizmo(json!({"phase": "New"}))));
    assert!(cache.event(&id, gizmo(json!({"conditions": []}))));
    assert_eq!(cache.news.pop_first(), Some(TargetEvent::Health { app: "blog".into() }));
}

#[test]
fn another_rule_about_a_kind_lets_its_objects_be_listed_anew() {
    let mut cache = cache();
    cache.open(&kind("Service"));
    for kind in ["ConfigMap", "Service"] {
        cache.synced("", kind, None, Some(&BTreeSet::new()));
    }
    let rule = HealthRule { kind: "Service".to_owned(), ..HealthRule::default() };
    assert!(cache.judge_by(std::slice::from_ref(&rule), &Editors::default()));
    assert!(!cache.settled("blog", "", "Service") && cache.settled("blog", "", "ConfigMap"));
    assert_eq!((cache.judged("", "Service"), cache.judged("", "ConfigMap")), (1, 0));
    cache.synced("", "Service", None, Some(&BTreeSet::new()));
    assert!(!cache.judge_by(&[rule], &Editors::default()) && cache.settled("blog", "", "Service"));
    assert!(cache.judge_by(&[], &Editors::default()) && !cache.settled("blog", "", "Service"));
    assert!(cache.judge_by(&[], &Editors::beside(["tuner"])) && !cache.settled("blog", "", "ConfigMap"));
}

#[test]
fn a_kind_is_closed_when_no_app_has_needed_it_for_a_while() {
    let mut cache = cache();
    let maps = needing("ConfigMap");
    let (none, at_once) = (Places::new(), Duration::ZERO);
    cache.event(&id(), live("5", "f:data"));
    // What no app said to need yet is not unused.
    assert!(!cache.close("", "ConfigMap", at_once));
    assert!(!cache.need("blog", &maps) && !cache.need("shop", &maps) && !cache.need("blog", &maps));
    assert!(!cache.need("blog", &none) && !cache.close("", "ConfigMap", at_once), "another app needs it");
    assert!(cache.need("shop", &none));
    assert!(!cache.close("", "ConfigMap", Duration::from_secs(60)), "too early");
    assert!(!cache.need("blog", &maps) && !cache.close("", "ConfigMap", at_once), "it is needed again");
    assert!(cache.need("blog", &none) && cache.close("", "ConfigMap", at_once));
    assert_eq!(
        (cache.state("blog", "", "ConfigMap"), cache.live(&id()), cache.count("blog")),
        (WatchState::Closed, None, 0)
    );
    assert!(cache.open(&kind("ConfigMap")) && !cache.need("blog", &maps));
    assert!(cache.need("blog", &none), "it is counted anew");
}

fn needing(name: &str) -> Places {
    [(kind(name), [place("blog")].into())].into()
}

fn place(namespace: &str) -> Place {
    Place::Namespace(namespace.into())
}

#[test]
fn a_kind_that_may_not_be_watched_everywhere_is_watched_where_apps_need_it() {
    let mut cache = cache();
    let state = |cache: &Cache| cache.state("blog", "", "ConfigMap");
    cache.need("blog", &needing("ConfigMap"));
    assert!(cache.narrow("", "ConfigMap").is_empty(), "as long as all may be watched at once");
    cache.refused("", "ConfigMap", None, &RefusalKind::Forbidden);
    assert_eq!((cache.narrow("", "ConfigMap"), cache.narrow("", "ConfigMap")), (vec![place("blog")], Vec::new()));
    assert!(!cache.settled("blog", "", "ConfigMap") && state(&cache) == WatchState::Stale);
    cache.event(&id(), live("5", "f:data"));
    let listed: BTreeSet<ObjectId> = [id()].into();
    cache.synced("", "ConfigMap", Some(&place("blog")), Some(&listed));
    assert!(cache.settled("blog", "", "ConfigMap") && state(&cache) == WatchState::Fresh);
    assert_eq!(cache.news.pop_first(), Some(TargetEvent::Health { app: "blog".into() }), "it waited for that");
    // Another app needs it elsewhere, where nothing is known yet, and nothing may ever be.
    let elsewhere: Places = [(kind("ConfigMap"), [place("shop")].into())].into();
    cache.need("shop", &elsewhere);
    assert_eq!(cache.narrow("", "ConfigMap"), [place("shop")]);
    assert!(
        cache.refused("", "ConfigMap", Some(&place("shop")), &RefusalKind::Unserved)
            && cache.settled("shop", "", "ConfigMap")
    );
    assert_eq!((state(&cache), cache.state("shop", "", "ConfigMap")), (WatchState::Fresh, WatchState::Closed));
    // A list of one namespace says nothing of another.
    cache.synced("", "ConfigMap", Some(&place("shop")), Some(&[].into()));
    assert!(cache.live(&id()).is_some());
    // Where no app needs it any more it is left.
    cache.need("shop", &Places::new());
    assert!(!cache.has_place("", "ConfigMap", &place("shop")) && cache.has_place("", "ConfigMap", &place("blog")));
    // All may be watched at once again: until they are listed nothing is known.
    cache.heard("", "ConfigMap", None);
    assert!(!cache.has_place("", "ConfigMap", &place("blog")) && state(&cache) == WatchState::Stale);
    cache.synced("", "ConfigMap", None, Some(&listed));
    assert_eq!(state(&cache), WatchState::Fresh);
}

#[test]
fn only_so_many_namespaces_are_watched_one_by_one() {
    let mut cache = cache();
    let many = (0..PLACES_LIMIT + 1).map(|number| place(&format!("place-{number:04}"))).collect();
    cache.need("blog", &[(kind("ConfigMap"), many)].into());
    cache.refused("", "ConfigMap", None, &RefusalKind::Forbidden);
    assert_eq!(cache.narrow("", "ConfigMap").len(), PLACES_LIMIT);
    assert_eq!(cache.state("blog", "", "ConfigMap"), WatchState::Closed, "of one of them nothing is ever known");
}

#[test]
fn a_kind_that_may_not_be_watched_is_settled_and_not_trusted_until_it_is_heard_of() {
    let mut cache = Cache::default();
    assert!(cache.open(&kind("Service")) && !cache.settled("blog", "", "Service"));
    assert!(cache.refused("", "Service", None, &RefusalKind::Unserved));
    assert!(cache.settled("blog", "", "Service"));
    assert_eq!(cache.state("blog", "", "Service"), WatchState::Closed);
    assert!(!cache.refused("", "Service", None, &RefusalKind::Unserved));
    cache.heard("", "Service", None);
    cache.synced("", "Service", None, Some(&BTreeSet::new()));
    assert_eq!(cache.state("blog", "", "Service"), WatchState::Fresh);
}

#[test]
fn what_comes_as_metadata_alone_is_of_no_custom_kind() {
    let metadata = json!({"name": "one", "namespace": "blog"});
    let alone = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata});
    let alone = Object::from_value(alone).unwrap();
    assert!(!decode(&id(), &alone, &[]).unspoken);
    let whole = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": metadata});
    let gateway = ObjectId::new("gateway.networking.k8s.io", "Gateway", "blog", "one");
    assert!(decode(&gateway, &Object::from_value(whole).unwrap(), &[]).unspoken);
}

/// An apply in our name in the second of our own one leaves the same entry with the same time.
#[test]
fn what_follows_a_write_at_once_and_is_of_nobody_else_is_to_be_compared() {
    let drift = || TargetEvent::Drift { app: "blog".into() };
    let begun = || {
        let mut cache = cache();
        cache.begin_write(&id());
        cache.event(&id(), live("5", "f:data"));
        cache
    };
    let mut cache = begun();
    assert!(!cache.end_write(&id(), Some(&written("5", "f:data")), Sent::Whole));
    assert!(!cache.event(&id(), live("5", "f:data")), "the echo of our own write");
    assert!(cache.event(&id(), live("6", "f:data")) && cache.news.contains(&drift()));
    assert_eq!((cache.doubts.take("blog"), cache.doubts.take("blog")), ([id()].into(), BTreeSet::new()));

    let mut cache = begun();
    cache.event(&id(), live("6", "f:data"));
    assert!(cache.end_write(&id(), Some(&written("5", "f:data")), Sent::Whole), "it came before the answer");
    assert_eq!(cache.doubts.take("blog"), [id()].into());

    let explained = |change: fn(&mut serde_json::Value)| {
        let mut cache = begun();
        cache.end_write(&id(), Some(&written("5", "f:data")), Sent::Whole);
        let mut object = object("6", "f:data").to_value();
        change(&mut object);
        let decoded = decode(&id(), &Object::from_value(object).unwrap(), &[]);
        cache.event(&id(), Some(decoded));
        cache.doubts.take("blog")
    };
    assert_eq!(explained(|_| {}), [id()].into());
    let others = |object: &mut serde_json::Value| {
        let entry = json!({"manager": "tuner", "operation": "Update", "time": "t", "fieldsV1": {"f:spec": {}}});
        object["metadata"]["managedFields"].as_array_mut().unwrap().push(entry);
    };
    assert_eq!(explained(others), BTreeSet::new(), "somebody else did that");
    assert_eq!(explained(|object| object["metadata"]["deletionTimestamp"] = json!("t")), BTreeSet::new());
    assert_eq!(explained(|object| object["metadata"]["uid"] = json!("another")), BTreeSet::new());
}
