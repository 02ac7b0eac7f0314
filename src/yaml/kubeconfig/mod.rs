//! Format. Pure. A kubeconfig, as `kubectl` writes it: what of it is used, and why not the rest.
//!
//! Whoever writes into such a file could let us run a program, send a file of this machine to a stranger, or speak to a server that nobody
//! vouches for. So nothing is passed on but the fields that are named here, each looked at; a context with anything that would do such a thing
//! is refused, and no other context with it. What is accepted is written anew, so that no other reader finds another meaning in it.
//!
//! Not here: reading the file and those that it names (`target`), copying a context (`cli`).

mod credential;
mod server;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::{Dialect, Document, load};
use crate::base::limits::MAX_FILE_BYTES;

/// Largest kubeconfig that is read, in bytes: a context with its certificates takes 10 KiB, and a hundred of them are many.
pub const MAX_KUBECONFIG_BYTES: usize = MAX_FILE_BYTES;
/// Most contexts of one file: ten times as many clusters as an instance is made for.
const MAX_CONTEXTS: usize = 1_000;
/// Longest name of a context that a sentence quotes, in characters.
const MAX_QUOTED: usize = 100;

/// What the loader says of a key that is set twice.
const DUPLICATE_KEY: &str = "Y106";

/// Fields of a cluster that are passed on as they are.
const CLUSTER_FIELDS: [&str; 4] =
    ["certificate-authority-data", "certificate-authority", "tls-server-name", "disable-compression"];
/// Fields of a user that are passed on as they are.
const USER_FIELDS: [&str; 9] = [
    "token",
    "tokenFile",
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
    "username",
    "password",
    "as",
];
/// Fields that name a file, each with the one that holds the same as data.
const FILES: [(&str, &str); 4] = [
    ("certificate-authority", "certificate-authority-data"),
    ("client-certificate", "client-certificate-data"),
    ("client-key", "client-key-data"),
    ("tokenFile", "token"),
];

/// Which files a kubeconfig may name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KubeFiles<'a> {
    /// Those in one directory, given by its absolute path.
    In(&'a str),
    /// All; the person who asks may read them.
    Any,
}

/// What becomes of a program that a user is signed in with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KubePrograms {
    /// The context is refused.
    Refused,
    /// It is left out, because another one is written out elsewhere.
    LeftOut,
}

/// A kubeconfig.
#[derive(Clone, PartialEq, Debug)]
pub struct Kubeconfig {
    /// The name of its current context; empty if it names none.
    pub current: String,
    /// Its contexts by name, in their order, each with why it is refused, if it is.
    pub contexts: Vec<(String, Result<KubeContext, KubeFault>)>,
}

/// A context that may be used, with its cluster and its user.
#[derive(Clone, PartialEq)]
pub struct KubeContext {
    /// Where the server is.
    pub server: String,
    /// Whether a program that signs in was left out.
    pub runs_program: bool,
    cluster: Map<String, Value>,
    user: Map<String, Value>,
}

impl fmt::Debug for KubeContext {
    /// Shows the address and nothing that signs in.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KubeContext({})", self.server)
    }
}

/// What is wrong with a kubeconfig.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KubeRule {
    /// It is too large.
    Size,
    /// It is no YAML document.
    Yaml,
    /// It is no kubeconfig.
    Kind,
    /// Two entries have one name.
    Twice,
    /// A context names a cluster or a user that is not there.
    Missing,
    /// A field does not hold what it must.
    Value,
    /// A field does not hold base64.
    Encoding,
    /// A field that is sent in a header does not fit in one.
    Header,
    /// A field does not hold certificates.
    Certificate,
    /// A field does not hold a private key.
    Key,
    /// A field does not hold the name of a server.
    Name,
    /// The address of the server is none that is spoken to.
    Server,
    /// The connection would not be encrypted.
    Plain,
    /// Nobody would vouch for the server.
    Insecure,
    /// What is sent would pass through somebody else's hands.
    Proxy,
    /// A program would be run.
    Program,
    /// A file elsewhere would be read.
    File,
    /// Requests would be sent as somebody else than the file says.
    Impersonation,
}

