//! Pure. Forty edits of an app, each on one side against each on the other, over twelve ways of writing the app. Where they meet is written
//! beside each edit, so what must come out is known without asking the merge: both edits, or ours and one conflict of a kind.
//!
//! Not here: what becomes of single bytes (`matrix`).

use serde_json::Value;

use super::super::conflict::ConflictKind;
use super::super::rules::Rules;
use super::super::tree::{Three, merge};
use super::generator::{Entry, Style, Tree, entry, write};
use crate::base::RepoPath;
use crate::model::{File, FileTree};
use crate::yaml::{self, Dialect};

/// An app in the making: files with their documents, which are known by their key wherever they stand.
#[derive(Clone)]
struct App {
    files: Vec<(String, Vec<Entry>)>,
    style: Style,
    /// A file that is written in another style.
    restyled: Option<(String, Style)>,
    returns: bool,
}

/// What of an edit can meet another edit; paths are of our own making.
#[derive(Clone, Copy)]
enum Touch {
    /// It gives something another value.
    Set(&'static str),
    /// It takes something away.
    Delete(&'static str),
    /// It puts something into something.
    Add(&'static str),
    /// Nothing that is data.
    Nothing,
}

/// What comes out where both sides make the same edit; a side writes its name into what it edits.
#[derive(Clone, Copy, PartialEq)]
enum Twice {
    /// Both did the same.
    Once,
    /// Each added its own.
    Both,
    /// Ours stays and nothing is to decide.
    Ours,
    /// Somebody decides.
    Conflict(ConflictKind),
}

/// How much of a result is known.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Known {
    /// Every byte.
    Bytes,
    /// What the files say, and the order of items.
    Data,
    /// What the files say.
    Items,
}

struct Operator {
    name: &'static str,
    touch: Touch,
    twice: Twice,
    known: Known,
    edit: fn(&mut App, &str) -> Option<()>,
}

const fn edit(
    name: &'static str,
    touch: Touch,
    (twice, known): (Twice, Known),
    edit: fn(&mut App, &str) -> Option<()>,
) -> Operator {
    Operator { name, touch, twice, known, edit }
}

const VALUE: (Twice, Known) = (Twice::Conflict(ConflictKind::Value), Known::Bytes);
const GOES: (Twice, Known) = (Twice::Once, Known::Bytes);
const COMES: (Twice, Known) = (Twice::Both, Known::Data);
const ORDER: (Twice, Known) = (Twice::Once, Known::Items);
const STYLE: (Twice, Known) = (Twice::Once, Known::Data);
const WEB: &str = "deployment spec template spec containers web";

const OPERATORS: [Operator; 40] = [
    edit("bump the image of web", Touch::Set("d.web.image"), VALUE, |app, side| {
        set(app, &[WEB, "image"], &format!("reg/web:{side}"))
    }),
    edit("bump the image of cache", Touch::Set("d.cache.image"), VALUE, |app, side| {
        set(app, &["deployment spec template spec containers cache image"], &format!("reg/cache:{side}"))
    }),
    edit("set the replicas", Touch::Set("d.replicas"), VALUE, |app, side| {
        set(app, &["deployment spec replicas"], if side == "mine" { "2" } else { "3" })
    }),
    edit("set a label", Touch::Set("d.labels.team"), VALUE, |app, side| {
        set(app, &["deployment metadata labels team"], side)
    }),
    edit("set an annotation", Touch::Set("d.notes.note"), VALUE, |app, side| {
        set(app, &["deployment metadata annotations note"], side)
    }),
    edit("set a variable", Touch::Set("d.web.env.MODE"), VALUE, |app, side| set(app, &[WEB, "env MODE value"], side)),
    edit("set an argument", Touch::Set("d.web.args.level"), VALUE, |app, side| {
        set(app, &[WEB, "args level"], &format!("--level={side}"))
    }),
    edit("set a limit", Touch::Set("d.web.limits.cpu"), VALUE, |app, side| {
        set(app, &[WEB, "resources limits cpu"], if side == "mine" { "700m" } else { "900m" })
    }),
    edit("write a limit in another spelling", Touch::Set("d.web.limits.memory"), GOES, |app, _| {
        set(app, &[WEB, "resources limits memory"], "1024Mi")
    }),
    edit("set a key of a config map", Touch::Set("c.level"), VALUE, |app, side| set(app, &["config data level"], side)),
    edit("make a value a map", Touch::Set("d.strategy"), GOES, |app, _| {
        *find(app, &["deployment spec strategy"])? = map(vec![("type", text("Recreate"))]);
        Some(())
    }),
    edit("make a value null", Touch::Set("d.notes.more"), GOES, |app, _| {
        set(app, &["deployment metadata annotations more"], "null")
    }),
    edit("change the first line of a text", Touch::Set("c.text.first"), VALUE, |app, side| line(app, 0, side)),
    edit("change the last line of a text", Touch::Set("c.text.last"), VALUE, |app, side| line(app, 5, side)),
    edit("rename a port", Touch::Set("d.web.ports.admin.name"), GOES, |app, _| {
        set(app, &[WEB, "ports admin name"], "console")
    }),
    edit("rename a container", Touch::Set("d.cache.name"), GOES, |app, _| {
        set(app, &["deployment spec template spec containers cache name"], "store")
    }),
    edit("change the namespace of an object", Touch::Set("r.namespace"), GOES, |app, _| {
        set(app, &["role metadata namespace"], "quarry")
    }),
    edit("rename an object", Touch::Set("r.name"), GOES, |app, _| set(app, &["role metadata name"], "miner")),
    edit("bump a remote base", Touch::Set("k.base"), VALUE, |app, side| {
        set(app, &["kustomization resources base"], &format!("github.com/quarry/base?ref={side}"))
    }),
    edit("delete a label", Touch::Delete("d.labels.tier"), GOES, |app, _| {
        remove(app, &["deployment metadata labels"], "tier")
    }),
    edit("delete a variable", Touch::Delete("d.web.env.SIZE"), GOES, |app, _| remove(app, &[WEB, "env"], "SIZE")),
    edit("delete a container", Touch::Delete("d.side"), GOES, |app, _| {
        remove(app, &["deployment spec template spec containers"], "side")
    }),
    edit("delete all limits", Touch::Delete("d.web.limits"), GOES, |app, _| remove(app, &[WEB], "resources")),
    edit("delete a key of a config map", Touch::Delete("c.colour"), GOES, |app, _| {
        remove(app, &["config data"], "colour")
    }),
    edit("delete a document", Touch::Delete("x"), GOES, |app, _| take(app, "extra").map(|_| ())),
    edit("delete a file", Touch::Delete("a"), GOES, |app, _| {
        take(app, "account")?;
        remove(app, &["kustomization resources"], "account.yaml")
    }),
    edit("add a label", Touch::Add("d.labels"), COMES, |app, side| {
        add(app, &["deployment metadata labels"], entry(&format!("new-{side}"), text("x")))
    }),
    edit(
        "add a key that the other side adds as well",
        Touch::Add("d.notes"),
        (Twice::Conflict(ConflictKind::BothAdded), Known::Data),
        |app, side| add(app, &["deployment metadata annotations"], entry("shared", text(side))),
    ),
    edit("append a variable", Touch::Add("d.web.env"), COMES, |app, side| {
        add(app, &[WEB, "env"], variable(&format!("NEW_{side}"), "x"))
    }),
    edit(
        "add a variable that the other side adds as well",
        Touch::Add("d.web.env"),
        (Twice::Conflict(ConflictKind::BothAdded), Known::Data),
        |app, side| add(app, &[WEB, "env"], variable("SHARED", side)),
    ),
    edit("append a container", Touch::Add("d"), COMES, |app, side| {
        let made = map(vec![("name", text(&format!("new-{side}"))), ("image", text("reg/new:1"))]);
        add(app, &["deployment spec template spec containers"], entry(side, made))
    }),
    edit("append an argument", Touch::Add("d.web.args"), COMES, |app, side| {
        add(app, &[WEB, "args"], entry(side, text(&format!("--{side}"))))
    }),
    edit("append a document", Touch::Add(""), (Twice::Both, Known::Data), |app, side| {
        let document = object("v1", "ConfigMap", &format!("new-{side}"), vec![("data", map(vec![("k", text(side))]))]);
        file(app, "app.yaml")?.push(entry(side, document));
        Some(())
    }),
    edit("add a file", Touch::Add("k"), COMES, |app, side| {
        let name = format!("new-{side}.yaml");
        let document = object("v1", "Secret", &format!("new-{side}"), vec![("type", text("Opaque"))]);
        app.files.push((name.clone(), vec![entry(&format!("secret-{side}"), document)]));
        add(app, &["kustomization resources"], entry(&name, text(&name)))
    }),
    edit("rename a file", Touch::Set("k.roles"), GOES, |app, _| {
        app.files.iter_mut().find(|(name, _)| name == "roles.yaml")?.0 = "access.yaml".to_owned();
        set(app, &["kustomization resources roles.yaml"], "access.yaml")
    }),
    edit("split a file", Touch::Add("k"), (Twice::Once, Known::Items), |app, _| {
        let service = take(app, "service")?;
        app.files.push(("service.yaml".to_owned(), vec![service]));
        add(app, &["kustomization resources"], entry("service.yaml", text("service.yaml")))
    }),
    edit("swap documents", Touch::Nothing, ORDER, |app, _| {
        let documents = file(app, "app.yaml")?;
        let place = documents.iter().position(|it| it.key == "deployment")?;
        let deployment = documents.remove(place);
        documents.insert(documents.len().min(place + 1), deployment);
        Some(())
    }),
    edit("move an item", Touch::Nothing, ORDER, |app, _| {
        let items = entries(find(app, &["deployment spec template spec containers"])?)?;
        let place = items.iter().position(|it| it.key == "cache")?;
        let cache = items.remove(place);
        items.insert(0, cache);
        Some(())
    }),
    edit("indent anew", Touch::Nothing, STYLE, |app, _| {
        app.restyled =
            Some(("app.yaml".to_owned(), Style { step: 6 - app.style.step, dash: 2 - app.style.dash, ..app.style }));
        Some(())
    }),
    edit("comment", Touch::Nothing, (Twice::Ours, Known::Bytes), |app, side| {
        let spec = entries(find(app, &["deployment spec"])?)?;
        spec.iter_mut().find(|it| it.key == "replicas")?.comment = Some(format!("# {side}"));
        Some(())
    }),
];

fn text(text: &str) -> Tree {
    Tree::Scalar(text.to_owned())
}

fn map(entries: Vec<(&str, Tree)>) -> Tree {
    Tree::Map(entries.into_iter().map(|(key, tree)| entry(key, tree)).collect())
}

fn list(items: Vec<(&str, Tree)>) -> Tree {
    Tree::List(items.into_iter().map(|(key, tree)| entry(key, tree)).collect())
}

fn variable(name: &str, value: &str) -> Entry {
    entry(name, map(vec![("name", text(name)), ("value", text(value))]))
}

fn object(version: &str, kind: &str, name: &str, rest: Vec<(&str, Tree)>) -> Tree {
    let mut all =
        vec![("apiVersion", text(version)), ("kind", text(kind)), ("metadata", map(vec![("name", text(name))]))];
    all.extend(rest);
    map(all)
}

fn port(number: &str, name: &str) -> (&'static str, Tree) {
    let key = if name == "admin" { "admin" } else { "http" };
    (key, map(vec![("containerPort", text(number)), ("name", text(name))]))
}

fn deployment() -> Tree {
    let env = |names: [&str; 2]| Tree::List(names.map(|name| variable(name, "small")).to_vec());
    let args = list(vec![("level", text("--level=info")), ("quiet", text("--quiet")), ("depth", text("--depth=3"))]);
    let limits = map(vec![("limits", map(vec![("cpu", text("500m")), ("memory", text("1Gi"))]))]);
    let web = map(vec![
        ("name", text("web")),
        ("image", text("reg/web:1")),
        ("args", args),
        ("env", env(["MODE", "SIZE"])),
        ("ports", list(vec![port("80", "http"), port("90", "admin")])),
        ("resources", limits),
    ]);
    let cache = map(vec![("name", text("cache")), ("image", text("reg/cache:1")), ("env", env(["DEPTH", "WIDTH"]))]);
    let side = map(vec![("name", text("side")), ("image", text("reg/side:1")), ("workingDir", text("/pit"))]);
    let containers = list(vec![("web", web), ("cache", cache), ("side", side)]);
    let labels = map(vec![("team", text("core")), ("tier", text("web")), ("zone", text("north"))]);
    let notes = map(vec![("note", text("first")), ("more", text("second")), ("last", text("third"))]);
    let spec = map(vec![
        ("replicas", text("1")),
        ("strategy", text("rolling")),
        ("template", map(vec![("spec", map(vec![("containers", containers)]))])),
    ]);
    let mut made = object("apps/v1", "Deployment", "quarry", vec![("spec", spec)]);
    let metadata = entries(at(&mut made, &["metadata"]).unwrap()).unwrap();
    metadata.extend([entry("labels", labels), entry("annotations", notes)]);
    made
}

/// Makes the app that both sides started from.
fn app(style: Style, returns: bool) -> App {
    let lines = ["one", "two", "three", "four", "five", "six"].map(|word| format!("line {word}")).to_vec();
    let data =
        map(vec![("level", text("low")), ("colour", text("red")), ("text", Tree::Block(lines)), ("last", text("x"))]);
    let port = map(vec![("port", text("80")), ("name", text("http")), ("targetPort", text("http"))]);
    let service = vec![(
        "spec",
        map(vec![("selector", map(vec![("app", text("quarry"))])), ("ports", list(vec![("80", port)]))]),
    )];
    let rule = map(vec![
        ("apiGroups", list(vec![("", text("apps"))])),
        ("resources", list(vec![("", text("deployments"))])),
        ("verbs", list(vec![("get", text("get")), ("list", text("list")), ("watch", text("watch"))])),
    ]);
    let mut role = object("rbac.authorization.k8s.io/v1", "Role", "digger", vec![("rules", list(vec![("", rule)]))]);
    entries(at(&mut role, &["metadata"]).unwrap()).unwrap().push(entry("namespace", text("pit")));
    let names = ["app.yaml", "config.yaml", "roles.yaml", "account.yaml"];
    let mut resources: Vec<(&str, Tree)> = names.map(|name| (name, text(name))).to_vec();
    resources.push(("base", text("github.com/quarry/base?ref=v1")));
    let files = vec![
        ("kustomization.yaml", vec![("kustomization", map(vec![("resources", list(resources))]))]),
        (
            "app.yaml",
            vec![
                ("deployment", deployment()),
                ("service", object("v1", "Service", "quarry", service)),
                ("extra", object("v1", "ConfigMap", "extra", vec![("data", map(vec![("k", text("v"))]))])),
            ],
        ),
        ("config.yaml", vec![("config", object("v1", "ConfigMap", "config", vec![("data", data)]))]),
        ("roles.yaml", vec![("role", role)]),
        ("account.yaml", vec![("account", object("v1", "ServiceAccount", "digger", Vec::new()))]),
    ];
    let documents = |all: Vec<(&str, Tree)>| all.into_iter().map(|(key, tree)| entry(key, tree)).collect();
    let files = files.into_iter().map(|(name, all)| (name.to_owned(), documents(all))).collect();
    App { files, style, restyled: None, returns }
}

fn entries(tree: &mut Tree) -> Option<&mut Vec<Entry>> {
    match tree {
        Tree::Map(entries) | Tree::List(entries) => Some(entries),
        Tree::Scalar(_) | Tree::Block(_) => None,
    }
}

fn at<'a>(tree: &'a mut Tree, path: &[&str]) -> Option<&'a mut Tree> {
    let Some((first, rest)) = path.split_first() else { return Some(tree) };
    at(&mut entries(tree)?.iter_mut().find(|entry| entry.key == *first)?.tree, rest)
}

