//! Pure. The values of a running template, with the types that Go would give them.
//!
//! Not here: how they print (`print.rs`). Lists and maps are shared and can change under all who hold them, as Go's do.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::failure::Failure;
use super::limits::{Budget, check_value_depth};
use super::named::Named;
use super::number::from_unsigned;

/// A value.
#[derive(Clone)]
pub(super) enum Value {
    /// No value.
    Nil,
    /// `bool`
    Bool(bool),
    /// `int`, from YAML and literals.
    Int(i64),
    /// `int64`, from calculations.
    Int64(i64),
    /// `uint64`, above the largest `int`.
    Uint64(u64),
    /// `uint8`, an element of bytes or of a text.
    Byte(u8),
    /// `float64`
    Float(f64),
    /// `string`
    Text(Rc<str>),
    /// `[]byte`
    Bytes(Rc<[u8]>),
    /// A list.
    List(List),
    /// A map with text keys.
    Map(Map),
    /// A value of a type with methods.
    Named(Named),
    /// What the name of a function group stands for.
    Namespace(&'static str),
}

/// What a list or map may hold; only its name and a few functions show it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Element {
    /// Anything.
    Any,
    /// Texts.
    Text,
    /// `int`
    Int,
    /// `int64`
    Int64,
    /// `float64`
    Float,
    /// `bool`
    Bool,
    /// Lists of texts.
    Texts,
    /// Maps from text to text.
    TextMap,
    /// Maps that may hold anything.
    Maps,
    /// Lists of texts, in the query of a URL.
    Query,
}

impl Element {
    /// Returns the name of the type of one element as Go prints it.
    pub(super) fn type_name(self) -> &'static str {
        match self {
            Self::Any => "interface {}",
            Self::Text => "string",
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::Float => "float64",
            Self::Bool => "bool",
            Self::Texts => "[]string",
            Self::TextMap => "map[string]string",
            Self::Maps => "map[string]interface {}",
            Self::Query => "[]string",
        }
    }
}

/// A shared list.
#[derive(Clone)]
pub(super) struct List(Rc<ListCell>);

struct ListCell {
    element: Element,
    /// Whether Go has no list here at all; JSON then says null.
    nil: bool,
    path: Option<Rc<str>>,
    items: RefCell<Vec<Value>>,
}

/// A shared map, sorted by the bytes of its keys.
#[derive(Clone)]
pub(super) struct Map(Rc<MapCell>);

struct MapCell {
    element: Element,
    path: Option<Rc<str>>,
    entries: RefCell<BTreeMap<Rc<str>, Value>>,
}

impl List {
    /// Returns a list that may hold anything.
    pub(super) fn new(items: Vec<Value>) -> Self {
        Self::of(Element::Any, items)
    }

    /// Returns a list of one type.
    pub(super) fn of(element: Element, items: Vec<Value>) -> Self {
        Self(Rc::new(ListCell { element, nil: false, path: None, items: RefCell::new(items) }))
    }

    /// Returns what Go's functions return instead of a list without items.
    pub(super) fn nil(element: Element) -> Self {
        Self(Rc::new(ListCell { element, nil: true, path: None, items: RefCell::new(Vec::new()) }))
    }

    /// Returns whether there is no list at all.
    pub(super) fn is_nil(&self) -> bool {
        self.0.nil
    }

    /// Returns what it may hold.
    pub(super) fn element(&self) -> Element {
        self.0.element
    }

    /// Returns where in the context it stands.
    pub(super) fn path(&self) -> Option<&Rc<str>> {
        self.0.path.as_ref()
    }

    /// Returns the number of items.
    pub(super) fn len(&self) -> usize {
        self.0.items.borrow().len()
    }

    /// Returns the items as they are now.
    pub(super) fn items(&self) -> Vec<Value> {
        self.0.items.borrow().clone()
    }

    /// Returns one item.
    pub(super) fn get(&self, index: usize) -> Option<Value> {
        self.0.items.borrow().get(index).cloned()
    }

