//! Pure. Paths with slashes: `path.*`, and `filepath.*` by the rules of Unix.
//!
//! Not here: files; a rendering has none.

use super::conv::{to_text, to_texts};
use super::{Function, Parameter, at, fixed, variadic};
use crate::template::failure::Failure;
use crate::template::limits::Budget;
use crate::template::value::Value;

mod glob;

const ANY: &[Parameter] = &[Parameter::Any];

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    fixed("Base", &[], ANY, |values, budget| on_text(values, budget, |path| base(path).to_owned())),
    fixed("Clean", &[], ANY, |values, budget| on_text(values, budget, clean)),
    fixed("Dir", &[], ANY, |values, budget| on_text(values, budget, |path| clean(split(path).0))),
    fixed("Ext", &[], ANY, |values, budget| on_text(values, budget, |path| extension(path).to_owned())),
    fixed("IsAbs", &[], ANY, |values, budget| Ok(Value::Bool(to_text(at(values, 0), budget)?.starts_with('/')))),
    variadic("Join", &[], &[], |values, budget| {
        let texts = to_texts(values, budget)?;
        budget.text(texts.iter().fold(texts.len(), |sum, text| sum.saturating_add(text.len())))?;
        let parts: Vec<&str> = texts.iter().map(|text| &**text).filter(|text| !text.is_empty()).collect();
        Ok(Value::text(if parts.is_empty() { String::new() } else { clean(&parts.join("/")) }))
    }),
    fixed("Match", &[], &[Parameter::Any, Parameter::Any], |values, budget| {
        let (pattern, name) = (to_text(at(values, 0), budget)?, to_text(at(values, 1), budget)?);
        budget.steps(pattern.len().saturating_mul(name.len()) / 16)?;
        glob::is_match(&pattern, &name).map(Value::Bool).ok_or_else(|| Failure::call("the pattern is malformed"))
    }),
    fixed("Split", &[], ANY, |values, budget| {
        let path = to_text(at(values, 0), budget)?;
        let (directory, file) = split(&path);
        Ok(Value::texts([directory, file]))
    }),
];

/// What only `filepath` has.
pub(super) const FILES: &[Function] = &[
    fixed("FromSlash", &[], ANY, |values, budget| on_text(values, budget, str::to_owned)),
    fixed("Rel", &[], &[Parameter::Any, Parameter::Any], |values, budget| {
        let (base, target) = (to_text(at(values, 0), budget)?, to_text(at(values, 1), budget)?);
        relative(&clean(&base), &clean(&target)).map(Value::text).ok_or_else(|| Failure::call("no path leads there"))
    }),
    fixed("ToSlash", &[], ANY, |values, budget| on_text(values, budget, str::to_owned)),
    fixed("VolumeName", &[], ANY, |_, _| Ok(Value::text(""))),
];

fn on_text(values: &[Value], budget: &mut Budget, change: fn(&str) -> String) -> Result<Value, Failure> {
    Ok(Value::text(change(&to_text(at(values, 0), budget)?)))
}

/// Returns what stands up to the last slash, with it, and what stands after it.
fn split(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('/').map_or(0, |slash| slash + 1))
}

fn base(path: &str) -> &str {
    match (path.is_empty(), split(path.trim_end_matches('/')).1) {
        (true, _) => ".",
        (false, "") => "/",
        (false, name) => name,
    }
}

fn extension(path: &str) -> &str {
    let name = split(path).1;
    name.rfind('.').and_then(|dot| name.get(dot..)).unwrap_or("")
}

/// Returns the shortest path that means the same.
fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if kept.last().is_some_and(|last| *last != "..") => {
                kept.pop();
            }
            ".." if rooted => {}
            _ => kept.push(part),
        }
    }
    match (rooted, kept.is_empty()) {
        (true, _) => format!("/{}", kept.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => kept.join("/"),
    }
}

/// Returns the way from one clean path to another.
fn relative(base: &str, target: &str) -> Option<String> {
    if base.starts_with('/') != target.starts_with('/') {
        return None;
    }
    let parts = |path: &str| -> Vec<String> {
        path.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect()
    };
    let (base, target) = (parts(base), parts(target));
    let common = base.iter().zip(&target).take_while(|(a, b)| a == b).count();
    let up = base.get(common..).unwrap_or(&[]);
    if up.iter().any(|part| part == "..") {
        return None;
    }
    let down = target.get(common..).unwrap_or(&[]);
    let way: Vec<&str> = up.iter().map(|_| "..").chain(down.iter().map(String::as_str)).collect();
    Some(if way.is_empty() { ".".to_owned() } else { way.join("/") })
}

#[cfg(test)]
mod tests {
    use super::{base, clean, extension, split};

    #[test]
    fn paths_are_cleaned() {
        for (path, expected) in
            [("", "."), ("a//b/./../c/", "a/c"), ("/..", "/"), ("../a/../..", "../.."), ("/a/b/..", "/a"), (".", ".")]
        {
            assert_eq!(clean(path), expected, "{path:?}");
        }
    }

    #[test]
    fn paths_are_taken_apart() {
        assert_eq!((base(""), base("/"), base("a/b/"), base("a")), (".", "/", "b", "a"));
        assert_eq!((extension("a.b/c"), extension("a.tar.gz")), ("", ".gz"));
        assert_eq!(split("/a/b"), ("/a/", "b"));
    }
}
