//! Every example that `--help` prints, run as printed in the tour's instance, beside a daemon.
//!
//! One address stands in for another: `https://git.example.org/wild/directory.git` is a repository of this machine. An example without a
//! row fails the test, and so does a row without an example. Not here: the tour itself (`tour.rs`).

use std::collections::BTreeSet;

use crate::input::sandbox;
use crate::machine::{Machine, Ran};

/// The address that help and README name.
const PRINTED: &str = "https://git.example.org/wild/directory.git";
/// Commands that `--help` hides.
const HIDDEN: [&str; 1] = ["kustomize"];

/// A person changes a line of the blog, a maker the same line upstream.
const PERSON: &str = "#!/bin/sh -e\ncd $ROOT/work && git pull -q --rebase\n\
    sed -i \"0,/memory: .*/s//memory: $1/\" apps/quillblog/deployment.yaml\n\
    git commit -qam \"scale(quillblog): $1\" && git push -q\n";
const MAKER: &str = "#!/bin/sh -e\n[ -d $ROOT/up ] || git clone -q $ROOT/directory.git $ROOT/up\ncd $ROOT/up && git pull -q\n\
    sed -i \"s/^version: .*/version: '$1'/\" quillblog/manifest.yaml\n\
    sed -i \"0,/memory: .*/s//memory: $2/\" quillblog/deployment.yaml\n\
    git commit -qam \"quillblog $1\" && git push -q && cd $ROOT/desk/home && wild directory fetch\n";

/// An example, what it ends with, and a text that it shows.
struct Example {
    before: &'static str,
    folder: &'static str,
    line: &'static str,
    code: i32,
    shows: &'static str,
}

const fn example(line: &'static str, code: i32, shows: &'static str) -> Example {
    Example { before: "", folder: "desk/home", line, code, shows }
}

const fn after(before: &'static str, line: &'static str, code: i32, shows: &'static str) -> Example {
    Example { before, folder: "desk/home", line, code, shows }
}

const fn outside(line: &'static str, code: i32, shows: &'static str) -> Example {
    Example { before: "", folder: "desk", line, code, shows }
}

/// An example that a maker types into a clone of the upstream.
const fn author(before: &'static str, line: &'static str, code: i32, shows: &'static str) -> Example {
    Example { before, folder: "up", line, code, shows }
}

