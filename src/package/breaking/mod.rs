//! Pure. What a newer version of a package breaks: ids, what happened, and whether a person has to decide.
//!
//! Both versions are compared as one app would have them: their manifests, and the objects that they build with the same
//! config. A finding that needs a decision is a warning, one that only informs an information. Not here: merging config
//! keys (`merge`), building the objects (`compile`).

mod manifest;
mod objects;
mod pairs;

use std::collections::BTreeSet;

use self::objects::Category;
use super::load::Package;
use crate::model::{Diagnostic, Object, Severity};

/// One version of a package as an app has it.
#[derive(Clone, Copy, Debug)]
pub struct VersionSide<'a> {
    /// The package.
    pub package: &'a Package,
    /// What it builds.
    pub objects: &'a [Object],
    /// Dotted config keys that its files read, where they are known.
    pub reads: &'a BTreeSet<String>,
}

/// Which config keys an instance has changed.
#[derive(Clone, Copy, Debug)]
pub enum LocalEdits<'a> {
    /// Nobody knows: some instance may have changed any of them.
    Unknown,
    /// These, as dotted paths.
    Known(&'a BTreeSet<String>),
}

impl LocalEdits<'_> {
    /// Returns whether a key or one below it may be changed.
    fn touch(&self, path: &str) -> bool {
        match self {
            Self::Unknown => true,
            Self::Known(paths) => {
                let below = format!("{path}.");
                paths.iter().any(|edited| edited == path || edited.starts_with(&below))
            }
        }
    }
}

/// Returns what breaks on the way from an older version to a newer one, in the order of the ids.
pub fn breaking(old: VersionSide<'_>, new: VersionSide<'_>, edits: LocalEdits<'_>) -> Vec<Diagnostic> {
    let mut findings = manifest::compare(old, new, edits);
    let category = match new.package.manifest.category.as_str() {
        "database" | "databases" => Category::Database,
        _ => Category::Other,
    };
    findings.extend(objects::compare(old.objects, new.objects, category));
    if old.objects == new.objects && manifest::has_new_text(old.package, new.package) {
        let dialects = (old.package.manifest.dialect.word(), new.package.manifest.dialect.word());
        let what = if dialects.0 == dialects.1 { "the templates" } else { "the dialect" };
        findings.push(note("B16", what, format!("{what} changed, and the objects are the same")));
    }
    findings.sort_by(|a, b| (&a.id, &a.subject, &a.message).cmp(&(&b.id, &b.subject, &b.message)));
    findings.dedup();
    findings
}

/// Returns a change that a person has to decide.
fn decide(id: &str, subject: &str, message: impl Into<String>, hint: &str) -> Diagnostic {
    Diagnostic::warning(id, super::MANIFEST, 0, message).at(0, subject).with_hint(hint)
}

/// Returns a change that a person should know of.
fn note(id: &str, subject: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic { severity: Severity::Info, ..Diagnostic::warning(id, super::MANIFEST, 0, message) }.at(0, subject)
}

#[cfg(test)]
mod tests;
