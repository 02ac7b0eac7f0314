//! The tools for authors as they are typed.
//!
//! Not here: rules (`compile::lint`), what a test may say (`compile::trial`).

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde_json::Value;

use crate::cli::{Captured, Surroundings, run};

async fn wild(directory: &Path, line: &str, input: &str) -> (u8, Captured) {
    let mut out = Captured { given: input.to_owned(), ..Captured::default() };
    let words = line.split(' ').map(OsString::from).collect();
    let code = run(words, Surroundings::bare(directory), &mut out).await;
    (code.number(), out)
}

#[tokio::test]
async fn a_new_package_is_examined_shown_and_tested() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    assert_eq!(wild(at, "wild package new blog", "").await.0, 0);
    assert_eq!(wild(at, "wild package new blog", "").await.0, 2, "nothing is written over");
    let (code, out) = wild(at, "wild package lint blog", "").await;
    assert_eq!((code, out.data.as_str()), (0, ""), "{out:?}");
    let (code, out) = wild(at, "wild package preview blog", "").await;
    assert!(code == 0 && out.data.starts_with("apiVersion: v1\nkind: Namespace\n"), "{out:?}");
    let tests = at.join("_tests/blog");
    std::fs::create_dir_all(&tests).unwrap();
    std::fs::write(tests.join("a.yaml"), "objects: [{kind: Service, metadata: {name: blog}}]\n").unwrap();
    assert_eq!(wild(at, "wild package test blog", "").await.0, 0);
    std::fs::write(tests.join("b.yaml"), "absent: [{kind: Service}]\n").unwrap();
    let (code, out) = wild(at, "wild package test blog", "").await;
    assert_eq!(
        (code, out.data.as_str()),
        (1, "passed a.yaml\nfailed b.yaml\n  Service/ comes out\n1 passed, 1 failed\n")
    );
}

#[tokio::test]
async fn what_a_package_gives_is_deployed_onto_a_cluster_in_memory() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    wild(at, "wild package new blog", "").await;
    let tests = at.join("_tests/blog");
    std::fs::create_dir_all(&tests).unwrap();
    std::fs::write(tests.join("a.yaml"), "objects: [{kind: Service, metadata: {name: blog}}]\n").unwrap();
    let service = at.join("blog/service.yaml");
    let text = std::fs::read_to_string(&service).unwrap();
    let widget = "---\napiVersion: example.org/v1\nkind: Widget\nmetadata:\n  name: w\n";
    std::fs::write(&service, format!("{}\n{widget}", text.trim_end())).unwrap();
    let (code, out) = wild(at, "wild package test blog", "").await;
    let left_out = "  Widget/w was not deployed: the cluster has no such kind\n";
    assert_eq!(
        (code, out.data.as_str()),
        (0, format!("passed a.yaml\n{left_out}1 passed, 0 failed\n").as_str()),
        "{out:?}"
    );
    std::fs::write(&service, text.replace("port: 80", "port: 80000")).unwrap();
    let (code, out) = wild(at, "wild package test blog", "").await;
    assert!(code == 1 && out.data.contains("failed a.yaml\n  Service/blog is refused: "), "{out:?}");
}

#[tokio::test]
async fn a_version_is_compared_with_an_older_one() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    for folder in [at.to_owned(), at.join("old")] {
        std::fs::create_dir_all(&folder).unwrap();
        wild(&folder, "wild package new blog", "").await;
    }
    let (code, out) = wild(at, "wild package lint blog --against old/blog", "").await;
    assert_eq!((code, out.data.as_str()), (0, ""), "{out:?}");
    let service = at.join("blog/service.yaml");
    let text = std::fs::read_to_string(&service).unwrap();
    std::fs::write(&service, text.replace("port: 80", "port: 81")).unwrap();
    let (code, out) = wild(at, "wild package lint blog --against old/blog", "").await;
    assert!(code == 1 && out.data.contains("B15") && out.data.contains("its ports are 81 and were 80"), "{out:?}");
    assert!(out.data.contains("L030") && out.data.contains("the version is still 0.1.0"), "{out:?}");
    assert_eq!(wild(at, "wild package lint blog old/blog --against old/blog", "").await.0, 2);
}

