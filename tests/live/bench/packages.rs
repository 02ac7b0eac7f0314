//! Rendering and building packages in one process, against one gomplate and one kustomize process per app.
//!
//! Every output is compared with that of the real tools. Not here: writing to a cluster (`install.rs`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use rewild::base::RepoPath;
use rewild::model::{File, FileTree};
use rewild::template::Context;
use rewild::{kustomize, template};
use serde_json::{Value, json};

use crate::Size;
use crate::figures::{Samples, count, ratio};
use crate::parts::{Scratch, command, part};

/// Apps that the real tools render and build; a process each, so a few tell the time of many.
const SPAWNED: usize = 40;
/// Objects of the large kustomization.
const OBJECTS: usize = 4_000;
/// Objects of one of its files; a file holds at most 1,000 documents.
const OBJECTS_PER_FILE: usize = 800;
/// Builds of the large kustomization.
const BUILDS: usize = 5;
/// Bytes of the text whose rendering is timed.
const TEXT_BYTES: usize = 900_000;

/// Runs and prints.
pub(crate) fn run(size: &Size) {
    let gomplate = part("gomplate").expect("the parts are named in the environment").join("gomplate-oracle");
    let tool = part("kustomize").expect("the parts are named in the environment").join("kustomize");
    let scratch = Scratch::new("bench").unwrap();
    many_apps(size, &scratch, &gomplate, &tool);
    one_text();
    one_large_build(&scratch, &tool);
}

fn many_apps(size: &Size, scratch: &Scratch, gomplate: &Path, tool: &Path) {
    let before = peak_kib();
    let mut ours = Samples::default();
    let mut built = Vec::new();
    let begun = Instant::now();
    for number in 0..size.apps {
        let at = Instant::now();
        let printed = our_build(&files(), &config(number));
        ours.add(at.elapsed());
        built.push(printed);
    }
    count(&format!("{} apps rendered and built here, seconds", size.apps), begun.elapsed().as_secs_f64());
    count("peak memory above the begin, MiB (outputs kept)", (peak_kib() - before) / 1024);
    ours.print("one app, here");
    let one = ours.median();
    let mut theirs = Samples::default();
    for (number, ours) in built.iter().enumerate().take(SPAWNED) {
        let directory = scratch.path().join(format!("app-{number}"));
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

fn one_large_build(scratch: &Scratch, tool: &Path) {
    let directory = scratch.path().join("large");
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