/// The examples in an order in which each makes sense.
const EXAMPLES: &[Example] = &[
    outside("wild version", 0, "wild 0.1.0"),
    outside("wild version -o json", 0, "\"version\": \"0.1.0\""),
    outside("wild completion bash", 0, "complete -F _wild"),
    outside("wild completion zsh", 0, "#compdef wild"),
    outside("wild init my-cloud", 0, "Next: cd "),
    outside("wild init my-cloud --directory https://git.example.org/wild/directory.git", 0, "nothing was missing"),
    outside("wild init my-cloud.git --bare --kubeconfig ~/.kube/config", 0, "cluster     home (http://127.0.0.1:"),
    outside("wild init fleet --subdirectory clusters/home", 0, "directory   clusters/home"),
    outside("wild demo", 0, "All 10 steps hold"),
    outside("wild demo --check", 0, "All 10 steps hold"),
    outside("wild demo --check --keep my-demo", 0, "All 10 steps hold"),
    example("wild cluster add", 0, "home"),
    example("wild cluster add --kubeconfig ~/.kube/config", 0, "home"),
    example("wild cluster add --context home", 0, "home"),
    example("wild cluster add --context home --as edge", 0, "Apps live on home unless moved"),
    example("wild cluster list", 0, "edge"),
    example("wild cluster list -o json", 0, "\"kind\": \"ClusterList\""),
    example("wild cluster show home", 0, "home   reachable"),
    example("wild cluster show home -o json", 0, "\"kind\": \"Cluster\""),
    example("wild cluster accept edge --dry-run", 0, "edge is the cluster that is known"),
    example("wild cluster accept edge --yes", 0, "edge is the cluster that is known"),
    example("wild cluster remove edge", 0, "The cluster edge is forgotten"),
    example("wild daemon", 0, "\"message\":\"stopped\""),
    after("cp ~/.config/wild/daemon.yaml .", "wild daemon --config daemon.yaml", 0, "\"message\":\"stopped\""),
    example("wild directory add sample https://git.example.org/wild/directory.git", 0, "4 packages are on offer"),
    after(
        "git --git-dir $ROOT/directory.git branch stable",
        "wild directory add stable https://git.example.org/wild/directory.git --branch stable",
        0,
        "directory stable added",
    ),
    after(
        "cd $ROOT && ssh-keygen -q -t ed25519 -N '' -C '' -f ada && echo \"ada $(cat ada.pub)\" > allowed && cd directory.git && \
         git update-ref refs/heads/own $(git -c gpg.format=ssh -c user.signingkey=$ROOT/ada.pub commit-tree -S main^{tree} -p main -m vetted)",
        "wild directory add own https://git.example.org/wild/directory.git --branch own --verify signed",
        0,
        "directory own added",
    ),
    example("wild directory list", 0, "sample"),
    example("wild directory list -o json", 0, "\"kind\": \"DirectoryList\""),
    example("wild directory fetch", 0, "stable"),
    example("wild app list", 0, "A blog for people"),
    example("wild app add quickcache --deploy", 0, "created     Deployment/quickcache"),
    after(
        "curl -sf -o /dev/null -H 'Content-Type: application/json' -d '{\"metadata\":{\"name\":\"team\"}}' $CLUSTER/api/v1/namespaces",
        "wild app add quickcache --as pages --set namespace=team --deploy --adopt",
        0,
        "pages may write into team",
    ),
    after(
        "wild app add stonedb --deploy && wild app wait stonedb",
        "wild app add quillblog --grant stonedb.password --dry-run",
        0,
        "Nothing was changed.",
    ),
    after(
        "wild app add quillblog --yes --dry-run 2>&1 | grep -q 'try: wild app add quillblog --grant stonedb.password'",
        "wild app add quillblog --grant stonedb.password",
        0,
        "needs db → stonedb",
    ),
    example(
        "wild app add quillblog --as blog --dep db=stonedb --set namespace=blog --grant stonedb.password",
        0,
        "wrote apps/blog",
    ),
    example("wild app show quillblog", 0, "intent        added"),
    example("wild app show quillblog -o yaml", 0, "kind: App"),
    example("wild plan", 0, "quillblog is added and not deployed"),
    example("wild plan quillblog", 0, "quillblog is added and not deployed"),
    example("wild app deploy quillblog --dry-run", 0, "Nothing was changed."),
    example("wild app deploy quillblog", 0, "created     Deployment/quillblog"),
    example("wild app deploy quillblog --wait --timeout 5m", 0, "quillblog is healthy."),
    example("wild app wait quillblog", 0, "quillblog is healthy."),
    example("wild app wait quillblog --for healthy --timeout 5m", 0, "quillblog is healthy."),
    example("wild app deploy quillblog --recreate Deployment/quillblog", 0, "unchanged"),
    example("wild app deploy quillblog --adopt", 0, "unchanged"),
    example("wild app deploy quillblog --grant stonedb.password", 0, "unchanged"),
    example("wild app deploy --all", 0, "created     Deployment/"),
    after("wild app wait blog", "wild plan -o json --exit-code", 0, "\"actions\": []"),
    example("wild app list --deployed", 0, "quillblog"),
    example("wild app status", 0, "NEEDS YOU"),
    example("wild app status quillblog stonedb", 0, "stonedb"),
    example("wild app status -o json", 0, "\"health\": \"healthy\""),
    example("wild app status --exit-code", 0, "healthy"),
    example("wild doctor", 0, "Nothing is stuck."),
    example("wild doctor quillblog", 0, "Nothing is stuck."),
    example("wild doctor -o json", 0, "\"kind\": \"FindingList\""),
    example("wild status", 0, "success   wild/deploy (home)"),
    example("wild status --exit-code", 0, "cluster reachable"),
    example("wild status -o json", 0, "\"kind\": \"Status\""),
    example("wild app config quillblog get", 0, "title: Notes from the garden"),
    example("wild app config quillblog get domain", 0, "blog.cloud.example.org"),
    example(
        "wild app config quillblog set title=\"Our garden\" domain=blog.example.org --dry-run",
        0,
        "~ apps/quillblog/configmap.yaml",
    ),
    example("wild app config quillblog set storage=400Gi", 0, "commit"),
    example("wild app config quillblog unset storage", 0, "commit"),
    example("wild app diff quillblog --reveal DB_PASSWORD", 2, "a secret is shown on a terminal only"),
    example("wild app diff quillblog", 0, "No difference."),
    example("wild app events quillblog", 0, "WHAT"),
    example("wild app events quillblog -o json", 0, "\"kind\": \"EventList\""),
    example("wild app logs quillblog", 0, "nothing runs in the sandbox"),
    example("wild app logs quillblog --follow --since 10m", 0, "nothing runs in the sandbox"),
    example("wild app logs quillblog -c web --previous --tail 20", 2, "no pod of quillblog fits"),
    example("wild app logs quillblog -o json", 0, "\"kind\": \"LogList\""),
    example("wild app tree quillblog", 0, "Deployment/quillblog"),
    example("wild app tree quillblog -o json", 0, "\"kind\": \"ObjectTree\""),
    example("wild app history quillblog", 0, "feat(quillblog): deploy 5.0"),
    example("wild app history quillblog -o json", 0, "\"kind\": \"History\""),
    example("wild operation list", 0, "Alice"),
    example("wild operation list --app quillblog --limit 5", 0, "config"),
    example("wild operation cancel", 2, "nothing waits or runs"),
    example("wild operation cancel --app quillblog --reason superseded", 2, "nothing waits or runs"),
    example("wild operation approve", 2, "none is held back"),
    example("wild operation approve --app quillblog", 2, "none is held back"),
    example("wild operation show", 0, "state"),
    example("wild operation show --app quillblog -o json", 0, "\"kind\": \"Operation\""),
    Example { folder: "work", ..after("git pull -q", "wild kustomize build apps/quillblog", 0, "kind: Deployment") },
    Example { folder: "work", ..example("wild hook install", 0, "merge.wild.driver = ") },
    Example { folder: "work", ..example("wild hook install --uninstall", 0, "merge.wild.driver is gone") },
    outside("wild hook install my-cloud", 0, "merge.wild.driver = "),
    example("wild hook run pre-receive", 0, ""),
    example("wild hook run pre-commit", 0, ""),
    example("wild hook run post-receive", 0, "seen by home"),
    after("person 256Mi", "wild app diff quillblog --mine", 1, "256Mi"),
    after("drift", "wild drift list", 1, "spec.replicas"),
    example("wild drift list -o json", 1, "\"policy\": \"report\""),
    example("wild drift show quillblog", 1, "1 → 5"),
    example("wild drift adopt quillblog --dry-run", 0, "Nothing was changed."),
    example("wild drift revert quillblog", 0, "configured"),
    after("scale 5", "wild drift revert quillblog Deployment/quillblog", 0, "configured"),
    after("scale 4", "wild drift adopt quillblog --branch", 0, "git merge wild/drift/quillblog"),
    example("wild drift adopt quillblog Deployment/quillblog spec.replicas", 0, "spec.replicas: 1 → 4"),
    after("scale 3", "wild drift adopt quillblog", 0, "spec.replicas: 4 → 3"),
    example(
        "wild drift ignore quillblog Deployment/quillblog spec.replicas --reason 'scaled by hand'",
        0,
        "/spec/replicas of Deployment/quillblog is left to whoever holds it",
    ),
    example(
        "wild drift ignore quillblog Deployment/quillblog spec.replicas --until 2035-01-31T00:00:00Z",
        0,
        "left to",
    ),
    example("wild app suspend quillblog --reason maintenance", 0, "quillblog is suspended"),
    example("wild app suspend quillblog --reason pictures --until 2035-01-31T00:00:00Z", 0, "quillblog is suspended"),
    example("wild app resume quillblog", 0, "quillblog is resumed"),
    example("wild app reconcile quillblog", 0, "unchanged"),
    example("wild app reconcile quillblog --rerun-job migrate", 2, "it has no Job migrate"),
    example("wild app move quillblog --to edge", 2, "there is no cluster edge; there are: home"),
    after("maker 5.2 128Mi", "wild directory outdated", 1, "5.2"),
    example("wild directory outdated -o name", 1, "app/quillblog"),
    example("wild app list --outdated -o json", 0, "\"available\": \"5.2\""),
    example("wild app diff quillblog --upstream", 1, "5.2"),
    example("wild app diff quillblog --upstream=5.2", 1, "5.2"),
    example("wild app update quillblog --dry-run", 0, "Nothing was changed."),
    example("wild app update quillblog --to 5.2", 0, "5.2"),
    after("maker 5.3 192Mi", "wild app update quillblog", 3, "Decide: wild app resolve quillblog"),
    example("wild app resolve quillblog --list", 3, "mine"),
    example("wild app resolve quillblog --abort", 0, "The update is dropped."),
    after(
        "! wild app update quillblog",
        "wild app resolve quillblog apps/quillblog/deployment.yaml --take upstream",
        0,
        "commit",
    ),
    after(
        // The update that was resolved last cannot be undone alone: a person's commit stands on it.
        "person 300Mi && { wild undo; [ $? = 6 ]; } && maker 5.4 210Mi && ! wild app update quillblog",
        "wild app resolve quillblog --take mine",
        0,
        "commit",
    ),
    after(
        "person 310Mi && maker 5.5 220Mi && ! wild app update quillblog && by-hand",
        "wild app resolve quillblog --continue",
        0,
        "commit",
    ),
    after(
        "person 320Mi && maker 5.6 230Mi && ! wild app update quillblog",
        "wild app resolve quillblog apps/quillblog/deployment.yaml --take 288Mi",
        0,
        "commit",
    ),
    after(
        "person 330Mi && maker 5.7 240Mi && ! wild app update quillblog",
        "wild app resolve quillblog --take mine --remember",
        0,
        "commit",
    ),
    example("wild app resolve quillblog --remembered", 0, "always mine"),
    example("wild app resolve quillblog --learn", 0, "merges read"),
    example("wild app resolve quillblog --forget", 0, "forgotten"),
    after("person 340Mi && maker 5.8 250Mi", "wild app update quillblog --take mine", 0, "5.7 -> 5.8"),
    example("wild app update quillblog --grant stonedb.password", 0, "nothing of it changed"),
    example("wild app rollback quillblog --to 5.7 --dry-run", 0, "Nothing was changed."),
    example("wild app rollback quillblog --to HEAD~1 --dry-run", 0, "Nothing was changed."),
    example("wild app rollback quillblog --to HEAD~1 --reason \"pictures broke\"", 0, "commit"),
    example("wild secret scan", 0, "No secret in clear"),
    example("wild secret scan --history", 0, "No secret in clear"),
    example("wild secret scan --staged", 0, "No secret in clear"),
    after("git tag v1.2", "wild secret scan v1.2 -o json", 0, "\"leaks\": []"),
    example("wild secret list", 0, "copy of apps.stonedb.password"),
    example("wild secret list quillblog -o json", 0, "\"kind\": \"SecretList\""),
    after(
        "echo hunter2 > password.txt",
        "wild secret set apps.quillblog.adminPassword < password.txt",
        0,
        "apps.quillblog.adminPassword is set.",
    ),
    example("wild secret rotate apps.quillblog.databasePassword --dry-run", 0, "Nothing was changed."),
    example(
        "wild secret rotate apps.quillblog.databasePassword --yes",
        0,
        "apps.quillblog.dbUrl keeps the old value: wild secret generate apps.quillblog.dbUrl",
    ),
    example("wild secret generate apps.quillblog.dbUrl", 0, "apps.quillblog.dbUrl is made."),
    example("wild app delete quillblog --dry-run", 0, "Nothing was changed."),
    example("wild app delete quillblog --yes", 0, "Volumes and namespace stay."),
    example("wild app wait quillblog --for deleted", 0, "quillblog is deleted."),
    example("wild operation archive", 0, "kind: Deployment"),
    example("wild operation archive -o json", 0, "\"kind\": \"Archive\""),
    example("wild undo --list", 0, "delete"),
    example("wild undo --dry-run", 0, "+ apps/quillblog/deployment.yaml"),
    example("wild undo", 0, "quillblog is back at"),
    after(
        "wild app wait quillblog && wild app delete quillblog --yes && wild app wait quillblog --for deleted && \
         wild app add quillblog --deploy --grant stonedb.password && wild app wait quillblog",
        "wild app delete quillblog --delete-data --yes",
        0,
        "Its volumes and its namespace go too; until its volumes are let go, wild undo brings it back.",
    ),
    after(
        "wild app wait quillblog --for deleted && wild undo && wild app wait quillblog",
        "wild app delete quillblog --delete-data --force --yes",
        0,
        "Its volumes and its namespace go too, at once.",
    ),
    example("wild app eject stonedb --dry-run", 0, "Nothing was changed."),
    example("wild app eject stonedb", 0, "gets no more updates"),
    example("wild app adopt stonedb --dry-run", 0, "Nothing was changed."),
    example("wild app adopt stonedb", 0, "stonedb stands on"),
    after(
        "wild app add quickcache --as cache --set namespace=cache --deploy && wild app eject cache",
        "wild app adopt cache --package quickcache",
        0,
        "cache stands on",
    ),
    example("wild directory fetch sample", 0, "sample"),
    after("again", "wild directory fetch sample --accept-rewind", 0, "refs/wild/rewound/sample/"),
    author("", "wild package lint ./quillblog", 1, "L012"),
    author("", "wild package lint ./quillblog -o sarif", 1, "\"version\": \"2.1.0\""),
    author("", "wild package lint ./quillblog ./stonedb -o json", 1, "\"kind\": \"FindingList\""),
    author("", "wild package new my-app", 0, "my-app made."),
    author("mkdir packages", "wild package new my-app --in ./packages", 0, "my-app made."),
    author("", "wild package preview ./quillblog", 0, "kind: Namespace"),
    author("cp ../work/config.yaml .", "wild package preview ./quillblog --config config.yaml", 0, "kind: Namespace"),
    author("", "wild package test ./quillblog", 2, "write a test"),
    author(
        "rm -r my-app && wild kustomize build ../work/apps/stonedb > rendered.yaml",
        "wild package convert-helm my-app rendered.yaml",
        0,
        "my-app made.",
    ),
    // Nothing comes through the pipe here.
    author("", "wild package convert-helm my-app --in ./packages", 2, "the input holds no object"),
    author(
        "printf 'a: 1\nb: 1\n' > base.yaml; printf 'a: 2\nb: 1\n' > mine.yaml; printf 'a: 1\nb: 2\n' > upstream.yaml",
        "wild merge-file base.yaml mine.yaml upstream.yaml --stdout --style zdiff3",
        0,
        "a: 2\nb: 2\n",
    ),
    author("", "wild merge-file base.yaml mine.yaml upstream.yaml -o json", 0, "\"conflicts\":[]"),
    author(
        "printf 'a\n' > base.txt; printf 'a\nb\n' > mine.txt; printf 'a\nc\n' > upstream.txt",
        "wild merge-file base.txt mine.txt upstream.txt --stdout --union",
        0,
        "a\nb\nc\n",
    ),
    author("", "wild merge-file --style zdiff3 base.yaml mine.yaml upstream.yaml apps/web/a.yaml 7", 0, ""),
    author("", "wild merge-file base.yaml mine.yaml upstream.yaml", 0, ""),
];

