//! Pure. The tables of kinds and structures, parsed once from the two text files beside this file.
//!
//! Not here: questions that the rest of the code asks of them (`mod.rs`).

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// How a value of a structure's field looks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A text.
    Text,
    /// An integer.
    Integer,
    /// A boolean.
    Boolean,
    /// A floating point number.
    Number,
    /// A quantity such as `500m`.
    Quantity,
    /// A time with whole seconds.
    Time,
    /// A time with microseconds.
    MicroTime,
    /// Bytes in base64.
    Bytes,
    /// An integer or a text.
    IntegerOrText,
    /// Any JSON value, owned as a whole.
    Any,
    /// A structure with named fields.
    Struct(StructRef),
    /// A map by text.
    Map(Box<Shape>, Unity),
    /// A list.
    List(Box<Shape>, ListShape),
}

/// A reference to a structure of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StructRef {
    /// Name in the table.
    pub name: &'static str,
    /// Whether this place owns the structure as a whole.
    pub unity: Unity,
}

/// Whether server-side apply owns a map or structure entry by entry or as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unity {
    /// Entry by entry.
    Granular,
    /// As a whole.
    Atomic,
}

/// How items of a list are told apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ListShape {
    /// By the values of these keys.
    Keyed(Vec<&'static str>),
    /// By their value.
    Set,
    /// Not at all: the list is one value.
    Atomic,
}

/// When an empty field is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// Left out when empty or zero.
    Filled,
    /// Left out only when absent: an explicit zero survives.
    Explicit,
    /// Always written, as zero when absent.
    Always,
    /// Always written, as null when absent.
    Nullable,
}

/// One field of a structure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Name in JSON.
    pub name: &'static str,
    /// Shape of its value.
    pub shape: Shape,
    /// When it is written.
    pub presence: Presence,
}

/// A structure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Structure {
    /// Name in the table.
    pub name: &'static str,
    /// Fields in the order of the API definition.
    pub fields: Vec<Field>,
    unity: Unity,
}

impl Structure {
    /// Returns a field by its JSON name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl StructRef {
    /// Returns the structure.
    pub fn get(self) -> &'static Structure {
        STRUCTURES.get(self.name).unwrap_or(&EMPTY)
    }
}

/// Whether objects of a kind lie in namespaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// In a namespace.
    Namespaced,
    /// In the cluster.
    Cluster,
    /// Not a built-in kind.
    Unknown,
}

/// A built-in kind in one version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kind {
    /// API group, empty for the core group.
    pub group: &'static str,
    /// Version.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Name in paths.
    pub plural: &'static str,
    /// Whether it is namespaced.
    pub scope: Scope,
    /// Short names for people.
    pub short_names: Vec<&'static str>,
    /// Categories such as `all`.
    pub categories: Vec<&'static str>,
    /// Subresources such as `status`.
    pub subresources: Vec<&'static str>,
    /// Structure of its objects, if the table holds it.
    pub structure: Option<StructRef>,
}

impl Kind {
    /// Returns `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }
}

static EMPTY: Structure = Structure { name: "", fields: Vec::new(), unity: Unity::Atomic };

/// The kinds in the order of discovery.
pub(super) static KINDS: LazyLock<Vec<Kind>> =
    LazyLock::new(|| lines(include_str!("kinds.table")).filter_map(parse_kind).collect());

/// The kinds by group and name, each in its preferred version.
pub(super) static PREFERRED: LazyLock<HashMap<(&'static str, &'static str), &'static Kind>> = LazyLock::new(|| {
    let mut preferred = HashMap::new();
    for kind in KINDS.iter() {
        preferred.entry((kind.group, kind.kind)).or_insert(kind);
    }
    preferred
});

static STRUCTURES: LazyLock<BTreeMap<&'static str, Structure>> = LazyLock::new(|| {
    let text = include_str!("types.table");
    let atomic: BTreeMap<&str, Unity> = lines(text).filter_map(heading).collect();
    lines(text).filter_map(|line| parse_structure(line, &atomic)).map(|structure| (structure.name, structure)).collect()
});

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn heading(line: &'static str) -> Option<(&'static str, Unity)> {
    let word = line.split(' ').next()?;
    Some(match word.strip_suffix('=') {
        Some(name) => (name, Unity::Atomic),
        None => (word, Unity::Granular),
    })
}

fn parse_kind(line: &'static str) -> Option<Kind> {
    let mut words = line.split(' ').map(|word| if word == "-" { "" } else { word });
    let mut list = || -> Option<&'static str> { words.next() };
    let (group, version, kind, plural) = (list()?, list()?, list()?, list()?);
    let scope = if list()? == "N" { Scope::Namespaced } else { Scope::Cluster };
    let split = |text: &'static str| text.split(',').filter(|part| !part.is_empty()).collect::<Vec<_>>();
    let (short_names, categories, subresources) = (split(list()?), split(list()?), split(list()?));
    let name = list()?;
    let structure = (!name.is_empty()).then_some(StructRef { name, unity: Unity::Granular });
    Some(Kind { group, version, kind, plural, scope, short_names, categories, subresources, structure })
}

