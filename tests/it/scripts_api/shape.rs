//! What kind of request a request is, as one line: verb, kind, parameters, and what else of it changes the answer.
//!
//! ```text
//! PATCH apps/v1 deployments ?fieldManager&force content=apply-patch
//! WATCH v1 pods ?allowWatchBookmarks&labelSelector&resourceVersionMatch=NotOlderThan accept=PartialObjectMetadata
//! DELETE v1 configmaps options=preconditions.uid&propagationPolicy=Background
//! GET /apis/GROUP/VERSION
//! ```
//!
//! Names, namespaces and values do not count, except values that are words of the API; `watch` is the verb. So requests of the demo, of a
//! real server's audit log and of the scripts can be compared. A real log tells neither the form nor the options that are asked for.
//!
//! Not here: who sends requests.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::script::{Act, Request};

/// Parameters whose values are words of the API.
const WORDS: [&str; 4] = ["fieldValidation", "propagationPolicy", "resourceVersionMatch", "sendInitialEvents"];

/// Returns the shape of a request to a path with its query; the content type may be empty.
pub(crate) fn shape(method: &str, target: &str, content_type: &str) -> String {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut parameters: BTreeMap<&str, &str> = query
        .split('&')
        .filter(|part| !part.is_empty())
        .map(|part| part.split_once('=').unwrap_or((part, "")))
        .collect();
    let watch = matches!(parameters.remove("watch"), Some("1" | "true"));
    let (resource, named) = resource(path);
    let verb = match (method, watch, named) {
        ("GET", true, _) => "WATCH",
        ("GET", false, Named::No) => "LIST",
        (other, ..) => other,
    };
    let mut line = format!("{verb} {resource}");
    if !parameters.is_empty() {
        let shown = parameters.into_iter().map(|(name, value)| worded(name, value));
        line.push_str(&format!(" ?{}", shown.collect::<Vec<_>>().join("&")));
    }
    if verb == "PATCH" && !content_type.is_empty() {
        let sort = content_type.trim_start_matches("application/").split(['+', ';']).next().unwrap_or("");
        line.push_str(&format!(" content={sort}"));
    }
    line
}

/// Returns the shape of a request with the form it asks for and, of a deletion, the options in its body.
fn whole_shape(line: String, accept: &str, options: &Value) -> String {
    let form = accept.split(';').find_map(|part| part.trim().strip_prefix("as="));
    let form = form.map(|form| format!(" accept={form}")).unwrap_or_default();
    let mut names = BTreeSet::new();
    for (name, value) in options.as_object().into_iter().flatten() {
        match value {
            Value::Object(inner) => names.extend(inner.keys().map(|key| format!("{name}.{key}"))),
            // What kind of object the options are.
            _ if matches!(name.as_str(), "kind" | "apiVersion") => {}
            value => {
                names.insert(worded(name, value.as_str().unwrap_or("")));
            }
        }
    }
    let options = names.into_iter().collect::<Vec<_>>().join("&");
    let options = if options.is_empty() { options } else { format!(" options={options}") };
    line + &form + &options
}

fn worded(name: &str, value: &str) -> String {
    if WORDS.contains(&name) { format!("{name}={value}") } else { name.to_owned() }
}

/// Whether a path ends in the name of an object, in a collection, or is about no object at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Named {
    Yes,
    No,
    Neither,
}

/// Returns version and plural of the kind, and the subresource, that a path is about.
fn resource(path: &str) -> (String, Named) {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let (version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] if !rest.is_empty() => ((*version).to_owned(), rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (format!("{group}/{version}"), rest),
        ["apis", _, _] => return ("/apis/GROUP/VERSION".to_owned(), Named::Neither),
        _ => return (path.to_owned(), Named::Neither),
    };
    let rest = match rest {
        // A namespace itself, and what namespaces have below them.
        ["namespaces"] | ["namespaces", _] | ["namespaces", _, "finalize" | "status"] => rest,
        ["namespaces", _, rest @ ..] => rest,
        rest => rest,
    };
    match rest {
        [plural] => (format!("{version} {plural}"), Named::No),
        [plural, _] => (format!("{version} {plural}"), Named::Yes),
        [plural, _, below @ ..] => (format!("{version} {plural}/{}", below.join("/")), Named::Yes),
        [] => (path.to_owned(), Named::Neither),
    }
}

/// Returns the shapes of all requests in the scripts that are compared with the real API server, without forms and options.
pub(crate) fn shapes_of_scripts() -> BTreeSet<String> {
    requests_of_scripts().iter().map(|it| shape(&it.method, &it.path, header(it, "content-type"))).collect()
}

