//! What kind of request a request is, as one line: verb, kind and the names of its parameters.
//!
//! ```text
//! PATCH apps/v1 deployments ?fieldManager&fieldValidation&force content=apply-patch
//! WATCH v1 pods ?allowWatchBookmarks&labelSelector&timeoutSeconds
//! DELETE v1 configmaps
//! GET /apis/GROUP/VERSION
//! ```
//!
//! Names, namespaces and values do not count; `watch` is the verb. Only a patch shows its content type, because a server's audit log tells
//! no other. So requests of the demo, of an audit log and of the scripts can be compared.
//!
//! Not here: who sends requests, and the comparison.

use std::collections::{BTreeMap, BTreeSet};

use super::script::Act;

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
        line.push_str(&format!(" ?{}", parameters.into_keys().collect::<Vec<_>>().join("&")));
    }
    if verb == "PATCH" {
        let sort = content_type.trim_start_matches("application/").split(['+', ';']).next().unwrap_or("");
        line.push_str(&format!(" content={sort}"));
    }
    line
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

/// Returns the shapes of all requests in the scripts that are compared with the real API server.
pub(crate) fn shapes_of_scripts() -> BTreeSet<String> {
    let mut shapes = BTreeSet::new();
    for (_, script) in super::scripts() {
        for step in script.steps {
            match step.act {
                Act::Request { method, path, headers, .. } => {
                    let sort = headers.iter().find(|(name, _)| name == "content-type").map_or("", |(_, value)| value);
                    shapes.insert(shape(&method, &path, sort));
                }
                Act::Watch { path, .. } => {
                    shapes.insert(shape("GET", &path, ""));
                }
                Act::Events { .. } | Act::Until { .. } => {}
            }
        }
    }
    shapes
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
    check("GET", "/api/v1/pods", "", "LIST v1 pods");
    check("GET", "/api/v1/namespaces/a/pods/b", "", "GET v1 pods");
    check("PUT", "/api/v1/namespaces/a/pods/b/status", "application/json", "PUT v1 pods/status");
    check("DELETE", "/api/v1/namespaces/a/configmaps", "", "DELETE v1 configmaps");
    check("GET", "/apis", "", "GET /apis");
    check("GET", "/apis/apps/v1", "", "GET /apis/GROUP/VERSION");
    check("GET", "/api/v1", "", "GET /api/v1");
}

#[test]
fn the_scripts_show_theirs() {
    let shapes = shapes_of_scripts();
    for expected in ["POST v1 configmaps ?fieldManager", "GET /apis/GROUP/VERSION"] {
        assert!(shapes.contains(expected), "{expected} is not among {shapes:#?}");
    }
}
