//! Pure. The grammar: tokens become a tree.
//!
//! Not here: which arguments a function takes, which is only known when it runs.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::ast::{Binding, Block, Branches, Node, Number, Operand, OperandKind, Pipeline, Range, Segment, Span};
use super::ast::{TemplateCall, Tree};
use super::failure::Failure;
use super::functions;
use super::lex::{Kind, Token, tokens};
use super::limits::{MAX_ACTIONS, MAX_DEPTH, MAX_TEMPLATE_BYTES};
use super::number::{exact, parse_float, parse_integer, parse_unsigned_in};
use super::quote::{unquote, unquote_char};

/// Parses a file, or returns its first error.
pub(super) fn parse(text: &str) -> Result<Tree, Failure> {
    if text.len() > MAX_TEMPLATE_BYTES {
        return Err(Failure::limit("T101", format!("the template has more than {MAX_TEMPLATE_BYTES} bytes")).at(0));
    }
    let mut parser = Parser {
        text,
        tokens: tokens(text),
        index: 0,
        variables: vec!["$".to_owned()],
        loops: 0,
        depth: 0,
        definitions: BTreeMap::new(),
    };
    let actions = parser.tokens.iter().filter(|token| token.kind == Kind::Open).count();
    if actions > MAX_ACTIONS {
        return Err(Failure::limit("T101", format!("the template has more than {MAX_ACTIONS} actions")).at(0));
    }
    let root = parser.file()?;
    Ok(Tree { root, definitions: parser.definitions })
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    index: usize,
    /// Variables that may be named here.
    variables: Vec<String>,
    /// Loops around this place.
    loops: usize,
    depth: usize,
    definitions: BTreeMap<String, Rc<Block>>,
}

/// What ends a list of nodes.
enum Ending {
    End,
    /// `else` with what follows it: a keyword or the closing braces.
    Else(Span),
}

/// What an action turned out to be.
enum Parsed {
    Node(Node),
    Ending(Ending),
}