impl KubeRule {
    /// Returns what the rule says of a field, and what helps.
    fn told(self) -> (&'static str, &'static str) {
        match self {
            Self::Size => ("the file is larger than 4 MiB", "kubectl config view --minify --flatten"),
            Self::Yaml => ("the file is no YAML document", "kubectl config view"),
            Self::Kind => ("the file is no kubeconfig", "kubectl config view"),
            Self::Twice => {
                ("a name stands there twice, and tools do not agree which entry it means", "remove one of the two")
            }
            Self::Missing => ("it is not there", "kubectl config view"),
            Self::Value => ("it does not hold what it must", "kubectl config view"),
            Self::Encoding => ("it is no base64", "kubectl config view --raw --flatten"),
            Self::Header => (
                "it is empty, longer than 64 KiB, or has line breaks or other characters that no header takes",
                "write it anew, on one line and without blanks around it",
            ),
            Self::Certificate => {
                ("it is no certificate in PEM, so nobody would be vouched for", "kubectl config view --raw --flatten")
            }
            Self::Key => (
                "it is no private key in PEM that can be used without a password",
                "kubectl config view --raw --flatten",
            ),
            Self::Name => ("it is no name of a server", "remove it or write a name such as api.example.org"),
            Self::Server => {
                ("it is no address such as https://api.example.org:6443", "write the address of the API server")
            }
            Self::Plain => (
                "only a server on this machine is spoken to without encryption",
                "write https:// in front of the address",
            ),
            Self::Insecure => (
                "nobody would vouch for the server",
                "remove it and give certificate-authority-data: kubectl config view --raw --flatten",
            ),
            Self::Proxy => {
                ("what is sent would pass through a proxy", "remove it and name a server that is reached directly")
            }
            Self::Program => (
                "it would run a program, and only what daemon.yaml names is run",
                "write the program into daemon.yaml: wild cluster add --help",
            ),
            Self::File => (
                "it names a file outside of the directory of the kubeconfig",
                "wild cluster add, which copies what a kubeconfig names",
            ),
            Self::Impersonation => ("it is not passed on, so requests would be sent as somebody else", "remove it"),
        }
    }
}

/// Why a kubeconfig or a context of it is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KubeFault {
    /// The rule.
    pub rule: KubeRule,
    /// Line from 1 on which it stands; 0 if none is meant.
    pub line: usize,
    /// The field, with the entry that it is of; never a value. Empty if the whole file is meant.
    pub field: String,
}

impl KubeFault {
    fn whole(rule: KubeRule, line: usize) -> Self {
        Self { rule, line, field: String::new() }
    }

    /// Returns what helps.
    pub fn remedy(&self) -> &'static str {
        self.rule.told().1
    }
}

impl fmt::Display for KubeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        let said = self.rule.told().0;
        if self.field.is_empty() { f.write_str(said) } else { write!(f, "{}: {said}", self.field) }
    }
}

impl Kubeconfig {
    /// Reads a file. Nothing of it that may be a credential is in what is said about it.
    pub fn read(content: &[u8], files: KubeFiles<'_>, programs: KubePrograms) -> Result<Self, KubeFault> {
        if content.len() > MAX_KUBECONFIG_BYTES {
            return Err(KubeFault::whole(KubeRule::Size, 0));
        }
        let text = std::str::from_utf8(content).map_err(|_| KubeFault::whole(KubeRule::Yaml, 0))?;
        let document = only_document(text)?;
        let file = File { document: &document, files, programs };
        match document.value.get("kind") {
            Some(Value::String(kind)) if kind == "Config" => {}
            // Some tools leave it out; a file that is being written does not hold it yet.
            None if file.entries("contexts").is_ok_and(|contexts| !contexts.is_empty()) => {}
            _ => return Err(KubeFault::whole(KubeRule::Kind, document.line)),
        }
        let current = file.text(&document.value, "current-context", &["current-context"])?.to_owned();
        for list in ["contexts", "clusters", "users"] {
            file.each_once(list)?;
        }
        let mut contexts = Vec::new();
        for (number, entry) in file.entries("contexts")?.iter().enumerate() {
            let name = name_of(entry).unwrap_or_default().to_owned();
            let read = file.context(number, entry);
            contexts.push((name, read));
        }
        if contexts.len() > MAX_CONTEXTS {
            return Err(KubeFault::whole(KubeRule::Size, 0));
        }
        Ok(Self { current, contexts })
    }

