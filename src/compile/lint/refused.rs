//! Pure. Bad packages, each beside a good one: what refuses them, in which file and line, and that the good one stays usable.
//!
//! Not here: what git refuses before a tree is read (symbolic links, paths that lead out), the rules of a package that
//! works (`rules.rs`), an instance's own bad files (`tests/it/bad_input`).

use super::examine;
use super::tests::{CLEAN, Change, changed};
use crate::base::RepoPath;
use crate::model::{Diagnostic, File, FileTree, PackageName};
use crate::package;

const MANIFEST: &str = "manifest.yaml";
const KUSTOMIZATION: &str = "kustomization.yaml";
const POD: &str = "deployment.yaml";
const SERVICE: &str = "service.yaml";

/// Returns the upstream tree: the clean package as `garden`, and as `blog` with changes.
fn directory(blog: &FileTree) -> FileTree {
    let mut tree = FileTree::new();
    for (path, text) in CLEAN {
        let text = text.replace("blog", "garden");
        tree.insert(RepoPath::parse(&format!("garden/{path}")).unwrap(), File::text(&text));
    }
    for (path, file) in blog.iter() {
        tree.insert(RepoPath::parse(&format!("blog/{path}")).unwrap(), file.clone());
    }
    tree
}

fn name(text: &str) -> PackageName {
    PackageName::parse(text).unwrap()
}

/// Returns the errors of the package `blog` in a directory, and checks that its neighbour is listed and builds.
fn errors(tree: &FileTree) -> Vec<Diagnostic> {
    let listing = package::list(tree, "");
    assert!(listing.packages[&name("garden")].is_ok(), "the neighbour suffers");
    let garden = package::find(tree, "", &name("garden")).unwrap().unwrap();
    assert!(examine(&name("garden"), &garden.files, None, &Default::default()).generated.is_some());
    let mut findings = match package::find(tree, "", &name("blog")) {
        Some(Ok(blog)) => examine(&name("blog"), &blog.files, None, &Default::default()).findings,
        Some(Err(findings)) => findings,
        None => Vec::new(),
    };
    findings.retain(Diagnostic::is_error);
    findings
}

/// What was not refused as it should be.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    /// Checks that changes make the package refused: rule, file below the package, line.
    fn check(&mut self, what: &str, changes: &[Change<'_>], expected: &str) {
        self.check_tree(what, &directory(&changed(changes)), expected);
    }

    fn check_tree(&mut self, what: &str, tree: &FileTree, expected: &str) {
        let found = errors(tree);
        let place = |it: &Diagnostic| {
            let file = it.file.strip_prefix("blog/").unwrap_or(&it.file);
            format!("{} {file}:{}", it.id, it.line)
        };
        let first = found.first().map(place).unwrap_or_default();
        if first != expected || found.iter().any(|it| it.message.is_empty()) {
            self.0.push(format!("{what}: {first}, expected {expected}"));
        }
    }
}

impl Drop for Wrong {
    fn drop(&mut self) {
        assert!(self.0.is_empty() || std::thread::panicking(), "{}", self.0.join("\n"));
    }
}

#[test]
fn bad_templates_are_refused_with_their_place() {
    let mut wrong = Wrong::default();
    let host = |to| (POD, "{{ .dbHost }}", to);
    wrong.check("an action that does not end", &[host("{{ .dbHost")], "T110 deployment.yaml:21");
    for (what, text, id) in [
        ("a block that does not end", "{{ if .dbHost }}a", "T110"),
        ("an end without a begin", "{{ end }}", "T110"),
        ("a text that does not end", "{{ \"a }}", "T110"),
        ("an unknown function", "{{ toUpperCase .dbHost }}", "T112"),
        ("a function of another tool", "{{ .dbHost | nindent 4 }}", "T112"),
        ("the environment", "{{ .Env.HOME }}", "T210"),
        ("a file of the machine", "{{ file.Read \"/etc/passwd\" }}", "T210"),
        ("the network", "{{ (ds \"http://x.example.org\") }}", "T210"),
        ("the clock", "{{ time.Now }}", "T210"),
        ("randomness", "{{ random.Alpha 8 }}", "T210"),
        ("a process", "{{ exec \"id\" }}", "T112"),
        ("a missing key", "{{ .dbHots }}", "T201"),
        ("a secret", "{{ .secrets.token }}", "T220"),
        ("an endless loop", "{{ range seq 1 1000000000 }}{{ end }}", "T105"),
        ("a loop in a loop", "{{ range 100000 }}{{ range 100000 }}{{ end }}{{ end }}", "T103"),
        (
            "a template that calls itself",
            "{{ define \"t\" }}{{ template \"t\" . }}{{ end }}{{ template \"t\" . }}",
            "T106",
        ),
        ("100 MB of output", "{{ range 100 }}{{ strings.Repeat 1000000 \"a\" }}{{ end }}", "T104"),
        ("a text that doubles", "{{ $x := \"a\" }}{{ range 40 }}{{ $x = print $x $x }}{{ end }}", "T105"),
        ("a text as a list", "{{ range .image }}{{ end }}", "T206"),
        ("a value of the wrong type", "{{ conv.ToInt .image }}", "T205"),
    ] {
        wrong.check(what, &[host(text)], &format!("{id} deployment.yaml:20"));
    }
    // Only older dialects see other apps in files, and this manifest is of the newest.
    wrong.check("another app", &[host("{{ .apps.other.host }}")], "P020 manifest.yaml:2");
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(200), ")".repeat(200));
    wrong.check("deep nesting", &[host(&deep)], "T102 deployment.yaml:20");
    let pattern = "a".repeat(5_000);
    let pattern = format!("{{{{ regexp.Match \"{pattern}\" .dbHost }}}}");
    wrong.check("a pattern of 5 kB", &[host(&pattern)], "T205 deployment.yaml:20");
    wrong.check("too much of it", &[(POD, "", &"# x\n".repeat(300_000))], "T101 deployment.yaml:1");
}

