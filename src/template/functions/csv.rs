//! Pure. Tables with commas: `data.CSV`, `data.CSVByRow`, `data.CSVByColumn`, `data.ToCSV`.
//!
//! Not here: JSON and YAML (`data.rs`).

use std::collections::BTreeMap;
use std::rc::Rc;

use super::conv::to_texts;
use super::{Function, Parameter, variadic};
use crate::template::failure::Failure;
use crate::template::limits::Budget;
use crate::template::value::{Element, List, Map, Value};

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function { rest: Some(Parameter::Text), ..variadic("CSV", &["csv"], &[], rows) },
    Function { rest: Some(Parameter::Text), ..variadic("CSVByColumn", &["csvByColumn"], &[], by_column) },
    Function { rest: Some(Parameter::Text), ..variadic("CSVByRow", &["csvByRow"], &[], by_row) },
    variadic("ToCSV", &["toCSV"], &[], to_csv),
];

type Row = Vec<Rc<str>>;

/// A table with the names of its columns.
struct Table {
    names: Row,
    rows: Vec<Row>,
}

fn rows(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let table = parse(values, budget)?;
    let all = std::iter::once(table.names).chain(table.rows);
    Ok(Value::List(List::of(Element::Texts, all.map(Value::texts).collect())))
}

fn by_row(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let table = parse(values, budget)?;
    let maps: Vec<Value> = table
        .rows
        .iter()
        .map(|row| {
            let entries =
                table.names.iter().zip(row).map(|(name, cell)| (Rc::clone(name), Value::Text(Rc::clone(cell))));
            Value::Map(Map::of(Element::Text, entries.collect()))
        })
        .collect();
    Ok(Value::List(if maps.is_empty() { List::nil(Element::TextMap) } else { List::of(Element::TextMap, maps) }))
}

fn by_column(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let table = parse(values, budget)?;
    let mut columns: BTreeMap<Rc<str>, Row> = BTreeMap::new();
    for row in &table.rows {
        for (name, cell) in table.names.iter().zip(row) {
            columns.entry(Rc::clone(name)).or_default().push(Rc::clone(cell));
        }
    }
    let entries = columns.into_iter().map(|(name, cells)| (name, Value::texts(cells))).collect();
    Ok(Value::Map(Map::of(Element::Texts, entries)))
}

/// Takes `text`, `delimiter or names, text`, or `delimiter, names, text`; empty names are made of letters.
fn parse(values: &[Value], budget: &mut Budget) -> Result<Table, Failure> {
    let texts = to_texts(values, budget)?;
    let names_of = |names: &str, delimiter: &str| names.split(delimiter).map(Rc::from).collect::<Row>();
    let (text, delimiter, names): (&str, &str, Option<Row>) = match texts.as_slice() {
        [text] => (text, ",", None),
        [first, text] if first.len() == 1 => (text, first, None),
        [first, text] if first.is_empty() => (text, ",", Some(Row::new())),
        [first, text] => (text, ",", Some(names_of(first, ","))),
        [delimiter, names, text] => (text, delimiter, Some(names_of(names, delimiter))),
        _ => ("", ",", None),
    };
    let delimiter = delimiter_of(delimiter)?;
    budget.steps(text.len() / 8)?;
    let mut rows = cells(text, delimiter)?;
    budget.elements(rows.iter().map(Vec::len).sum::<usize>())?;
    let names = match names {
        None if rows.is_empty() => Row::new(),
        None => rows.remove(0),
        Some(names) if names.is_empty() => {
            (0..rows.first().map_or(0, Vec::len)).map(|index| Rc::from(letters(index))).collect()
        }
        Some(names) => names,
    };
    if rows.iter().any(|row| row.len() > names.len()) {
        return Err(Failure::call("a row has more cells than there are columns"));
    }
    Ok(Table { names, rows })
}

fn delimiter_of(text: &str) -> Result<char, Failure> {
    match text.bytes().next().map(char::from) {
        Some(c) if c != '"' && c != '\n' && c != '\r' && c != '\0' => Ok(c),
        _ => Err(Failure::call("this cannot be a delimiter")),
    }
}