/// Finds what stands behind words; the first names the document.
fn find<'a>(app: &'a mut App, path: &[&str]) -> Option<&'a mut Tree> {
    let path = path.join(" ");
    let words: Vec<&str> = path.split(' ').collect();
    let documents = app.files.iter_mut().flat_map(|(_, documents)| documents);
    at(&mut documents.into_iter().find(|entry| entry.key == words[0])?.tree, &words[1..])
}

fn file<'a>(app: &'a mut App, name: &str) -> Option<&'a mut Vec<Entry>> {
    app.files.iter_mut().find(|(known, _)| known == name).map(|(_, documents)| documents)
}

fn set(app: &mut App, path: &[&str], value: &str) -> Option<()> {
    *find(app, path)? = text(value);
    Some(())
}

fn line(app: &mut App, place: usize, side: &str) -> Option<()> {
    let Tree::Block(lines) = find(app, &["config data text"])? else { return None };
    lines[place] = format!("line {side}");
    Some(())
}

fn remove(app: &mut App, path: &[&str], key: &str) -> Option<()> {
    let entries = entries(find(app, path)?)?;
    let place = entries.iter().position(|entry| entry.key == key)?;
    entries.remove(place);
    Some(())
}

fn add(app: &mut App, path: &[&str], entry: Entry) -> Option<()> {
    entries(find(app, path)?)?.push(entry);
    Some(())
}