#[test]
fn bad_manifests_are_refused_with_their_place() {
    let mut wrong = Wrong::default();
    for (what, from, to, expected) in [
        ("a key set twice", "is: blog\n", "is: blog\nis: shop\n", "L001 manifest.yaml:3"),
        (
            "a template without quotes",
            "dbHost: \"{{ .apps.db.host }}\"",
            "dbHost: {{ .apps.db.host }}",
            "L002 manifest.yaml:14",
        ),
        ("no version", "version: 1.0.0\n", "", "P002 manifest.yaml:1"),
        ("a map as version", "version: 1.0.0\n", "version: {a: b}\n", "P002 manifest.yaml:5"),
        (
            "a text as requires",
            "requires:\n  - name: stonedb\n    alias: db\n",
            "requires: db\n",
            "P002 manifest.yaml:7",
        ),
        ("a list as config", "defaultConfig:\n", "defaultConfig: [a]\nother:\n", "P002 manifest.yaml:10"),
        ("a requirement twice", "requires:\n", "requires:\n  - {name: columndb, alias: db}\n", "P050 manifest.yaml:9"),
        ("itself as requirement", "    alias: db\n", "    alias: blog\n", "P051 manifest.yaml:8"),
        ("a secret of nobody", "  - db.password\n", "  - other.password\n", "P060 manifest.yaml:18"),
        ("a binding of its own", "    alias: db\n", "    alias: db\n    installedAs: x\n", "P034 manifest.yaml:8"),
        ("a default below", "  domain:", "  title: \"{{ .app.domain }}\"\n  domain:", "P040 manifest.yaml:13"),
        ("a default of another app", "{{ .apps.db.host }}", "{{ .apps.other.host }}", "T221 manifest.yaml:14"),
        ("two documents", "name: blog\n", "name: blog\n---\nname: blog\n", "Y108 manifest.yaml:3"),
        ("a tab", "is: blog\n", "\tis: blog\n", "Y100 manifest.yaml:1"),
        ("a list as manifest", "name: blog\n", "- name: blog\n", "Y100 manifest.yaml:2"),
        ("a tag of nobody", "category: web\n", "category: !!python/object x\n", "Y107 manifest.yaml:4"),
    ] {
        wrong.check(what, &[(MANIFEST, from, to)], expected);
    }
    wrong.check("deep nesting", &[(MANIFEST, "", &format!("x: {}\n", "[".repeat(10_000)))], "Y120 manifest.yaml:19");
    wrong.check("2 MB", &[(MANIFEST, "", &"# x\n".repeat(500_000))], "Y120 manifest.yaml:1");
    wrong.check("a million documents", &[(MANIFEST, "", &"---\na\n".repeat(100_000))], "Y120 manifest.yaml:2018");
    let bomb = (1..=9).fold("a0: &a0 x\n".to_owned(), |text, level| {
        let before = vec![format!("*a{}", level - 1); 9].join(", ");
        text + &format!("a{level}: &a{level} [{before}]\n")
    });
    wrong.check("aliases of aliases", &[(MANIFEST, "", &bomb)], "Y120 manifest.yaml:25");
}

