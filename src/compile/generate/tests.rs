//! Pure. Tests of generations: the sample packages against what gomplate and kustomize gave, and small packages for each rule.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{GenerateInput, Generated, generate, without_credentials};
use crate::base::RepoPath;
use crate::kustomize;
use crate::model::{AppName, CommitId, Config, File, FileTree, PackageName, Upstream};
use crate::package::{Package, history, list, load};
use crate::yaml::{self, Dialect};

fn config(text: &str) -> Config {
    let document = yaml::load_one("config.yaml", text, Dialect::Gomplate).unwrap();
    Config(document.and_then(|document| document.value.as_object().cloned()).unwrap_or_default())
}

fn upstream() -> Upstream {
    Upstream {
        name: "sample".into(),
        url: "https://me:word@git.example.org/wild/directory.git".into(),
        branch: "main".into(),
        path: String::new(),
        verify: Default::default(),
    }
}

fn run(package: &Package, bindings: &[(&str, &str)], config: &Config) -> Result<Generated, Vec<String>> {
    let app = AppName::parse(package.name.as_str()).unwrap();
    let bindings: BTreeMap<String, AppName> =
        bindings.iter().map(|(reference, app)| ((*reference).to_owned(), AppName::parse(app).unwrap())).collect();
    let commit = CommitId::parse(&"a".repeat(40)).unwrap();
    let (app, directory, upstream_commit, bindings) = (&app, &upstream(), &commit, &bindings);
    generate(&GenerateInput { app, package, directory, upstream_commit, bindings, config })
        .map_err(|findings| findings.iter().map(|finding| format!("{finding}; {}", finding.hint)).collect())
}

mod oracle {
    //! Every version of every sample package.

    use super::*;

    fn root() -> PathBuf {
        crate::base::fixtures("directory")
    }