/// Takes a document out of its file, and the file away if nothing is left in it.
fn take(app: &mut App, key: &str) -> Option<Entry> {
    let (_, documents) = app.files.iter_mut().find(|(_, all)| all.iter().any(|entry| entry.key == key))?;
    let place = documents.iter().position(|entry| entry.key == key)?;
    let taken = documents.remove(place);
    app.files.retain(|(_, documents)| !documents.is_empty());
    Some(taken)
}

fn tree(app: &App) -> FileTree {
    let written = |(name, documents): &(String, Vec<Entry>)| {
        let restyled = app.restyled.as_ref().filter(|(other, _)| other == name).map(|(_, style)| *style);
        let trees: Vec<Tree> = documents.iter().map(|entry| entry.tree.clone()).collect();
        let text = write(&trees, restyled.unwrap_or(app.style));
        let text = if app.returns { text.replace('\n', "\r\n") } else { text };
        (RepoPath::parse(&format!("apps/quarry/{name}")).unwrap(), File::text(&text))
    };
    app.files.iter().map(written).collect()
}

/// Returns the conflict in which two different edits end; ours is named first.
fn meet(mine: Touch, upstream: Touch) -> Option<ConflictKind> {
    let is_inside = |inner: &str, outer: &str| {
        inner == outer || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
    };
    match (mine, upstream) {
        (Touch::Set(a), Touch::Set(b)) => (a == b).then_some(ConflictKind::Value),
        (Touch::Delete(gone), Touch::Set(it) | Touch::Add(it)) => {
            is_inside(it, gone).then_some(ConflictKind::DeleteEdit)
        }
        (Touch::Set(it) | Touch::Add(it), Touch::Delete(gone)) => {
            is_inside(it, gone).then_some(ConflictKind::EditDelete)
        }
        (Touch::Delete(_), Touch::Delete(_)) => None,
        (Touch::Add(_) | Touch::Nothing, _) | (_, Touch::Add(_) | Touch::Nothing) => None,
    }
}