/// Names columns A to Z, then AA, BB and so on, as gomplate does.
fn letters(index: usize) -> String {
    let letter = u8::try_from(index % 26).map_or('A', |offset| char::from(b'A' + offset));
    std::iter::repeat_n(letter, index / 26 + 1).collect()
}

/// Cuts a text into rows of cells; all rows must be of one length.
fn cells(text: &str, delimiter: char) -> Result<Vec<Row>, Failure> {
    let text = text.replace("\r\n", "\n");
    let mut rows: Vec<Row> = Vec::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('\n') {
            rest = after;
            continue;
        }
        let (row, after) = row_of(rest, delimiter)?;
        if rows.first().is_some_and(|first| first.len() != row.len()) {
            return Err(Failure::call("a row has another number of cells than the first"));
        }
        rows.push(row);
        rest = after;
    }
    Ok(rows)
}

fn row_of(text: &str, delimiter: char) -> Result<(Row, &str), Failure> {
    let mut row = Row::new();
    let mut rest = text;
    loop {
        let (cell, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_cell(quoted, delimiter)?,
            None => {
                let end = rest.find([delimiter, '\n']).unwrap_or(rest.len());
                let (cell, after) = rest.split_at(end);
                if cell.contains('"') {
                    return Err(Failure::call("a quote stands inside a cell that has none around it"));
                }
                (cell.to_owned(), after)
            }
        };
        row.push(cell.into());
        match after.strip_prefix(delimiter) {
            Some(after) => rest = after,
            None => return Ok((row, after.strip_prefix('\n').unwrap_or(after))),
        }
    }
}

/// Takes a cell up to its closing quote; two quotes inside mean one.
fn quoted_cell(text: &str, delimiter: char) -> Result<(String, &str), Failure> {
    let mut cell = String::new();
    let mut rest = text;
    loop {
        let Some((part, after)) = rest.split_once('"') else {
            return Err(Failure::call("a quoted cell is not closed"));
        };
        cell.push_str(part);
        match after.strip_prefix('"') {
            Some(after) => {
                cell.push('"');
                rest = after;
            }
            None if after.is_empty() || after.starts_with([delimiter, '\n']) => return Ok((cell, after)),
            None => return Err(Failure::call("something follows the closing quote of a cell")),
        }
    }
}

fn to_csv(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let (delimiter, table) = match values {
        [] => return Ok(Value::text("")),
        [table] => (',', table),
        [Value::Text(delimiter), table] => (delimiter_of(delimiter)?, table),
        [_, _] => return Err(Failure::argument("the delimiter must be a text")),
        _ => return Ok(Value::text("")),
    };
    let wrong = || Failure::argument("ToCSV wants a list of lists");
    let Value::List(list) = table else { return Err(wrong()) };
    if !matches!(list.element(), Element::Any | Element::Texts) {
        return Err(wrong());
    }
    let mut out = String::new();
    for row in list.items() {
        let Value::List(row) = &row else { return Err(wrong()) };
        if list.element() == Element::Any && row.element() != Element::Any {
            return Err(wrong());
        }
        let cells = to_texts(&row.items(), budget)?;
        budget.text(cells.iter().fold(0_usize, |sum, cell| sum.saturating_add(cell.len().saturating_mul(2))))?;
        let cells: Vec<String> = cells.iter().map(|cell| written(cell, delimiter)).collect();
        out.push_str(&cells.join(delimiter.encode_utf8(&mut [0; 4])));
        out.push_str("\r\n");
    }
    Ok(Value::text(out))
}

/// Puts quotes around a cell that would read as something else.
fn written(cell: &str, delimiter: char) -> String {
    let leading_space = cell.chars().next().is_some_and(char::is_whitespace);
    if cell != "\\." && !cell.contains([delimiter, '"', '\r', '\n']) && !leading_space {
        return cell.to_owned();
    }
    // Line ends are written as the format wants them.
    format!("\"{}\"", cell.replace('"', "\"\"").replace('\r', "").replace('\n', "\r\n"))
}
