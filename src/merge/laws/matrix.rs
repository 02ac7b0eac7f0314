//! Pure. Every edit of one side against every edit of the other: five kinds of edits at eight places make 40 edits of a side, over twelve
//! documents. How the edits were made says what must come out, byte for byte.

use super::super::conflict::ConflictKind;
use super::super::file::merge_file;
use super::super::rules::Rules;
use super::super::tree::Three;
use super::path;

/// What marks a line that is edited.
const MARK: &str = " §";

/// An object with containers.
const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: quarry
  labels:
    fixed: here
    team: core §
    tier: web §
spec:
  strategy: rolling §
  template:
    spec:
      serviceAccountName: quarry §
      containers:
      - name: web
        image: reg/web:1 §
        pull: always §
        env:
        - name: MODE
          value: fast §
      - name: cache
        image: reg/cache:1 §
        tty: true
";
/// Lists indented below their keys, comments and blank lines.
const SERVICE: &str = "\
# The way in.
apiVersion: v1
kind: Service
metadata:
  # Known by this name.
  name: quarry
  team: core §
  tier: web §

spec:
  type: internal §
  family: old §
  ports:
    - port: 80
      protocol: TCP
      name: web §
      target: web §
    - port: 90
      name: admin §

  selector:
    app: quarry
    part: front §
";
/// A file that is no object, in four columns a step, with brackets, quotes and block text around.
const VALUES: &str = "\
image:
    repository: reg/quarry §
    tag: one §
    fixed: here
flags: [a, b, 'c']
persistence: {size: 1Gi, class: fast}
text: |
    one line
      another line
ingress:
    host: quarry.example §
    class: outer §
    hosts:
    -   host: a.example
        path: front §
    -   host: b.example
        path: back §
last: word §
more: words §
";
/// A type that nobody knows, with a list that is told apart by a guess, and an alias.
const CUSTOM: &str = "\
apiVersion: quarry.example/v1
kind: Pit
metadata: {name: deep}
spec:
  shared: &shared
    depth: deep §
    width: wide §
    fixed: here
  copy: *shared
  layers:
  - name: clay
    colour: red §
    hardness: soft §
  - name: rock
    colour: grey §
    hardness: hard §
  mode: 'dig'
  crew: small §
status:
  phase: open §
  known: yes
";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Edit {
    Set,
    Delete,
    Add,
    Comment,
    Quote,
}

const EDITS: [Edit; 5] = [Edit::Set, Edit::Delete, Edit::Add, Edit::Comment, Edit::Quote];

/// Makes the lines that an edit leaves of a line; `side` tells the edits of the sides apart.
fn edited(line: &str, edit: Option<Edit>, side: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let (key, value) = line.split_once(": ").unwrap();
    match edit {
        None => format!("{line}\n"),
        Some(Edit::Set) => format!("{key}: {side}\n"),
        Some(Edit::Delete) => String::new(),
        Some(Edit::Add) => format!("{line}\n{}", added(indent, side)),
        Some(Edit::Comment) => format!("{:indent$}# {side}\n{line}\n", ""),
        Some(Edit::Quote) => format!("{key}: \"{value}\"\n"),
    }
}

fn added(indent: usize, side: &str) -> String {
    format!("{:indent$}new-{side}: x\n", "")
}

/// Returns what must become of a line that both sides edited, and what must be left to decide.
fn expected(line: &str, mine: Edit, upstream: Edit) -> (String, Option<ConflictKind>) {
    let indent = line.len() - line.trim_start().len();
    let (ours, theirs) = (edited(line, Some(mine), "mine"), edited(line, Some(upstream), "upstream"));
    let added = |side: &str| added(indent, side);
    let commented = |side: &str, line: &str| format!("{:indent$}# {side}\n{line}", "");
    match (mine, upstream) {
        (Edit::Set, Edit::Set) => (ours, Some(ConflictKind::Value)),
        (Edit::Set, Edit::Delete) => (ours, Some(ConflictKind::EditDelete)),
        (Edit::Delete, Edit::Set) => (ours, Some(ConflictKind::DeleteEdit)),
        // A comment or another style does not hold a deletion up.
        (Edit::Delete, Edit::Delete | Edit::Comment | Edit::Quote) | (Edit::Comment | Edit::Quote, Edit::Delete) => {
            (String::new(), None)
        }
        (Edit::Delete, Edit::Add) => (added("upstream"), None),
        (Edit::Add, Edit::Delete) => (added("mine"), None),
        (Edit::Add, Edit::Add) => (format!("{ours}{}", added("upstream")), None),
        (Edit::Add, _) => (format!("{theirs}{}", added("mine")), None),
        (_, Edit::Add) => (format!("{ours}{}", added("upstream")), None),
        (Edit::Set | Edit::Quote, Edit::Comment) => (commented("upstream", &ours), None),
        (Edit::Comment, Edit::Set) => (commented("mine", &theirs), None),
        (Edit::Quote, Edit::Set) => (theirs, None),
        // Of what is no data ours stays.
        (Edit::Set | Edit::Quote, Edit::Quote) | (Edit::Comment, Edit::Comment | Edit::Quote) => (ours, None),
    }
}