    fn files_below(directory: &Path, below: &Path) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for entry in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                found.extend(files_below(&entry, below));
            } else {
                let path = entry.strip_prefix(below).unwrap().to_str().unwrap().to_owned();
                found.insert(path, std::fs::read_to_string(&entry).unwrap());
            }
        }
        found
    }

    /// Returns the versions of all sample packages: name, version, files.
    fn versions() -> Vec<(String, String, FileTree)> {
        let mut found = Vec::new();
        for package in std::fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path()) {
            for version in std::fs::read_dir(&package).into_iter().flatten().map(|entry| entry.unwrap().path()) {
                let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
                if version.is_dir() && !name(&version).ends_with(".expected") {
                    let files = files_below(&version, &version).into_iter();
                    let files =
                        files.map(|(path, text)| (RepoPath::parse(&path).unwrap(), File::text(&text))).collect();
                    found.push((name(&package), name(&version), files));
                }
            }
        }
        found.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        assert!(found.len() >= 36, "only {} versions", found.len());
        found
    }

    /// Calls a check with every version of every sample package, each sample config and the directory of what is recorded.
    fn each_version(check: impl Fn(&str, &Generated, &Path)) {
        let samples = config(&std::fs::read_to_string(root().join("samples.yaml")).unwrap());
        for (name, version, files) in versions() {
            let recorded = root().join(&name).join(format!("{version}.expected"));
            if !recorded.exists() {
                // What cannot be rendered is broken on purpose; its findings are recorded.
                continue;
            }
            let package = load(&PackageName::parse(&name).unwrap(), &files).unwrap();
            let bindings: Vec<(&str, &str)> = package
                .manifest
                .requires
                .iter()
                .map(|requirement| (requirement.reference(), requirement.name.as_str()))
                .collect();
            for (sample, config) in &samples.0 {
                let config = Config(config.as_object().unwrap().clone());
                let what = format!("{name} {version} with {sample}");
                let generated =
                    run(&package, &bindings, &config).unwrap_or_else(|findings| panic!("{what}: {findings:#?}"));
                check(&what, &generated, &recorded.join(sample));
            }
        }
    }

    #[test]
    fn every_version_has_the_findings_that_are_recorded() {
        let mut differing = Vec::new();
        for (name, version, files) in versions() {
            let path = root().join(&name).join(format!("{version}.findings"));
            let examined = crate::compile::examine(&PackageName::parse(&name).unwrap(), &files, None, &BTreeMap::new());
            let found: String = examined.findings.iter().map(|finding| format!("{finding}\n")).collect();
            if std::env::var_os("WILD_BLESS").is_some() {
                match found.as_str() {
                    "" => _ = std::fs::remove_file(&path),
                    found => std::fs::write(&path, found).unwrap(),
                }
            }
            if std::fs::read_to_string(&path).unwrap_or_default() != found {
                differing.push(format!("{}:\n{found}", path.display()));
            }
        }
        assert!(differing.is_empty(), "{}", differing.join("\n"));
    }

    #[test]
    fn every_file_is_as_gomplate_renders_it() {
        each_version(|what, generated, recorded| {
            let expected = files_below(&recorded.join("files"), &recorded.join("files"));
            let app = what.split(' ').next().unwrap();
            let rendered: BTreeMap<String, String> = generated
                .files
                .below(&format!("apps/{app}"))
                .iter()
                .filter(|(path, _)| !path.is_within(".package") && path.as_str() != "manifest.yaml")
                .filter(|(path, _)| !path.as_str().ends_with(".md"))
                .map(|(path, file)| (path.to_string(), file.as_text().unwrap().to_owned()))
                .collect();
            assert_eq!(rendered.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{what}");
            for (path, text) in rendered {
                assert_eq!(text, expected[&path], "{what}: {path}");
            }
        });
    }

    #[test]
    fn every_app_builds_as_kustomize_builds_it() {
        each_version(|what, generated, recorded| {
            let app = what.split(' ').next().unwrap();
            let built = kustomize::build(&generated.files, &format!("apps/{app}")).unwrap();
            let recorded = std::fs::read_to_string(recorded.join("build.yaml")).unwrap();
            let (header, expected) = recorded.split_once('\n').unwrap();
            assert!(header.starts_with("# Recorded from gomplate v"), "{header}");
            assert_eq!(kustomize::render(&built), expected, "{what}");
        });
    }

    #[test]
    fn no_version_warns() {
        each_version(|what, generated, _| {
            let ids: Vec<&str> = generated.diagnostics.iter().map(|finding| finding.id.as_str()).collect();
            // A sample gives a model a name that reads as a number.
            let expected: &[&str] =
                if what.starts_with("modelserve") && what.ends_with("changed") { &["T312"] } else { &[] };
            assert_eq!(ids, expected, "{what}");
        });
    }
}

mod story {
    //! What the demo tells with the sample packages: a change of a person that a first update keeps and a second one meets.

    use super::*;
    use crate::merge::{Rules, Three, merge};

    fn photobox(version: &str) -> FileTree {
        let commits = history();
        let wanted = format!("photobox {version}:");
        let commit = commits.iter().find(|commit| commit.message.starts_with(&wanted)).unwrap();
        let package = load(&PackageName::parse("photobox").unwrap(), &commit.files.below("photobox")).unwrap();
        let config = config("cloud: {domain: d}\napps: {stonedb: {host: s, port: 1}, quickcache: {host: q, port: 2}}");
        run(&package, &[("stonedb", "stonedb"), ("cache", "quickcache")], &config).unwrap().files
    }

    fn edit(files: &FileTree, path: &str, from: &str, to: &str) -> FileTree {
        let text = files.text(path).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{path}");
        let mut edited = files.clone();
        edited.insert(RepoPath::parse(path).unwrap(), File::text(&text.replace(from, to)));
        edited
    }

    const SERVER: &str = "apps/photobox/server-deployment.yaml";

    #[test]
    fn the_first_update_keeps_the_change_of_a_person() {
        let ours = edit(&photobox("1.0"), SERVER, "memory: 512Mi", "memory: 1Gi");
        let merged = merge(Three { base: &photobox("1.0"), ours: &ours, theirs: &photobox("1.1") }, &Rules::default());
        assert_eq!(merged.conflicts, []);
        let text = merged.files.text(SERVER).unwrap();
        for both in ["memory: 1Gi", "cpu: 150m", "server:1.1", "periodSeconds: 5"] {
            assert!(text.contains(both), "{both} is missing in {text}");
        }
    }

