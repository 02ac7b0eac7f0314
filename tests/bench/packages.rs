//! Benches of packages, run by hand: rendering and building in this process, against one gomplate and one kustomize process per app.
//!
//! ```text
//! for line in $(tests/parts/build gomplate kustomize); do part=${line%%=*}; export "WILD_PART_${part^^}=${line#*=}"; done
//! cargo bench --bench packages      (the same in tests/fuzz, with --features bench, without building the rest of the product)
//! ```
//!
//! `WILD_BENCH_APPS` (1000) apps are built here and `WILD_BENCH_SPAWNED` (100) of them by the real tools, whose output must be the same.
//! Nothing here asserts a time.
//!
//! Not here: writing to a cluster (`tests/live/bench`).
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench prints what it found, and ends where something is amiss"
)]

#[path = "../live/bench/figures.rs"]
mod figures;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use rewild::base::RepoPath;
use rewild::model::{File, FileTree};
use rewild::template::Context;
use rewild::{kustomize, template};
use serde_json::{Value, json};

use figures::{Samples, count, ratio};

/// Objects of the large kustomization.
const OBJECTS: usize = 4_000;
/// Objects of one of its files; a file holds at most 1,000 documents.
const OBJECTS_PER_FILE: usize = 800;
/// Builds of the large kustomization.
const BUILDS: usize = 5;
/// Bytes of the text whose rendering is timed.
const TEXT_BYTES: usize = 900_000;

fn main() {
    let (gomplate, tool) = (part("GOMPLATE", "gomplate-oracle"), part("KUSTOMIZE", "kustomize"));
    let scratch = tempfile::tempdir().unwrap();
    many_apps(scratch.path(), &gomplate, &tool);
    one_text();
    one_large_build(scratch.path(), &tool);
}

/// Returns a program of a part.
fn part(name: &str, program: &str) -> PathBuf {
    let directory = std::env::var_os(format!("WILD_PART_{name}")).expect("tests/parts/build names the parts");
    Path::new(&directory).join(program)
}

/// Returns a program that begins in a directory and knows nothing of ours.
fn command(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory).env_clear().env("HOME", directory).env("TZ", "UTC");
    command
}

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn many_apps(scratch: &Path, gomplate: &Path, tool: &Path) {
    let apps = number("WILD_BENCH_APPS", 1_000);
    let before = peak_kib();
    let mut ours = Samples::default();
    let mut built = Vec::new();
    let begun = Instant::now();
    for number in 0..apps {
        let at = Instant::now();
        let printed = our_build(&files(), &config(number));
        ours.add(at.elapsed());
        built.push(printed);
    }
    count(&format!("{apps} apps rendered and built here, seconds"), begun.elapsed().as_secs_f64());
    count("peak memory above the begin, MiB (outputs kept)", (peak_kib() - before) / 1024);
    ours.print("one app, here");
    let one = ours.median();
    let mut theirs = Samples::default();
    for (number, ours) in built.iter().enumerate().take(number("WILD_BENCH_SPAWNED", 100)) {
        let directory = scratch.join(format!("app-{number}"));
        let at = Instant::now();
        let printed = their_build(&directory, gomplate, tool, &config(number));
        theirs.add(at.elapsed());
        assert_eq!(printed, *ours, "app {number}");
    }
    theirs.print("one app, one gomplate and one kustomize process");
    ratio("processes against here, one app", theirs.median(), one);
}

fn one_text() {
    let line =
        "key-{{ .name }}: {{ .image | quote }} {{ if .flag }}{{ printf \"%05d\" .port }}{{ else }}none{{ end }}\n";
    let text = line.repeat(TEXT_BYTES / line.len() / 10);
    let context = Context::new(config(1));
    let mut samples = Samples::default();
    let mut produced = 0;
    for _ in 0..BUILDS {
        let at = Instant::now();
        produced = template::render("text.txt", &text, &context).unwrap().text.len();
        samples.add(at.elapsed());
    }
    samples.print(&format!("a template of {} KiB", text.len() / 1024));
    let seconds = samples.median().as_secs_f64();
    count("template read, MB/s", format!("{:.1}", text.len() as f64 / seconds / 1e6));
    count("text written, MB/s", format!("{:.1}", produced as f64 / seconds / 1e6));
}