/// From now on drift is only reported, and somebody scales the blog by hand.
const DRIFT: &str = "#!/bin/sh -e\ncd $ROOT/work && git pull -q --rebase\n\
    echo 'drift: report' >> .wild/config.yaml\n\
    git commit -qam 'config: report drift of the blog' && git push -q && cd $ROOT/desk/home && wild app deploy quillblog --wait\n\
    scale 5\n";
/// Somebody scales the blog by hand, and the daemon has seen it.
const SCALE: &str = "#!/bin/sh -e\ncd $ROOT/desk/home\n\
    curl -sf -o /dev/null -X PATCH -H 'Content-Type: application/merge-patch+json' -d '{\"spec\":{\"replicas\":'$1'}}' \
    \"$CLUSTER/apis/apps/v1/namespaces/quillblog/deployments/quillblog?fieldManager=kubectl-edit\"\n\
    until [ \"$(wild drift list -o name | wc -l)\" -gt 0 ]; do :; done\n";
/// The maker rewrites the last commit, and the daemon has seen it.
const AGAIN: &str = "#!/bin/sh -e\ncd $ROOT/up && git pull -q && git commit -q --amend -m again && git push -qf && cd $ROOT/desk/home\n\
    ! wild directory fetch\n";
/// A person decides on the update's branch, with git alone.
const BY_HAND: &str = "#!/bin/sh -e\ncd $ROOT/work && git fetch -q && git checkout -q -B decide origin/wild/update/quillblog\n\
    sed -i \"0,/memory: .*/s//memory: 315Mi/\" apps/quillblog/deployment.yaml && git rm -q .wild/conflicts/quillblog.yaml\n\
    git commit -qam 'decide' && git push -q origin decide:wild/update/quillblog && git checkout -q main\n";