    #[test]
    fn the_second_update_meets_the_change_and_follows_a_rename() {
        let worker = "apps/photobox/worker.yaml";
        let ours = edit(&photobox("1.1"), SERVER, "memory: 512Mi", "memory: 1Gi");
        let ours = edit(&ours, worker, "replicas: 1", "replicas: 3");
        let merged = merge(Three { base: &photobox("1.1"), ours: &ours, theirs: &photobox("2.0") }, &Rules::default());
        let places: Vec<&str> = merged.conflicts.iter().map(|conflict| conflict.path.as_str()).collect();
        assert_eq!(places, [SERVER]);
        assert!(!merged.files.contains(worker));
        let text = merged.files.text("apps/photobox/worker-deployment.yaml").unwrap();
        assert!(text.contains("replicas: 3") && text.contains("server:2.0"), "{text}");
    }
}

const KUSTOMIZATION: (&str, &str) = ("kustomization.yaml", "resources: [a.yaml]\n");

fn package(files: &[(&str, &str)]) -> Package {
    let files: FileTree = files.iter().map(|(path, text)| (RepoPath::parse(path).unwrap(), File::text(text))).collect();
    load(&PackageName::parse("blog").unwrap(), &files).unwrap()
}

fn config_map(value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: {value}\n")
}

fn findings(files: &[(&str, &str)], values: &str) -> Vec<String> {
    run(&package(files), &[], &config(values)).map(|_| Vec::new()).unwrap_or_else(|findings| findings)
}

#[test]
fn a_generation_holds_rendered_files_the_manifest_and_the_view() {
    let a = config_map("{{ .x }}");
    let manifest = "version: '1'\ndefaultConfig: {x: y}\n";
    let files = [
        ("manifest.yaml", manifest),
        KUSTOMIZATION,
        ("a.yaml", a.as_str()),
        ("README.md", "{{ not a template"),
        ("docs/LICENSE", "{{"),
        ("empty.yaml", "{{ if false }}x{{ end }}\n"),
    ];
    let generated = run(&package(&files), &[], &config("")).unwrap();
    let text = |path: &str| generated.files.text(path).map(str::to_owned);
    assert_eq!(text("apps/blog/a.yaml"), Some(config_map("y")));
    assert_eq!(text("apps/blog/.package/a.yaml"), Some(a.clone()));
    assert_eq!(text("apps/blog/manifest.yaml").as_deref(), Some(manifest));
    assert_eq!(text("apps/blog/README.md").as_deref(), Some("{{ not a template"));
    assert_eq!(text("apps/blog/docs/LICENSE").as_deref(), Some("{{"));
    assert_eq!(text("apps/blog/empty.yaml"), None, "white space only is not written");
    assert!(generated.files.contains("apps/blog/.package/empty.yaml"));
    assert_eq!(generated.objects.len(), 1);
}

#[test]
fn binary_files_keep_their_bytes() {
    let mut package = package(&[("manifest.yaml", "version: '1'\n"), KUSTOMIZATION, ("a.yaml", &config_map("y"))]);
    let bytes: &[u8] = &[0x89, 0, b'{', b'{', 0xff];
    let file = File { bytes: bytes.into(), mode: crate::model::FileMode::Executable };
    package.files.insert(RepoPath::parse("icon.png").unwrap(), file.clone());
    assert_eq!(run(&package, &[], &config("")).unwrap().files.get("apps/blog/icon.png"), Some(&file));
}

#[test]
fn globs_copy_and_leave_out_files() {
    let files = [
        ("manifest.yaml", "version: '1'\nrender: {raw: ['*.sh'], skip: ['tests/**']}\n"),
        KUSTOMIZATION,
        ("a.yaml", &config_map("y")),
        ("run.sh", "echo {{ .none }}"),
        ("tests/b.yaml", "{{ .none }}"),
    ];
    let generated = run(&package(&files), &[], &config("")).unwrap();
    assert_eq!(generated.files.text("apps/blog/run.sh"), Some("echo {{ .none }}"));
    assert!(!generated.files.contains("apps/blog/tests/b.yaml"));
    assert!(generated.files.contains("apps/blog/.package/tests/b.yaml"));
}

