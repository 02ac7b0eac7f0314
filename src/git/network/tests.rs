//! Fetch, push and list against remotes on the disk and a server on loopback, with the real git program.
//!
//! Not here: forges.

use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use super::super::address::Egress;
use super::super::fixture::{Instance, change, run_git};
use super::super::remote_url::Allowed;
use super::*;

const MAIN: &str = "refs/heads/main";
const UPSTREAM: &str = "refs/wild/upstream/home/main";

fn remote(path: &Path, ours: &Instance) -> Remote {
    Remote {
        url: RemoteUrl::parse(path.to_str().unwrap(), Allowed::Local).unwrap(),
        credential: None,
        egress: Egress::Any,
        scratch: ours.repository.git_dir().join("../quarantine"),
    }
}

fn main_to_upstream() -> [FetchRef; 1] {
    [FetchRef { from: MAIN.to_owned(), to: UPSTREAM.to_owned() }]
}

async fn fetched(ours: &Instance, remote: &Remote) -> FetchedRef {
    fetch(&ours.repository, remote, &main_to_upstream(), Scope::Whole).await.unwrap().refs.remove(0)
}

fn nothing_left(remote: &Remote) {
    assert_eq!(std::fs::read_dir(&remote.scratch).unwrap().count(), 0, "throw-away directories are gone");
}

#[tokio::test]
async fn a_fetch_creates_moves_forward_and_then_changes_nothing() {
    let (ours, theirs) = (Instance::bare().await, Instance::bare().await);
    let remote = remote(theirs.repository.path(), &ours);
    let first = theirs.commit(&[("ghost/manifest.yaml", "name: ghost\n")], "first").await;
    let created = fetched(&ours, &remote).await;
    assert_eq!((created.old, created.new, created.moved), (None, first.clone(), Moved::Created));
    assert_eq!(ours.repository.read_ref(UPSTREAM).await.unwrap(), Some(first.clone()));
    assert_eq!(ours.repository.read_tree(&first, &["ghost"]).await.unwrap().len(), 1);
    assert_eq!(fetched(&ours, &remote).await.moved, Moved::Unchanged);
    let second = theirs.commit(&[("ghost/manifest.yaml", "name: ghost\nversion: 2\n")], "second").await;
    assert_eq!(fetched(&ours, &remote).await.moved, Moved::Forward);
    assert_eq!(ours.repository.diff_paths(Some(&first), &second).await.unwrap().len(), 1);
    assert_eq!(ours.git(&["fsck", "--connectivity-only"]), "");
    nothing_left(&remote);
}

#[tokio::test]
async fn a_rewound_remote_moves_no_ref_but_its_objects_can_be_looked_at() {
    let (ours, theirs) = (Instance::bare().await, Instance::bare().await);
    let remote = remote(theirs.repository.path(), &ours);
    let first = theirs.commit(&[("a", "1")], "first").await;
    fetched(&ours, &remote).await;
    theirs.repository.delete_ref(MAIN, &first).await.unwrap();
    let other = theirs.commit(&[("a", "2")], "other").await;
    let rewound = fetched(&ours, &remote).await;
    assert_eq!((rewound.old, rewound.moved), (Some(first.clone()), Moved::Rewound));
    assert_eq!(ours.repository.read_ref(UPSTREAM).await.unwrap(), Some(first));
    assert_eq!(ours.repository.read_tree(&other, &[]).await.unwrap().text("a"), Some("2"));
}

#[tokio::test]
async fn hostile_trees_of_a_remote_are_refused_and_leave_nothing() {
    let (ours, theirs) = (Instance::bare().await, Instance::bare().await);
    let remote = remote(theirs.repository.path(), &ours);
    theirs.commit(&[("a", "1"), ("A", "2")], "same name twice on some file systems").await;
    let error = fetch(&ours.repository, &remote, &main_to_upstream(), Scope::Whole).await.unwrap_err();
    assert!(matches!(&error, Error::Hostile { source, .. } if source.rule == "tree/duplicate"), "{error}");
    assert!(ours.repository.list_refs("").await.unwrap().is_empty());
    assert_eq!(std::fs::read_dir(ours.repository.git_dir().join("objects/pack")).unwrap().count(), 0);
    nothing_left(&remote);
}

