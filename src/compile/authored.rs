//! Pure. What a person who adds or deletes an app is told of metadata that is not for authors.
//!
//! Not here: what is refused (`lint`), which fields these are (`schema`).

use crate::kustomize::{self, BuiltObject};
use crate::model::{AppName, FileTree};
use crate::schema;

/// Returns what of the objects is left out when they are applied, with file and line.
pub(super) fn left_out(objects: &[BuiltObject]) -> Vec<String> {
    let told = |built: &BuiltObject| {
        let fields = schema::of_server(&built.object);
        let BuiltObject { object, file, line } = built;
        let named = format!("{file}:{line}: {} holds {}", object.id().short(), fields.join(", "));
        (!fields.is_empty()).then(|| format!("{named}, which only the cluster sets: left out"))
    };
    objects.iter().filter_map(told).collect()
}

/// Returns what the files of an app say that keeps its objects from going.
pub(super) fn held(app: &AppName, files: &FileTree) -> Vec<String> {
    let Ok(built) = kustomize::build(files, &format!("apps/{app}")) else { return Vec::new() };
    let told = |built: &BuiltObject| {
        let names = schema::finalizers(&built.object);
        let short = built.object.id().short();
        (!names.is_empty()).then(|| format!("{short} goes only when what serves {} lets it go", names.join(", ")))
    };
    built.objects.iter().filter_map(told).collect()
}