#[test]
fn files_of_the_older_dialects_read_themselves_by_name() {
    let manifest = "name: blog\nversion: '1'\ndefaultConfig: {x: y}\nrequiredSecrets: [apps.blog.password]\n";
    for reads in ["{{ .apps.blog.x }}", "{{ (ds \"config\").apps.blog.x }}", "{{ .config.apps.blog.x }}"] {
        let files = [("manifest.yaml", manifest), KUSTOMIZATION, ("a.yaml", &config_map(reads))];
        let generated = run(&package(&files), &[], &config("apps: {other: {x: z}}")).unwrap();
        assert_eq!(generated.files.text("apps/blog/a.yaml"), Some(config_map("y").as_str()), "{reads}");
        assert!(generated.needs.naming.whole_paths);
        let stranger = config_map(&reads.replace(".blog.", ".other."));
        let files = [("manifest.yaml", manifest), KUSTOMIZATION, ("a.yaml", &stranger)];
        let found = findings(&files, "apps: {other: {x: z}}");
        assert!(found[0].contains("T221: the package does not require an app \"other\""), "{found:?}");
    }
}

#[test]
fn a_service_is_made_of_its_templates_alone() {
    let manifest = "name: blog\nserviceConfig:\n  pool: {path: cluster.pool, default: 10.0.0.1}\n";
    let files = [
        ("wild-manifest.yaml", manifest),
        ("kustomize.template/kustomization.yaml", "resources: [deep/a.yaml]\n"),
        ("kustomize.template/deep/a.yaml", &config_map("{{ .cluster.pool }}{{ .cloud.domain }}")),
        ("install.sh", "kubectl apply {{"),
        ("README.md", "{{"),
    ];
    let generated = run(&package(&files), &[], &config("cloud: {domain: d}")).unwrap();
    let paths: Vec<&str> =
        generated.files.paths().map(RepoPath::as_str).filter(|it| !it.contains(".package")).collect();
    let names = ["README.md", "deep/a.yaml", "kustomization.yaml", "manifest.yaml"];
    assert_eq!(paths, names.map(|name| format!("apps/blog/{name}")));
    assert_eq!(generated.files.text("apps/blog/deep/a.yaml"), Some(config_map("10.0.0.1d").as_str()));
    assert_eq!(generated.files.text("apps/blog/manifest.yaml"), Some(manifest));
    let view = generated.files.below("apps/blog/.package");
    assert_eq!(load(&PackageName::parse("blog").unwrap(), &view).unwrap().manifest.version, generated.record.version);
}

#[test]
fn a_service_without_values_still_says_what_it_is_under_its_new_name() {
    let files = [
        ("wild-manifest.yaml", "name: blog"),
        ("kustomize.template/kustomization.yaml", "resources: [a.yaml]\n"),
        ("kustomize.template/a.yaml", &config_map("x")),
    ];
    let generated = run(&package(&files), &[], &config("")).unwrap();
    assert_eq!(generated.files.text("apps/blog/manifest.yaml"), Some("name: blog\ndialect: service\n"));
}

#[test]
fn the_secret_of_another_app_is_read_only_if_the_manifest_asks_for_it() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    env:\n    - name: X\n      valueFrom: {secretKeyRef: {name: stonedb-secrets, key: password}}\n";
    let check = |fields: &str, expected: &[&str]| {
        let manifest = format!("version: '1'\nrequires: [{{name: stonedb, alias: db}}]\n{fields}");
        let package = package(&[("manifest.yaml", &manifest), KUSTOMIZATION, ("a.yaml", pod)]);
        let found = run(&package, &[("db", "rows")], &config("")).map(|_| Vec::new()).unwrap_or_else(|found| found);
        assert_eq!(found, expected);
    };
    check("requiredSecrets: [db.password]", &[]);
    let expected = "apps/blog/a.yaml:1: L005: an object reads the key password of stonedb-secrets, the Secret of another \
                    app; add db.password to requiredSecrets";
    check("", &[expected]);
}

