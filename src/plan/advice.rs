//! Pure. What a person reads beside the words of a server that refused an object: the file and line it stands in, and the field that was
//! probably meant.
//!
//! Not here: refusals before any request (`refusal`).

use super::action::{Action, Verb};
use super::{archive, size};
use crate::base::nearest::nearest;
use crate::schema::{self, Shape};

/// What servers say about an object that is too large: the server itself, its store, and the rule about config maps.
const TOO_LARGE: [&str; 3] = ["entity too large", "request is too large", "may not be more than 1048576 bytes"];
/// What servers say about a field that they do not know.
const UNKNOWN: &str = ": field not declared in schema";

/// Returns the words of a server about the content of an object with its place before them.
pub fn with_place(action: &Action, said: &str) -> String {
    let meant = meant(action, said).map(|name| format!("; did you mean {name}?")).or_else(|| size(action, said));
    let meant = meant.unwrap_or_default();
    if action.source.is_empty() { format!("{said}{meant}") } else { format!("{}: {said}{meant}", action.source) }
}

/// Returns how large an object is that is too large, and what of it. Of a Secret nobody here knows.
fn size(action: &Action, said: &str) -> Option<String> {
    let Verb::Apply { payload, .. } = &action.verb else { return None };
    let is_told = !archive::is_sealed(&action.object) && TOO_LARGE.iter().any(|words| said.contains(words));
    is_told.then(|| format!("; it is {}", size::told(payload)))
}

/// Returns the known field whose name is nearest to the one that a server does not know.
fn meant(action: &Action, said: &str) -> Option<&'static str> {
    let (before, _) = said.split_once(UNKNOWN)?;
    let path = before.rsplit(' ').next()?.trim_start_matches('.');
    // Keys of list items are not named in the path of a shape.
    let steps: Vec<&str> = path.split('.').map(|step| step.split('[').next().unwrap_or(step)).collect();
    let (wrong, above) = steps.split_last()?;
    let mut shape = match above {
        [] => return None,
        above => schema::shape_at(&action.object.group, &action.object.kind, above)?,
    };
    while let Shape::List(item, _) = shape {
        shape = item;
    }
    let Shape::Struct(structure) = shape else { return None };
    nearest(wrong, structure.get().fields.iter().map(|field| field.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::world::{World, deployment};

    #[track_caller]
    fn check(said: &str, expected: &str) {
        assert_eq!(with_place(&action_of_web(), said), expected);
    }

    fn action_of_web() -> Action {
        let world = World::new().wants(&deployment("web", "web:1"));
        let mut actions = crate::plan::plan(&world.snapshot).actions;
        Action { source: "apps/blog/web.yaml:7".into(), ..actions.pop().unwrap() }
    }

    #[test]
    fn the_file_and_what_was_probably_meant_stand_beside_what_a_server_says() {
        check("no", "apps/blog/web.yaml:7: no");
        let said = "failed: .spec.replcias: field not declared in schema";
        check(said, &format!("apps/blog/web.yaml:7: {said}; did you mean replicas?"));
        let said = "failed: .spec.template.spec.containers[name=\"a\"].imag: field not declared in schema";
        check(said, &format!("apps/blog/web.yaml:7: {said}; did you mean image?"));
        let said = "the server answered 413: Request entity too large: limit is 3145728";
        let action = action_of_web();
        let told = with_place(&action, said);
        assert!(told.starts_with(&format!("apps/blog/web.yaml:7: {said}; it is ")), "{told}");
        assert!(told.contains(" bytes long"), "{told}");
        let said = "failed: .spec.nothingLikeIt: field not declared in schema";
        check(said, &format!("apps/blog/web.yaml:7: {said}"));
    }
}
