//! Packages and directories that break a rule: each costs the package that it lies in and no other, and outside of packages it costs nothing.
//! What is broken is said by every command that shows packages, with its place and the rule.
//!
//! Not here: upstreams that go back (`rewinds.rs`).

use crate::input::sandbox;
use crate::machine::Machine;

/// Commits what stands in the input, as `git update-index --index-info` reads it, over the files of the first commit.
const ODD: &str = "#!/bin/sh -e\ncd $ROOT/directory.git\nexport GIT_INDEX_FILE=$ROOT/odd.index\n\
    git read-tree $(cat $ROOT/first)\ngit update-index --add --index-info\n\
    git update-ref refs/heads/main $(git commit-tree $(git write-tree) -p main -m odd)\n";
/// The same, with entries of a tree in place of a directory, past every check of git.
const GRAFT: &str = "#!/bin/sh -e\ncd $ROOT/directory.git\nfirst=$(cat $ROOT/first)\n\
    below=$( (git ls-tree $first:$1 2>/dev/null || true; cat) | git mktree --missing)\n\
    tree=$( (git ls-tree $first | grep -v \"\t$1$\"; printf '040000 tree %s\\t%s\\n' $below $1) | git mktree)\n\
    git update-ref refs/heads/main $(git commit-tree $tree -p main -m odd)\n";
/// Objects that the attacks are made of, by name.
const OBJECTS: &str = "cd $ROOT/directory.git\n\
    small=$(echo x | git hash-object -w --stdin)\nlink=$(printf /etc/passwd | git hash-object -w --stdin)\n\
    large=$(head -c 5000000 /dev/zero | git hash-object -w --stdin)\n\
    huge=$(head -c 12000000 /dev/zero | git hash-object -w --stdin)\n\
    deep=$(printf 'd/%.0s' $(seq 40))\ncommit=$(cat $ROOT/first)\n\
    gone() { git ls-tree -r --name-only $commit $1 | sed \"s|^|0 $(printf 0%.0s $(seq 40))\\t|\"; }\n";

/// An attack: what it is, how it is committed, the package that it costs, and what is said of it.
struct Attack {
    what: &'static str,
    script: &'static str,
    said: &'static str,
}

const ATTACKS: &[Attack] = &[
    Attack {
        what: "a link out of the repository",
        script: "printf \"120000 $link\\tquillblog/secret.yaml\\n\" | odd",
        said: "quillblog/secret.yaml: P010: symbolic links are not taken",
    },
    Attack {
        what: "a manifest that is a link",
        script: "printf \"120000 $link\\tquillblog/manifest.yaml\\n\" | odd",
        said: "quillblog/manifest.yaml: P010: symbolic links are not taken",
    },
    Attack {
        what: "a file over the limit of files",
        script: "printf \"100644 $large\\tquillblog/picture\\n\" | odd",
        said: "quillblog/picture: P012: the file is larger than allowed",
    },
    Attack {
        what: "a file over the limit of what is taken in",
        script: "printf \"100644 $huge\\tquillblog/film\\n\" | odd",
        said: "quillblog/film: P012: the file is larger than allowed",
    },
    Attack {
        what: "a file forty directories deep",
        script: "printf \"100644 $small\\tquillblog/${deep}x\\n\" | odd",
        said: "P012: it is nested deeper than 32 directories",
    },
    Attack {
        what: "a submodule",
        script: "printf \"160000 $commit\\tquillblog/theme\\n\" | odd",
        said: "quillblog/theme: P010: submodules are not taken",
    },
    Attack {
        what: "a submodule's settings",
        script: "printf \"100644 blob $small\\t.gitmodules\\n\" | graft quillblog",
        said: "quillblog/.gitmodules: P010: submodules are not taken",
    },
    Attack {
        what: "names that are one on some file systems",
        script: "printf \"100644 $small\\tquillblog/Notes\\n100644 $small\\tquillblog/notes\\n\" | odd",
        said: "quillblog/notes: P010: two names differ in case or form only, or not at all",
    },
    Attack {
        what: "one name twice",
        script: "printf \"100644 blob $small\\tmanifest.yaml\\n\" | graft quillblog",
        said: "quillblog/manifest.yaml: P010: two names differ in case or form only, or not at all",
    },
    Attack {
        what: "a directory of git",
        script: "printf \"100644 blob $small\\t.git\\n\" | graft quillblog",
        said: "quillblog/.git: P010: some file systems take the name for .git",
    },
    Attack {
        what: "the directory above",
        script: "printf \"100644 blob $small\\t..\\n\" | graft quillblog",
        said: "quillblog/..: P010: the name . or .. leads to another directory",
    },
    Attack {
        what: "a package in two places",
        script: "printf \"100644 $small\\tapps/quillblog/manifest.yaml\\n\" | odd",
        said: "P004: the package quillblog is there twice: quillblog and apps/quillblog",
    },
    Attack {
        what: "a link in place of the package",
        script: "(gone quillblog; printf \"120000 $link\\tquillblog\\n\") | odd",
        said: "quillblog: P010: symbolic links are not taken",
    },
    Attack {
        what: "the name of the package twice",
        script: "tree=$( (git ls-tree $commit; git ls-tree $commit quillblog) | git mktree)\n\
                 git update-ref refs/heads/main $(git commit-tree $tree -p main -m twice)",
        said: "quillblog: P010: two entries have this name",
    },
    Attack {
        what: "a submodule in place of the package",
        script: "(gone quillblog; printf \"160000 $commit\\tquillblog\\n\") | odd",
        said: "quillblog: P010: submodules are not taken",
    },
];