#[test]
fn bindings_enter_the_manifest_and_nothing_else_changes() {
    let manifest = "version: '1' # as released\nrequires:\n  - name: stonedb\n    alias: db # rows\n  - quickcache\n\ndefaultConfig: {x: y}";
    let files = [("manifest.yaml", manifest), KUSTOMIZATION, ("a.yaml", &config_map("y"))];
    let generated = run(&package(&files), &[("db", "rows"), ("quickcache", "quickcache")], &config("")).unwrap();
    let written = generated.files.text("apps/blog/manifest.yaml").unwrap();
    let without: String = written.lines().filter(|line| !line.contains("installedAs")).collect::<Vec<_>>().join("\n");
    assert_eq!(without, manifest.replace("- quickcache", "- name: quickcache"), "{written}");
    let read = crate::package::read_manifest("", &PackageName::parse("blog").unwrap(), written).unwrap().manifest;
    let bound: Vec<String> =
        crate::package::bindings_of(&read).into_iter().map(|(reference, app)| format!("{reference}={app}")).collect();
    assert_eq!(bound, ["db=rows", "quickcache=quickcache"]);
}

#[test]
fn a_binding_that_would_land_at_another_requirement_is_refused() {
    let manifest = "version: '1'\nrequires:\n  - {name: stonedb, alias: db}\n  - {name: stonedb}\n";
    let files = [("manifest.yaml", manifest), KUSTOMIZATION, ("a.yaml", &config_map("y"))];
    let found = run(&package(&files), &[("db", "rows"), ("stonedb", "other")], &config("")).unwrap_err();
    assert_eq!(
        found,
        [
            "apps/blog/manifest.yaml:3: P059: installedAs cannot be written into the requirement db; give every requirement of this type an alias"
        ]
    );
}