/// Writes a document with something else in place of its marked lines.
fn written(document: &str, line: impl Fn(usize, &str) -> String) -> String {
    let mut place = 0;
    let mut out = String::new();
    for it in document.lines() {
        match it.strip_suffix(MARK) {
            Some(marked) => {
                out.push_str(&line(place, marked));
                place += 1;
            }
            None => out.push_str(&format!("{it}\n")),
        }
    }
    assert_eq!(place, 8, "{document}");
    out
}

/// Merges every edit of one side with every edit of the other, in a document as it is, with other line ends, and behind another document.
fn check(document: &str) {
    let all: Vec<(usize, Edit)> = (0..8).flat_map(|place| EDITS.map(|edit| (place, edit))).collect();
    let forms: [fn(String) -> String; 3] = [
        |text| text,
        |text| text.replace('\n', "\r\n"),
        |text| format!("kind: ConfigMap\nmetadata:\n  name: other\n---\n{text}"),
    ];
    let base = written(document, |_, line| edited(line, None, ""));
    // All pairs in every form where the property tests run at full count; else the further forms for some of them.
    let is_long = std::env::var("PROPTEST_CASES").is_ok_and(|count| count.len() > 4);
    for (row, (ours_at, mine)) in all.iter().enumerate() {
        for (column, (theirs_at, upstream)) in all.iter().enumerate() {
            let side = |at: usize, edit: Edit, name: &str| {
                written(document, |place, line| edited(line, (place == at).then_some(edit), name))
            };
            let (ours, theirs) = (side(*ours_at, *mine, "mine"), side(*theirs_at, *upstream, "upstream"));
            let mut kinds = Vec::new();
            let wanted = written(document, |place, line| match (place == *ours_at, place == *theirs_at) {
                (true, true) => expected(line, *mine, *upstream).0,
                (true, false) => edited(line, Some(*mine), "mine"),
                (false, true) => edited(line, Some(*upstream), "upstream"),
                (false, false) => edited(line, None, ""),
            });
            if ours_at == theirs_at {
                kinds.extend(expected("a: b", *mine, *upstream).1);
            }
            let count = if is_long || (row + column) % 16 == 0 { forms.len() } else { 1 };
            for form in forms.iter().take(count) {
                let (base, ours, theirs) = (form(base.clone()), form(ours.clone()), form(theirs.clone()));
                let texts = Three { base: Some(&*base), ours: Some(&*ours), theirs: Some(&*theirs) };
                let merged = merge_file(&path(), texts, &Rules::default());
                let what = format!("{mine:?} at {ours_at}, {upstream:?} at {theirs_at}");
                assert_eq!(merged.text.as_deref(), Some(&*form(wanted.clone())), "{what}\n{ours}--- theirs\n{theirs}");
                let found: Vec<ConflictKind> = merged.conflicts.iter().map(|conflict| conflict.kind).collect();
                assert_eq!(found, kinds, "{what}");
                assert_eq!(merged.guard, None, "{what}");
            }
        }
    }
}

#[test]
fn every_pair_of_edits_comes_out_as_made_in_an_object_with_containers() {
    check(DEPLOYMENT);
}

#[test]
fn every_pair_of_edits_comes_out_as_made_in_a_service_with_comments() {
    check(SERVICE);
}

#[test]
fn every_pair_of_edits_comes_out_as_made_in_a_file_that_is_no_object() {
    check(VALUES);
}

#[test]
fn every_pair_of_edits_comes_out_as_made_in_a_type_that_nobody_knows() {
    check(CUSTOM);
}
