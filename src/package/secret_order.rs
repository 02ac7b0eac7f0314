//! Pure. In which order the defaults of an app's secrets are made: each after those that it reads, wherever they stand in the manifest.
//!
//! Which secrets a default reads is told by its text. One that reads them in another way than by name, such as all of them, comes after those
//! that it does not name as well, where that leads in no circle. Not here: making them (`secrets.rs`).

use std::collections::{BTreeMap, BTreeSet};

use super::manifest::SecretSpec;
use super::resolve::references;
use crate::base::order::order;
use crate::template;

/// What a default reads secrets by.
const READ: &str = ".secrets";

/// Returns the secrets in the order in which they are made, those without a default first, in the manifest's order among equals.
pub(super) fn in_order(own: &[SecretSpec]) -> Vec<&SecretSpec> {
    let (named, all): (Vec<&SecretSpec>, Vec<&SecretSpec>) = own.iter().partition(|spec| !reads_unnamed(spec));
    let mut ordered: Vec<&SecretSpec> = Vec::with_capacity(own.len());
    for spec in named.into_iter().chain(all) {
        place(spec, own, &mut ordered);
    }
    ordered
}

/// Puts a secret behind those that it reads. A manifest whose defaults run in a circle is refused, and the walk ends all the same: what is on its
/// way is not walked again.
fn place<'a>(spec: &'a SecretSpec, own: &'a [SecretSpec], ordered: &mut Vec<&'a SecretSpec>) {
    let mut open: Vec<(&SecretSpec, Vec<&SecretSpec>)> = vec![(spec, needed(spec, own))];
    let mut entered: BTreeSet<&str> = [spec.key.as_str()].into();
    while let Some((spec, needed_now)) = open.last_mut() {
        let is_placed = |other: &SecretSpec| ordered.iter().any(|it| it.key == other.key);
        match needed_now.pop() {
            Some(other) if !is_placed(other) && entered.insert(other.key.as_str()) => {
                open.push((other, needed(other, own)));
            }
            Some(_) => {}
            None => {
                if !is_placed(spec) {
                    ordered.push(*spec);
                }
                open.pop();
            }
        }
    }
}

/// Returns the keys of a circle of defaults, or nothing if there is none.
pub(super) fn circle(own: &[SecretSpec]) -> Option<Vec<&str>> {
    let key = |spec: &&SecretSpec| own.iter().find(|it| it.key == spec.key).map_or("", |it| it.key.as_str());
    let needs: BTreeMap<&str, BTreeSet<&str>> =
        own.iter().map(|spec| (spec.key.as_str(), needed(spec, own).iter().map(key).collect())).collect();
    order(&needs).err()
}

/// Returns the secrets that a default names, the last one first.
fn needed<'a>(spec: &SecretSpec, own: &'a [SecretSpec]) -> Vec<&'a SecretSpec> {
    let Some(default) = template_of(spec) else { return Vec::new() };
    let paths: Vec<String> = references(default, ".secrets.").iter().map(|path| path.join(".")).collect();
    let is_read = |other: &&SecretSpec| {
        paths.iter().any(|path| is_or_is_below(path, &other.key) || is_or_is_below(&other.key, path))
    };
    own.iter().filter(is_read).rev().collect()
}

fn is_or_is_below(key: &str, map: &str) -> bool {
    key.strip_prefix(map).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns whether a default reads secrets in another way than by name.
fn reads_unnamed(spec: &SecretSpec) -> bool {
    let Some(default) = template_of(spec) else { return false };
    let mut behind = default.split(READ).skip(1);
    behind.any(|rest| {
        !rest.strip_prefix('.').is_some_and(|name| name.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

fn template_of(spec: &SecretSpec) -> Option<&str> {
    spec.default.as_deref().filter(|text| template::has_action(text))
}

#[cfg(test)]
mod tests {
    use crate::model::PackageName;
    use crate::package::read_manifest;

    /// Orders secrets that are written as `key=what its default reads`, or names the circle.
    fn check(secrets: &[&str], expected: &str) {
        let line = |secret: &&str| match secret.split_once('=') {
            None => format!("- {secret}\n"),
            Some((key, reads)) => {
                let reads: String = reads.split(' ').map(|read| format!("{{{{ {read} }}}}")).collect();
                format!("- {{key: {key}, default: '{reads}'}}\n")
            }
        };
        let lines: String = secrets.iter().map(line).collect();
        let text = format!("version: '1'\ndefaultSecrets:\n{lines}");
        let found = match read_manifest("manifest.yaml", &PackageName::parse("blog").unwrap(), &text) {
            Ok(read) => {
                let ordered = super::in_order(&read.manifest.default_secrets);
                ordered.iter().map(|spec| spec.key.as_str()).collect::<Vec<_>>().join(" ")
            }
            Err(findings) => findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_default_is_made_after_what_it_reads_wherever_that_stands() {
        check(&["a", "b", "c"], "a b c");
        check(&["a=.secrets.c", "b", "c"], "c a b");
        check(&["url=.secrets.user .secrets.pin", "pin=.secrets.seed", "user", "seed"], "seed pin user url");
        check(&["a=.secrets.rows.key", "rows.key=.secrets.b", "b"], "b rows.key a");
        check(&["a=.secrets.rows", "rows.key", "rows.pin"], "rows.key rows.pin a");
    }

    #[test]
    fn a_default_that_reads_without_a_name_comes_last() {
        check(&["a=index .secrets \"c\"", "b", "c"], "b c a");
        check(&["a=.secrets | toJSON", "b=.secrets.a", "c"], "a b c");
    }

    #[test]
    fn a_circle_is_named_as_one() {
        let of = |line: usize, circle: &str| {
            format!("manifest.yaml:{line}: P066: the defaults of secrets run in a circle: {circle}")
        };
        check(&["a=.secrets.b", "b=.secrets.c", "c=.secrets.a"], &of(3, "a → b → c → a"));
        check(&["x", "a=.secrets.a"], &of(4, "a → a"));
        check(&["rows.key=.secrets.rows"], &of(3, "rows.key → rows.key"));
    }
}