fn one_large_build(scratch: &Path, tool: &Path) {
    let directory = scratch.join("large");
    std::fs::create_dir_all(&directory).unwrap();
    let mut files = Vec::new();
    let mut resources = Vec::new();
    for first in (0..OBJECTS).step_by(OBJECTS_PER_FILE) {
        let mut objects = String::new();
        for number in first..first + OBJECTS_PER_FILE {
            write!(
                objects,
                "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{number}\ndata:\n  k: \"{number}\"\n"
            )
            .unwrap();
        }
        resources.push(format!("from-{first}.yaml"));
        files.push((format!("from-{first}.yaml"), objects));
    }
    let mut kustomization = format!(
        "namespace: large\nnamePrefix: p-\nlabels:\n- pairs: {{app: large}}\nresources: [{}]\npatches:\n",
        resources.join(", ")
    );
    for number in 0..20 {
        write!(kustomization, "- patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata:\n      name: c{number}\n    data:\n      k: patched\n").unwrap();
    }
    files.push(("kustomization.yaml".to_owned(), kustomization));
    let mut tree = FileTree::new();
    for (name, text) in &files {
        std::fs::write(directory.join(name), text).unwrap();
        tree.insert(RepoPath::parse(name).unwrap(), File::text(text));
    }
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    for _ in 0..BUILDS {
        let at = Instant::now();
        let printed = kustomize::render(&kustomize::build(&tree, "").unwrap());
        ours.add(at.elapsed());
        let at = Instant::now();
        let output = command(tool, &directory).arg("build").arg(&directory).output().unwrap();
        theirs.add(at.elapsed());
        assert!(printed == String::from_utf8(output.stdout).unwrap(), "the large build differs");
    }
    ours.print(&format!("{OBJECTS} objects with 20 patches, here"));
    theirs.print(&format!("{OBJECTS} objects with 20 patches, kustomize build"));
    ratio("kustomize against here", theirs.median(), ours.median());
}

/// Returns the files of an app: six templates with four objects, and the kustomization.
fn files() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([
        (
            "kustomization.yaml",
            "namespace: {{ .namespace }}\nlabels:\n- includeSelectors: true\n  pairs: {app: {{ .name }}, managedBy: kustomize, partOf: wild-cloud}\nresources:\n- deployment.yaml\n- service.yaml\n- configmap.yaml\n- ingress.yaml\n",
        ),
        (
            "deployment.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .name }}\nspec:\n  replicas: {{ .replicas }}\n  selector:\n    matchLabels:\n      component: web\n  template:\n    metadata:\n      labels:\n        component: web\n    spec:\n      containers:\n      - name: main\n        image: {{ .image }}\n        env:\n        - name: HOST\n          value: {{ .host | quote }}\n{{- range $key, $value := .env }}\n        - name: {{ $key }}\n          value: {{ $value | quote }}\n{{- end }}\n        ports:\n        - containerPort: {{ .port }}\n        resources:\n          limits:\n            memory: {{ .memory }}\n",
        ),
        (
            "service.yaml",
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .name }}\nspec:\n  selector:\n    component: web\n  ports:\n  - port: {{ .port }}\n",
        ),
        (
            "configmap.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .name }}\ndata:\n  title: {{ .title | quote }}\n  language: {{ .language }}\n{{- if .flag }}\n  flag: \"on\"\n{{- end }}\n  limit: \"{{ add .limit 1 }}\"\n  colour: {{ strings.ToUpper .colour | quote }}\n",
        ),
        (
            "ingress.yaml",
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: {{ .name }}\nspec:\n  rules:\n  - host: {{ .domain }}\n    http:\n      paths:\n      - path: {{ .path }}\n        pathType: Prefix\n        backend:\n          service:\n            name: {{ .name }}\n            port:\n              number: {{ .port }}\n",
        ),
        (
            "notes.txt",
            "{{ .title }} runs at https://{{ .domain }}{{ .path }} for {{ .owner }}.\n{{ range .words }}- {{ . }}\n{{ end }}",
        ),
        ("settings.env", "HOST={{ .host }}\nZONE={{ .zone }}\nMODE={{ default \"plain\" .mode }}\n"),
    ])
}

/// Returns a config of twenty keys.
fn config(number: usize) -> Value {
    json!({
        "name": format!("app{number}"), "namespace": format!("ns{number}"), "replicas": 2, "port": 8080 + number % 100,
        "image": format!("registry.example.org/app:{number}.1"), "host": "db.example.org", "memory": "256Mi",
        "title": format!("App {number}: \"quoted\""), "language": "en", "flag": number.is_multiple_of(2), "limit": number,
        "colour": "green", "domain": format!("app{number}.example.org"), "path": "/", "owner": "me", "zone": "a", "mode": "",
        "words": ["one", "two"], "env": {"A": "1", "B": "two words"}, "size": "5Gi",
    })
}

fn our_build(files: &BTreeMap<&'static str, &'static str>, config: &Value) -> String {
    let context = Context::new(config.clone());
    let mut tree = FileTree::new();
    for (path, text) in files {
        let rendered = template::render(path, text, &context).unwrap().text;
        tree.insert(RepoPath::parse(path).unwrap(), File::text(&rendered));
    }
    kustomize::render(&kustomize::build(&tree, "").unwrap())
}

fn their_build(directory: &Path, gomplate: &Path, tool: &Path, config: &Value) -> String {
    std::fs::create_dir_all(directory).unwrap();
    let mut child = command(gomplate, directory).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut questions = String::new();
    let files = files();
    for (path, text) in &files {
        writeln!(questions, "{}", json!({"name": path, "template": text, "context": config})).unwrap();
    }
    child.stdin.take().unwrap().write_all(questions.as_bytes()).unwrap();
    let answers = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    for (path, line) in files.keys().zip(answers.lines()) {
        let answer: Value = serde_json::from_str(line).unwrap();
        assert_eq!(answer["error"], "", "{path}");
        std::fs::write(directory.join(path), answer["output"].as_str().unwrap()).unwrap();
    }
    let output = command(tool, directory).arg("build").arg(directory).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the largest resident size of this process so far.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