    /// Returns a context by name.
    pub fn context(&self, name: &str) -> Option<&Result<KubeContext, KubeFault>> {
        self.contexts.iter().find(|(known, _)| known == name).map(|(_, context)| context)
    }
}

impl KubeContext {
    /// Returns the files that it names, each with the field that does, as it is written there.
    pub fn files(&self) -> Vec<(&'static str, &str)> {
        let named = |(field, _): &(&'static str, &'static str)| Some((*field, self.field(field)?));
        FILES.iter().filter_map(named).collect()
    }

    /// Puts the content of a file in the place of its name; refuses what would be of no use there. Blanks around a token are none of it.
    pub fn inline(&mut self, field: &str, content: &[u8]) -> Result<(), KubeFault> {
        let Some((_, data)) = FILES.iter().find(|(known, _)| *known == field) else { return Ok(()) };
        let text = match *data {
            "token" => String::from_utf8_lossy(content).trim().to_owned(),
            _ => STANDARD.encode(content),
        };
        let fault = |rule| KubeFault { rule, line: 0, field: field.to_owned() };
        credential::judge(data, &text).map_err(fault)?;
        for fields in [&mut self.cluster, &mut self.user] {
            if fields.shift_remove(field).is_some() {
                fields.insert((*data).to_owned(), Value::from(text.clone()));
            }
        }
        Ok(())
    }

    /// Takes away what signs in.
    pub fn without_user(&mut self) {
        self.user.clear();
    }

    /// Returns a field of its cluster or its user.
    fn field(&self, key: &str) -> Option<&str> {
        self.cluster.get(key).or_else(|| self.user.get(key)).and_then(Value::as_str)
    }

    /// Returns the certificates that vouch for its server, as they stand there in base64; empty if those of the system do.
    pub fn authority(&self) -> &str {
        self.field("certificate-authority-data").unwrap_or_default()
    }

    /// Returns a kubeconfig with nothing but this context, under a name.
    pub fn alone(&self, name: &str) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "clusters": [{"name": name, "cluster": self.cluster}],
            "users": [{"name": name, "user": self.user}],
        })
    }
}

/// Reads the one document that a kubeconfig is.
fn only_document(text: &str) -> Result<Document, KubeFault> {
    // What a parser quotes of this file may be a credential, so only its line is told.
    let loaded = load("kubeconfig", text, Dialect::Kube).map_err(|found| {
        let line = found.first().map_or(0, |found| found.line);
        KubeFault::whole(KubeRule::Yaml, line)
    })?;
    if let Some(found) = loaded.diagnostics.iter().find(|found| found.id == DUPLICATE_KEY) {
        return Err(KubeFault::whole(KubeRule::Twice, found.line));
    }
    let mut documents = loaded.documents.into_iter();
    match (documents.next(), documents.next()) {
        (Some(document), None) => Ok(document),
        (Some(_), Some(second)) => Err(KubeFault::whole(KubeRule::Yaml, second.line)),
        (None, _) => Err(KubeFault::whole(KubeRule::Kind, 0)),
    }
}

/// A file that is read, by these rules.
struct File<'a> {
    document: &'a Document,
    files: KubeFiles<'a>,
    programs: KubePrograms,
}

/// Where an entry stands: its list and its number in there.
#[derive(Clone, Copy)]
struct Place<'a> {
    list: &'static str,
    number: usize,
    name: &'a str,
}

/// A cluster or a user that a context names.
struct Named<'a> {
    place: Place<'a>,
    fields: Map<String, Value>,
}

impl<'a> File<'a> {
    /// Returns the entries of a list; none if it is not there.
    fn entries(&self, list: &'static str) -> Result<&'a [Value], KubeFault> {
        match self.document.value.get(list) {
            None | Some(Value::Null) => Ok(&[]),
            Some(Value::Array(entries)) => Ok(entries),
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
                Err(self.fault(KubeRule::Value, list.to_owned(), &[list]))
            }
        }
    }