    /// Turns the list around for all who hold it.
    pub(super) fn reverse(&self) {
        self.0.items.borrow_mut().reverse();
    }
}

impl Map {
    /// Returns a map that may hold anything.
    pub(super) fn new(entries: BTreeMap<Rc<str>, Value>) -> Self {
        Self::of(Element::Any, entries)
    }

    /// Returns a map to one type.
    pub(super) fn of(element: Element, entries: BTreeMap<Rc<str>, Value>) -> Self {
        Self(Rc::new(MapCell { element, path: None, entries: RefCell::new(entries) }))
    }

    /// Returns what it may hold.
    pub(super) fn element(&self) -> Element {
        self.0.element
    }

    /// Returns where in the context it stands.
    pub(super) fn path(&self) -> Option<&Rc<str>> {
        self.0.path.as_ref()
    }

    /// Returns the path of a key, if the map stands in the context.
    pub(super) fn path_of(&self, key: &str) -> Option<String> {
        self.path().map(|path| join_path(path, key))
    }

    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.0.entries.borrow().len()
    }

    /// Returns the entries as they are now, sorted by key.
    pub(super) fn entries(&self) -> Vec<(Rc<str>, Value)> {
        self.0.entries.borrow().iter().map(|(key, value)| (Rc::clone(key), value.clone())).collect()
    }

    /// Returns a copy of the entries.
    pub(super) fn to_entries(&self) -> BTreeMap<Rc<str>, Value> {
        self.0.entries.borrow().clone()
    }

    /// Returns the value of a key.
    pub(super) fn get(&self, key: &str) -> Option<Value> {
        self.0.entries.borrow().get(key).cloned()
    }

    /// Sets a key for all who hold the map. The caller has made sure that the value does not hold the map.
    pub(super) fn set(&self, key: Rc<str>, value: Value) {
        self.0.entries.borrow_mut().insert(key, value);
    }

    /// Removes a key for all who hold the map.
    pub(super) fn unset(&self, key: &str) {
        self.0.entries.borrow_mut().remove(key);
    }

    /// Returns whether a value is this map or holds it somewhere.
    pub(super) fn is_within(&self, value: &Value, budget: &mut Budget) -> Result<bool, Failure> {
        let mut open = vec![value.clone()];
        while let Some(next) = open.pop() {
            budget.steps(1)?;
            match next {
                Value::Map(map) if Rc::ptr_eq(&map.0, &self.0) => return Ok(true),
                Value::Map(map) => open.extend(map.entries().into_iter().map(|(_, value)| value)),
                Value::List(list) => open.extend(list.items()),
                _ => {}
            }
        }
        Ok(false)
    }
}

/// Takes nested values apart one by one: a chain of a hundred thousand maps must not overflow the stack when it goes.
fn dismantle(mut open: Vec<Value>) {
    while let Some(next) = open.pop() {
        match next {
            Value::List(List(cell)) => {
                if let Some(cell) = Rc::into_inner(cell) {
                    open.append(&mut cell.items.take());
                }
            }
            Value::Map(Map(cell)) => {
                if let Some(cell) = Rc::into_inner(cell) {
                    open.extend(cell.entries.take().into_values());
                }
            }
            _ => {}
        }
    }
}

impl Drop for ListCell {
    fn drop(&mut self) {
        dismantle(self.items.take());
    }
}

impl Drop for MapCell {
    fn drop(&mut self) {
        dismantle(self.entries.take().into_values().collect());
    }
}

