//! What is fed with inputs made by chance, and what must hold whatever they are. A target takes a text and panics where something does not
//! hold.
//!
//! Several texts in one input are parted by a line `%%%%`; in a tree a line `%%% name` begins a file. Not here: making inputs (`main.rs`).

#[path = "intake.rs"]
mod intake;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::{Value, json};

use rewild::base::{RepoPath, Timestamp};
use rewild::merge::{
    ConflictsFile, Favor, FileMerge, How, MARKER_CHARS, MarkerLabels, MarkerStyle, Prefer, Remembered, Rules, SopsKeys,
    Three, merge, merge_file, merge_text_favoring, merge_text_marked, resolution_path, unite,
};
use rewild::model::{AppName, File, FileTree, PackageName, Take};
use rewild::schema::{self, Shape, quantity};
use rewild::template::Context;
use rewild::yaml::cst::{Cst, Kind, Label, NodeId, Source, split};
use rewild::yaml::kubeconfig::{KubeFiles, KubePrograms, Kubeconfig};
use rewild::yaml::sops::{Clear, DataKey, PartKind, Sealer, Seed, SopsFile};
use rewild::yaml::{self, Dialect};
use rewild::{kustomize, package, template};

/// A target: it panics where something does not hold.
pub(crate) type Target = fn(&str);

/// All targets by name; the corpus of each lies in the directory of that name.
pub(crate) const TARGETS: &[(&str, Target)] = &[
    ("conflicts_file", conflicts_file),
    ("key_comment", key_comment),
    ("kubeconfig", kubeconfig),
    ("kustomization_links", merge_tree),
    ("kustomize_build", kustomize_build),
    ("merge_text_vs_git", merge_text_vs_git),
    ("merge_tree", merge_tree),
    ("pack_intake", intake::pack_intake),
    ("package_manifest", package_manifest),
    ("push_checks", intake::push_checks),
    ("resolutions_file", resolutions_file),
    ("sops_merge", sops_merge),
    ("splice_guard", splice_guard),
    ("template_mask", template_mask),
    ("template_render", template_render),
    ("yaml_cst_roundtrip", yaml_cst_roundtrip),
    ("yaml_edit", yaml_edit),
    ("yaml_load", yaml_load),
];

/// Texts that are merged line by line with git, in bytes; beyond it the processes take all the time.
const MAX_GIT_BYTES: usize = 2_048;

/// Rounds of decisions after which nothing may be left to decide.
const MAX_ROUNDS: usize = 4;

/// Parts an input; what is missing is empty.
fn three(input: &str) -> Three<&str> {
    let mut parts = input.split("%%%%\n");
    let mut next = || parts.next().unwrap_or("");
    Three { base: next(), ours: next(), theirs: next() }
}

fn tree(input: &str) -> FileTree {
    let file = |part: &str| {
        let (name, text) = part.split_once('\n')?;
        // The view of the package is no part of the merge.
        let path = RepoPath::parse(&format!("apps/quarry/{name}")).ok().filter(|_| !name.contains(".package"))?;
        Some((path, File::text(text)))
    };
    input.split("%%% ").skip(1).filter_map(file).collect()
}

/// A document is what its entries and the gaps between them say, in every byte.
fn yaml_cst_roundtrip(input: &str) {
    assert_eq!(split(input).concat(), input);
    for text in split(input) {
        let Ok(cst) = Cst::parse(Source { text, masked: text, controls: &[] }) else { continue };
        assert_eq!(cst.text(), text);
        for node in cst.nodes() {
            let _ = cst.slice(&node.span);
        }
        let Some(root) = cst.root().map(|root| cst.node(root)).filter(|root| root.is_block()) else { continue };
        let first = root.children.first().map_or(0, |child| child.own.start);
        let mut whole = cst.slice(&(0..first)).to_owned();
        for child in &root.children {
            whole.push_str(cst.slice(&child.own));
            whole.push_str(cst.slice(&child.gap));
        }
        assert_eq!(whole, text);
        in_order(&cst, cst.root().unwrap_or_default());
    }
}

/// The entries of collections that are written in lines follow each other, and each begins with its comments, its key or dash.
fn in_order(cst: &Cst, id: NodeId) {
    let mut end = 0;
    for child in &cst.node(id).children {
        assert!(end <= child.own.start && child.own.end <= child.gap.end, "{:?} in {:?}", child.own, cst.text());
        assert!(child.own.start <= child.start && child.start <= child.head, "{:?} in {:?}", child.own, cst.text());
        end = child.gap.end;
        // A control line has no value of its own.
        if child.label.words().is_none() && cst.node(child.value).is_block() {
            in_order(cst, child.value);
        }
    }
}

