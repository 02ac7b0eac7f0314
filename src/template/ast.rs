//! Pure. The tree of a parsed template.
//!
//! Not here: how it is read (`parse.rs`) and run (`eval.rs`).

use std::collections::BTreeMap;
use std::rc::Rc;

/// A parsed file: what runs, and the templates it defines.
pub(super) struct Tree {
    /// The text of the file outside definitions.
    pub(super) root: Block,
    /// Templates by name.
    pub(super) definitions: BTreeMap<String, Rc<Block>>,
}

/// A list of nodes that run one after the other.
#[derive(Default)]
pub(super) struct Block(pub(super) Vec<Node>);

/// Bytes of the file from the opening braces of an action to the end of its closing ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// First byte.
    pub(super) start: usize,
    /// First byte after it.
    pub(super) end: usize,
}

/// A piece of text or an action, with everything up to its `end`.
pub(super) enum Node {
    /// Text that is copied.
    Text(String),
    /// A pipeline whose value is printed unless it declares variables.
    Action(Pipeline, Span),
    /// `if` with its `else if` chain.
    If(Branches),
    /// `with` with its `else with` chain.
    With(Branches),
    /// `range`.
    Range(Range),
    /// `template` or the place of a `block`.
    Template(TemplateCall),
    /// `break`.
    Break,
    /// `continue`.
    Continue,
}

/// Conditions tried in order and what runs if none holds.
pub(super) struct Branches {
    /// Each condition with its block.
    pub(super) arms: Vec<(Pipeline, Block, Span)>,
    /// The last `else`.
    pub(super) otherwise: Option<Block>,
}

/// A loop.
pub(super) struct Range {
    /// What is walked over, with up to two variables.
    pub(super) pipeline: Pipeline,
    /// What runs for each element.
    pub(super) body: Block,
    /// What runs if there is none.
    pub(super) otherwise: Option<Block>,
    /// The opening action.
    pub(super) span: Span,
}

/// A call of a named template.
pub(super) struct TemplateCall {
    /// The constant name.
    pub(super) name: String,
    /// What becomes the dot; nil if absent.
    pub(super) pipeline: Option<Pipeline>,
    /// The action.
    pub(super) span: Span,
    /// Byte of the name.
    pub(super) at: usize,
}

/// Segments joined by bars, with the variables that take the result.
pub(super) struct Pipeline {
    /// First byte.
    pub(super) at: usize,
    /// Variables before `:=` or `=`, with the dollar sign.
    pub(super) variables: Vec<String>,
    /// Whether the variables are new.
    pub(super) binding: Binding,
    /// At least one.
    pub(super) segments: Vec<Segment>,
}

/// Whether a pipeline makes variables or changes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binding {
    /// `:=`, or no variable at all.
    Declare,
    /// `=`.
    Assign,
}

/// One part of a pipeline between bars: an operand with its arguments.
pub(super) struct Segment {
    /// What is evaluated or called.
    pub(super) head: Operand,
    /// Its arguments.
    pub(super) arguments: Vec<Operand>,
}

/// One operand of a command.
pub(super) struct Operand {
    /// First byte.
    pub(super) at: usize,
    /// What it is.
    pub(super) kind: OperandKind,
}

/// What an operand is.
pub(super) enum OperandKind {
    /// `.`
    Dot,
    /// `nil`
    Nil,
    /// `true` or `false`
    Bool(bool),
    /// A number or character constant.
    Number(Number),
    /// A quoted or raw text.
    Text(Rc<str>),
    /// `.a.b`
    Field(Vec<String>),
    /// `$x` or `$x.a`; the name holds the dollar sign.
    Variable(String, Vec<String>),
    /// A function's name.
    Function(String),
    /// Fields of a function's or pipeline's result.
    Chain(Box<Operand>, Vec<String>),
    /// A pipeline in parentheses.
    Pipeline(Box<Pipeline>),
}

/// A constant, which takes the type that its place wants if it fits without loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    /// Its value as an integer, if it has one.
    pub(super) integer: Option<i64>,
    /// Its value as a float, if it is written like one; a place without a type then gets a float.
    pub(super) float: Option<f64>,
}