#[tokio::test]
async fn a_link_in_an_upstream_breaks_only_the_package_that_holds_it() {
    let (ours, theirs) = (Instance::bare().await, Instance::with(super::super::Layout::WorkTree).await);
    let root = theirs.repository.path().to_owned();
    std::fs::create_dir_all(root.join("ghost")).unwrap();
    std::fs::create_dir_all(root.join("linked")).unwrap();
    std::fs::write(root.join("ghost/x"), "1").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", root.join("linked/x")).unwrap();
    run_git(&root, &["add", "."]);
    run_git(&root, &["commit", "-q", "-m", "first"]);
    let found = fetched(&ours, &remote(&root, &ours)).await;
    assert_eq!(ours.repository.read_tree(&found.new, &["ghost"]).await.unwrap().len(), 1);
    ours.repository.read_tree(&found.new, &["linked"]).await.unwrap_err();
}

#[tokio::test]
async fn a_missing_branch_is_an_error_with_gits_reason() {
    let (ours, theirs) = (Instance::bare().await, Instance::bare().await);
    let remote = remote(theirs.repository.path(), &ours);
    let error = fetch(&ours.repository, &remote, &main_to_upstream(), Scope::Whole).await.unwrap_err();
    assert!(crate::base::chain(&error).contains("couldn't find remote ref"), "{error}");
}

#[tokio::test]
async fn a_push_moves_forward_and_is_never_forced() {
    let (ours, theirs) = (Instance::bare().await, Instance::bare().await);
    let remote = remote(theirs.repository.path(), &ours);
    let first = ours.commit(&[("a", "1")], "first").await;
    let pushed = async |commit: &CommitId, to: &str| {
        let refs = [PushRef { commit: commit.clone(), to: to.to_owned() }];
        push(&ours.repository, &remote, &refs).await.unwrap().remove(0).result
    };
    assert_eq!(pushed(&first, MAIN).await, Pushed::Moved);
    assert_eq!(pushed(&first, MAIN).await, Pushed::Unchanged);
    let second = ours.commit(&[("a", "2")], "second").await;
    assert_eq!(pushed(&second, MAIN).await, Pushed::Moved);
    assert!(matches!(pushed(&first, MAIN).await, Pushed::Rejected { .. }));
    theirs.commit(&[("b", "1")], "of somebody else").await;
    let third = ours.commit(&[("a", "3")], "third").await;
    let Pushed::Rejected { reason } = pushed(&third, MAIN).await else { panic!("it was forced") };
    assert!(reason.contains("fetch first"), "{reason}");
    assert_eq!(pushed(&third, "refs/heads/wild/update/ghost").await, Pushed::Moved);
    assert!(matches!(pushed(&third, "refs/wild/generated/ghost").await, Pushed::Rejected { .. }));
    nothing_left(&remote);
}

#[tokio::test]
async fn a_ref_is_deleted_only_where_the_caller_saw_it() {
    let (ours, theirs) = (Instance::bare().await, Instance::bare().await);
    let remote = remote(theirs.repository.path(), &ours);
    let first = theirs.commit(&[("a", "1")], "first").await;
    let second = theirs.commit(&[("a", "2")], "second").await;
    theirs.git(&["branch", "wild/update/ghost", "main"]);
    let name = "refs/heads/wild/update/ghost";
    assert!(matches!(push_deletion(&remote, name, &first).await.unwrap(), Pushed::Rejected { .. }));
    assert_eq!(theirs.repository.read_ref(name).await.unwrap(), Some(second.clone()));
    assert_eq!(push_deletion(&remote, name, &second).await.unwrap(), Pushed::Moved);
    assert_eq!(theirs.repository.read_ref(name).await.unwrap(), None);
    assert!(matches!(push_deletion(&remote, name, &second).await.unwrap(), Pushed::Rejected { .. }), "it is gone");
    nothing_left(&remote);
}