#[test]
fn bad_kustomizations_and_objects_are_refused_with_their_place() {
    let mut wrong = Wrong::default();
    let resources = |to| (KUSTOMIZATION, "resources: [deployment.yaml, service.yaml, ingress.yaml]", to);
    for (what, to, expected) in [
        ("another package", "resources: [../garden]", "K131 kustomization.yaml:1"),
        ("the whole machine", "resources: [/etc]", "K131 kustomization.yaml:1"),
        ("an address", "resources: [\"https://x.example.org/a.yaml\"]", "K130 kustomization.yaml:1"),
        ("itself", "resources: [.]", "K131 kustomization.yaml:1"),
        ("a file that is not there", "resources: [none.yaml]", "K108 kustomization.yaml:1"),
        ("one file twice", "resources: [service.yaml, service.yaml]", "K110 service.yaml:1"),
        ("nothing", "resources: []", "K121 kustomization.yaml:1"),
        ("a chart", "resources: [service.yaml]\nhelmCharts: [{name: x}]", "K133 kustomization.yaml:2"),
        ("a plugin", "resources: [service.yaml]\ngenerators: [x.yaml]", "K134 kustomization.yaml:2"),
        ("a field of nobody", "resources: [service.yaml]\nresource: []", "K103 kustomization.yaml:2"),
        (
            "a patch of nothing",
            "resources: [service.yaml]\npatches: [{patch: '{kind: Pod, apiVersion: v1, metadata: {name: x}}'}]",
            "K142 kustomization.yaml:2",
        ),
    ] {
        wrong.check(what, &[resources(to)], expected);
    }
    wrong.check("an object without a name", &[(SERVICE, "  name: blog\n", "  other: blog\n")], "Y113 service.yaml:1");
    wrong.check("a key twice in an object", &[(SERVICE, "", "kind: Service\n")], "Y106 service.yaml:11");
    let secret = "secretGenerator:\n- name: s\n  literals: [a=b]\n";
    wrong.check("a secret in it", &[(KUSTOMIZATION, "", secret)], "L024 kustomization.yaml:7");
    let circle = [
        resources("resources: [a, service.yaml]"),
        ("a/kustomization.yaml", "", "resources: [../b]\n"),
        ("b/kustomization.yaml", "", "resources: [../a]\n"),
    ];
    wrong.check("directories in a circle", &circle, "K132 b/kustomization.yaml:1");
}

#[test]
fn bad_files_and_names_are_refused_with_their_place() {
    let mut wrong = Wrong::default();
    wrong.check("a reserved path", &[(".package/x.yaml", "", "a: 1\n")], "P011 .package/x.yaml:0");
    wrong.check("a path of git", &[("a/.gitmodules", "", "[x]\n")], "P011 a/.gitmodules:0");
    wrong.check("two paths that differ in case only", &[("Service.yaml", "", "a: 1\n")], "P010 service.yaml:0");
    wrong.check("5 MB in a file", &[("big.txt", "", &"a".repeat(5 << 20))], "P012 big.txt:0");
    for path in ["../x", "/etc/passwd", "a/../../x", "a//b", "a\u{0}b", "a\nb"] {
        assert!(RepoPath::parse(path).is_err(), "{path:?} is a path");
    }
    for bad in ["..", ".", "", "a/b", "A", &"a".repeat(54)] {
        assert!(PackageName::parse(bad).is_err(), "{bad:?} is a name");
    }
    let mut tree = directory(&FileTree::new());
    for path in ["kube-system/manifest.yaml", "My Blog/manifest.yaml", "blog/manifest.yaml", "apps/blog/manifest.yaml"]
    {
        tree.insert(RepoPath::parse(path).unwrap(), File::text("version: 1.0.0\n"));
    }
    let listing = package::list(&tree, "");
    let ids = |findings: &[Diagnostic]| findings.iter().map(|it| it.id.clone()).collect::<Vec<_>>();
    let broken = listing.packages.iter().filter_map(|(name, it)| Some((name.as_str(), ids(it.as_ref().err()?))));
    let broken: Vec<_> = broken.collect();
    assert_eq!(broken, [("blog", vec!["P004".to_owned()]), ("kube-system", vec!["P003".to_owned()])]);
    assert_eq!(listing.refused.values().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["P003"]);
    wrong.check_tree("two packages of one name", &tree, "P004 blog:0");
    let empty = [RepoPath::parse("blog/deployment.yaml").unwrap()];
    let mut tree = directory(&FileTree::new());
    tree.insert(empty[0].clone(), File::text("a: 1\n"));
    wrong.check_tree("no manifest", &tree, "P001 manifest.yaml:0");
    let mut files = changed(&[]);
    files.insert(RepoPath::parse(SERVICE).unwrap(), File { bytes: vec![0x61, 0xff, 0xfe].into(), ..File::text("") });
    wrong.check_tree("a file that is not UTF-8", &directory(&files), "K108 service.yaml:0");
    files = changed(&[]);
    files.insert(RepoPath::parse(MANIFEST).unwrap(), File { bytes: vec![0x61, 0xff].into(), ..File::text("") });
    wrong.check_tree("a manifest that is not UTF-8", &directory(&files), "P002 manifest.yaml:1");
}

#[test]
fn an_unknown_field_is_told_and_kept() {
    let blog = changed(&[(MANIFEST, "category: web\n", "category: web\nrating: 5 # stars\n")]);
    let listing = package::list(&directory(&blog), "");
    assert!(listing.packages[&name("blog")].is_ok());
    let examined = examine(&name("blog"), &blog, None, &Default::default());
    let told: Vec<String> = examined.findings.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["manifest.yaml:5: P030: the field rating has no meaning here; it is kept as it is"]);
    let files = examined.generated.unwrap().files;
    assert!(files.text("apps/blog/manifest.yaml").unwrap().contains("rating: 5 # stars\n"));
}