#[tokio::test(flavor = "multi_thread")]
async fn every_example_of_help_runs_as_printed() {
    let (sandbox, mut access) = sandbox().await;
    access.kubeconfig = access.kubeconfig.replace("sandbox", "home");
    let cluster = access.url.clone();
    let mut machine = Machine::start(access, "quickcache 7.2").await;
    for (name, text) in [
        ("person", PERSON),
        ("maker", MAKER),
        ("drift", DRIFT),
        ("scale", SCALE),
        ("by-hand", BY_HAND),
        ("again", AGAIN),
    ] {
        machine.write(&format!("bin/{name}"), &text.replace("$CLUSTER", &cluster));
    }
    machine.done("bin", "chmod +x person maker drift scale by-hand again && mkdir ../desk").await;
    let root = machine.root().display().to_string();
    let settings = format!(
        "instances: [{{name: home, path: {root}/desk/home}}]\nlisten: 127.0.0.1:0\nmetricsListen: ''\n\
         egress: {{allow: [{root}/directory.git]}}\nallowedSigners: {root}/allowed\n"
    );
    machine.write("home/.config/wild/daemon.yaml", &settings);
    let printed = printed(&machine).await;
    let known: Vec<&str> = EXAMPLES.iter().map(|example| example.line).collect();
    let missing: Vec<&String> = printed.iter().filter(|line| !known.contains(&line.as_str())).collect();
    assert!(missing.is_empty(), "printed by help and never run: {missing:#?}");
    let stale: Vec<&&str> = known.iter().filter(|line| !printed.contains(**line)).collect();
    assert!(stale.is_empty(), "run and printed by no help: {stale:#?}");
    assert_eq!(known.len(), printed.len());
    machine
        .done("desk", "wild init home --bare --domain cloud.example.org && git clone -q --no-local home ../work")
        .await;
    for example in EXAMPLES {
        if example.line.starts_with("wild directory add sample") {
            machine.start_daemon(&settings).await;
        }
        let typed = example.line.replace(PRINTED, &format!("{root}/directory.git"));
        if !example.before.is_empty() {
            machine.done(example.folder, &example.before.replace("$CLUSTER", &cluster)).await;
        }
        let ran = if typed.starts_with("wild daemon") {
            until_told(&machine, example.folder, &typed).await
        } else {
            machine.run(example.folder, &typed).await
        };
        assert_eq!(ran.code, example.code, "{}: {ran:#?}\n{}", example.line, machine.log());
        assert!(format!("{}{}", ran.data, ran.notes).contains(example.shows), "{}: {ran:#?}", example.line);
    }
    sandbox.stop().await;
}