#[tokio::test]
async fn a_listing_shows_head_branches_and_the_commits_of_tags() {
    let (ours, theirs) = (Instance::bare().await, Instance::bare().await);
    let first = theirs.commit(&[("a", "1")], "first").await;
    theirs.git(&["tag", "-a", "-m", "one", "v1", "main"]);
    let refs = ls_remote(&remote(theirs.repository.path(), &ours)).await.unwrap();
    for name in ["HEAD", MAIN, "refs/tags/v1"] {
        assert_eq!(refs.get(name), Some(&first), "{name}");
    }
}

#[tokio::test]
async fn left_overs_are_cleared_at_the_start() {
    let ours = Instance::bare().await;
    let remote = remote(ours.repository.path(), &ours);
    let living = remote.scratch.join("call-1-1/git");
    for folder in [&living, &remote.scratch.join("call-99999999-1/git")] {
        std::fs::create_dir_all(folder).unwrap();
    }
    clear_scratch(&remote.scratch).await.unwrap();
    assert!(living.exists(), "another process works there");
    std::fs::remove_dir_all(remote.scratch.join("call-1-1")).unwrap();
    nothing_left(&remote);
    clear_scratch(&remote.scratch.join("never-made")).await.unwrap();
}

/// A server that asks for a credential, or sends elsewhere, and keeps the lines that matter.
async fn server(answer: &'static str) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let keep = heard.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (read, mut write) = stream.split();
            let mut lines = BufReader::new(read).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if line.starts_with("GET") || line.to_lowercase().starts_with("authorization") {
                    keep.lock().unwrap().push(line.clone());
                }
                if line.is_empty() {
                    break;
                }
            }
            let text = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            drop(write.write_all(text.as_bytes()).await);
        }
    });
    (port, heard)
}

fn over_http(port: u16, origin: &str, ours: &Instance) -> Remote {
    let parse = |text: &str| RemoteUrl::parse(text, Allowed::Local).unwrap();
    let kind = CredentialKind::Token { user: "wild".to_owned(), token: SecretValue::new("s3cr3t".to_owned()) };
    let credential = Credential { origin: parse(&origin.replace("PORT", &port.to_string())), kind };
    let url = parse(&format!("http://127.0.0.1:{port}/org/repo.git"));
    Remote { url, credential: Some(credential), ..remote(Path::new("/x"), ours) }
}

#[tokio::test]
async fn a_token_reaches_the_server_it_is_bound_to() {
    let ours = Instance::bare().await;
    let (port, heard) = server("401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"").await;
    let remote = over_http(port, "http://127.0.0.1:PORT/org", &ours);
    let error = ls_remote(&remote).await.unwrap_err();
    assert!(!crate::base::chain(&error).contains("s3cr3t") && !format!("{remote:?}").contains("s3cr3t"));
    let heard = heard.lock().unwrap().join("\n");
    // The base64 form of wild:s3cr3t.
    assert!(heard.to_lowercase().contains("authorization: basic d2lszdpzm2nym3q="), "{heard}");
    nothing_left(&remote);
}

#[tokio::test]
async fn a_token_of_another_address_stays_at_home() {
    let ours = Instance::bare().await;
    let (port, heard) = server("401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"").await;
    let error = ls_remote(&over_http(port, "http://127.0.0.1:PORT/other", &ours)).await.unwrap_err();
    assert!(error.to_string().contains("credential/origin"), "{error}");
    assert!(heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let ours = Instance::bare().await;
    let (inner, inside) = server("404 Not Found").await;
    let answer: &'static str = format!("302 Found\r\nLocation: http://127.0.0.1:{inner}/secret").leak();
    let (port, _) = server(answer).await;
    ls_remote(&over_http(port, "http://127.0.0.1:PORT/org", &ours)).await.unwrap_err();
    assert!(inside.lock().unwrap().is_empty());
}

#[tokio::test]
async fn commits_made_beside_a_fetch_are_kept() {
    let (ours, theirs) = (Instance::bare().await, Instance::bare().await);
    theirs.commit(&[("a", "1")], "first").await;
    let remote = remote(theirs.repository.path(), &ours);
    let (fetched, committed) =
        tokio::join!(fetched(&ours, &remote), ours.repository.commit(change(None, &[("config.yaml", "x")], "beside")));
    assert_eq!(fetched.moved, Moved::Created);
    assert_eq!(ours.repository.head("main").await.unwrap(), Some(committed.unwrap()));
}
