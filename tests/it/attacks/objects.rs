//! Packs of at most 10 MiB that unfold to hundreds: pushed past the hook and through it, fetched, and read by a daemon whose memory is looked at.
//!
//! Not here: every single call on such objects (`src/git/objects/tests.rs`), packs written by hand (`src/git/packs/tests.rs`).

#![expect(clippy::print_stdout, reason = "how much memory was taken is told with --nocapture")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::input::sandbox;
use crate::machine::Machine;

/// Memory that a daemon may take above what it takes at rest, in bytes.
const MOST: u64 = 256 * 1024 * 1024;
/// Size of a pack that is pushed, in bytes.
const PACK: u64 = 10 * 1024 * 1024;
/// The beginning of a commit over the files of main.
const COMMIT: &str = "printf 'tree %s\\nparent %s\\nauthor A <a@b> 1 +0000\\ncommitter A <a@b> 1 +0000\\n' $(git rev-parse main^{tree} main)";
/// Past the hook and git's own checks, as over a server that has neither.
const PAST: &str = "--receive-pack='git -c core.hooksPath=/dev/null -c receive.fsckObjects=false -c transfer.fsckObjects=false receive-pack'";

/// An instance with an app, a clone of a person, and a daemon.
async fn machine() -> (rewild::sandbox::Sandbox, Machine) {
    let (sandbox, access) = sandbox().await;
    let mut machine = Machine::start(access, "photobox 2.0").await;
    machine.done(".", "wild init home.git --bare --domain cloud.example.org --kubeconfig home/.kube/config").await;
    let root = machine.root().display().to_string();
    let settings = format!(
        "instances: [{{name: home, path: {root}/home.git}}]\nlisten: 127.0.0.1:0\nmetricsListen: ''\n\
         egress: {{allow: [{root}/directory.git]}}\n"
    );
    machine.start_daemon(&settings).await;
    machine.done("home.git", "wild directory add sample $ROOT/directory.git").await;
    machine.done("home.git", "wild app add stonedb --deploy && wild app wait stonedb").await;
    machine.done(".", "git clone -q --no-local home.git work && git -C work config pack.threads 1").await;
    (sandbox, machine)
}

/// Returns the process of the daemon.
fn daemon_of(machine: &Machine) -> u32 {
    machine.daemon.as_ref().and_then(tokio::process::Child::id).unwrap()
}

