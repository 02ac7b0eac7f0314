//! Pure. Replaces name, tag and digest of container images.
//!
//! Not here: which images exist (nothing is fetched).

use regex::Regex;
use serde_json::Value;

use super::fields::{Missing, visit};
use super::item::Item;
use super::kustomization::{Image, Kustomization};
use super::weight::Meter;
use super::{Refusal, refuse};

/// Paths of images beside the lists of containers, which are found at any depth.
const PLACES: [&[&str]; 6] = [
    &["spec", "containers[]", "image"],
    &["spec", "initContainers[]", "image"],
    &["spec", "volumes[]", "image", "reference"],
    &["spec", "template", "spec", "containers[]", "image"],
    &["spec", "template", "spec", "initContainers[]", "image"],
    &["spec", "template", "spec", "volumes[]", "image", "reference"],
];

/// Replaces images in all objects except definitions of custom resources.
pub(super) fn replace(kustomization: &Kustomization, items: &mut [Item], meter: &Meter) -> Result<(), Refusal> {
    for image in &kustomization.images {
        let pattern = format!("^{}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?$", image.name);
        let Ok(pattern) = Regex::new(&pattern) else {
            let message = format!("the image name {:?} is no regular expression", image.name);
            return refuse("K109", &kustomization.file, image.line, message);
        };
        for item in items.iter_mut().filter(|item| item.object.kind() != "CustomResourceDefinition") {
            let mut update = |value: &mut Value| {
                if let Value::String(text) = value
                    && pattern.is_match(text)
                {
                    let new = replaced(text, image);
                    if meter.take(new.len()) {
                        *text = new;
                    }
                }
            };
            let root: [&str; 0] = [];
            visit(&mut item.object, &root, Missing::Skip, &mut |root| containers(root, &mut update));
            // kustomize visits these a second time, which shows where the new name matches the pattern again.
            for path in PLACES {
                visit(&mut item.object, path, Missing::Skip, &mut update);
            }
        }
        meter.check(&kustomization.file, image.line)?;
    }
    Ok(())
}

/// Visits the images in every list called `containers` or `initContainers`. Depth is bounded by the loader.
fn containers(value: &mut Value, update: &mut impl FnMut(&mut Value)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| containers(item, update)),
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                containers(value, update);
                if matches!(key.as_str(), "containers" | "initContainers") {
                    let list = value.as_array_mut().into_iter().flatten();
                    list.filter_map(|container| container.get_mut("image")).for_each(&mut *update);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn replaced(text: &str, image: &Image) -> String {
    let (name, mut tag, mut digest) = split(text);
    let name = if image.new_name.is_empty() { name } else { &image.new_name };
    let with_suffix = format!("{tag}{}", image.tag_suffix);
    match (image.new_tag.is_empty(), image.digest.is_empty()) {
        (false, _) => (tag, digest) = (&image.new_tag, &image.digest),
        (true, false) => (tag, digest) = ("", &image.digest),
        (true, true) if !image.tag_suffix.is_empty() => (tag, digest) = (&with_suffix, ""),
        (true, true) => {}
    }
    let mut out = name.to_owned();
    for (mark, part) in [(':', tag), ('@', digest)] {
        if !part.is_empty() {
            out.push(mark);
            out.push_str(part);
        }
    }
    out
}

/// Splits an image into name, tag and digest. A colon before the first slash belongs to the host.
fn split(text: &str) -> (&str, &str, &str) {
    let (text, digest) = text.split_once('@').unwrap_or((text, ""));
    let path = text.find('/').unwrap_or(0);
    match text.get(path..).and_then(|rest| rest.find(':')) {
        Some(colon) => {
            let (name, tag) = text.split_at_checked(path + colon).unwrap_or((text, ""));
            (name, tag.strip_prefix(':').unwrap_or(tag), digest)
        }
        None => (text, "", digest),
    }
}
