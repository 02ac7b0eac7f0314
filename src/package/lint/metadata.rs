//! Pure. Rules about metadata: names that no object can have, and what is not for authors: what a server sets, what owns an object, what keeps
//! it from going.
//!
//! Not here: which fields these are (`schema`), what is done about them in an instance (`plan`).

use super::{LintInput, about};
use crate::model::Diagnostic;
use crate::schema;

/// Checks the metadata of all objects.
pub(super) fn check(input: &LintInput<'_>, findings: &mut Vec<Diagnostic>) {
    for part in input.parts {
        let fields = schema::of_server(&part.object);
        if !fields.is_empty() {
            findings.push(about("L042", part, format!("holds {}, which only the cluster sets", fields.join(", "))));
        }
        if let Some(place) = schema::owner_references(&part.object) {
            findings.push(about("L043", part, format!("holds {place}")));
        }
        if let Some(trouble) = schema::name_trouble(&part.object) {
            findings.push(about("L045", part, trouble));
        }
        for name in schema::finalizers(&part.object) {
            let finding = about("L044", part, format!("holds the finalizer {name}"));
            findings.push(Diagnostic { subject: name, ..finding });
        }
    }
}