#[test]
fn the_record_says_what_made_the_bytes() {
    let files = [
        ("manifest.yaml", "version: 1.10\ndefaultConfig: {x: y}\n"),
        KUSTOMIZATION,
        ("a.yaml", &config_map("{{ .x }}")),
    ];
    let record = run(&package(&files), &[], &config("apps: {blog: {x: z}}")).unwrap().record;
    assert_eq!((record.version.as_str(), record.format, record.deployed), ("1.10", 1, true));
    assert_eq!(record.upstream, "https://git.example.org/wild/directory.git");
    assert_eq!(Value::Object(record.defaults).to_string(), r#"{"x":"y"}"#);
    let other = run(&package(&files), &[], &config("apps: {blog: {x: y}}")).unwrap().record;
    assert_ne!(record.config, other.config);
}

#[test]
fn the_renderer_names_the_version_of_the_crate() {
    assert_eq!(super::RENDERER.split_once('+').unwrap().0, env!("CARGO_PKG_VERSION"));
}

#[test]
fn addresses_lose_their_credentials() {
    for (url, expected) in [
        ("https://me:word@host/a@b.git", "https://host/a@b.git"),
        ("https://host/a", "https://host/a"),
        ("https://token@host", "https://host"),
        ("/srv/git/directory.git", "/srv/git/directory.git"),
        ("git@host:a.git", "git@host:a.git"),
    ] {
        assert_eq!(without_credentials(url), expected);
    }
}

#[test]
fn errors_of_all_files_are_told_at_once() {
    let files = [
        ("manifest.yaml", "version: '1'\n"),
        KUSTOMIZATION,
        ("a.yaml", "x: {{ .one }}\n"),
        ("b.yaml", "x: 1\ny: {{ .two }}\n"),
    ];
    let places: Vec<String> =
        findings(&files, "").iter().map(|line| line.split(": T").next().unwrap().to_owned()).collect();
    assert_eq!(places.len(), 2);
    assert!(places[0].starts_with("apps/blog/a.yaml:1"), "{places:?}");
    assert!(places[1].starts_with("apps/blog/b.yaml:2"), "{places:?}");
}

#[test]
fn an_app_without_objects_is_refused() {
    let files = [
        ("manifest.yaml", "version: '1'\n"),
        ("kustomization.yaml", "resources: [a.yaml]\n"),
        ("a.yaml", "# nothing\n"),
    ];
    let found = findings(&files, "");
    assert!(found[0].contains("K121"), "{found:?}");
}

#[test]
fn a_copy_that_an_own_secret_hides_is_told() {
    let manifest = |key: &str| {
        format!(
            "version: '1'\nrequires: [{{name: stonedb, alias: db}}]\nrequiredSecrets: [db.password]\ndefaultSecrets: [{key}]\n"
        )
    };
    for (key, told) in [("dbPassword", 1), ("password", 0)] {
        let (manifest, map) = (manifest(key), config_map("1"));
        let files = [("manifest.yaml", manifest.as_str()), KUSTOMIZATION, ("a.yaml", map.as_str())];
        let generated = run(&package(&files), &[("db", "stonedb")], &Config(serde_json::Map::new())).unwrap();
        let found = generated.diagnostics.iter().filter(|finding| finding.id == "P061");
        assert_eq!(found.map(|finding| finding.line).collect::<Vec<_>>(), vec![4; told], "{key}");
    }
}

#[test]
fn a_key_that_nobody_makes_is_named_with_its_object() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      env: [{name: X, valueFrom: {secretKeyRef: {name: blog-secrets, key: token}}}]\n";
    let files = [("manifest.yaml", "version: '1'\n"), KUSTOMIZATION, ("a.yaml", pod)];
    assert_eq!(
        findings(&files, ""),
        [
            "apps/blog/a.yaml:1: P062: an object reads the key token of blog-secrets, which the manifest does not name; add token to defaultSecrets or requiredSecrets"
        ]
    );
    let files = [("manifest.yaml", "version: '1'\ndefaultSecrets: [token]\n"), KUSTOMIZATION, ("a.yaml", pod)];
    assert_eq!(findings(&files, ""), [""; 0]);
}

#[test]
fn a_value_that_changes_the_structure_is_refused_with_its_key() {
    let files = [("manifest.yaml", "version: '1'\n"), KUSTOMIZATION, ("a.yaml", &config_map("{{ .x }}"))];
    assert_eq!(
        findings(&files, "apps: {blog: {x: \"y\\n  z: 1\"}}"),
        [
            "apps/blog/a.yaml: T310: the value of the config key x changes the structure of the file; write {{ .x | quote }} or {{ .x | toJSON }} in the template, or change the value"
        ]
    );
}

#[test]
fn two_generations_of_equal_inputs_are_equal() {
    let last = history().pop().unwrap();
    let listing = list(&last.files, "");
    assert_eq!(listing.packages.len(), 4);
    let package = load(&PackageName::parse("stonedb").unwrap(), &last.files.below("stonedb")).unwrap();
    assert_eq!(run(&package, &[], &config("")), run(&package, &[], &config("")));
}

#[test]
fn secret_values_in_a_package_are_refused() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {key: value}\n";
    let files = [("manifest.yaml", "version: '1'\n"), KUSTOMIZATION, ("a.yaml", secret)];
    assert_eq!(
        findings(&files, ""),
        [
            "apps/blog/a.yaml:1: L024: the Secret a holds values, which would be committed; name its keys in defaultSecrets and read them from <app>-secrets"
        ]
    );
    let empty = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n";
    let files = [("manifest.yaml", "version: '1'\n"), KUSTOMIZATION, ("a.yaml", empty)];
    assert_eq!(findings(&files, ""), [""; 0]);
}

#[test]
fn a_secret_of_another_app_is_a_warning() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {volumes: [{name: v, secret: {secretName: rows-secrets}}]}\n";
    let files = [("manifest.yaml", "version: '1'\n"), KUSTOMIZATION, ("a.yaml", pod)];
    let warnings = run(&package(&files), &[], &config("")).unwrap().diagnostics;
    let found: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        ["apps/blog/a.yaml:1: L005: Pod/a reads the Secret rows-secrets, but this app's is blog-secrets"]
    );
}

