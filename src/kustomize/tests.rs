//! Pure. Tests of builds, against outputs recorded from kustomize.
//!
//! Not here: tests of the YAML printer (`yaml::tests`).

mod catalogue;

use std::fs;
use std::path::Path;

use super::{build, render};
use crate::base::RepoPath;
use crate::base::text_diff::unified;
use crate::model::{File, FileMode, FileTree};

/// First line of every recorded output.
const RECORDED_BY: &str = "# kustomize v5.8.1 build\n";

fn read_below(directory: &Path, prefix: &str, tree: &mut FileTree) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{prefix}/{}", entry.file_name().into_string().unwrap());
        if entry.path().is_dir() {
            read_below(&entry.path(), &path, tree);
        } else {
            let bytes = fs::read(entry.path()).unwrap();
            tree.insert(RepoPath::parse(&path).unwrap(), File { bytes: bytes.into(), mode: FileMode::Regular });
        }
    }
}

#[test]
fn builds_are_byte_for_byte_those_of_kustomize() {
    let root = crate::base::fixtures("kustomize");
    let mut failures = Vec::new();
    let mut cases: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.is_dir());
    cases.sort();
    for case in &cases {
        let name = case.file_name().unwrap().to_str().unwrap();
        let mut tree = FileTree::new();
        read_below(case, "apps/app", &mut tree);
        let expected = fs::read_to_string(case.join("expected.yaml")).unwrap();
        let expected = expected.strip_prefix(RECORDED_BY).unwrap();
        let found = match build(&tree, "apps/app") {
            Ok(built) => render(&built),
            Err(findings) => findings.iter().map(|finding| format!("{finding}\n")).collect(),
        };
        if found != expected {
            failures.push(format!("{name}:\n{}", unified(expected, &found, ("recorded", "built"))));
        }
    }
    assert!(failures.is_empty(), "{} of {} differ:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

/// Reads the cases of a table: name, files, and what is recorded: what is printed, or the id of our refusal.
fn cases(table: &str) -> Vec<(String, FileTree, Result<String, String>)> {
    let mut parts = format!("\n{table}").replace("\n### ", "\0").split('\0').map(str::to_owned).collect::<Vec<_>>();
    let head = parts.remove(0);
    let shared: Vec<(String, String)> = files_of(&head);
    let case = |part: String| {
        let (name, rest) = part.split_once('\n').unwrap();
        let (files, recorded) = match (rest.split_once("\n>>>\n"), rest.split_once("\n!!!")) {
            (Some((files, printed)), _) => (files, Ok(format!("{}\n", printed.trim_end_matches('\n')))),
            (None, Some((files, id))) => (files, Err(id.trim().to_owned())),
            (None, None) => panic!("{name} has no outcome"),
        };
        let mut tree = FileTree::new();
        let named = files.lines().next().unwrap().strip_prefix("+ ").unwrap_or_default();
        for path in named.split_whitespace() {
            let (_, text) = shared.iter().find(|(name, _)| path.rsplit('/').next() == Some(name.as_str())).unwrap();
            tree.insert(RepoPath::parse(&format!("apps/app/{path}")).unwrap(), File::text(text));
        }
        for (path, text) in files_of(&format!("\n{files}\n")) {
            tree.insert(RepoPath::parse(&format!("apps/app/{path}")).unwrap(), File::text(&text));
        }
        (name.to_owned(), tree, recorded)
    };
    parts.into_iter().map(case).collect()
}

fn files_of(text: &str) -> Vec<(String, String)> {
    let files = text.replace("\n=== ", "\n\0");
    let file = |part: &str| part.split_once('\n').map(|(path, text)| (path.to_owned(), text.to_owned())).unwrap();
    files.split('\0').skip(1).map(file).collect()
}

#[test]
fn tables_of_small_cases_come_out_as_recorded() {
    let root = crate::base::fixtures("kustomize");
    let mut tables: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    tables.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    tables.sort();
    let (mut count, mut failures) = (0, Vec::new());
    for table in &tables {
        for (name, tree, recorded) in cases(&fs::read_to_string(table).unwrap()) {
            count += 1;
            let found = build(&tree, "apps/app").map(|built| render(&built));
            let place = format!("{}: {name}", table.file_name().unwrap().to_str().unwrap());
            match (recorded, found) {
                (Ok(recorded), Ok(found)) if recorded == found => {}
                (Err(id), Err(findings)) if findings.iter().any(|finding| finding.id == id) => {}
                (Ok(recorded), Ok(found)) => {
                    failures.push(format!("{place}:\n{}", unified(&recorded, &found, ("recorded", "built"))));
                }
                (recorded, found) => failures.push(format!("{place}: recorded {recorded:?}, built {found:?}")),
            }
        }
    }
    assert!(failures.is_empty(), "{} of {count} differ:\n{}", failures.len(), failures.join("\n"));
    assert!(count >= 300, "the tables hold {count} cases only");
}

/// Builds files given as text, each after a line `=== path`, and compares what is refused or reported.
fn check_findings(files: &str, expected: &str) {
    let mut tree = FileTree::new();
    for file in files.split("=== ").filter(|file| !file.trim().is_empty()) {
        let (path, text) = file.split_once('\n').unwrap();
        tree.insert(RepoPath::parse(&format!("apps/app/{path}")).unwrap(), File::text(text));
    }
    let findings = build(&tree, "apps/app").map_or_else(|findings| findings, |built| built.diagnostics);
    let found: Vec<String> = findings.iter().map(|finding| finding.to_string().replace("apps/app/", "")).collect();
    assert_eq!(found.join("\n"), expected, "{files}");
}

/// A ConfigMap to build around.
const CONFIG: &str = "=== c.yaml\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: c}\n";

/// Builds the ConfigMap with a kustomization.
fn check(kustomization: &str, expected: &str) {
    check_findings(&format!("=== kustomization.yaml\n{kustomization}{CONFIG}"), expected);
}

#[test]
fn a_kustomization_is_found_and_read_or_refused_with_its_place() {
    check_findings("=== x.yaml\n", "apps/app: K102: the directory holds no kustomization.yaml");
    check_findings(
        "=== kustomization.yaml\n=== Kustomization\n",
        "Kustomization: K101: there is a second kustomization beside kustomization.yaml",
    );
    check("# only\n", "kustomization.yaml:1: K104: the kustomization is empty");
    check("kind: Kustomization\n", "kustomization.yaml:1: K104: the kustomization is empty");
    check("resources: [c.yaml]\nimage: x\n", "kustomization.yaml:2: K103: a kustomization has no field \"image\"");
    check(
        "resources: [c.yaml]\nkind: Deployment\n",
        "kustomization.yaml:2: K105: the kind of a kustomization is not \"Deployment\"",
    );
    check("resources: [c.yaml]\nkind: Component\n", "kustomization.yaml:1: K105: a Component belongs under components");
    check(
        "resources: [c.yaml]\nnamespace: 1\n",
        "kustomization.yaml:2: K109: namespace wants a text; put quotes around it",
    );
    check("resources:\n- c.yaml\n- 5\n", "kustomization.yaml:3: K109: resources wants a list of texts");
    check(
        "resources: [c.yaml]\nimages:\n- name: a\n  newTag: 1.10\n",
        "kustomization.yaml:4: K109: newTag wants a text; put quotes around it",
    );
    check(
        "resources: [c.yaml]\nimages:\n- name: a\n  tag: x\n",
        "kustomization.yaml:4: K103: this entry has no field \"tag\"",
    );
    check("- a\n", "kustomization.yaml:1: K109: a kustomization is a map of fields");
    check(
        "resources: [c.yaml]\n---\nnamespace: x\n",
        "kustomization.yaml:3: Y108: the file holds a second document where one is wanted",
    );
}

#[test]
fn what_needs_programs_or_the_network_is_refused_by_name() {
    for (field, id) in [
        ("helmCharts", "K133"),
        ("helmGlobals", "K133"),
        ("helmChartInflationGenerator", "K133"),
        ("generators", "K134"),
        ("transformers", "K134"),
        ("validators", "K134"),
        ("configurations", "K135"),
        ("crds", "K136"),
        ("openapi", "K136"),
        ("vars", "K137"),
        ("buildMetadata", "K138"),
    ] {
        check(
            &format!("resources: [c.yaml]\n{field}: [x]\n"),
            &format!("kustomization.yaml:2: {id}: {field} is not supported"),
        );
    }
    for remote in [
        "https://example.com/x.yaml",
        "github.com/org/repo",
        "git@example.com:x",
        "x?ref=main",
        "github.com/org/repo//base",
    ] {
        check(
            &format!("resources:\n- c.yaml\n- {remote}\n"),
            &format!("kustomization.yaml:3: K130: {remote} is fetched from elsewhere"),
        );
    }
}

#[test]
fn paths_that_leave_the_app_or_run_in_circles_are_refused() {
    check(
        "resources:\n- /etc/passwd\n",
        "kustomization.yaml:2: K131: the path \"/etc/passwd\" leads out of the app's directory",
    );
    check(
        "resources:\n- ../other\n",
        "kustomization.yaml:2: K131: the path \"../other\" leads out of the app's directory",
    );
    check("resources: [.]\n", "kustomization.yaml:1: K131: a directory cannot build itself or one that it lies in");
    check("resources: [none.yaml]\n", "kustomization.yaml:1: K108: there is no file or directory \"none.yaml\"");
    let sub = "resources: [sub]\n=== sub/kustomization.yaml\n";
    check(
        &format!("{sub}resources: [..]\n"),
        "sub/kustomization.yaml:1: K131: a directory cannot build itself or one that it lies in",
    );
    check(
        &format!("{sub}resources: [../c.yaml]\n"),
        "sub/kustomization.yaml:1: K131: the file \"../c.yaml\" lies outside of the directory that names it",
    );
    check(
        &format!("{sub}resources: [../b]\n=== b/kustomization.yaml\nresources: [../sub]\n"),
        "b/kustomization.yaml:1: K132: the directories build each other in a circle: sub",
    );
    check(
        "resources: [sub]\n=== sub/kustomization.yaml\nkind: Component\nresources: [x.yaml]\n",
        "sub/kustomization.yaml:1: K105: a Component belongs under components",
    );
}

#[test]
fn objects_of_one_name_are_refused_with_both_places() {
    check("resources: [c.yaml, c.yaml]\n", "c.yaml:1: K110: ConfigMap/c is already there, from c.yaml:1");
    let two = "=== d.yaml\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: c, namespace: x}\n";
    check(
        &format!("resources: [c.yaml, d.yaml]\nnamespace: blog\n{two}"),
        "d.yaml:1: K111: in namespace blog there are two of ConfigMap/c in namespace blog, also from c.yaml",
    );
    check("namePrefix: x\n", "kustomization.yaml:1: K121: the build holds no object");
}

#[test]
fn a_list_that_is_too_long_to_be_merged_by_keys_is_refused() {
    let pods = |count: usize| {
        let containers: String = (0..count).map(|number| format!("      - name: c{number}\n")).collect();
        let begin = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n";
        format!("{begin}      containers:\n{containers}")
    };
    check(
        &format!(
            "resources: [d.yaml]\npatches: [{{path: p.yaml}}]\n=== d.yaml\n{}=== p.yaml\n{}",
            pods(4_000),
            pods(1)
        ),
        "kustomization.yaml:2: K120: the list spec.template.spec.containers of Deployment/web is too long to be merged item by item: at \
         most 4,000 items are",
    );
}

#[test]
fn changes_that_find_nothing_or_do_not_fit_are_reported() {
    let with = |rest: &str| format!("resources: [c.yaml]\n{rest}");
    check(
        &with("replicas: [{name: web, count: 1}]\n"),
        "kustomization.yaml:2: K112: replicas names \"web\", and no workload is called so",
    );
    check(&with("patches: [{target: {kind: X}}]\n"), "kustomization.yaml:2: K140: a patch wants one of patch and path");
    check(
        &with("patches: [{patch: a, path: b}]\n"),
        "kustomization.yaml:2: K140: a patch wants one of patch and path, not both",
    );
    check(
        &with("patches: [{patch: just a text}]\n"),
        "kustomization.yaml:2: K141: a patch is an object, or a list of operations with op",
    );
    check(
        &with("patches:\n- patch: |-\n    kind: ConfigMap\n    apiVersion: v1\n    metadata: {name: d}\n"),
        "kustomization.yaml:3: K142: the patch changes ConfigMap/d, and no object is called so",
    );
    check(
        &with("patches:\n- patch: '[{op: remove, path: /data}]'\n"),
        "kustomization.yaml:3: K142: a JSON patch wants a target",
    );
    check(
        &with("patches:\n- patch: '[{op: remove, path: /data}]'\n  target: {kind: Pod}\n"),
        "kustomization.yaml:3: K143: the target of the patch selects no object",
    );
    check(
        &with("patches:\n- patch: '[{op: remove, path: /data}]'\n  target: {name: c}\n"),
        "kustomization.yaml:3: K145: patch ConfigMap/c: there is nothing at /data",
    );
    check(
        &with("patches:\n- patch: '[{op: test, path: /kind, value: X}]'\n  target: {name: c}\n"),
        "kustomization.yaml:3: K145: patch ConfigMap/c: the test of /kind fails",
    );
    check(
        &with("patches:\n- patch: '{kind: ConfigMap, apiVersion: v1, metadata: {name: c, $retainKeys: [a]}}'\n"),
        "kustomization.yaml:3: K144: the directive $retainKeys is not supported",
    );
    check(&with("patches:\n- patch: '{kind: ConfigMap, apiVersion: v1, metadata: {name: c, labels: [a]}}'\n"), "");
    check(
        &with("patches:\n- target: {name: c}\n  patch: '{kind: X, metadata: {name: x, labels: {a: null}}}'\n"),
        "kustomization.yaml:3: K147: null in labels of a patch with a target writes the text null",
    );
    check(
        &with("patches:\n- patch: '{kind: ConfigMap, apiVersion: v1, metadata: [c], x: 1}'\n"),
        "kustomization.yaml:1: Y113: the ConfigMap has no metadata.name",
    );
    check(
        &with("labels: [{pairs: {a: b}, fields: [{path: metadata/labels}]}]\n"),
        "kustomization.yaml:2: K106: labels write metadata/labels already, with another value of create",
    );
}

#[test]
fn generators_are_refused_with_their_line() {
    let with = |rest: &str| format!("configMapGenerator:\n- name: g\n  {rest}\n");
    check(&with("literals: [a]"), "kustomization.yaml:3: K150: a literal has the form key=value");
    check(&with("literals: [a=1, a=2]"), "kustomization.yaml:2: K151: the key \"a\" is there twice");
    check(
        &with("literals: ['a b=1']"),
        "kustomization.yaml:2: K150: \"a b\" is no key: letters, digits, - _ and . only",
    );
    check(&with("files: [none.txt]"), "kustomization.yaml:3: K108: there is no file or directory \"none.txt\"");
    check(&with("files: [a=b=c]"), "kustomization.yaml:3: K150: a file has the form path or key=path");
    check(
        &with("behavior: merge"),
        "kustomization.yaml:2: K153: ConfigMap/g does not exist, it cannot be merged or replaced",
    );
    check(
        "resources: [c.yaml]\nconfigMapGenerator:\n- name: c\n",
        "kustomization.yaml:3: K152: ConfigMap/c exists already; set behavior to merge or replace",
    );
    check("configMapGenerator:\n- literals: [a=b]\n", "kustomization.yaml:2: K150: a generator wants a name");
}

#[test]
fn a_name_that_could_mean_two_objects_is_refused() {
    let role = "kind: ClusterRole\napiVersion: rbac.authorization.k8s.io/v1\nmetadata: {name: r}\nrules: [{resourceNames: [c]}]\n";
    let generators = "configMapGenerator:\n- {name: c, namespace: one, literals: [a=1]}\n- {name: c, namespace: two}\n";
    check_findings(
        &format!("=== kustomization.yaml\nresources: [r.yaml]\n{generators}=== r.yaml\n{role}"),
        "r.yaml:1: K160: rules.resourceNames of ClusterRole/r could mean c-h29d89cmmt in namespace one or c-6ct58987ht in namespace two",
    );
}

#[test]
fn every_object_says_where_it_comes_from() {
    let mut tree = FileTree::new();
    for (path, text) in [
        ("app/kustomization.yaml", "resources: [sub]\nconfigMapGenerator:\n- name: g\n"),
        ("app/sub/kustomization.yaml", "resources: [c.yaml]\n"),
        ("app/sub/c.yaml", "# one\n---\nkind: Pod\napiVersion: v1\nmetadata: {name: p}\n"),
    ] {
        tree.insert(RepoPath::parse(path).unwrap(), File::text(text));
    }
    let built = build(&tree, "app").unwrap();
    let places: Vec<_> = built.objects.iter().map(|it| (it.object.kind(), it.file.as_str(), it.line)).collect();
    assert_eq!(places, [("ConfigMap", "app/kustomization.yaml", 3), ("Pod", "app/sub/c.yaml", 3)]);
    let top = build(&tree.below("app"), "").unwrap();
    assert_eq!(render(&top), render(&built));
}

/// Builds files beside `t.yaml`, an object whose `spec.a` is a long text, and returns the rules that refuse the build.
fn refused(files: &[(&str, &str)]) -> Vec<String> {
    let mut tree = FileTree::new();
    let text = "x".repeat(400_000);
    let object = format!("kind: Thing\napiVersion: e.org/v1\nmetadata: {{name: t}}\nspec:\n  a: {text}\n");
    for (path, text) in [("t.yaml", object.as_str()), ("long", text.as_str())].iter().chain(files) {
        tree.insert(RepoPath::parse(path).unwrap(), File::text(text));
    }
    let found = build(&tree, "").map(|built| built.bytes);
    let found = found.map_or_else(|findings| findings, |bytes| panic!("it was built, of {bytes} bytes"));
    found.into_iter().map(|it| format!("{}:{}: {}", it.file, it.line, it.id)).collect()
}

#[test]
fn what_multiplies_a_text_ends_at_the_bound_of_a_build() {
    let each = |count: usize, entry: &str| (0..count).map(|at| entry.replace('#', &at.to_string())).collect::<String>();
    let whole = "- source: {kind: Thing, fieldPath: spec}\n  targets: [{select: {kind: Thing}, fieldPaths: [spec.b#], options: {create: true}}]\n";
    let joined = "- source: {kind: Thing, fieldPath: spec.a}\n  targets: [{select: {kind: Thing}, fieldPaths: [spec.a], options: {delimiter: '#', index: 9}}]\n";
    let copies = each(20, r#"{"op": "copy", "from": "/spec", "path": "/spec/c#"},"#);
    let many = |rest: &str| format!("resources: [t.yaml, many.yaml]\n{rest}");
    let objects = each(500, "---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: m#}\n");
    let long = "y".repeat(200_000);
    let cases = [
        ("replacements", format!("resources: [t.yaml]\nreplacements:\n{}", each(20, whole))),
        ("joined texts", format!("resources: [t.yaml]\nreplacements:\n{}", each(20, joined))),
        (
            "json patches",
            format!(
                "resources: [t.yaml]\npatches:\n- target: {{kind: Thing}}\n  patch: |-\n    [{}]\n",
                copies.trim_end_matches(',')
            ),
        ),
        ("generators", format!("configMapGenerator:\n{}", each(200, "- {name: m#, files: [long]}\n"))),
        ("secrets", format!("secretGenerator:\n{}", each(200, "- {name: m#, files: [long]}\n"))),
        ("labels", many(&format!("commonLabels: {{a: {long}}}\n"))),
        ("annotations", many(&format!("commonAnnotations: {{a: {long}}}\n"))),
        ("prefixes", many(&format!("namePrefix: {long}\n"))),
        ("namespaces", many(&format!("namespace: {long}\n"))),
        (
            "patches",
            many(&format!(
                "patches:\n- target: {{kind: ConfigMap}}\n  patch: '{{kind: ConfigMap, apiVersion: v1, metadata: {{name: a}}, data: {{a: {long}}}}}'\n"
            )),
        ),
    ];
    for (name, kustomization) in cases {
        let found = refused(&[("kustomization.yaml", &kustomization), ("many.yaml", &objects)]);
        assert!(
            found.len() == 1 && found[0].starts_with("kustomization.yaml:") && found[0].ends_with(": K122"),
            "{name}: {found:?}"
        );
    }
}

#[test]
fn a_directory_that_many_others_take_is_counted_for_each() {
    let overlays: Vec<(String, String)> = (0..200)
        .map(|at| (format!("o{at}/kustomization.yaml"), format!("resources: [../base]\nnamePrefix: p{at}-\n")))
        .collect();
    let names: Vec<String> = (0..200).map(|at| format!("o{at}")).collect();
    let top = format!("resources: [{}]\n", names.join(", "));
    let object = format!("kind: Thing\napiVersion: e.org/v1\nmetadata: {{name: t}}\na: {}\n", "x".repeat(400_000));
    let mut files = vec![
        ("kustomization.yaml", top.as_str()),
        ("base/kustomization.yaml", "resources: [t.yaml]\n"),
        ("base/t.yaml", object.as_str()),
    ];
    files.extend(overlays.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    assert_eq!(refused(&files), ["base/t.yaml:1: K122"]);
}

#[test]
fn a_small_build_ends_before_it_reads_a_text_that_is_large_once_it_is_read() {
    let small = |text: &str| {
        let mut tree = FileTree::new();
        let object = format!("kind: Thing\napiVersion: e.org/v1\nmetadata: {{name: t}}\n{text}\n");
        tree.insert(RepoPath::parse("kustomization.yaml").unwrap(), File::text("resources: [t.yaml]\n"));
        tree.insert(RepoPath::parse("t.yaml").unwrap(), File::text(&object));
        let whole = build(&tree, "").unwrap();
        let small = super::build_small(&tree, "", 16 * 1024);
        assert!(small.iter().flatten().all(|small| *small == whole));
        small.is_some()
    };
    assert!(small("a: b"));
    assert!(!small(&format!("a: [{}1]", "1, ".repeat(1_000))));
    assert!(!small(&format!("a: {}", "1".repeat(20_000))));
    assert!(!small("a: &a b\nc: *a"), "nobody knows how much an alias stands for");
}
