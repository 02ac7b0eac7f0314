//! Pure. Copies a value from one field of one object, or a constant, into fields of others.
//!
//! A value keeps nothing of its type where the target has one: a text written over a number must be a number. Not here: the
//! notation of paths (`path.rs`), what follows a changed name (`references.rs`).

use serde_json::Value;

use super::item::Item;
use super::kustomization::{Kustomization, Target, each, target};
use super::layer::Builder;
use super::path::{self, Create, Slot};
use super::reader::Section;
use super::selector::{Selector, Site};
use super::weight::{Meter, of_value};
use super::{Refusal, refuse, structured};
use crate::model::Diagnostic;
use crate::yaml::{self, Dialect, load_one};

/// The field that is read and written where none is named.
const DEFAULT_FIELD: &str = "metadata.name";

/// An entry of `replacements`.
#[derive(Clone, Debug)]
pub(super) enum Listed {
    /// It stands in the kustomization.
    Here(Box<Replacement>),
    /// It stands in a file, with the line that names it.
    File(String, usize),
}

/// What is copied where.
#[derive(Clone, Debug)]
pub(super) struct Replacement {
    source: Source,
    targets: Vec<Destination>,
    line: usize,
}

#[derive(Clone, Debug)]
enum Source {
    Constant(String),
    Field { object: Box<Target>, path: String, options: Refinement },
}

#[derive(Clone, Debug)]
struct Destination {
    select: Target,
    reject: Vec<Target>,
    paths: Vec<String>,
    options: Refinement,
}

#[derive(Clone, Debug, Default)]
struct Refinement {
    delimiter: String,
    index: i64,
    create: bool,
}

/// Reads an entry.
pub(super) fn read(entry: &Section<'_>) -> Result<Listed, Refusal> {
    entry.allow_only(&["path", "source", "sourceValue", "targets"])?;
    match entry.text("path")? {
        None => Ok(Listed::Here(Box::new(replacement(entry)?))),
        Some(_) if entry.field("source").is_some() || entry.field("targets").is_some() => {
            entry.refuse("K174", "path", "a replacement stands in a file or here, not both")
        }
        Some(path) => Ok(Listed::File(path.to_owned(), entry.line_of("path"))),
    }
}

fn replacement(entry: &Section<'_>) -> Result<Replacement, Refusal> {
    entry.allow_only(&["source", "sourceValue", "targets"])?;
    let source = match (entry.text("sourceValue")?, entry.section("source")?) {
        (Some(text), None) => Source::Constant(text.to_owned()),
        (None, Some(section)) => source(&section)?,
        (Some(_), Some(_)) => return entry.refuse("K174", "source", "a replacement has one of source and sourceValue"),
        (None, None) => return entry.refuse("K174", "source", "a replacement wants a source"),
    };
    if entry.field("targets").is_none() {
        return entry.refuse("K174", "targets", "a replacement wants targets");
    }
    Ok(Replacement { source, targets: each(entry, "targets", destination)?, line: entry.line() })
}

fn source(section: &Section<'_>) -> Result<Source, Refusal> {
    section.allow_only(&["group", "version", "kind", "name", "namespace", "fieldPath", "options"])?;
    let path = section.text("fieldPath")?.filter(|path| !path.is_empty()).unwrap_or(DEFAULT_FIELD).to_owned();
    let object = Box::new(Target {
        group: section.text_or_empty("group")?,
        version: section.text_or_empty("version")?,
        kind: section.text_or_empty("kind")?,
        name: section.text_or_empty("name")?,
        namespace: section.text_or_empty("namespace")?,
        ..Target::default()
    });
    Ok(Source::Field { object, path, options: options(section)? })
}

fn destination(entry: &Section<'_>) -> Result<Destination, Refusal> {
    entry.allow_only(&["select", "reject", "fieldPaths", "options"])?;
    let Some(select) = entry.section("select")? else {
        return entry.refuse("K174", "select", "a target wants select");
    };
    let mut paths: Vec<String> = entry.texts("fieldPaths")?.into_iter().map(|(path, _)| path).collect();
    if paths.is_empty() {
        paths.push(DEFAULT_FIELD.to_owned());
    }
    Ok(Destination {
        select: target(&select)?,
        reject: each(entry, "reject", target)?,
        paths,
        options: options(entry)?,
    })
}

fn options(entry: &Section<'_>) -> Result<Refinement, Refusal> {
    let Some(options) = entry.section("options")? else { return Ok(Refinement::default()) };
    options.allow_only(&["delimiter", "index", "create", "encoding"])?;
    Ok(Refinement {
        delimiter: options.text_or_empty("delimiter")?,
        index: options.number("index")?,
        create: options.flag("create")?,
    })
}