fn memory(pid: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Makes a commit or tag by a script, pushes it through the hook, which refuses it by a rule, and past the hook onto main, which the daemon then
/// works with.
async fn attack(make: &str, rule: &str) {
    let (sandbox, machine) = machine().await;
    let id = machine.done("work", &format!("set -e\n{make}")).await.data.trim().to_owned();
    let pack = machine
        .done("work", &format!("printf '%s\\n^main\\n' {id} | git pack-objects -q --revs --stdout | wc -c"))
        .await;
    assert!(pack.data.trim().parse::<u64>().unwrap() <= PACK, "{}", pack.data);

    let pid = daemon_of(&machine);
    let rest = memory(pid, "VmRSS");
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5").unwrap();
    let refused = machine.run("work", &format!("git push -q origin {id}:refs/heads/topic")).await;
    assert!(refused.code != 0 && refused.notes.contains(rule), "{rule}: {refused:#?}");

    machine.done("work", &format!("git push -q -f {PAST} origin {id}:refs/heads/main")).await;
    for command in
        ["wild status", "wild app deploy stonedb", "wild app list", "wild app history stonedb", "wild doctor"]
    {
        machine.run("home.git", command).await;
    }
    let grown = memory(pid, "VmHWM").saturating_sub(rest);
    assert!(grown < MOST, "the daemon grew by {} MiB", grown / 1024 / 1024);
    println!("{rule}: the daemon grew by {} MiB", grown / 1024 / 1024);

    machine.done("work", &format!("git push -q -f {PAST} origin main:main")).await;
    machine.done("home.git", "wild app deploy stonedb && wild app wait stonedb").await;
    sandbox.stop().await;
}

fn commit_with(rest: &str) -> String {
    format!("{{ {COMMIT}; {rest} }} | git hash-object -t commit -w --stdin --literally")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_with_a_message_of_200_mib_is_refused_and_not_read() {
    attack(&commit_with("echo; head -c 200M /dev/zero | tr '\\0' a;"), "commit/size").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_with_a_header_of_200_mib_is_refused_and_not_read() {
    attack(
        &commit_with("printf 'encoding '; head -c 200M /dev/zero | tr '\\0' a; printf '\\n\\nx\\n';"),
        "commit/size",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_with_a_million_parents_is_refused_and_not_read() {
    let make = "p=$(git rev-parse main)\n{ printf 'tree %s\\n' $(git rev-parse main^{tree}); yes \"parent $p\" | head -n 1000000;\n\
                printf 'author A <a@b> 1 +0000\\ncommitter A <a@b> 1 +0000\\n\\nx\\n'; } | git hash-object -t commit -w --stdin --literally";
    attack(make, "commit/size").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_of_200_mib_is_refused_and_not_read() {
    let make = "{ printf 'object %s\\ntype commit\\ntag x\\ntagger A <a@b> 1 +0000\\n\\n' $(git rev-parse main); head -c 200M /dev/zero | tr '\\0' a; } \
                | git hash-object -t tag -w --stdin --literally";
    let (sandbox, machine) = machine().await;
    let id = machine.done("work", make).await.data.trim().to_owned();
    let pid = daemon_of(&machine);
    let rest = memory(pid, "VmRSS");
    let refused = machine.run("work", &format!("git push -q origin {id}:refs/tags/x")).await;
    assert!(refused.code != 0 && refused.notes.contains("tag/size"), "{refused:#?}");
    machine.done("work", &format!("git push -q {PAST} origin {id}:refs/tags/x")).await;
    machine.done("home.git", "wild app deploy stonedb && wild app wait stonedb").await;
    let grown = memory(pid, "VmHWM").saturating_sub(rest);
    assert!(grown < MOST, "the daemon grew by {} MiB", grown / 1024 / 1024);
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_of_a_million_entries_is_refused_and_not_read() {
    let make = "b=$(echo x | git hash-object -w --stdin)\nt=$(seq -f \"100644 blob $b%tf%08.0f\" 1000000 | sed 's/%t/\\t/' | git mktree)\n\
                git commit-tree $t -p main -m x";
    let make = make.replace("$b%tf", "$b@f").replace("s/%t/", "s/@/");
    attack(&make, "tree/entries").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_paths_of_a_kilobyte_are_refused_and_not_listed() {
    let make = "n=$(head -c 190 /dev/zero | tr '\\0' n)\nk=\"100644 blob $(echo x | git hash-object -w --stdin)\"\n\
                for level in 1 2 3 4 5; do\n  t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '%s\\t%s\\n' \"$k\" $n$i; done | git mktree)\n\
                k=\"040000 tree $t\"\ndone\na=$(printf '%s\\tapps\\n' \"$k\" | git mktree)\ngit commit-tree $a -p main -m x";
    attack(make, "tree/paths").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forty_files_of_four_mebibytes_in_one_app_are_not_read_together() {
    let (sandbox, machine) = machine().await;
    let make = "mkdir -p apps/heavy && cd apps/heavy\nfor i in $(seq 40); do { head -c 4194000 /dev/zero; echo $i; } > f$i; done\n\
                printf 'resources: []\\n' > kustomization.yaml\ngit add -A . && git commit -qm heavy";
    let pid = daemon_of(&machine);
    let rest = memory(pid, "VmRSS");
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5").unwrap();
    machine.done("work", &format!("set -e\n{make}")).await;
    let refused = machine.run("work", "git push -q").await;
    assert!(
        refused.code != 0 && refused.notes.contains("tree/bytes") && refused.notes.contains("in several steps"),
        "{refused:#?}"
    );
    machine.done("work", &format!("git push -q {PAST} origin main")).await;
    for command in ["wild app deploy heavy", "wild status", "wild app list", "wild app show heavy"] {
        machine.run("home.git", command).await;
    }
    let grown = memory(pid, "VmHWM").saturating_sub(rest);
    assert!(grown < MOST, "the daemon grew by {} MiB", grown / 1024 / 1024);
    println!("one heavy app: the daemon grew by {} MiB", grown / 1024 / 1024);
    machine.done("home.git", "wild app deploy stonedb && wild app wait stonedb").await;
    sandbox.stop().await;
}

/// Pushes apps that are made by a script in a clone, of which each push is a small pack, has the daemon work with all of them and say something
/// when some are deployed, and returns by how much it grew at most.
async fn grown_by(machine: &Machine, pushes: &[String], apps: &[&str], said: &str) -> u64 {
    let pid = daemon_of(machine);
    let rest = memory(pid, "VmRSS");
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5").unwrap();
    for make in pushes {
        let pack = "printf 'main\n^origin/main\n' | git pack-objects -q --revs --stdout | wc -c";
        let commit = format!("set -e\ngit pull -q --rebase\n{make}\ngit add -A . && git commit -qm more\n{pack}");
        let bytes = machine.done("work", &commit).await.data;
        assert!(bytes.trim().parse::<u64>().unwrap() <= PACK, "{bytes}");
        machine.done("work", "git push -q").await;
    }
    for command in ["wild status", "wild app list", "wild app deploy stonedb"] {
        machine.run("home.git", command).await;
    }
    let mut told = Vec::new();
    for app in apps {
        told.push(machine.run("home.git", &format!("wild app deploy {app}")).await);
    }
    let grown = memory(pid, "VmHWM").saturating_sub(rest);
    println!("the daemon grew by {} MiB", grown / 1024 / 1024);
    assert!(grown < MOST, "the daemon grew by {} MiB", grown / 1024 / 1024);
    for told in told {
        assert!(told.code != 0 && told.notes.contains(said), "{told:#?}");
    }
    machine.done("home.git", "wild app deploy stonedb && wild app wait stonedb").await;
    grown
}

/// A script that writes an app with files of which each begins as an object and goes on with a block that is repeated.
fn app_of(app: &str, files: usize, block: &str, times: usize) -> String {
    format!(
        "d=apps/{app} && mkdir -p $d\nfor i in $(seq {files}); do {{ printf 'apiVersion: example.org/v1\nkind: Thing\nmetadata:\n  name: f%s\nspec:\n' $i; \
         yes -- '{block}' | head -n {times}; }} > $d/f$i.yaml; done\n\
         {{ printf 'resources:\n'; for i in $(seq {files}); do printf -- '- f%s.yaml\n' $i; done; }} > $d/kustomization.yaml"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_of_many_files_each_with_as_many_nodes_as_may_be_is_refused() {
    let (sandbox, machine) = machine().await;
    grown_by(&machine, &[app_of("dense", 10, "- a:", 160_000)], &["dense"], "K122").await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_apps_of_many_mebibytes_do_not_add_up() {
    let (sandbox, machine) = machine().await;
    let make = |(app, files): (usize, usize)| {
        let bytes = 56 * 1024 * 1024 / files - 64;
        format!(
            "d=apps/heavy{app} && mkdir -p $d\nfor i in $(seq {files}); do {{ head -c {bytes} /dev/zero; echo $i $d; }} > $d/f$i; done\n\
             printf 'resources: []\n' > $d/kustomization.yaml"
        )
    };
    let pushes: Vec<String> = [14, 112, 14, 112, 14, 112].into_iter().enumerate().map(make).collect();
    grown_by(&machine, &pushes, &["heavy1", "heavy4"], "heavy").await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_apps_of_small_files_with_many_nodes_do_not_add_up() {
    let (sandbox, machine) = machine().await;
    let make: Vec<String> = (0..12).map(|app| app_of(&format!("dense{app}"), 1, "- a:", 40_000)).collect();
    grown_by(&machine, &[make.join("\n")], &["dense1", "dense7"], "grants.kinds").await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replacements_that_double_an_object_end_where_the_build_is_too_large() {
    let (sandbox, machine) = machine().await;
    let make = "d=apps/doubled && mkdir -p $d\n\
        printf 'apiVersion: example.org/v1\nkind: Thing\nmetadata:\n  name: t\nspec:\n  a: {x: y}\n' > $d/t.yaml\n\
        { printf 'resources: [t.yaml]\nreplacements:\n'; for i in $(seq 18); do printf -- '- source: {kind: Thing, fieldPath: spec.a}\n  targets:\n  - select: {kind: Thing}\n    fieldPaths: [spec.b, spec.c]\n    options: {create: true}\n- source: {kind: Thing, fieldPath: spec}\n  targets:\n  - select: {kind: Thing}\n    fieldPaths: [spec.a]\n'; done; } > $d/kustomization.yaml";
    grown_by(&machine, &[make.to_owned()], &["doubled"], "K122").await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_file_that_many_generators_take_is_not_held_for_each() {
    let (sandbox, machine) = machine().await;
    let make = "d=apps/maps && mkdir -p $d\nhead -c 1000000 /dev/zero | tr '\\0' a > $d/f\n\
        { printf 'configMapGenerator:\n'; for i in $(seq 900); do printf -- '- {name: m%s, files: [f]}\n' $i; done; } > $d/kustomization.yaml";
    grown_by(&machine, &[make.to_owned()], &["maps"], "K122").await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_of_five_mebibytes_are_planned_with_much_room() {
    let (sandbox, machine) = machine().await;
    // Twelve definitions of 7,800 lines and 470 kB, as operators of monitoring bring them.
    let property = |depth: usize| {
        format!(
            "{{ for k in 1 2 3 4 5 6; do printf '%{0}sfield{1}%s:\n%{0}s  description: |-\n%{0}s    What people may read of this field, which goes on for\n%{0}s    some lines, as it does in definitions that are generated.\n%{0}s  type: object\n' '' $k '' '' '' ''",
            10 + 4 * depth,
            depth
        )
    };
    let nested = |depth: usize| format!("printf '%{0}s  properties:\n' ''", 10 + 4 * depth);
    let properties = format!(
        "{} ; {} ; {} ; {} ; {} ; {} ; {} ; done; }} ; done; }} ; done; }} ; done; }}",
        property(0),
        nested(0),
        property(1),
        nested(1),
        property(2),
        nested(2),
        property(3)
    );
    let make = format!(
        "d=apps/crds && mkdir -p $d\n{properties} > ../properties\n\
         for i in $(seq 12); do {{ printf 'apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things%s.example.org\nspec:\n  group: example.org\n  scope: Namespaced\n  names: {{kind: Thing%s, listKind: Thing%sList, plural: things%s, singular: thing%s}}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n' $i $i $i $i $i; cat ../properties; }} > $d/f$i.yaml; done\n\
         {{ printf 'resources:\n'; for i in $(seq 12); do printf -- '- f%s.yaml\n' $i; done; }} > $d/kustomization.yaml"
    );
    let grown = grown_by(&machine, &[make], &["crds"], "add CustomResourceDefinition to apps.crds.grants.kinds").await;
    assert!(grown < MOST / 2, "the daemon grew by {} MiB", grown / 1024 / 1024);
    let bytes = machine.done("work", "cat apps/crds/f*.yaml | wc -c").await.data;
    assert!(bytes.trim().parse::<u64>().unwrap() > 5_000_000, "{bytes}");
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_commits_of_four_kilobytes_do_not_stay_in_memory() {
    let (sandbox, machine) = machine().await;
    let make = "m=$(head -c 3900 /dev/zero | tr '\\0' m)\np=$(git rev-parse main)\n\
                { awk -v m=$m -v p=$p 'BEGIN { for (i = 1; i <= 30000; i++) { print \"commit refs/heads/long\"; print \"mark :\" i;\n\
                print \"committer A <a@b> \" 1700000000 + i \" +0000\"; print \"data \" length(m); print m; if (i == 1) print \"from \" p } }'; } \
                | git fast-import --quiet\ngit push -q origin long:main";
    let pid = daemon_of(&machine);
    let rest = memory(pid, "VmRSS");
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5").unwrap();
    machine.done("work", &format!("set -e\n{make}")).await;
    for command in ["wild app deploy stonedb", "wild app history stonedb", "wild status", "wild doctor"] {
        machine.run("home.git", command).await;
    }
    let grown = memory(pid, "VmHWM").saturating_sub(rest);
    assert!(grown < MOST, "the daemon grew by {} MiB", grown / 1024 / 1024);
    println!("a long history: the daemon grew by {} MiB", grown / 1024 / 1024);
    machine.done("home.git", "wild app deploy stonedb && wild app wait stonedb").await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_of_more_refs_than_are_read_is_refused() {
    let (sandbox, machine) = machine().await;
    let make = "m=$(git rev-parse main)\nseq -f \"create refs/heads/many/b%05.0f $m\" 10001 | git update-ref --stdin\n\
                git push -q origin 'refs/heads/many/*'";
    let refused = machine.run("work", make).await;
    assert!(refused.code != 0 && refused.notes.contains("ref/count"), "{refused:#?}");
    machine.done("home.git", "[ $(git for-each-ref refs/heads/many | wc -l) = 0 ]").await;
    sandbox.stop().await;
}

/// A remote that begins to list refs and never ends. Returns its port and how many bytes it could send.
fn endless(name_bytes: usize) -> (u16, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, sent) = (listener.local_addr().unwrap().port(), Arc::new(AtomicU64::new(0)));
    let count = sent.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let count = count.clone();
            std::thread::spawn(move || {
                let mut asked = [0; 4096];
                let Ok(1..) = stream.read(&mut asked) else { return };
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\nConnection: close\r\n\r\n";
                let begin = "001e# service=git-upload-pack\n0000";
                if stream.write_all(format!("{head}{begin}").as_bytes()).is_err() {
                    return;
                }
                let id = "1".repeat(40);
                for number in 0_u64.. {
                    let capabilities = if number == 0 { "\0side-band-64k ofs-delta" } else { "" };
                    let name = format!("refs/heads/{number:0name_bytes$}");
                    let line = format!("{id} {name}{capabilities}\n");
                    let line = format!("{:04x}{line}", line.len() + 4);
                    if stream.write_all(line.as_bytes()).is_err() {
                        return;
                    }
                    count.fetch_add(u64::try_from(line.len()).unwrap(), Ordering::Relaxed);
                }
            });
        }
    });
    (port, sent)
}

/// A daemon follows a remote whose advertisement has no end; its child is ended by its bounds, and the daemon goes on.
async fn advertisement(name_bytes: usize) {
    let (port, sent) = endless(name_bytes);
    let (sandbox, access) = sandbox().await;
    let mut machine = Machine::start(access, "photobox 2.0").await;
    machine.done(".", "wild init home.git --bare --domain cloud.example.org --kubeconfig home/.kube/config").await;
    let root = machine.root().display().to_string();
    let settings = format!(
        "instances: [{{name: home, path: {root}/home.git, remote: \"http://127.0.0.1:{port}/x.git\"}}]\nlisten: 127.0.0.1:0\nmetricsListen: ''\n"
    );
    machine.start_daemon(&settings).await;
    let pid = daemon_of(&machine);
    let rest = memory(pid, "VmRSS");
    machine.until("the child gave up", async || machine.log().contains("x.git")).await;
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent > 0 && sent < 400 * 1024 * 1024, "it took {} MiB", sent / 1024 / 1024);
    let grown = memory(pid, "VmHWM").saturating_sub(rest);
    assert!(grown < MOST, "the daemon grew by {} MiB", grown / 1024 / 1024);
    println!(
        "names of {name_bytes}: the child took {} MiB, the daemon grew by {}",
        sent / 1024 / 1024,
        grown / 1024 / 1024
    );
    machine.done("home.git", "wild status").await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_advertisement_of_refs_without_end_is_cut_off_in_the_child() {
    advertisement(20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_advertisement_of_names_of_60_kilobytes_is_cut_off_in_the_child() {
    advertisement(60_000).await;
}
