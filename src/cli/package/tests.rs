//! The tools for authors as they are typed.
//!
//! Not here: rules (`compile::lint`), what a test may say (`compile::trial`).

use std::ffi::OsString;
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