/// Returns a dotted path with one more key.
pub(super) fn join_path(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

impl Value {
    /// Returns a text.
    pub(super) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// Returns a list of texts.
    pub(super) fn texts<T: Into<Rc<str>>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::List(List::of(Element::Text, texts.into_iter().map(|text| Self::Text(text.into())).collect()))
    }

    /// Returns a length or count as Go's `int`.
    pub(super) fn count(count: usize) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// Takes over a part of the context; maps and lists remember where they stand.
    pub(super) fn from_json(value: &serde_json::Value, path: Option<&str>, depth: usize) -> Result<Self, Failure> {
        check_value_depth(depth)?;
        Ok(match value {
            serde_json::Value::Null => Self::Nil,
            serde_json::Value::Bool(flag) => Self::Bool(*flag),
            serde_json::Value::Number(number) => from_number(number),
            serde_json::Value::String(text) => Self::text(text.as_str()),
            serde_json::Value::Array(items) => {
                // Whoever reaches an item has read the whole list.
                let items =
                    items.iter().map(|item| Self::from_json(item, None, depth + 1)).collect::<Result<_, _>>()?;
                let path = path.map(Rc::from);
                Self::List(List(Rc::new(ListCell {
                    element: Element::Any,
                    nil: false,
                    path,
                    items: RefCell::new(items),
                })))
            }
            serde_json::Value::Object(object) => {
                let mut entries = BTreeMap::new();
                for (key, item) in object {
                    let below = path.map(|path| join_path(path, key));
                    entries.insert(Rc::from(key.as_str()), Self::from_json(item, below.as_deref(), depth + 1)?);
                }
                let path = path.map(Rc::from);
                Self::Map(Map(Rc::new(MapCell { element: Element::Any, path, entries: RefCell::new(entries) })))
            }
        })
    }

    /// Returns the name of the type as Go prints it.
    pub(super) fn type_name(&self) -> String {
        match self {
            Self::Nil => "<nil>".to_owned(),
            Self::Bool(_) => "bool".to_owned(),
            Self::Int(_) => "int".to_owned(),
            Self::Int64(_) => "int64".to_owned(),
            Self::Uint64(_) => "uint64".to_owned(),
            Self::Byte(_) => "uint8".to_owned(),
            Self::Float(_) => "float64".to_owned(),
            Self::Text(_) => "string".to_owned(),
            Self::Bytes(_) => "[]uint8".to_owned(),
            Self::List(list) => format!("[]{}", list.element().type_name()),
            Self::Map(map) if map.element() == Element::Query => "url.Values".to_owned(),
            Self::Map(map) => format!("map[string]{}", map.element().type_name()),
            Self::Named(named) => named.type_name().to_owned(),
            Self::Namespace(name) => format!("*{name}"),
        }
    }

    /// Returns what people call such a value.
    pub(super) fn noun(&self) -> &'static str {
        match self {
            Self::Nil => "nothing",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::Int64(_) | Self::Uint64(_) | Self::Byte(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Text(_) => "a text",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
            Self::Named(named) => named.noun(),
            Self::Namespace(_) => "a group of functions",
        }
    }

    /// Returns the kind of the type as Go names it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "invalid",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Int64(_) => "int64",
            Self::Uint64(_) => "uint64",
            Self::Byte(_) => "uint8",
            Self::Float(_) => "float64",
            Self::Text(_) => "string",
            Self::Bytes(_) | Self::List(_) => "slice",
            Self::Map(_) => "map",
            Self::Named(named) => named.kind(),
            Self::Namespace(_) => "ptr",
        }
    }

    /// Returns whether conditions hold for it: neither false, zero, nil nor empty.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(flag) => *flag,
            Self::Int(number) | Self::Int64(number) => *number != 0,
            Self::Uint64(number) => *number != 0,
            Self::Byte(number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::List(list) => list.len() > 0,
            Self::Map(map) => map.len() > 0,
            Self::Named(named) => named.as_signed() != Some(0),
            Self::Namespace(_) => true,
        }
    }

    /// Returns the integer of any signed type.
    pub(super) fn as_signed(&self) -> Option<i64> {
        match self {
            Self::Int(number) | Self::Int64(number) => Some(*number),
            Self::Named(named) => named.as_signed(),
            _ => None,
        }
    }

    /// Returns the integer of any unsigned type.
    pub(super) fn as_unsigned(&self) -> Option<u64> {
        match self {
            Self::Uint64(number) => Some(*number),
            Self::Byte(number) => Some(u64::from(*number)),
            _ => None,
        }
    }

    /// Returns whether type and content are the same, all the way down.
    pub(super) fn is_same(&self, other: &Self, budget: &mut Budget) -> Result<bool, Failure> {
        same(self, other, budget, 0)
    }
}