impl Parser<'_> {
    fn token(&self) -> Token {
        let end = Token { kind: Kind::End, start: self.text.len(), end: self.text.len() };
        self.tokens.get(self.index).or(self.tokens.last()).cloned().unwrap_or(end)
    }

    fn next(&mut self) -> Token {
        let token = self.token();
        self.index = (self.index + 1).min(self.tokens.len());
        token
    }

    fn skip_space(&mut self) {
        while self.token().kind == Kind::Space {
            self.index += 1;
        }
    }

    fn next_beyond_space(&mut self) -> Token {
        self.skip_space();
        self.next()
    }

    fn peek_beyond_space(&mut self) -> Token {
        self.skip_space();
        self.token()
    }

    fn source(&self, token: &Token) -> &str {
        self.text.get(token.start..token.end).unwrap_or("")
    }

    fn is_keyword(&self, token: &Token, word: &str) -> bool {
        token.kind == Kind::Keyword && self.source(token) == word
    }

    fn unexpected(&self, token: &Token, place: &str) -> Failure {
        let failure = match &token.kind {
            Kind::Error(reason) => {
                if self.text.get(token.start..).is_some_and(|rest| rest.starts_with('-')) {
                    Failure::new("L003", *reason).hint("a key with a hyphen is written (index .map \"the-key\")")
                } else {
                    Failure::new("T110", *reason)
                }
            }
            Kind::End => Failure::new("T110", format!("the file ends inside {place}")),
            _ => Failure::new("T110", format!("`{}` does not belong in {place}", self.source(token))),
        };
        failure.at(token.start)
    }

    fn expect_close(&mut self, place: &str) -> Result<usize, Failure> {
        let token = self.next_beyond_space();
        if token.kind == Kind::Close { Ok(token.end) } else { Err(self.unexpected(&token, place)) }
    }

    fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T, Failure>) -> Result<T, Failure> {
        if self.depth >= MAX_DEPTH {
            let message = format!("blocks and parentheses are nested deeper than {MAX_DEPTH} levels");
            return Err(Failure::limit("T102", message).at(self.token().start));
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }

    fn file(&mut self) -> Result<Block, Failure> {
        let mut nodes = Vec::new();
        while self.token().kind != Kind::End {
            if self.token().kind == Kind::Open && self.definition()? {
                continue;
            }
            let start = self.token().start;
            match self.text_or_action()? {
                Parsed::Node(node) => nodes.push(node),
                Parsed::Ending(Ending::End) => {
                    return Err(Failure::new("T110", "`end` has no block that it could close").at(start));
                }
                Parsed::Ending(Ending::Else(_)) => {
                    return Err(Failure::new("T110", "`else` stands outside of a block").at(start));
                }
            }
        }
        Ok(Block(nodes))
    }

    /// Takes a `define` with its body, if one stands here.
    fn definition(&mut self) -> Result<bool, Failure> {
        let begin = self.index;
        let open = self.next();
        let keyword = self.next_beyond_space();
        if !self.is_keyword(&keyword, "define") {
            self.index = begin;
            return Ok(false);
        }
        let name_token = self.next_beyond_space();
        let name = self.template_name(&name_token, "define")?;
        self.expect_close("define")?;
        let body = self.body_of_its_own("define", open.start)?;
        self.define(name, body, name_token.start)?;
        Ok(true)
    }

    /// Parses the body of a definition, which sees no variable and no loop from outside.
    fn body_of_its_own(&mut self, word: &str, opened: usize) -> Result<Block, Failure> {
        let variables = std::mem::replace(&mut self.variables, vec!["$".to_owned()]);
        let loops = std::mem::take(&mut self.loops);
        let (body, ending) = self.block(word, opened)?;
        self.variables = variables;
        self.loops = loops;
        match ending {
            Ending::End => Ok(body),
            Ending::Else(span) => Err(Failure::new("T110", format!("`else` does not belong in {word}")).at(span.start)),
        }
    }

    fn define(&mut self, name: String, body: Block, at: usize) -> Result<(), Failure> {
        match self.definitions.get(&name) {
            Some(known) if !is_blank(known) => {
                if is_blank(&body) {
                    return Ok(());
                }
                Err(Failure::new("T114", format!("template {name:?} is defined twice")).at(at))
            }
            _ => {
                self.definitions.insert(name, Rc::new(body));
                Ok(())
            }
        }
    }

    fn template_name(&self, token: &Token, place: &str) -> Result<String, Failure> {
        if !matches!(token.kind, Kind::Quoted | Kind::Raw) {
            let failure = self.unexpected(token, place);
            return Err(if matches!(token.kind, Kind::Error(_)) {
                failure
            } else {
                failure.hint("the name of a template is a constant text")
            });
        }
        self.literal(token)
    }

    fn literal(&self, token: &Token) -> Result<String, Failure> {
        unquote(self.source(token))
            .ok_or_else(|| Failure::new("T110", "a quoted text holds an escape that does not exist").at(token.start))
    }

    /// Parses nodes up to the `end` or `else` that closes them.
    fn block(&mut self, word: &str, opened: usize) -> Result<(Block, Ending), Failure> {
        self.deeper(|parser| {
            let mut nodes = Vec::new();
            while parser.token().kind != Kind::End {
                match parser.text_or_action()? {
                    Parsed::Node(node) => nodes.push(node),
                    Parsed::Ending(ending) => return Ok((Block(nodes), ending)),
                }
            }
            Err(Failure::new("T110", format!("this `{word}` has no `end`")).at(opened))
        })
    }

    fn text_or_action(&mut self) -> Result<Parsed, Failure> {
        let token = self.next();
        match token.kind {
            Kind::Text => Ok(Parsed::Node(Node::Text(self.source(&token).to_owned()))),
            Kind::Open => self.action(token.start),
            _ => Err(self.unexpected(&token, "the text")),
        }
    }

    fn action(&mut self, open: usize) -> Result<Parsed, Failure> {
        let begin = self.index;
        let token = self.next_beyond_space();
        let word = if token.kind == Kind::Keyword { self.source(&token).to_owned() } else { String::new() };
        let node = match word.as_str() {
            "if" => Node::If(self.branches("if", open)?),
            "with" => Node::With(self.branches("with", open)?),
            "range" => Node::Range(self.range(open)?),
            "template" => Node::Template(self.template_call(open)?),
            "block" => Node::Template(self.block_call(open)?),
            "break" | "continue" => self.leave_loop(&word, token.start)?,
            "end" => {
                self.expect_close("end")?;
                return Ok(Parsed::Ending(Ending::End));
            }
            "else" => {
                let next = self.peek_beyond_space();
                let chained = self.is_keyword(&next, "if") || self.is_keyword(&next, "with");
                let end = if chained { next.start } else { self.expect_close("else")? };
                return Ok(Parsed::Ending(Ending::Else(Span { start: open, end })));
            }
            _ => {
                self.index = begin;
                let (pipeline, end) = self.pipeline("an action", &Kind::Close)?;
                Node::Action(pipeline, Span { start: open, end })
            }
        };
        Ok(Parsed::Node(node))
    }

    fn leave_loop(&mut self, word: &str, at: usize) -> Result<Node, Failure> {
        self.expect_close(word)?;
        if self.loops == 0 {
            return Err(Failure::new("T110", format!("`{word}` stands outside of a range")).at(at));
        }
        Ok(if word == "break" { Node::Break } else { Node::Continue })
    }

    /// Parses `if` and `with` with their chains; the chain is a list, so that its length costs no depth.
    fn branches(&mut self, word: &str, open: usize) -> Result<Branches, Failure> {
        let scope = self.variables.len();
        let mut branches = Branches { arms: Vec::new(), otherwise: None };
        let mut start = open;
        loop {
            let (pipeline, end) = self.pipeline(word, &Kind::Close)?;
            let (body, ending) = self.block(word, open)?;
            branches.arms.push((pipeline, body, Span { start, end }));
            let Ending::Else(span) = ending else { break };
            let next = self.peek_beyond_space();
            if self.is_keyword(&next, word) && span.end == next.start {
                self.next();
                start = span.start;
                continue;
            }
            branches.otherwise = Some(self.last_else(word, open)?);
            break;
        }
        self.variables.truncate(scope);
        Ok(branches)
    }

    fn last_else(&mut self, word: &str, open: usize) -> Result<Block, Failure> {
        match self.block(word, open)? {
            (body, Ending::End) => Ok(body),
            (_, Ending::Else(span)) => {
                Err(Failure::new("T110", format!("this `{word}` has a second `else`")).at(span.start))
            }
        }
    }

    fn range(&mut self, open: usize) -> Result<Range, Failure> {
        let scope = self.variables.len();
        let (pipeline, end) = self.pipeline("range", &Kind::Close)?;
        self.loops += 1;
        let (body, ending) = self.block("range", open)?;
        self.loops -= 1;
        let otherwise = match ending {
            Ending::End => None,
            Ending::Else(_) => Some(self.last_else("range", open)?),
        };
        self.variables.truncate(scope);
        Ok(Range { pipeline, body, otherwise, span: Span { start: open, end } })
    }

    fn template_call(&mut self, open: usize) -> Result<TemplateCall, Failure> {
        let token = self.next_beyond_space();
        let name = self.template_name(&token, "template")?;
        let next = self.peek_beyond_space();
        let (pipeline, end) = if next.kind == Kind::Close {
            self.next();
            (None, next.end)
        } else {
            let (pipeline, end) = self.pipeline("template", &Kind::Close)?;
            (Some(pipeline), end)
        };
        Ok(TemplateCall { name, pipeline, span: Span { start: open, end }, at: token.start })
    }

    fn block_call(&mut self, open: usize) -> Result<TemplateCall, Failure> {
        let token = self.next_beyond_space();
        let name = self.template_name(&token, "block")?;
        let (pipeline, end) = self.pipeline("block", &Kind::Close)?;
        let body = self.body_of_its_own("block", open)?;
        self.define(name.clone(), body, token.start)?;
        Ok(TemplateCall { name, pipeline: Some(pipeline), span: Span { start: open, end }, at: token.start })
    }

    /// Parses a pipeline up to `end` and returns the byte after that token.
    fn pipeline(&mut self, place: &str, end: &Kind) -> Result<(Pipeline, usize), Failure> {
        let at = self.peek_beyond_space().start;
        let (variables, binding) = self.declarations(place)?;
        let mut segments = Vec::new();
        loop {
            let token = self.peek_beyond_space();
            match &token.kind {
                kind if kind == end => {
                    self.next();
                    let pipeline = Pipeline { at, variables, binding, segments };
                    return check_pipeline(pipeline, place, token.start).map(|pipeline| (pipeline, token.end));
                }
                Kind::Bool | Kind::Character | Kind::Complex | Kind::Dot | Kind::Field | Kind::Identifier => {}
                Kind::Number | Kind::Raw | Kind::Quoted | Kind::Variable | Kind::Left => {}
                Kind::Keyword if self.source(&token) == "nil" => {}
                _ => return Err(self.unexpected(&token, place)),
            }
            segments.push(self.command()?);
        }
    }

    /// Takes `$x :=`, `$x =` and, in a range, `$i, $x :=` if they stand here.
    fn declarations(&mut self, place: &str) -> Result<(Vec<String>, Binding), Failure> {
        let mut names = Vec::new();
        loop {
            let begin = self.index;
            let token = self.peek_beyond_space();
            if token.kind != Kind::Variable {
                return Ok((names, Binding::Declare));
            }
            let name = self.source(&token).to_owned();
            self.next();
            let next = self.peek_beyond_space();
            match next.kind {
                Kind::Declare | Kind::Assign => {
                    self.next();
                    self.variables.push(name.clone());
                    names.push(name);
                    let binding = if next.kind == Kind::Declare { Binding::Declare } else { Binding::Assign };
                    return Ok((names, binding));
                }
                Kind::Comma => {
                    self.next();
                    if place != "range" || !names.is_empty() {
                        return Err(
                            Failure::new("T110", "only a range has two variables, and none has more").at(token.start)
                        );
                    }
                    self.variables.push(name.clone());
                    names.push(name);
                    let second = self.peek_beyond_space();
                    if !matches!(second.kind, Kind::Variable | Kind::Close | Kind::Right) {
                        return Err(self.unexpected(&second, "the variables of a range"));
                    }
                }
                _ => {
                    self.index = begin;
                    return Ok((names, Binding::Declare));
                }
            }
        }
    }

    fn command(&mut self) -> Result<Segment, Failure> {
        let mut operands = Vec::new();
        loop {
            self.skip_space();
            if let Some(operand) = self.operand()? {
                operands.push(operand);
            }
            let token = self.token();
            match token.kind {
                Kind::Space => {}
                Kind::Pipe => {
                    self.next();
                    break;
                }
                Kind::Close | Kind::Right => break,
                _ => return Err(self.unexpected(&token, "an action")),
            }
        }
        let mut operands = operands.into_iter();
        match operands.next() {
            Some(head) => Ok(Segment { head, arguments: operands.collect() }),
            None => Err(Failure::new("T110", "a command is empty").at(self.token().start)),
        }
    }

    fn operand(&mut self) -> Result<Option<Operand>, Failure> {
        let Some(mut operand) = self.term()? else { return Ok(None) };
        let mut fields = Vec::new();
        while self.token().kind == Kind::Field {
            let token = self.next();
            fields.push(self.source(&token).trim_start_matches('.').to_owned());
        }
        if fields.is_empty() {
            return Ok(Some(operand));
        }
        match &mut operand.kind {
            OperandKind::Field(known) | OperandKind::Variable(_, known) => known.extend(fields),
            OperandKind::Function(_) | OperandKind::Pipeline(_) | OperandKind::Chain(..) => {
                let at = operand.at;
                operand = Operand { at, kind: OperandKind::Chain(Box::new(operand), fields) };
            }
            OperandKind::Dot
            | OperandKind::Nil
            | OperandKind::Bool(_)
            | OperandKind::Number(_)
            | OperandKind::Text(_) => {
                return Err(Failure::new("T110", "a constant has no fields").at(operand.at));
            }
        }
        Ok(Some(operand))
    }

    fn term(&mut self) -> Result<Option<Operand>, Failure> {
        let token = self.token();
        let kind = match &token.kind {
            Kind::Identifier => self.function(&token)?,
            Kind::Dot => OperandKind::Dot,
            Kind::Keyword if self.source(&token) == "nil" => OperandKind::Nil,
            Kind::Variable => self.variable(&token)?,
            Kind::Field => OperandKind::Field(vec![self.source(&token).trim_start_matches('.').to_owned()]),
            Kind::Bool => OperandKind::Bool(self.source(&token) == "true"),
            Kind::Number => OperandKind::Number(self.number(&token)?),
            Kind::Character => {
                let value = unquote_char(self.source(&token)).ok_or_else(|| self.bad_constant(&token))?;
                OperandKind::Number(Number { integer: Some(i64::from(value)), float: None })
            }
            Kind::Complex => {
                return Err(Failure::new("T113", "complex numbers are not supported").at(token.start));
            }
            Kind::Quoted | Kind::Raw => OperandKind::Text(self.literal(&token)?.into()),
            Kind::Left => {
                self.next();
                let pipeline = self.deeper(|parser| parser.pipeline("parentheses", &Kind::Right))?.0;
                return Ok(Some(Operand { at: token.start, kind: OperandKind::Pipeline(Box::new(pipeline)) }));
            }
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(Operand { at: token.start, kind }))
    }

    fn function(&self, token: &Token) -> Result<OperandKind, Failure> {
        let name = self.source(token);
        if functions::is_known(name) {
            Ok(OperandKind::Function(name.to_owned()))
        } else {
            Err(functions::unknown(name).at(token.start))
        }
    }

    fn variable(&self, token: &Token) -> Result<OperandKind, Failure> {
        let name = self.source(token);
        if self.variables.iter().any(|known| known == name) {
            return Ok(OperandKind::Variable(name.to_owned(), Vec::new()));
        }
        let known = self.variables.iter().filter(|known| known.len() > 1).map(String::as_str);
        let failure = Failure::new("T111", format!("variable {name} is not declared here")).at(token.start);
        Err(match crate::base::nearest::nearest(name, known) {
            Some(meant) => failure.hint(format!("did you mean {meant}?")),
            None => failure.hint(format!("declare it with {{{{ {name} := … }}}}")),
        })
    }

    fn bad_constant(&self, token: &Token) -> Failure {
        Failure::new("T110", format!("`{}` is no constant", self.source(token))).at(token.start)
    }

    fn number(&self, token: &Token) -> Result<Number, Failure> {
        let text = self.source(token);
        if let Some(integer) = parse_integer(text) {
            return Ok(Number { integer: Some(integer), float: None });
        }
        // Too large for an integer: an error, but only where it is used.
        if parse_unsigned_in(text, 0).is_some() {
            return Ok(Number { integer: None, float: None });
        }
        let float = parse_float(text).filter(|_| text.contains(['.', 'e', 'E', 'p', 'P']));
        let float = float.ok_or_else(|| self.bad_constant(token))?;
        Ok(Number { integer: exact(float), float: Some(float) })
    }
}

/// Refuses an empty pipeline and a constant that takes the value before it.
fn check_pipeline(pipeline: Pipeline, place: &str, at: usize) -> Result<Pipeline, Failure> {
    if pipeline.segments.is_empty() {
        return Err(Failure::new("T110", format!("a value is missing in {place}")).at(at));
    }
    for command in pipeline.segments.iter().skip(1) {
        let constant = matches!(
            command.head.kind,
            OperandKind::Bool(_) | OperandKind::Dot | OperandKind::Nil | OperandKind::Number(_) | OperandKind::Text(_)
        );
        if constant {
            return Err(Failure::new("T110", "only a function can stand after a bar").at(command.head.at));
        }
    }
    Ok(pipeline)
}

/// Returns whether a body holds only white space; such a definition gives way to another of its name.
fn is_blank(block: &Block) -> bool {
    block.0.iter().all(|node| matches!(node, Node::Text(text) if text.trim().is_empty()))
}