/// What lies outside of packages.
const OUTSIDE: &[&str] = &[
    "printf \"120000 $link\\tREADME.link\\n120000 $link\\tlatest\\n120000 $link\\tdocs/a.md\\n\" | odd",
    "printf \"100644 $huge\\tfilm\\n100644 $huge\\tdocs/film\\n\" | odd",
    "printf \"100644 $small\\tdocs/${deep}x\\n\" | odd",
    "printf \"160000 $commit\\ttheme\\n160000 $commit\\tdocs/theme\\n100644 $small\\t.gitmodules\\n\" | odd",
    "printf \"100644 $small\\tdocs/A\\n100644 $small\\tdocs/a\\n100644 $small\\tReadme\\n100644 $small\\treadme\\n\" | odd",
    "printf \"100644 $small\\tdocs/x\\n\" | odd; printf \"100644 blob $small\\t.git\\n\" | graft docs",
];

/// A machine whose instance follows a directory of four packages, two of them installed.
async fn machine(access: crate::machine::Access) -> Machine {
    let mut machine = Machine::start(access, "photobox 2.0").await;
    machine.write("bin/odd", ODD);
    machine.write("bin/graft", GRAFT);
    machine.write("objects", OBJECTS);
    machine.done(".", "chmod +x bin/odd bin/graft && git --git-dir directory.git rev-parse main > first").await;
    machine.done(".", "wild init home.git --bare --domain cloud.example.org --kubeconfig home/.kube/config").await;
    let root = machine.root().display().to_string();
    let settings = format!(
        "instances: [{{name: home, path: {root}/home.git}}]\nlisten: 127.0.0.1:0\nmetricsListen: ''\n\
         egress: {{allow: [{root}/directory.git]}}\n"
    );
    machine.start_daemon(&settings).await;
    machine.done("home.git", "wild directory add sample $ROOT/directory.git").await;
    machine.done("home.git", "wild app add stonedb --deploy && wild app wait stonedb").await;
    machine.done("home.git", "wild app add quillblog --grant stonedb.password").await;
    machine
}

/// Commits to the directory.
async fn attack(machine: &Machine, script: &str) {
    let script = script.replace("odd", "$ROOT/bin/odd").replace("graft", "$ROOT/bin/graft");
    machine.done(".", &format!("set -e\n. $ROOT/objects\n{script}")).await;
}

/// Returns what each command says that shows packages.
async fn said(machine: &Machine) -> Vec<(&'static str, String)> {
    let mut said = Vec::new();
    for (command, codes) in [
        ("wild directory fetch", &[0][..]),
        ("wild directory list", &[0]),
        ("wild directory outdated", &[0, 1]),
        ("wild app list", &[0]),
        ("wild status", &[0]),
        ("wild doctor", &[0, 1]),
    ] {
        let ran = machine.run("home.git", command).await;
        assert!(codes.contains(&ran.code), "{command}: {ran:#?}\n{}", machine.log());
        said.push((command, format!("{}{}", ran.data, ran.notes)));
    }
    said
}

/// Returns the packages that are whole.
async fn whole(machine: &Machine) -> Vec<String> {
    let listed = machine.done("home.git", "wild app list -o json").await.data;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let whole = listed["packages"].as_array().unwrap().iter().filter(|package| package["broken"].is_null());
    whole.map(|package| package["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_a_rule_costs_its_package_alone_and_every_command_says_where_and_why() {
    let (sandbox, access) = sandbox().await;
    let machine = machine(access).await;
    for Attack { what, script, said: expected } in ATTACKS {
        attack(&machine, script).await;
        for (command, said) in said(&machine).await {
            assert!(said.contains(expected), "{what}: {command}\n{said}");
        }
        assert_eq!(whole(&machine).await, ["photobox", "quickcache", "stonedb"], "{what}");
        let ran = machine.run("home.git", "wild app update quillblog").await;
        assert!(ran.code == 2 && ran.notes.contains(expected), "{what}: {ran:#?}");
        machine.done("home.git", "wild app update stonedb").await;
    }
    // An app whose package is broken goes on with what it has.
    machine.done("home.git", "wild app config quillblog set title=Again && wild app deploy quillblog --wait").await;
    attack(&machine, "printf '' | odd").await;
    for (command, said) in said(&machine).await {
        assert!(!said.contains("broken"), "{command}\n{said}");
    }
    machine.done("home.git", "wild app update quillblog").await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_a_rule_outside_of_packages_or_in_history_alone_costs_nothing() {
    let (sandbox, access) = sandbox().await;
    let machine = machine(access).await;
    for script in OUTSIDE {
        attack(&machine, script).await;
        for (command, said) in said(&machine).await {
            assert!(!said.contains("broken") && !said.contains("P010"), "{script}: {command}\n{said}");
        }
        assert_eq!(whole(&machine).await, ["photobox", "quickcache", "quillblog", "stonedb"], "{script}");
    }
    // All of it at once lies in the history of a directory that is followed anew, and in the way to an older version.
    for Attack { script, .. } in ATTACKS {
        attack(&machine, script).await;
    }
    attack(&machine, "printf '' | odd").await;
    machine.done("home.git", "wild directory add late $ROOT/directory.git").await;
    for (command, said) in said(&machine).await {
        assert!(!said.contains("broken") && !said.contains("P010"), "{command}\n{said}");
    }
    machine.done("home.git", "wild app add quickcache --version 7.0").await;
    sandbox.stop().await;
}