fn from_number(number: &serde_json::Number) -> Value {
    if let Some(signed) = number.as_i64() {
        Value::Int(signed)
    } else if let Some(unsigned) = number.as_u64() {
        Value::Uint64(unsigned)
    } else {
        Value::Float(number.as_f64().unwrap_or(from_unsigned(0)))
    }
}

fn same(left: &Value, right: &Value, budget: &mut Budget, depth: usize) -> Result<bool, Failure> {
    budget.steps(1)?;
    check_value_depth(depth)?;
    Ok(match (left, right) {
        (Value::Nil, Value::Nil) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) | (Value::Int64(a), Value::Int64(b)) => a == b,
        (Value::Uint64(a), Value::Uint64(b)) => a == b,
        (Value::Byte(a), Value::Byte(b)) => a == b,
        #[expect(clippy::float_cmp, reason = "equal or not is the question")]
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Text(a), Value::Text(b)) => {
            budget.scan(a.len().min(b.len()))?;
            a == b
        }
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::List(a), Value::List(b)) => {
            if a.element() != b.element() || a.len() != b.len() || a.is_nil() != b.is_nil() {
                return Ok(false);
            }
            for (a, b) in a.items().iter().zip(&b.items()) {
                if !same(a, b, budget, depth + 1)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(a), Value::Map(b)) => {
            if a.element() != b.element() || a.len() != b.len() {
                return Ok(false);
            }
            for ((left, a), (right, b)) in a.entries().iter().zip(&b.entries()) {
                if left != right || !same(a, b, budget, depth + 1)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Namespace(a), Value::Namespace(b)) => a == b,
        (Value::Named(a), Value::Named(b)) => a.type_name() == b.type_name() && a.text() == b.text(),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::rc::Rc;

    use serde_json::json;

    use super::{Map, Value};
    use crate::template::limits::Budget;

    #[test]
    fn a_long_chain_of_maps_goes_without_overflowing_the_stack() {
        let mut value = Value::Nil;
        for _ in 0..200_000 {
            value = Value::Map(Map::new(BTreeMap::from([(Rc::from("a"), value)])));
        }
        drop(value);
    }

    #[test]
    fn maps_remember_where_they_stand_and_items_of_lists_do_not() {
        let root = Value::from_json(&json!({"a": {"b": {}}, "l": [{}]}), Some(""), 0).unwrap();
        let Value::Map(root) = root else { panic!("no map") };
        let Some(Value::Map(a)) = root.get("a") else { panic!("no map") };
        assert_eq!(a.path_of("b").as_deref(), Some("a.b"));
        let Some(Value::List(list)) = root.get("l") else { panic!("no list") };
        let Some(Value::Map(item)) = list.get(0) else { panic!("no map") };
        assert_eq!(list.path().map(|path| &**path), Some("l"));
        assert_eq!(item.path(), None);
    }

    #[test]
    fn a_map_is_found_inside_a_value_that_holds_it() {
        let map = Map::new(BTreeMap::new());
        let holder = Value::Map(Map::new(BTreeMap::from([(Rc::from("a"), Value::Map(map.clone()))])));
        assert!(map.is_within(&holder, &mut Budget::new()).unwrap());
        assert!(!map.is_within(&Value::Nil, &mut Budget::new()).unwrap());
    }

    #[test]
    fn numbers_of_different_types_are_not_the_same() {
        let mut budget = Budget::new();
        assert!(!Value::Int(1).is_same(&Value::Int64(1), &mut budget).unwrap());
        assert!(Value::Int(1).is_same(&Value::Int(1), &mut budget).unwrap());
    }
}