/// Returns what every file says.
fn said(tree: &FileTree, known: Known) -> Vec<(String, Vec<Value>)> {
    let documents = |text: &str| -> Vec<Value> {
        let loaded = yaml::load("a.yaml", text, Dialect::Kube).unwrap();
        let mut values: Vec<Value> = loaded.documents.into_iter().map(|document| document.value).collect();
        if known == Known::Items {
            values.iter_mut().for_each(sort);
            values.sort_by_key(ToString::to_string);
        }
        values
    };
    tree.iter().map(|(path, file)| (path.to_string(), documents(file.as_text().unwrap()))).collect()
}

fn sort(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(sort);
            items.sort_by_key(ToString::to_string);
        }
        Value::Object(map) => {
            map.values_mut().for_each(sort);
            map.sort_keys();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn shown(tree: &FileTree) -> String {
    tree.iter().map(|(path, file)| format!("=== {path}\n{}", file.as_text().unwrap())).collect()
}

/// Merges an edit of ours with one of theirs; what is wrong with the result.
fn check(base: &App, mine: &Operator, upstream: &Operator) -> Option<String> {
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    (mine.edit)(&mut ours, "mine").unwrap();
    (upstream.edit)(&mut theirs, "upstream").unwrap();
    let is_same = mine.name == upstream.name;
    let (takes_both, conflict) = match (is_same, mine.twice, meet(mine.touch, upstream.touch)) {
        (true, Twice::Once | Twice::Ours, _) => (false, None),
        (true, Twice::Both, _) => (true, None),
        (true, Twice::Conflict(kind), _) => (false, Some(kind)),
        (false, _, conflict) => (conflict.is_none(), conflict),
    };
    let mut expected = ours.clone();
    if takes_both {
        // What is deleted needs no other edit.
        let _ = (upstream.edit)(&mut expected, "upstream");
    }
    let (base, ours, theirs, expected) = (tree(base), tree(&ours), tree(&theirs), tree(&expected));
    let merged = merge(Three { base: &base, ours: &ours, theirs: &theirs }, &Rules::default());
    let kinds: Vec<ConflictKind> = merged.conflicts.iter().map(|conflict| conflict.kind).collect();
    let known = if mine.known > upstream.known { mine.known } else { upstream.known };
    let is_right = if known == Known::Bytes {
        merged.files == expected
    } else {
        said(&merged.files, known) == said(&expected, known)
    };
    let what = format!("{} × {}", mine.name, upstream.name);
    if kinds != conflict.into_iter().collect::<Vec<_>>() {
        return Some(format!("{what}: conflicts {kinds:?} in place of {conflict:?}"));
    }
    if !merged.guards.is_empty() {
        return Some(format!("{what}: {:?}", merged.guards));
    }
    (!is_right).then(|| format!("{what}:\n{}--- expected\n{}", shown(&merged.files), shown(&expected)))
}

#[test]
fn every_edit_of_one_side_against_every_edit_of_the_other_comes_out_as_made() {
    // All ways of writing where the laws run at full count; else each pair in one of them.
    let is_long = std::env::var("PROPTEST_CASES").is_ok_and(|count| count.len() > 4);
    let mut wrong = Vec::new();
    for number in 0..12 {
        let (step, dash) = (if number & 1 == 0 { 2 } else { 4 }, if number & 2 == 0 { 0 } else { 2 });
        let base = app(Style { step, dash, blanks: number & 4 != 0, quotes: number > 9 }, number > 7);
        for (row, mine) in OPERATORS.iter().enumerate() {
            for (column, upstream) in OPERATORS.iter().enumerate() {
                if is_long || (row * 5 + column) % 48 == number {
                    wrong.extend(check(&base, mine, upstream).map(|why| format!("{number}: {why}")));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of the pairs are wrong, such as\n{}",
        wrong.len(),
        wrong[..wrong.len().min(12)].join("\n")
    );
}