/// Copies what the entries of a kustomization say, one after the other.
pub(super) fn apply(
    builder: &mut Builder<'_>,
    directory: &str,
    kustomization: &Kustomization,
    items: &mut [Item],
) -> Result<(), Refusal> {
    let file = &kustomization.file;
    for listed in &kustomization.replacements {
        match listed {
            Listed::Here(replacement) => copy(builder, file, replacement, items)?,
            Listed::File(path, line) => {
                let (path, text) = builder.named_text(directory, file, (path, *line))?;
                let Some(document) = load_one(&path, text, Dialect::Kube)? else {
                    return refuse("K174", &path, 1, "the file holds no replacement");
                };
                for section in Section::roots(&path, &document)? {
                    copy(builder, &path, &replacement(&section)?, items)?;
                }
            }
        }
    }
    Ok(())
}

fn copy(builder: &mut Builder<'_>, file: &str, replacement: &Replacement, items: &mut [Item]) -> Result<(), Refusal> {
    let site = Site { file, line: replacement.line };
    let value = match &replacement.source {
        Source::Constant(text) => Copied { value: yaml::plain_scalar(text), text: text.clone() },
        Source::Field { object, path, options } => source_value(&site, (object, path, options), items)?,
    };
    for destination in &replacement.targets {
        let select = Selector::read(&site, &destination.select)?;
        let reject: Vec<Selector> =
            destination.reject.iter().map(|target| Selector::read(&site, target)).collect::<Result<_, _>>()?;
        let mut any = false;
        for item in items.iter_mut().filter(|item| is_meant(item, &select, &reject)) {
            any = true;
            for path in &destination.paths {
                write(&builder.meter, &site, item, (path, &value), &destination.options)?;
            }
        }
        if !any {
            let message = "the target of the replacement selects no object";
            builder.diagnostics.push(Diagnostic::warning("K143", site.file, site.line, message));
        }
    }
    Ok(())
}

fn is_meant(item: &Item, select: &Selector, reject: &[Selector]) -> bool {
    let rejects = |selector: &Selector| {
        selector.asks_for_names() && selector.names(item) || selector.asks_for_marks() && selector.accepts_marks(item)
    };
    select.accepts_marks(item) && select.names(item) && !reject.iter().any(rejects)
}

/// A value and its text, which is all that reaches a field that has a type.
struct Copied {
    value: Value,
    text: String,
}

fn source_value(
    site: &Site<'_>,
    (object, path, options): (&Target, &str, &Refinement),
    items: &[Item],
) -> Result<Copied, Refusal> {
    let wanted = |own: &str, found: &str| own.is_empty() || own == found;
    let is_source = |item: &&Item| {
        item.is_or_was(|id| {
            wanted(&object.group, id.group)
                && wanted(&object.version, id.version)
                && wanted(&object.kind, id.kind)
                && wanted(&object.name, id.name)
                && wanted(&object.namespace, id.namespace)
        })
    };
    let found: Vec<&Item> = items.iter().filter(is_source).collect();
    let [item] = found.as_slice() else {
        let message = format!("the source of the replacement selects {} objects, and one is wanted", found.len());
        return refuse("K170", site.file, site.line, message);
    };
    let whole;
    let value = match path::split(path).as_slice() {
        [first, below @ ..] if first != "*" => {
            item.object.0.get(first).map_or(Ok(None), |value| path::look_up(value, below))
        }
        steps => {
            whole = item.object.to_value();
            path::look_up(&whole, steps)
        }
    };
    let value = value.or_else(|why| refuse("K171", site.file, site.line, format!("the source field {path}: {why}")))?;
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    let Some(value) = value.filter(|value| !is_empty(value)) else {
        let message = format!("{} has no field {path}, which is the source of the replacement", item.id());
        return refuse("K171", site.file, site.line, message);
    };
    let text = path::text_of(value);
    if options.delimiter.is_empty() {
        return Ok(Copied { value: value.clone(), text: text.unwrap_or_default() });
    }
    let Some(text) = text else {
        return refuse("K171", site.file, site.line, format!("the source field {path} is no single value to be split"));
    };
    let part = usize::try_from(options.index).ok().and_then(|index| text.split(&options.delimiter).nth(index));
    let Some(part) = part else {
        return refuse("K171", site.file, site.line, format!("the source field {path} has no part {}", options.index));
    };
    let value = if value.is_string() { Value::from(part) } else { yaml::plain_scalar(part) };
    Ok(Copied { value, text: part.to_owned() })
}