/// Returns the same with forms and options.
fn whole_shapes_of_scripts() -> BTreeSet<String> {
    let whole = |it: &Request| {
        let options = if it.method == "DELETE" { it.body.as_str() } else { "" };
        let line = shape(&it.method, &it.path, header(it, "content-type"));
        whole_shape(line, header(it, "accept"), &serde_json::from_str(options).unwrap_or(Value::Null))
    };
    requests_of_scripts().iter().map(whole).collect()
}

fn requests_of_scripts() -> Vec<Request> {
    let steps = super::read_scripts(|_| true).into_iter().flat_map(|(_, script)| script.steps);
    let request = |act| match act {
        Act::Request(request) => Some(*request),
        Act::Watch { path, accept, .. } => {
            let headers = accept.into_iter().map(|accept| ("accept".to_owned(), accept)).collect();
            Some(Request { method: "GET".to_owned(), path, headers, body: String::new(), without: Vec::new() })
        }
        Act::Events { .. } | Act::Until { .. } => None,
    };
    steps.filter_map(|step| request(step.act)).collect()
}

fn header<'a>(request: &'a Request, name: &str) -> &'a str {
    request.headers.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
}

/// Returns the shapes of the requests in an audit log of the sandbox.
fn shapes_of_log(log: &str) -> BTreeSet<String> {
    let mut shapes = BTreeSet::new();
    for line in log.lines() {
        let event: Value = serde_json::from_str(line).expect("a line of an audit log");
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or("");
        let method = match text("/verb") {
            "get" => "GET",
            "create" => "POST",
            "update" => "PUT",
            "patch" => "PATCH",
            "delete" => "DELETE",
            other => other,
        };
        let options = if method == "DELETE" { &event["requestObject"] } else { &Value::Null };
        let shape = shape(method, text("/requestURI"), text("/annotations/content-type"));
        shapes.insert(whole_shape(shape, text("/annotations/accept"), options));
    }
    shapes
}

/// Returns the shapes of the requests in an audit log of the sandbox that occur in no script.
pub(crate) fn unknown(log: &str) -> Vec<String> {
    let known = whole_shapes_of_scripts();
    let of_any_kind: BTreeSet<String> = known.iter().filter_map(|shape| json_patch_of_any_kind(shape)).collect();
    let is_known = |shape: &String| {
        // Each server answers with its own version, of which only is read that it answers.
        shape == "GET /version" || json_patch_of_any_kind(shape).is_some_and(|shape| of_any_kind.contains(&shape))
    };
    shapes_of_log(log).difference(&known).filter(|shape| !is_known(shape)).cloned().collect()
}

/// Returns the shape of a JSON patch without its kind: which kinds one is sent about hangs on who was faster, and a server carries its steps out
/// before it looks at the kind. A subresource is another thing.
fn json_patch_of_any_kind(shape: &str) -> Option<String> {
    let (verb, rest) = shape.split_once(' ')?;
    let (_, rest) = rest.split_once(' ')?;
    let (plural, rest) = rest.split_once(' ')?;
    let is_one = verb == "PATCH" && rest.contains("content=json-patch") && !plural.contains('/');
    is_one.then(|| format!("{verb} {rest}"))
}

#[test]
fn a_request_shows_verb_kind_and_parameters() {
    let check = |method: &str, target: &str, sort: &str, expected: &str| {
        assert_eq!(shape(method, target, sort), expected, "{method} {target}");
    };
    let apply = "application/apply-patch+yaml";
    let expected = "PATCH apps/v1 deployments ?fieldManager&force content=apply-patch";
    check("PATCH", "/apis/apps/v1/namespaces/a/deployments/b?force=true&fieldManager=wild", apply, expected);
    check("PATCH", "/api/v1/namespaces/a", "application/merge-patch+json", "PATCH v1 namespaces content=merge-patch");
    check("GET", "/api/v1/namespaces?watch=1&limit=5", "", "WATCH v1 namespaces ?limit");
    check("GET", "/api/v1/namespaces/a/pods?watch=true", "", "WATCH v1 pods");
    check("GET", "/api/v1/pods?resourceVersionMatch=Exact", "", "LIST v1 pods ?resourceVersionMatch=Exact");
    check("GET", "/api/v1/namespaces/a/pods/b", "", "GET v1 pods");
    check("PUT", "/api/v1/namespaces/a/pods/b/status", "application/json", "PUT v1 pods/status");
    check("DELETE", "/api/v1/namespaces/a/configmaps", "", "DELETE v1 configmaps");
    check("GET", "/apis", "", "GET /apis");
    check("GET", "/apis/apps/v1", "", "GET /apis/GROUP/VERSION");
    check("GET", "/api/v1", "", "GET /api/v1");
}