    /// Refuses a list in which a name stands twice.
    fn each_once(&self, list: &'static str) -> Result<(), KubeFault> {
        let mut seen = BTreeSet::new();
        for (number, entry) in self.entries(list)?.iter().enumerate() {
            let name = name_of(entry).unwrap_or_default();
            if !seen.insert(name) {
                return Err(self.at(KubeRule::Twice, Place { list, number, name }, "name"));
            }
        }
        Ok(())
    }

    fn context(&self, number: usize, entry: &Value) -> Result<KubeContext, KubeFault> {
        let place = Place { list: "contexts", number, name: name_of(entry).unwrap_or_default() };
        if place.name.is_empty() {
            return Err(self.at(KubeRule::Value, place, "name"));
        }
        let inner = entry.get("context").unwrap_or(&Value::Null);
        let mentioned = |key: &'static str| match inner.get(key) {
            None | Some(Value::Null) => Ok(""),
            Some(Value::String(name)) => Ok(name.as_str()),
            Some(_) => Err(self.at(KubeRule::Value, place, key)),
        };
        let missing = |key: &'static str| self.at(KubeRule::Missing, place, key);
        let found = self.named("clusters", "cluster", mentioned("cluster")?)?.ok_or(missing("cluster"))?;
        let (server, cluster) = self.cluster(found.place, &found.fields)?;
        let user = mentioned("user")?;
        let (user, runs_program) = match self.named("users", "user", user)? {
            Some(found) => self.user(found.place, &found.fields)?,
            None if user.is_empty() => (Map::new(), false),
            None => return Err(missing("user")),
        };
        Ok(KubeContext { server, runs_program, cluster, user })
    }

    /// Returns the inner map of an entry by name, with where it stands.
    fn named<'b>(
        &self,
        list: &'static str,
        inner: &'static str,
        name: &'b str,
    ) -> Result<Option<Named<'b>>, KubeFault> {
        let mut entries = self.entries(list)?.iter().enumerate();
        let Some((number, entry)) = entries.find(|(_, entry)| name_of(entry) == Some(name)) else { return Ok(None) };
        let place = Place { list, number, name };
        match entry.get(inner) {
            Some(Value::Object(fields)) => Ok(Some(Named { place, fields: fields.clone() })),
            None | Some(Value::Null) => Ok(Some(Named { place, fields: Map::new() })),
            Some(_) => Err(self.at(KubeRule::Value, place, inner)),
        }
    }

    /// Looks at a cluster and returns its address with the fields that are passed on.
    fn cluster(
        &self,
        place: Place<'_>,
        fields: &Map<String, Value>,
    ) -> Result<(String, Map<String, Value>), KubeFault> {
        match fields.get("insecure-skip-tls-verify") {
            None | Some(Value::Null | Value::Bool(false)) => {}
            Some(_) => return Err(self.at(KubeRule::Insecure, place, "insecure-skip-tls-verify")),
        }
        if !is_nothing(fields.get("proxy-url")) {
            return Err(self.at(KubeRule::Proxy, place, "proxy-url"));
        }
        let server = self.value(place, fields, "server")?.unwrap_or_default();
        server::judge(server).map_err(|rule| self.at(rule, place, "server"))?;
        let mut kept = self.kept(place, fields, &CLUSTER_FIELDS)?;
        kept.insert("server".to_owned(), Value::from(server));
        Ok((server.to_owned(), kept))
    }

    /// Looks at a user and returns the fields that are passed on, and whether a program was left out.
    fn user(&self, place: Place<'_>, fields: &Map<String, Value>) -> Result<(Map<String, Value>, bool), KubeFault> {
        let program = ["exec", "auth-provider"].into_iter().find(|key| !is_nothing(fields.get(*key)));
        if let Some(field) = program {
            return match self.programs {
                KubePrograms::Refused => Err(self.at(KubeRule::Program, place, field)),
                KubePrograms::LeftOut => Ok((Map::new(), true)),
            };
        }
        if let Some(field) = ["as-uid", "as-user-extra"].into_iter().find(|key| !is_nothing(fields.get(*key))) {
            return Err(self.at(KubeRule::Impersonation, place, field));
        }
        let mut kept = self.kept(place, fields, &USER_FIELDS)?;
        let has = |field: &str| {
            FILES.iter().any(|(file, data)| field == *data && (kept.contains_key(*file) || kept.contains_key(*data)))
        };
        match (has("client-certificate-data"), has("client-key-data")) {
            (true, false) => return Err(self.at(KubeRule::Missing, place, "client-key-data")),
            (false, true) => return Err(self.at(KubeRule::Missing, place, "client-certificate-data")),
            _ => {}
        }
        match fields.get("as-groups") {
            None | Some(Value::Null) => {}
            Some(Value::Array(groups)) if groups.iter().all(Value::is_string) => {
                let mut texts = groups.iter().filter_map(Value::as_str);
                let judged = texts.try_for_each(|group| credential::judge("as-groups", group));
                judged.map_err(|rule| self.at(rule, place, "as-groups"))?;
                kept.insert("as-groups".to_owned(), Value::from(groups.clone()));
            }
            Some(_) => return Err(self.at(KubeRule::Value, place, "as-groups")),
        }
        Ok((kept, false))
    }

    /// Returns those of some fields that say something.
    fn kept(
        &self,
        place: Place<'_>,
        fields: &Map<String, Value>,
        known: &[&'static str],
    ) -> Result<Map<String, Value>, KubeFault> {
        let mut kept = Map::new();
        for field in known.iter().copied() {
            if field == "disable-compression" {
                // Nothing is compressed for us.
                continue;
            }
            let Some(text) = self.value(place, fields, field)? else { continue };
            if FILES.iter().any(|(file, data)| *file == field && is_nothing(fields.get(*data))) {
                self.file(place, field, text)?;
            } else if FILES.iter().any(|(file, _)| *file == field) {
                // What stands there itself needs no file.
                continue;
            }
            credential::judge(field, text).map_err(|rule| self.at(rule, place, field))?;
            kept.insert(field.to_owned(), Value::from(text));
        }
        Ok(kept)
    }

    /// Refuses a file that lies elsewhere. What a link leads to is looked at where the file is read.
    fn file(&self, place: Place<'_>, field: &'static str, path: &str) -> Result<(), KubeFault> {
        let KubeFiles::In(directory) = self.files else { return Ok(()) };
        let inside = match path.strip_prefix('/') {
            None => Some(path),
            Some(_) => path.strip_prefix(directory.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/')),
        };
        let is_plain = |part: &str| !matches!(part, "" | "." | "..");
        let is_inside = inside.is_some_and(|inside| !inside.contains('\0') && inside.split('/').all(is_plain));
        if is_inside { Ok(()) } else { Err(self.at(KubeRule::File, place, field)) }
    }

    /// Returns a field that holds text; nothing if it is not there or empty.
    fn value<'b>(
        &self,
        place: Place<'_>,
        fields: &'b Map<String, Value>,
        field: &'static str,
    ) -> Result<Option<&'b str>, KubeFault> {
        match fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
            Some(_) => Err(self.at(KubeRule::Value, place, field)),
        }
    }

    fn text<'b>(&self, value: &'b Value, key: &'static str, path: &[&str]) -> Result<&'b str, KubeFault> {
        match value.get(key) {
            None | Some(Value::Null) => Ok(""),
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(self.fault(KubeRule::Value, key.to_owned(), path)),
        }
    }

    /// Returns a fault of a field of an entry.
    fn at(&self, rule: KubeRule, place: Place<'_>, field: &'static str) -> KubeFault {
        let Place { list, number, name } = place;
        let inner = list.trim_end_matches('s');
        let number = number.to_string();
        let paths: [&[&str]; 3] = [&[list, &number, inner, field], &[list, &number, field], &[list, &number]];
        let line = paths.iter().find_map(|path| self.document.line_of(path)).unwrap_or(0);
        let name: String = name.escape_debug().take(MAX_QUOTED).collect();
        KubeFault { rule, line, field: format!("{inner} \"{name}\": {field}") }
    }

    fn fault(&self, rule: KubeRule, field: String, path: &[&str]) -> KubeFault {
        KubeFault { rule, line: self.document.line_of(path).unwrap_or(0), field }
    }
}

/// Returns the name of an entry.
fn name_of(entry: &Value) -> Option<&str> {
    entry.get("name").and_then(Value::as_str)
}

/// Returns whether a field says nothing.
fn is_nothing(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Object(map)) => map.is_empty(),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => false,
    }
}