fn merged(texts: Three<&str>, rules: &Rules) -> FileMerge {
    let path = RepoPath::parse("apps/quarry/all.yaml").unwrap();
    let merged = merge_file(&path, texts.map(Some), rules);
    assert_eq!(merged.guard, None, "{texts:#?}");
    assert!(merged.text.is_some(), "{texts:#?}");
    merged
}

/// No merge by structure says something else than it must, whatever is decided; nothing is lost in silence.
fn splice_guard(input: &str) {
    let texts = three(input);
    let rules = Rules::default();
    let open = merged(texts, &rules);
    for take in [Take::Mine, Take::Upstream, Take::Base] {
        // A decision may open another question: an alias whose anchor it took away.
        let (mut decided, mut left) = (BTreeMap::new(), open.conflicts.clone());
        for _ in 0..MAX_ROUNDS {
            decided.extend(left.iter().map(|conflict| (conflict.id.clone(), take.clone())));
            left = merged(texts, &Rules { decided: decided.clone(), ..rules.clone() }).conflicts;
        }
        assert!(left.is_empty(), "{take:?} leaves {left:?}\n{texts:#?}");
    }
    for prefer in [Prefer::Ours, Prefer::Theirs] {
        merged(texts, &Rules { prefer, ..rules.clone() });
    }
    if open.how == How::Structural && open.conflicts.is_empty() && open.notices.is_empty() {
        let text = open.text.unwrap_or_default();
        nothing_lost(texts, &text);
        let again = merged(Three { ours: &text, ..texts }, &rules);
        assert_eq!(again.text.as_deref(), Some(text.as_str()), "{texts:#?}");
    }
}

/// Every leaf that a side wrote is in the result, and every leaf of the result is one of a side.
fn nothing_lost(texts: Three<&str>, result: &str) {
    // Which texts are quantities hangs on what the object is, so leaves of two kinds cannot be compared.
    if kinds(texts.base) != kinds(texts.ours) || kinds(texts.base) != kinds(texts.theirs) {
        return;
    }
    let sides = texts.map(leaves);
    let (Three { base: Some(base), ours: Some(ours), theirs: Some(theirs) }, Some(found)) = (sides, leaves(result))
    else {
        return;
    };
    let is_new = |leaf: &&Leaf| !base.contains(*leaf);
    let lost: Vec<&Leaf> = ours.iter().chain(&theirs).filter(is_new).filter(|leaf| !found.contains(*leaf)).collect();
    assert!(lost.is_empty(), "lost {lost:?}\n{texts:#?}\n{result}");
    let invented: Vec<&Leaf> = found.iter().filter(|leaf| !ours.contains(*leaf) && !theirs.contains(*leaf)).collect();
    assert!(invented.is_empty(), "invented {invented:?}\n{texts:#?}\n{result}");
}

/// Returns what the documents of a text say to be.
fn kinds(text: &str) -> Vec<[String; 2]> {
    let said = |text: &str| {
        let cst = Cst::parse(Source { text, masked: text, controls: &[] }).ok()?;
        Some(["apiVersion", "kind"].map(|key| cst.at(&[key]).map_or_else(String::new, |node| node.text.clone())))
    };
    split(text).into_iter().filter_map(said).collect()
}

/// Names of fields and the value there.
type Leaf = (Vec<String>, String);