fn parse_structure(line: &'static str, atomic: &BTreeMap<&'static str, Unity>) -> Option<Structure> {
    let (name, unity) = heading(line)?;
    let fields = line.split(' ').skip(1).filter_map(|word| parse_field(word, atomic)).collect();
    Some(Structure { name, fields, unity })
}

fn parse_field(word: &'static str, atomic: &BTreeMap<&'static str, Unity>) -> Option<Field> {
    let (name, code) = word.split_once(':')?;
    let (pointer, code) = match code.strip_prefix('*') {
        Some(rest) => (true, rest),
        None => (false, code),
    };
    let (shape, rest) = parse_shape(code, atomic)?;
    let presence = match (pointer, rest) {
        (true, "!") => Presence::Nullable,
        (false, "!") => Presence::Always,
        (true, _) => Presence::Explicit,
        (false, "~") => Presence::Filled,
        // A structure that is no pointer is written even when empty: `omitempty` has no effect on it, and the API's own
        // types for times and quantities are such structures.
        (false, _) if is_structure(&shape) => Presence::Always,
        (false, _) => Presence::Filled,
    };
    Some(Field { name, shape, presence })
}

fn is_structure(shape: &Shape) -> bool {
    matches!(
        shape,
        Shape::Struct(_) | Shape::Time | Shape::MicroTime | Shape::Quantity | Shape::IntegerOrText | Shape::Any
    )
}

/// Reads one shape and returns it with the text behind it.
fn parse_shape(code: &'static str, atomic: &BTreeMap<&'static str, Unity>) -> Option<(Shape, &'static str)> {
    let code = code.strip_prefix('*').unwrap_or(code);
    if let Some(inner) = code.strip_prefix('[') {
        let (item, rest) = parse_shape(inner, atomic)?;
        let rest = rest.strip_prefix(']')?;
        if let Some(rest) = rest.strip_prefix("set") {
            return Some((Shape::List(Box::new(item), ListShape::Set), rest));
        }
        if let Some((keys, rest)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            return Some((Shape::List(Box::new(item), ListShape::Keyed(keys.split(',').collect())), rest));
        }
        return Some((Shape::List(Box::new(item), ListShape::Atomic), rest));
    }
    if let Some(inner) = code.strip_prefix('<') {
        let (item, rest) = parse_shape(inner, atomic)?;
        let rest = rest.strip_prefix('>')?;
        return Some(match rest.strip_prefix('=') {
            Some(rest) => (Shape::Map(Box::new(item), Unity::Atomic), rest),
            None => (Shape::Map(Box::new(item), Unity::Granular), rest),
        });
    }
    let end = code.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(code.len());
    let (word, rest) = code.split_at_checked(end)?;
    if let Some(shape) = scalar(word) {
        return Some((shape, rest));
    }
    let (name, own) = atomic.get_key_value(word)?;
    let (unity, rest) = match (rest.strip_prefix('='), rest.strip_prefix('+')) {
        (Some(rest), _) => (Unity::Atomic, rest),
        (None, Some(rest)) => (Unity::Granular, rest),
        (None, None) => (*own, rest),
    };
    Some((Shape::Struct(StructRef { name, unity }), rest))
}

fn scalar(word: &str) -> Option<Shape> {
    Some(match word {
        "s" => Shape::Text,
        "i" => Shape::Integer,
        "b" => Shape::Boolean,
        "n" => Shape::Number,
        "q" => Shape::Quantity,
        "t" => Shape::Time,
        "T" => Shape::MicroTime,
        "B" => Shape::Bytes,
        "x" => Shape::IntegerOrText,
        "j" => Shape::Any,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{KINDS, STRUCTURES, Shape, lines};

    #[test]
    fn every_line_of_the_tables_is_understood() {
        assert_eq!(KINDS.len(), lines(include_str!("kinds.table")).count());
        for line in lines(include_str!("types.table")) {
            let mut words = line.split(' ');
            let name = words.next().unwrap().trim_end_matches('=');
            let fields: Vec<&str> = STRUCTURES[name].fields.iter().map(|field| field.name).collect();
            assert_eq!(fields, words.map(|word| word.split(':').next().unwrap()).collect::<Vec<_>>(), "{name}");
        }
    }

    #[test]
    fn every_structure_that_is_named_exists_and_is_used() {
        let mut used: Vec<&str> = KINDS.iter().filter_map(|kind| kind.structure).map(|it| it.name).collect();
        for structure in STRUCTURES.values() {
            structure.fields.iter().for_each(|field| collect(&field.shape, &mut used));
        }
        used.sort_unstable();
        used.dedup();
        assert_eq!(used, STRUCTURES.keys().copied().collect::<Vec<_>>());
    }

    fn collect(shape: &Shape, into: &mut Vec<&'static str>) {
        match shape {
            Shape::Struct(it) => into.push(it.name),
            Shape::Map(item, _) | Shape::List(item, _) => collect(item, into),
            _ => {}
        }
    }
}