/// Runs a daemon until it answers, and then tells it to end.
async fn until_told(machine: &Machine, folder: &str, line: &str) -> Ran {
    // Asked by its socket alone: a command that finds no daemon would take the instance itself.
    let answers = "wild status --socket $ROOT/run/wild.sock >/dev/null 2>&1";
    let tell = format!("{line} & until {answers}; do :; done; kill $!; wait $!");
    machine.run(folder, &tell).await
}

/// Returns all examples of all commands, as `--help` prints them.
async fn printed(machine: &Machine) -> BTreeSet<String> {
    let mut examples = BTreeSet::new();
    let mut waiting: Vec<String> = HIDDEN.iter().map(|name| format!("wild {name}")).collect();
    waiting.push("wild".to_owned());
    while let Some(command) = waiting.pop() {
        let help = machine.done(".", &format!("{command} --help")).await.data;
        let below = section(&help, "Commands:");
        if below.is_empty() {
            let found = section(&help, "Examples:");
            assert!(!found.is_empty(), "{command} shows no example");
            examples.extend(found);
        }
        let names = below.iter().filter_map(|line| line.split_whitespace().next());
        waiting.extend(names.map(|name| format!("{command} {name}")));
    }
    examples
}

/// Returns the lines of a section of help, without their indentation; continued lines are left out.
fn section(help: &str, title: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != title).skip(1).take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' ')).map(str::to_owned).collect()
}