fn leaves(text: &str) -> Option<BTreeSet<Leaf>> {
    let mut found = BTreeSet::new();
    // The last line end belongs to the file and is merged for itself; a value that is kept as it is written would hold it.
    let text = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    for text in split(&text) {
        let cst = Cst::parse(Source { text, masked: text, controls: &[] }).ok()?;
        let text_at = |key: &str| cst.at(&[key]).map_or("", |node| node.text.as_str());
        let group = text_at("apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
        if let Some(root) = cst.root() {
            collect((&cst, (group, text_at("kind"))), root, &mut Vec::new(), &mut found);
        }
    }
    Some(found)
}

fn collect(of: (&Cst, (&str, &str)), id: NodeId, path: &mut Vec<String>, found: &mut BTreeSet<Leaf>) {
    let (cst, (group, kind)) = of;
    let node = cst.node(id);
    match node.kind {
        Kind::Map | Kind::Seq | Kind::Block => {
            for child in &node.children {
                path.push(if let Label::Key(key) = &child.label { key.clone() } else { "-".to_owned() });
                collect(of, child.value, path, found);
                path.pop();
            }
        }
        // Of two spellings of a quantity ours stays.
        Kind::Scalar if is_quantity((group, kind), path) && quantity::amount(&node.text).is_some() => {
            found.insert((path.clone(), format!("quantity {:?}", quantity::amount(&node.text))));
        }
        // Both sides may change lines of one text, and one of them may write it in brackets.
        Kind::Scalar if node.is_text => {
            let lines: Vec<&str> =
                if node.text.is_empty() { vec![""] } else { node.text.lines().map(str::trim).collect() };
            found.extend(lines.into_iter().map(|line| (path.clone(), format!("text {line}"))));
        }
        // Of two spellings of a number ours stays.
        Kind::Scalar => {
            found.insert((path.clone(), node.value().to_string()));
        }
        Kind::Alias | Kind::Opaque => {
            found.insert((path.clone(), format!("{:?} {} {}", node.kind, node.text, node.hash.to_hex())));
        }
    }
}

fn is_quantity((group, kind): (&str, &str), path: &[String]) -> bool {
    let fields: Vec<&str> = path.iter().map(String::as_str).filter(|field| *field != "-").collect();
    matches!(schema::shape_at(group, kind, &fields), Some(Shape::Quantity))
}

/// What a value of an encrypted file begins with whose text nobody may see.
const SECRET: &str = "hunter2";

/// Three documents in clear, and words that say how they are encrypted. The MAC of the merge holds, ciphertexts of unchanged values stay,
/// no secret shows anywhere, and what nobody can decide leaves ours as it is.
fn sops_merge(input: &str) {
    let words = input.split("%%%%\n").nth(3).unwrap_or("");
    let says = |word: &str| words.split_whitespace().any(|said| said == word);
    let (one, two) = (DataKey::new(vec![1; 32]).unwrap(), DataKey::new(vec![2; 32]).unwrap());
    let key_of_theirs = if says("rotate") { &two } else { &one };
    let seal = |clear: &str, recipients: &str, seed: u8, key: &DataKey| {
        let items: String =
            recipients.chars().map(|c| format!("    - recipient: age1{c}\n      enc: |\n        {c}\n")).collect();
        let only = if says("only") { "    mac_only_encrypted: true\n" } else { "" };
        let rule = if says("regex") { "    encrypted_regex: ^(data|password)$\n" } else { "" };
        let end = if clear.is_empty() || clear.ends_with('\n') { "" } else { "\n" };
        let text = format!(
            "{clear}{end}sops:\n    age:\n{items}    lastmodified: t\n    mac: m\n{only}{rule}    version: 1.2.3\n"
        );
        let file = SopsFile::read(&text).ok()?;
        file.written(&file.clear().ok()?, "t", Sealer { key, seed: &Seed::new([seed; 32]) }, |_| None).ok()
    };
    let clear = three(input);
    let ours = seal(clear.ours, if says("mine") { "abm" } else { "ab" }, 1, &one);
    let theirs = seal(clear.theirs, if says("yours") { "ay" } else { "ab" }, 2, key_of_theirs);
    let (Some(base), Some(ours), Some(theirs)) = (seal(clear.base, "ab", 1, &one), ours, theirs) else { return };
    let path = RepoPath::parse("secrets.sops.yaml").unwrap();
    let time = Timestamp::parse("2026-11-22T22:00:00Z").unwrap();
    let keys = SopsKeys { data_keys: vec![one, two], seed: Seed::new([9; 32]), time };
    let keyed = Rules { sops: Some(keys.clone()), ..Rules::default() };
    let run = |base: &str, ours: &str, theirs: &str, rules: &Rules| {
        let merged = merge_file(&path, Three { base: Some(base), ours: Some(ours), theirs: Some(theirs) }, rules);
        let labels = MarkerLabels { base: "base", ours: "mine", theirs: "upstream", size: MARKER_CHARS };
        assert_eq!(Some(merged.with_markers(MarkerStyle::Diff3, labels)), merged.text);
        merged
    };
    assert_eq!(run(&base, &base, &theirs, &Rules::default()).text.as_ref(), Some(&theirs), "{input}");
    assert_eq!(run(&base, &ours, &base, &Rules::default()).text.as_ref(), Some(&ours), "{input}");
    // The ciphertexts of theirs are other ones, so it is never what base or ours is.
    if base == ours {
        return;
    }
    let merged = run(&base, &ours, &theirs, &keyed);
    let text = merged.text.clone().unwrap_or_default();
    let found = sops_values(&text, &keys.data_keys);
    let sides = [sops_values(&ours, &keys.data_keys), sops_values(&theirs, &keys.data_keys)];
    let public = [&base, &ours, &theirs].into_iter().any(|text| text.contains(SECRET));
    assert!(public || !format!("{merged:?} {keyed:?}").contains(SECRET), "{input}");
    if !says("rotate") {
        for (place, value, raw) in &found {
            let same = |known: &&Sealed| known.0 == *place && known.1.is(value);
            let side = sides.iter().find(|side| side.iter().any(|known| same(&known)));
            assert!(side.is_none_or(|side| side.iter().filter(same).any(|known| known.2 == *raw)), "{place}\n{input}");
        }
    }
    let closed = run(&base, &ours, &theirs, &Rules::default());
    assert!(closed.text.as_ref() == Some(&ours) && closed.conflicts.len() == 1, "{input}");
    let again = run(&base, &text, &theirs, &keyed);
    if merged.conflicts.is_empty() && merged.notices.is_empty() && merged.how == How::Structural {
        assert_eq!(again.text, Some(text), "{input}");
    }
    for take in [Take::Mine, Take::Upstream, Take::Base] {
        let (mut decided, mut left) = (BTreeMap::new(), merged.conflicts.clone());
        for _ in 0..MAX_ROUNDS {
            decided.extend(left.iter().map(|conflict| (conflict.id.clone(), take.clone())));
            let settled = run(&base, &ours, &theirs, &Rules { decided: decided.clone(), ..keyed.clone() });
            sops_values(settled.text.as_deref().unwrap_or_default(), &keys.data_keys);
            left = settled.conflicts;
        }
        assert!(left.is_empty(), "{take:?} leaves {left:?}\n{input}");
    }
}

/// A place, the value there, and how it is written.
type Sealed = (String, Clear, String);

/// Returns the values of an encrypted file, whose MAC holds.
fn sops_values(text: &str, keys: &[DataKey]) -> Vec<Sealed> {
    let file = SopsFile::read(text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let key = file.key_among(keys).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let values = file.open(key).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let mut found = Vec::new();
    for (part, value) in file.parts().iter().zip(values) {
        if let (PartKind::Value { place, .. }, Some(value)) = (&part.kind, value) {
            found.push((place.clone(), value, file.raw(part).to_owned()));
        }
    }
    found
}

/// What one side alone changed is the result, a second merge brings nothing, and nothing makes the merge fail.
fn merge_tree(input: &str) {
    let texts = three(input);
    let trees = texts.map(tree);
    let rules = Rules::default();
    let run = |base: &FileTree, ours: &FileTree, theirs: &FileTree| {
        let merged = merge(Three { base, ours, theirs }, &rules);
        assert!(merged.guards.is_empty(), "{:?}\n{texts:#?}", merged.guards);
        merged
    };
    let Three { base, ours, theirs } = &trees;
    for (found, expected) in
        [(run(base, base, theirs), theirs), (run(base, ours, base), ours), (run(base, theirs, theirs), theirs)]
    {
        assert!(found.conflicts.is_empty(), "{:?}\n{texts:#?}", found.conflicts);
        assert_eq!(&found.files, expected, "{texts:#?}");
    }
    let merged = run(base, ours, theirs);
    let is_clean = merged.conflicts.is_empty() && merged.notices.is_empty();
    // Where theirs deleted a file and ours added one like it, the result looks as if ours had renamed it.
    let keeps_files = base.paths().all(|path| theirs.contains(path.as_str()));
    // Documents without a name are known by their number, which the next merge may count otherwise.
    let sides = [base, ours, theirs];
    let has_names = sides.iter().flat_map(|tree| tree.paths()).all(|path| {
        let files: Vec<&File> = sides.iter().filter_map(|tree| tree.get(path.as_str())).collect();
        files.iter().all(|file| split(file.as_text().unwrap_or_default()).len() < 2) || files.into_iter().all(has_names)
    });
    if is_clean && keeps_files && has_names && merged.how.values().all(|how| *how == How::Structural) {
        assert_eq!(run(base, &merged.files, theirs).files, merged.files, "{texts:#?}");
    }
}

/// Returns whether every document of a file says its kind and name.
fn has_names(file: &File) -> bool {
    let parts = split(file.as_text().unwrap_or_default());
    let is_named = |text: &&str| {
        let cst = Cst::parse(Source { text, masked: text, controls: &[] }).ok();
        let says = |path: &[&str]| cst.as_ref().and_then(|cst| cst.at(path)).is_some_and(|node| !node.text.is_empty());
        says(&["kind"]) && says(&["metadata", "name"])
    };
    parts.iter().all(is_named)
}

/// Clean results are git's, byte for byte, and so are the borders of conflicts in every style.
fn merge_text_vs_git(input: &str) {
    let texts = three(input);
    // git calls a text with a NUL binary, of a return it makes the line end of its markers by rules of its own, and where a text holds markers
    // ours are longer.
    let is_marker = |line: &str| ["<", "|", "=", ">"].iter().any(|sign| line.starts_with(&sign.repeat(MARKER_CHARS)));
    if input.contains(['\0', '\r']) || input.len() > MAX_GIT_BYTES || input.lines().any(is_marker) {
        return;
    }
    let labels = MarkerLabels { base: "base", ours: "mine", theirs: "upstream", size: MARKER_CHARS };
    for (style, option) in
        [(MarkerStyle::Merge, None), (MarkerStyle::Diff3, Some("--diff3")), (MarkerStyle::Zdiff3, Some("--zdiff3"))]
    {
        let ours = merge_text_marked(texts, style, labels);
        assert_eq!(ours, by_git(texts, option), "{style:?}\n{texts:#?}");
    }
    for (favor, option) in [(Favor::Ours, "--ours"), (Favor::Theirs, "--theirs"), (Favor::Union, "--union")] {
        let ours = merge_text_favoring(texts, favor);
        assert_eq!((ours, 0), by_git(texts, Some(option)), "{favor:?}\n{texts:#?}");
    }
}

/// Merges with the git program; the text and the number of conflicts.
fn by_git(texts: Three<&str>, option: Option<&str>) -> (String, usize) {
    let scratch = std::env::temp_dir().join(format!("wild-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).unwrap();
    for (name, text) in [("base", texts.base), ("ours", texts.ours), ("theirs", texts.theirs)] {
        std::fs::write(scratch.join(name), text).unwrap();
    }
    let mut git = Command::new("git");
    git.args(["merge-file", "-p"]).args(option).args(["-L", "mine", "-L", "base", "-L", "upstream"]);
    git.args(["ours", "base", "theirs"]).current_dir(&scratch).env("HOME", &scratch).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = git.output().unwrap();
    let conflicts = usize::try_from(output.status.code().unwrap()).unwrap();
    (String::from_utf8(output.stdout).unwrap(), conflicts)
}

/// Braces never make the merge fail, and no action comes out that no side has.
fn template_mask(input: &str) {
    let texts = three(input);
    let rules = Rules { templates: Some(("{{".to_owned(), "}}".to_owned())), ..Rules::default() };
    let path = RepoPath::parse("apps/quarry/all.yaml").unwrap();
    let found = merge_file(&path, texts.map(Some), &rules);
    assert_eq!(found.guard, None, "{texts:#?}");
    let text = found.text.unwrap_or_default();
    let actions = |text: &str| -> BTreeSet<String> {
        let parts = text.split("{{").skip(1).filter_map(|part| part.split_once("}}"));
        parts.map(|(action, _)| action.split_whitespace().collect()).collect()
    };
    let known: BTreeSet<String> = actions(texts.ours).union(&actions(texts.theirs)).cloned().collect();
    if found.how == How::Structural {
        let foreign: Vec<String> = actions(&text).difference(&known).cloned().collect();
        assert!(foreign.is_empty(), "{foreign:?}\n{texts:#?}\n{text}");
    }
}

/// The first line is what a comment says about a list that both sides change.
fn key_comment(input: &str) {
    let (comment, lists) = input.split_once('\n').unwrap_or((input, ""));
    let text = |list: &str| format!("kind: Odd\nmetadata:\n  name: odd\nparts: # wild: {comment}\n{list}");
    let Three { base, ours, theirs } = three(lists).map(text);
    let found = merged(Three { base: &base, ours: &ours, theirs: &theirs }, &Rules::default());
    if found.conflicts.is_empty() && found.notices.is_empty() && found.how == How::Structural {
        let text = found.text.unwrap_or_default();
        nothing_lost(Three { base: &base, ours: &ours, theirs: &theirs }, &text);
    }
}

/// What was read is written so that it reads the same.
fn conflicts_file(input: &str) {
    if let Ok(file) = ConflictsFile::read(".wild/conflicts/quarry.yaml", input) {
        assert_eq!(ConflictsFile::read("again.yaml", &file.write()), Ok(file), "{input}");
    }
}

/// What was read is written so that it reads the same; what does not read keeps back everything and is named. Two clones come to the same
/// decisions, whichever of them takes in the other's: the texts are those of one decision in each.
fn resolutions_file(input: &str) {
    const KEY: &str = "3fa9c1e07b2d4c55";
    let app = AppName::parse("quarry").unwrap();
    let path = resolution_path(&app, KEY).unwrap();
    let tree = |text: &str| -> FileTree { [(path.clone(), File::text(text))].into_iter().collect() };
    let Three { base: one, ours: other, .. } = three(input);
    for text in [one, other] {
        let read = Remembered::read(&tree(text), &app);
        assert_eq!(read.findings.is_empty(), read.all().contains_key(KEY), "{input}");
        if let Some(resolution) = read.all().get(KEY) {
            assert_eq!(Remembered::read(&tree(&resolution.write()), &app), read, "{input}");
        }
    }
    let united = |ours: &str, theirs: &str| {
        let mut files = tree(ours);
        files.extend(unite(&tree(ours), &tree(theirs)).0);
        files
    };
    assert_eq!(united(one, other), united(other, one), "{input}");
}

/// A build gives the same answer again, and what it prints can be read.
fn kustomize_build(input: &str) {
    let tree = tree(input).below("apps/quarry");
    let found = kustomize::build(&tree, "");
    assert_eq!(found, kustomize::build(&tree, ""));
    match found {
        Ok(built) => {
            assert!(!built.objects.is_empty(), "{input}");
            let printed = kustomize::render(&built);
            let again =
                yaml::load_resources("printed.yaml", &printed).unwrap_or_else(|why| panic!("{why:?}\n{printed}"));
            assert_eq!(again.documents.len(), built.objects.len(), "{printed}");
        }
        Err(findings) => assert!(!findings.is_empty(), "{input}"),
    }
}

fn package_manifest(input: &str) {
    let name = PackageName::parse("quarry").unwrap();
    for file in ["manifest.yaml", "wild-manifest.yaml"] {
        match package::read_manifest(file, &name, input) {
            Ok(read) => assert_eq!(Ok(read), package::read_manifest(file, &name, input)),
            Err(findings) => assert!(!findings.is_empty(), "{input}"),
        }
    }
    let files = tree(&format!("%%% manifest.yaml\n{input}")).below("apps/quarry");
    if let Err(findings) = package::load(&name, &files) {
        assert!(!findings.is_empty(), "{input}");
    }
}

/// Rendering ends, says the same again, and where it refuses it says where.
fn template_render(input: &str) {
    let context = Context::new(json!({
        "app": {"host": "quarry.example", "port": 8080, "ratio": 1.5, "on": true, "none": null},
        "list": [1, "two", {"three": 3}],
        "config": {"a": "x"},
    }));
    let file = if input.len().is_multiple_of(2) { "a.yaml" } else { "a.txt" };
    let first = template::render(file, input, &context);
    if let Err(findings) = &first {
        assert!(!findings.is_empty() && findings.iter().all(|finding| finding.line > 0), "{input}: {findings:?}");
        if findings.iter().any(|finding| ["T103", "T104"].contains(&finding.id.as_str())) {
            // It took as much time as a file may take.
            return;
        }
    }
    assert_eq!(first, template::render(file, input, &context), "{input}");
}

/// What was read is written so that it reads the same, by both sets of rules.
fn yaml_load(input: &str) {
    for dialect in [Dialect::Kube, Dialect::Gomplate] {
        let Ok(loaded) = yaml::load("a.yaml", input, dialect) else { continue };
        for document in loaded.documents {
            let sorted = yaml::write_sorted(&document.value);
            // As Go does it, this writes a key `<<` bare, which no reader takes for a text.
            let sorted = Some(sorted).filter(|text| !text.contains("<<"));
            for written in [Some(yaml::write(&document.value)), sorted].into_iter().flatten() {
                let again = yaml::load_one("b.yaml", &written, dialect);
                let again = again.unwrap_or_else(|why| panic!("{why:?}\n{input}\n{written}")).map(|again| again.value);
                assert_eq!(
                    again.map(yaml::plain_numbers),
                    Some(yaml::plain_numbers(document.value.clone())),
                    "{input}\n{written}"
                );
            }
        }
    }
    let _ = yaml::load_resources("a.yaml", input);
    let _ = yaml::load_objects("a.yaml", input);
    let _ = yaml::load_plain(input);
}

/// An edit of one key gives the value that is meant: the first line is the path, the second the value as JSON.
fn yaml_edit(input: &str) {
    let mut lines = input.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or("");
    let (path, value, text) = (next(), next(), next());
    let path: Vec<&str> = path.split('.').collect();
    let Ok(value) = serde_json::from_str::<Value>(value) else { return };
    if let Ok(edited) = yaml::edit::set("a.yaml", text, &path, &value) {
        let read = yaml::load_one("a.yaml", &edited, Dialect::Gomplate);
        let read = read.unwrap_or_else(|why| panic!("{why:?}\n{input}\n{edited}")).map(|document| document.value);
        let found = path.iter().try_fold(read.unwrap_or_default(), |at, key| at.get(key).cloned());
        assert_eq!(found.unwrap_or_default(), value, "{input}\n{edited}");
        let _ = yaml::edit::unset("a.yaml", &edited, &path);
    }
    let _ = yaml::edit::unset("a.yaml", text, &path);
}

/// The directory of a kubeconfig.
const KUBE_DIRECTORY: &str = "/state/instances/one";

/// A context that is accepted runs nothing, reads nothing elsewhere, is encrypted or stays on this machine, and reads as the same when it is
/// written anew.
fn kubeconfig(input: &str) {
    for files in [KubeFiles::In(KUBE_DIRECTORY), KubeFiles::Any] {
        for programs in [KubePrograms::Refused, KubePrograms::LeftOut] {
            let Ok(read) = Kubeconfig::read(input.as_bytes(), files, programs) else { continue };
            for (name, context) in &read.contexts {
                let Ok(context) = context else { continue };
                let alone = context.alone(name);
                let user = alone.pointer("/users/0/user").unwrap();
                let cluster = alone.pointer("/clusters/0/cluster").unwrap();
                for (fields, field) in [
                    (user, "exec"),
                    (user, "auth-provider"),
                    (cluster, "proxy-url"),
                    (cluster, "insecure-skip-tls-verify"),
                ] {
                    assert!(fields.get(field).is_none(), "{field} is in {alone}");
                }
                assert!(is_spoken_to(&context.server), "{}", context.server);
                assert_eq!(cluster.get("server").and_then(Value::as_str), Some(context.server.as_str()));
                if files != KubeFiles::Any {
                    context.files().iter().for_each(|(_, path)| assert!(is_inside(path), "{path:?}"));
                }
                let again = Kubeconfig::read(yaml::write(&alone).as_bytes(), files, KubePrograms::Refused);
                let again = again.unwrap_or_else(|fault| panic!("{fault}: {alone}"));
                let (_, same) = again.contexts.first().unwrap();
                assert_eq!(same.as_ref().map(|it| it.alone(name)), Ok(alone));
            }
        }
    }
}

/// Whether an address is encrypted or one of this machine, told by another reading than the one that is tried.
fn is_spoken_to(server: &str) -> bool {
    let Some(rest) = server.strip_prefix("http://") else { return server.starts_with("https://") };
    let authority = rest.split(['/', '?', '#', '\\', '@']).next().unwrap_or_default();
    let numbers: Vec<&str> = authority.split(':').next().unwrap_or_default().split('.').collect();
    let is_number = |part: &&str| part.parse::<u8>().is_ok();
    let is_v4 = numbers.len() == 4 && numbers.first() == Some(&"127") && numbers.iter().all(is_number);
    let is_v6 = authority.starts_with('[')
        && authority.split(']').next().is_some_and(|host| host.ends_with('1') && !host.contains('.'));
    !rest.contains('@') && (is_v4 || is_v6 || authority.split(':').next() == Some("localhost"))
}

/// Whether a path stays in the directory, whatever its parts are.
fn is_inside(path: &str) -> bool {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{KUBE_DIRECTORY}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/")).starts_with(&format!("{KUBE_DIRECTORY}/"))
}