#[test]
fn a_log_shows_what_it_tells() {
    let line = |more: &str| format!(r#"{{"verb": "delete", "requestURI": "/api/v1/namespaces/a/pods/b"{more}}}"#);
    let check = |more: &str, expected: &str| {
        assert_eq!(shapes_of_log(&line(more)).into_iter().collect::<Vec<_>>(), [expected]);
    };
    check("", "DELETE v1 pods");
    check(r#", "annotations": {"accept": "application/json;as=Table;v=v1;g=g"}"#, "DELETE v1 pods accept=Table");
    let options = r#", "requestObject": {"kind": "DeleteOptions", "gracePeriodSeconds": 1, "preconditions": {"uid": "u"}, "propagationPolicy": "Orphan"}"#;
    check(options, "DELETE v1 pods options=gracePeriodSeconds&preconditions.uid&propagationPolicy=Orphan");
}

#[test]
fn a_json_patch_is_known_of_every_kind_and_nothing_else_is() {
    let line = |path: &str, query: &str, kind: &str| {
        format!(
            r#"{{"verb": "patch", "requestURI": "{path}?{query}", "annotations": {{"content-type": "application/{kind}", "accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}}}}"#
        )
    };
    let unknown = |path: &str, query: &str, kind: &str| unknown(&line(path, query, kind));
    let json = "json-patch+json";
    for path in ["/api/v1/namespaces/a", "/apis/apps/v1/namespaces/a/deployments/b", "/apis/never/v1/nevers/b"] {
        assert!(unknown(path, "fieldManager=x", json).is_empty(), "{path}");
        assert_eq!(unknown(path, "never=x", json).len(), 1, "{path}");
    }
    assert_eq!(unknown("/api/v1/namespaces/a/status", "fieldManager=x", json).len(), 1);
    assert_eq!(unknown("/apis/never/v1/nevers/b", "fieldManager=x", "merge-patch+json").len(), 1);
}

#[test]
fn what_no_script_asks_is_unknown() {
    let line = |query: &str, kind: &str| {
        let uri = format!("/api/v1/namespaces/a/configmaps/b?{query}");
        format!(
            r#"{{"verb": "patch", "requestURI": "{uri}", "annotations": {{"content-type": "application/{kind}"}}}}"#
        )
    };
    let log = [
        line("fieldManager=x&force=true", "apply-patch+yaml"),
        line("fieldManager=x&never=true", "apply-patch+yaml"),
        line("fieldManager=x&force=true", "never"),
    ];
    let expected = ["?fieldManager&force content=never", "?fieldManager&never content=apply-patch"];
    assert_eq!(unknown(&log.join("\n")), expected.map(|it| format!("PATCH v1 configmaps {it}")));
    assert!(shapes_of_scripts().contains("PATCH v1 configmaps ?fieldManager&force content=apply-patch"));
}

/// What a watch is opened with the first time, and with which it is opened again where its stream ended.
const FIRST: &str = "resourceVersionMatch=NotOlderThan&sendInitialEvents=true";
const AGAIN: &str = "resourceVersion";

/// Returns the shapes by which the engine goes on after it opened this watch: any stream may end at any time, on a busy machine also in a
/// test that is not about that.
fn what_may_follow(opened: &str) -> Option<String> {
    let again = opened.replacen(FIRST, AGAIN, 1);
    (opened.starts_with("WATCH ") && again != opened).then_some(again)
}

#[test]
fn every_watch_of_the_scripts_is_opened_again_from_a_version() {
    let known = whole_shapes_of_scripts();
    let missing: Vec<String> =
        known.iter().filter_map(|opened| what_may_follow(opened)).filter(|again| !known.contains(again)).collect();
    assert!(missing.is_empty(), "no script of fixtures/scripts/api asks:\n{}", missing.join("\n"));
}

#[test]
fn a_watch_that_begins_with_what_is_there_is_followed_by_one_from_a_version() {
    let check = |opened: &str, expected: Option<&str>| assert_eq!(what_may_follow(opened).as_deref(), expected);
    let opened = "WATCH v1 pods ?labelSelector&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds accept=Table";
    check(opened, Some("WATCH v1 pods ?labelSelector&resourceVersion&timeoutSeconds accept=Table"));
    check("WATCH v1 pods ?labelSelector&resourceVersion&timeoutSeconds", None);
    check("LIST v1 pods ?resourceVersionMatch=NotOlderThan&sendInitialEvents=true", None);
}
