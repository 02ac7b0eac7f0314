//! The text form of a script of API requests.
//!
//! Steps are separated by empty lines; lines that begin with `#` are for people. The first line of a step says what it does:
//!
//! ```text
//! PATCH /api/v1/namespaces/$ns/configmaps/a?fieldManager=wild     a request; `type: apply` and a JSON body follow
//! NAMESPACE                                                       makes the namespace $ns of this script
//! WATCH name /api/v1/…?watch=true                                 opens a watch under a name
//! EVENTS name 3                                                   takes so many events of it
//! UNTIL /api/v1/…/object /status/phase=Bound                      waits until the object is so, in all of these, then shows it
//! UNTIL /api/v1/…/object gone                                     waits until the object is gone
//! QUIET                                                           the next step's answer is not recorded
//! ```
//!
//! Behind the first line of a request may stand `type: …` (the content type), `accept: partial` or `accept: partial list`, `agent: …`,
//! and `without: a b`: entries of these names are left out of every list of the answer, because the sandbox does not serve them.
//!
//! A script that begins with `# needs controllers` runs on a whole cluster; all others on an API server alone, so that nothing
//! changes objects beside them.
//!
//! `$ns` is the script's namespace; `$name.uid` and `$name.rv` are those that the last answer with that metadata.name had.
//!
//! Not here: how a step is done (`player.rs`).

/// A script.
pub(crate) struct Script {
    pub(crate) steps: Vec<Step>,
    pub(crate) needs: Needs,
}

/// What a script needs beside an API server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Needs {
    /// Nothing: no controller interferes.
    Nothing,
    /// Controllers, and nodes that run pods. Marked by the line `# needs controllers`.
    Controllers,
}

/// One step.
pub(crate) struct Step {
    /// The line as written.
    pub(crate) line: String,
    pub(crate) act: Act,
    pub(crate) quiet: bool,
}

/// A request.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// Names of entries that are left out of the answer.
    pub(crate) without: Vec<String>,
}

/// What a step does.
pub(crate) enum Act {
    Request(Box<Request>),
    Watch { name: String, path: String, accept: Option<String> },
    Events { name: String, count: usize },
    Until { path: String, wish: Wish },
}

/// What a step waits for.
pub(crate) enum Wish {
    /// All of these, each a JSON pointer and a value; `-` stands for none.
    Values(Vec<(String, String)>),
    Gone,
}

const TYPES: [(&str, &str); 5] = [
    ("apply", "application/apply-patch+yaml"),
    ("merge", "application/merge-patch+json"),
    ("strategic", "application/strategic-merge-patch+json"),
    ("jsonpatch", "application/json-patch+json"),
    ("json", "application/json"),
];
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

impl Script {
    /// Reads a script.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let marked = text.lines().any(|line| line == "# needs controllers");
        let needs = if marked { Needs::Controllers } else { Needs::Nothing };
        let text: String = text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        let blocks = text.split("\n\n").map(str::trim).filter(|block| !block.is_empty());
        Ok(Self { steps: blocks.map(parse_step).collect::<Result<_, _>>()?, needs })
    }
}

fn parse_step(block: &str) -> Result<Step, String> {
    let (quiet, block) = match block.strip_prefix("QUIET\n") {
        Some(rest) => (true, rest),
        None => (false, block),
    };
    let (line, rest) = block.split_once('\n').unwrap_or((block, ""));
    let words: Vec<&str> = line.split_whitespace().collect();
    let act = match words.as_slice() {
        ["NAMESPACE"] => request("POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"$ns\"}}"),
        ["WATCH", name, path] => Act::Watch {
            name: (*name).to_owned(),
            path: (*path).to_owned(),
            accept: rest.contains("accept: partial").then(|| PARTIAL.to_owned()),
        },
        ["EVENTS", name, count] => {
            Act::Events { name: (*name).to_owned(), count: count.parse().map_err(|_| format!("{line}: no number"))? }
        }
        ["UNTIL", path, "gone"] => Act::Until { path: (*path).to_owned(), wish: Wish::Gone },
        ["UNTIL", path, wishes @ ..] if !wishes.is_empty() => {
            let pair =
                |wish: &&str| wish.split_once('=').map(|(pointer, value)| (pointer.to_owned(), value.to_owned()));
            let values: Option<Vec<_>> = wishes.iter().map(pair).collect();
            let values = values.ok_or_else(|| format!("{line}: no value"))?;
            Act::Until { path: (*path).to_owned(), wish: Wish::Values(values) }
        }
        [method @ ("GET" | "POST" | "PUT" | "PATCH" | "DELETE"), path] => request(method, path, rest),
        _ => return Err(format!("{line}: not understood")),
    };
    let line = if line == "NAMESPACE" { "POST /api/v1/namespaces".to_owned() } else { line.to_owned() };
    Ok(Step { line, act, quiet })
}

fn request(method: &str, path: &str, rest: &str) -> Act {
    let mut headers = Vec::new();
    let mut body = Vec::new();
    let mut without = Vec::new();
    for line in rest.lines() {
        match line.split_once(": ").filter(|_| body.is_empty() && !line.starts_with(['{', '['])) {
            Some(("type", sort)) => {
                let known = TYPES.iter().find(|(name, _)| *name == sort).map_or(sort, |(_, full)| full);
                headers.push(("content-type".to_owned(), known.to_owned()));
            }
            Some(("accept", "partial")) => headers.push(("accept".to_owned(), PARTIAL.to_owned())),
            Some(("accept", "partial list")) => headers.push(("accept".to_owned(), PARTIAL_LIST.to_owned())),
            Some(("without", names)) => without.extend(names.split(' ').map(str::to_owned)),
            Some(("agent", agent)) => headers.push(("user-agent".to_owned(), agent.to_owned())),
            Some(_) | None => body.push(line),
        }
    }
    let (method, path, body) = (method.to_owned(), path.to_owned(), body.join("\n"));
    Act::Request(Box::new(Request { method, path, headers, body, without }))
}