#[tokio::test]
async fn findings_are_told_to_people_programs_and_scanners() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    wild(at, "wild package new blog", "").await;
    let service = at.join("blog/service.yaml");
    let text = std::fs::read_to_string(&service).unwrap();
    std::fs::write(&service, text.replace("targetPort: http", "targetPort: web")).unwrap();
    let (code, out) = wild(at, "wild package lint blog", "").await;
    assert!(code == 1 && out.data.contains("L031") && out.data.contains("blog/service.yaml:1"), "{out:?}");
    let (_, out) = wild(at, "wild package lint blog -o json", "").await;
    let document: Value = serde_json::from_str(&out.data).unwrap();
    let finding = &document["findings"][0];
    assert_eq!((&finding["severity"], &finding["installing"]), (&Value::from("error"), &Value::from("warning")));
    let (_, out) = wild(at, "wild package lint blog -o sarif", "").await;
    let log: Value = serde_json::from_str(&out.data).unwrap();
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "L031");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "blog/service.yaml");
    assert_eq!(place["region"]["startLine"], 1);
    let rule =
        &log["runs"][0]["tool"]["driver"]["rules"][usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
    assert_eq!((&rule["id"], &rule["defaultConfiguration"]["level"]), (&Value::from("L031"), &Value::from("error")));
    assert_eq!(rule["shortDescription"]["text"], "a reference names nothing that is there");
}

#[tokio::test]
async fn a_batch_is_rendered_line_by_line() {
    let scratch = tempfile::tempdir().unwrap();
    let cases = [
        r#"{"name":"a","template":"{{ .x }}!","context":{"x":1}}"#,
        r#"{"name":"b","template":"{{ .x }}","context":"x: yes"}"#,
        r#"{"name":"c","template":"{{ .y }}","context":{}}"#,
    ];
    let (code, out) = wild(scratch.path(), "wild debug render-batch", &cases.join("\n")).await;
    let answers: Vec<Value> = out.data.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(code, 0);
    assert_eq!((&answers[0]["output"], &answers[1]["output"]), (&Value::from("1!"), &Value::from("yes")));
    assert!(answers[2]["error"].as_str().unwrap().contains("T201"), "{answers:?}");
    assert_eq!(wild(scratch.path(), "wild debug render-batch", "no case").await.0, 2);
}

/// Puts a file of a package below a directory.
fn put(directory: &Path, path: &str, bytes: &[u8]) {
    let path = directory.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn a_bad_package_is_refused_with_rule_file_and_line_while_others_are_examined() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    wild(at, "wild package new garden", "").await;
    std::fs::remove_file(at.join("garden/README.md")).unwrap();
    let neighbour = "garden/";
    let bomb = (1..=9).fold("a0: &a0 x\n".to_owned(), |text, level| {
        let before = vec![format!("*a{}", level - 1); 9].join(", ");
        text + &format!("a{level}: &a{level} [{before}]\n")
    });
    for (file, text, id, place) in [
        ("service.yaml", "a: {{ .domain\n", "T110", "service.yaml:"),
        ("service.yaml", "a: 1\nb: {{ toUpperCase .domain }}\n", "T112", "service.yaml:2"),
        ("service.yaml", "a: {{ getenv \"HOME\" }}\n", "T210", "service.yaml:1"),
        (
            "service.yaml",
            "{{ define \"t\" }}{{ template \"t\" }}{{ end }}{{ template \"t\" }}",
            "T106",
            "service.yaml:1",
        ),
        ("service.yaml", "{{ range 100 }}{{ strings.Repeat 1000000 \"a\" }}{{ end }}", "T104", "service.yaml:1"),
        ("service.yaml", &bomb, "Y120", "service.yaml:"),
        ("service.yaml", "kind: A\nkind: B\n", "Y106", "service.yaml:2"),
        ("kustomization.yaml", "resources: [../garden]\n", "K131", "kustomization.yaml:1"),
        ("kustomization.yaml", "resources: [/etc]\n", "K131", "kustomization.yaml:1"),
        ("kustomization.yaml", "resources: [.]\n", "K131", "kustomization.yaml:1"),
        ("manifest.yaml", "version: 1.0.0\nis: a\nis: b\n", "L001", "manifest.yaml:3"),
        ("manifest.yaml", "version: 1.0.0\nrequires: 5\n", "P002", "manifest.yaml:2"),
        ("manifest.yaml", "version: 1.0.0\ndefaultConfig:\n  a: {{ .cloud.domain }}\n", "L002", "manifest.yaml:3"),
    ] {
        let _ = std::fs::remove_dir_all(at.join("blog"));
        wild(at, "wild package new blog", "").await;
        put(at, &format!("blog/{file}"), text.as_bytes());
        let (code, out) = wild(at, "wild package lint blog garden", "").await;
        let line = out.data.lines().find(|line| line.starts_with(id)).unwrap_or_default();
        assert!(code == 1 && line.contains(&format!("blog/{place}")), "{id} {text:.40}: {out:?}");
        assert!(out.data.contains(neighbour), "{text:.40}: the neighbour is examined: {out:?}");
        assert_eq!(wild(at, "wild package preview blog", "").await.0, 2, "{text:.40}");
    }
}