/// Writes a value at a path of one object.
fn write(
    meter: &Meter,
    site: &Site<'_>,
    item: &mut Item,
    (path, value): (&str, &Copied),
    options: &Refinement,
) -> Result<(), Refusal> {
    let create = match (&value.value, options.create) {
        (_, false) => Create::Nothing,
        (Value::Object(_), true) => Create::Map,
        (Value::Array(_), true) => Create::List,
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), true) => Create::Scalar,
    };
    let steps = path::split(path);
    let id = item.id().to_string();
    let mut root = Value::Object(std::mem::take(&mut item.object.0));
    // Labels and annotations are texts whatever is written there.
    let plain = matches!(steps.as_slice(), [first, second, ..] if first == "metadata" && (second == "labels" || second == "annotations"));
    let result = match inside_text(&mut root, &steps, create, (value, meter)) {
        true => Ok(1),
        false => {
            path::visit(&mut root, &steps, create, &mut |slot, new| set(slot, new, (value, meter), (options, plain)))
        }
    };
    meter.check(site.file, site.line)?;
    if let Value::Object(map) = root {
        item.object.0 = map;
    }
    match result {
        Ok(0) => refuse("K172", site.file, site.line, format!("{id} has no field {path} to be replaced")),
        Ok(_) => Ok(()),
        Err(why) => refuse("K172", site.file, site.line, format!("{id} cannot take a replacement at {path}: {why}")),
    }
}

/// Sets a value inside a text that is a document, if the path goes on below one. Refinement do not count there.
fn inside_text(root: &mut Value, steps: &[String], create: Create, value: (&Copied, &Meter)) -> bool {
    for length in 1..steps.len() {
        let (Some(outer), Some(inner)) = (steps.get(..length), steps.get(length..)) else { return false };
        let Ok(Some(Value::String(text))) = path::look_up(root, outer) else { continue };
        let options = Refinement::default();
        let changed =
            structured::set_inside(text, inner, create, &mut |slot, new| set(slot, new, value, (&options, false)));
        let Some(changed) = changed else { return false };
        return path::visit(root, outer, Create::Nothing, &mut |slot, _| {
            *slot = Value::from(changed.as_str());
            Ok(())
        })
        .is_ok();
    }
    false
}

fn set(
    slot: &mut Value,
    new: Slot,
    (value, meter): (&Copied, &Meter),
    (options, plain): (&Refinement, bool),
) -> Result<(), String> {
    let before = slot.as_str().filter(|_| !options.delimiter.is_empty()).map_or(0, str::len);
    if !meter.take(of_value(&value.value) + value.text.len() + options.delimiter.len() + before) {
        return Err("it would be too large".to_owned());
    }
    if plain && new == Slot::New && options.delimiter.is_empty() {
        *slot = Value::from(value.text.as_str());
        return Ok(());
    }
    let is_single = !slot.is_array() && !slot.is_object();
    let mut text = value.text.clone();
    if !options.delimiter.is_empty() {
        if !is_single {
            return Err("what is there is no single value to be split".to_owned());
        }
        let before = if new == Slot::New { String::new() } else { path::text_of(slot).unwrap_or_default() };
        text = with_part(&before, options, &text);
    }
    if !is_single {
        *slot = value.value.clone();
        return Ok(());
    }
    let read = yaml::plain_scalar(&text);
    let fits = match (&*slot, new) {
        (_, Slot::New) if plain => {
            *slot = Value::from(text);
            return Ok(());
        }
        (_, Slot::New) => true,
        (Value::String(_), Slot::Old) => {
            *slot = Value::from(text);
            return Ok(());
        }
        (Value::Number(before), Slot::Old) => read.as_number().is_some_and(|read| before.is_f64() || !read.is_f64()),
        (Value::Bool(_), Slot::Old) => read.is_boolean(),
        (Value::Null | Value::Array(_) | Value::Object(_), Slot::Old) => read.is_null(),
    };
    if !fits {
        return Err("the value is of another type than what is there".to_owned());
    }
    *slot = yaml::plain_numbers(read);
    Ok(())
}

/// Returns a text with one of its parts replaced; one before the first or behind the last is added.
fn with_part(before: &str, options: &Refinement, part: &str) -> String {
    let mut parts: Vec<&str> = before.split(&options.delimiter).collect();
    match usize::try_from(options.index) {
        Err(_) => parts.insert(0, part),
        Ok(index) => match parts.get_mut(index) {
            Some(slot) => *slot = part,
            None => parts.push(part),
        },
    }
    parts.join(&options.delimiter)
}