#[test]
fn ignored_files_stay_in_the_view() {
    let files = [
        ("manifest.yaml", "version: '1'\n"),
        (".wildignore", "tests/\n"),
        KUSTOMIZATION,
        ("a.yaml", &config_map("y")),
        ("tests/b.yaml", "{{ .none }}"),
    ];
    let generated = run(&package(&files), &[], &config("")).unwrap();
    let paths: Vec<&str> =
        generated.files.paths().map(RepoPath::as_str).filter(|path| !path.contains(".package")).collect();
    assert_eq!(paths, ["apps/blog/a.yaml", "apps/blog/kustomization.yaml", "apps/blog/manifest.yaml"]);
    assert!(generated.files.contains("apps/blog/.package/tests/b.yaml"));
}

mod laws {
    //! What holds for every value that a person may set.

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Places of a value; the last two want a value that brings structure along, and one that is no word of ours.
    const FORMS: [&str; 7] = [
        "{{ .x }}",
        "\"{{ .x }}\"",
        "'{{ .x }}'",
        "[{{ .x }}]",
        "pre {{ .x }} post",
        "a\n{{ .x }}",
        "{{ if regexp.Match \"Wq\" .x }}{{ test.Fail \"\" }}{{ end }}{{ .x }}",
    ];

    /// Texts made of what means something to YAML, templates and quotes.
    fn hostile() -> impl Strategy<Value = String> {
        let parts = [
            "a",
            "word",
            " ",
            "\n",
            "\n  ",
            ": ",
            ":",
            "- ",
            "#",
            " # ",
            "\"",
            "'",
            "\\",
            "[",
            "]",
            "{",
            "}",
            "{{",
            "}}",
            "---",
            "...",
            "&a",
            "*a",
            "!t",
            "|",
            ">",
            "%",
            "@",
            "`",
            ",",
            "?",
            "~",
            "null",
            "yes",
            "0755",
            "\t",
            "ä",
            "key: value",
            "\r\n",
        ];
        // An empty text is no insertion: templates ask for it with `if`.
        prop::collection::vec(prop::sample::select(parts.to_vec()), 1..6).prop_map(|parts| parts.concat())
    }

    /// Keys of maps and lengths of lists, with every scalar left out.
    fn shape(value: &Value) -> Value {
        match value {
            Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), shape(value))).collect(),
            Value::Array(items) => items.iter().map(shape).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Value::Null,
        }
    }

    fn built(template: &str, value: &str) -> Option<Vec<Value>> {
        let text = format!("{}  z: end\n", config_map(template));
        let files = [("manifest.yaml", "version: '1'\n"), KUSTOMIZATION, ("a.yaml", text.as_str())];
        let config = Config(json!({"apps": {"blog": {"x": value}}}).as_object().unwrap().clone());
        let generated = run(&package(&files), &[], &config).ok()?;
        Some(generated.objects.iter().map(|built| shape(&built.object.to_value())).collect())
    }

    proptest! {
        #[test]
        fn no_value_adds_or_removes_anything_without_an_error(value in hostile(), form in 0..FORMS.len()) {
            if let Some(found) = built(FORMS[form], &value) {
                prop_assert_eq!(Some(found), built(FORMS[form], "word"));
            }
        }

        #[test]
        fn a_value_written_as_json_is_always_accepted_and_kept(value in hostile()) {
            let text = config_map("{{ .x | toJSON }}");
            let files = [("manifest.yaml", "version: '1'\n"), KUSTOMIZATION, ("a.yaml", text.as_str())];
            let config = Config(json!({"apps": {"blog": {"x": value}}}).as_object().unwrap().clone());
            let generated = run(&package(&files), &[], &config).unwrap();
            prop_assert_eq!(generated.objects[0].object.at(&["data", "x"]).unwrap(), &Value::from(value));
        }
    }
}