#[tokio::test]
async fn what_no_package_may_hold_is_refused_and_never_left_out_silently() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    for package in ["garden", "blog", "My_Blog"] {
        wild(at, &format!("wild package new {package}"), "").await;
    }
    assert!(!at.join("My_Blog").exists());
    std::fs::create_dir(at.join("My_Blog")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", at.join("blog/link.yaml")).unwrap();
    put(at, "blog/big.bin", &vec![0; (4 << 20) + 1]);
    std::fs::write(at.join("blog").join(std::ffi::OsStr::from_bytes(b"a\xff")), "").unwrap();
    let (code, out) = wild(at, "wild package lint blog", "").await;
    assert_eq!(code, 1, "{out:?}");
    for (id, place) in [("P010", "blog/link.yaml"), ("P012", "blog/big.bin"), ("P010", "blog/a\u{fffd}")] {
        assert!(out.data.lines().any(|line| line.starts_with(id) && line.contains(place)), "{id} {place}: {out:?}");
    }
    let (code, out) = wild(at, "wild package preview blog", "").await;
    assert!(code == 2 && out.data.is_empty() && out.notes.contains("P01"), "{out:?}");
    std::fs::remove_file(at.join("garden/README.md")).unwrap();
    let (code, out) = wild(at, "wild package lint My_Blog nowhere garden", "").await;
    assert!(code == 2 && out.data.contains("garden/manifest.yaml") && out.notes.contains("P003"), "{out:?}");
    assert!(out.notes.contains("nowhere"), "{out:?}");
    put(at, "garden/service.yaml", b"a: \xff\n");
    let (code, out) = wild(at, "wild package lint garden", "").await;
    assert!(code == 1 && out.data.contains("garden/service.yaml"), "{out:?}");
    put(at, "config.yaml", b"- a\n");
    let (code, out) = wild(at, "wild package preview garden --config config.yaml", "").await;
    assert!(code == 2 && out.notes.contains("no map of sections"), "{out:?}");
}

#[tokio::test]
async fn a_preview_tells_what_is_odd_beside_the_objects() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    wild(at, "wild package new blog", "").await;
    let manifest = std::fs::read_to_string(at.join("blog/manifest.yaml")).unwrap();
    let service = std::fs::read_to_string(at.join("blog/service.yaml")).unwrap();
    put(
        at,
        "blog/manifest.yaml",
        manifest.replace("defaultConfig:\n", "defaultConfig:\n  note: \"0755\"\n").as_bytes(),
    );
    put(
        at,
        "blog/service.yaml",
        service.replacen("metadata:\n", "metadata:\n  annotations: {a: {{ .note }}}\n", 1).as_bytes(),
    );
    let (code, out) = wild(at, "wild package preview blog", "").await;
    assert!(code == 0 && out.notes.contains("T312"), "{out:?}");
}
