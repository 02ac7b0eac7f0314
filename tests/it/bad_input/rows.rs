//! The rows of bad input.
//!
//! Not here: how a row is played (`mod.rs`).

use super::{Row, Shape};

const ORDINARY: Row = Row {
    name: "",
    shape: Shape::Bare,
    set_up: "",
    folder: "home.git",
    typed: "",
    code: 2,
    says: [""; 3],
    gains: &[],
    second: "quickcache",
    deploys: "wild app add quickcache --deploy",
    repair: "{try}",
    again: ("", 0),
};

/// Every bad input.
pub(crate) const ROWS: &[Row] = &[
    Row {
        name: "broken YAML in an app",
        set_up: "cd work\nsed -i 's/^kind: StatefulSet/kind: [StatefulSet/' apps/stonedb/statefulset.yaml\n\
                 git commit -qam 'break it' && git push -q",
        typed: "wild app deploy stonedb",
        code: 6,
        says: [
            "error: deploy stonedb",
            "because: apps/stonedb/statefulset.yaml:3:9: Y100: this is no valid YAML: illegal placement of ':' indicator",
            "try: wild app rollback stonedb --to {commit}",
        ],
        gains: &["deploy stonedb succeeded blocked"],
        again: ("wild app deploy stonedb --wait", 0),
        ..ORDINARY
    },
    Row {
        name: "broken YAML in config.yaml",
        set_up: "cd work && sed -i '1i mine: a: b' config.yaml && git commit -qam 'break it'",
        folder: "work",
        typed: "git push -q",
        code: 1,
        says: [
            "error: push to main",
            "because: config.yaml:1: config/yaml: this is no valid YAML: mapping values are not allowed in this context",
            "try: correct config.yaml, git commit --amend --all --no-edit, git push",
        ],
        repair: "sed -i 's/^mine: .*/mine: a/' config.yaml && git commit -q --amend --all --no-edit && git pull -q --rebase",
        again: ("git push -q", 0),
        ..ORDINARY
    },
    Row {
        name: "broken YAML in .wild/config.yaml",
        set_up: "cd work && echo 'drift: sometimes' >> .wild/config.yaml && git commit -qam 'break it'",
        folder: "work",
        typed: "git push -q",
        code: 1,
        says: [
            "error: push to main",
            "because: .wild/config.yaml:8: config/yaml: drift: unknown variant `sometimes`, expected one of `correct`, `report`, `off`",
            "try: correct .wild/config.yaml, git commit --amend --all --no-edit, git push",
        ],
        repair: "sed -i 's/^drift: .*/drift: report/' .wild/config.yaml && git commit -q --amend --all --no-edit && git pull -q --rebase",
        again: ("git push -q", 0),
        ..ORDINARY
    },
    Row {
        name: "broken YAML in daemon.yaml",
        set_up: "printf 'instances:\\n- {name: two, path: two.git\\n' > two.yaml",
        folder: ".",
        typed: "wild daemon --config two.yaml",
        code: 2,
        says: [
            "error: read the settings {root}/two.yaml",
            "because: {root}/two.yaml:2:3: Y100: this is no valid YAML: unclosed bracket '{'",
            "try: edit {root}/two.yaml",
        ],
        repair: "printf 'instances: [{name: home, path: %s/home.git}]\nlisten: 127.0.0.1:0\nmetricsListen: \"\"\n' $ROOT > two.yaml",
        // The file reads now; what stops this daemon is the one that runs.
        again: ("wild daemon --config two.yaml", 6),
        ..ORDINARY
    },
    Row {
        name: "an unknown template key",
        set_up: "git clone -q directory.git up && cd up\nsed -i 's/replicas: .*/replicas: {{ .replicaz }}/' quillblog/deployment.yaml\n\
                 git commit -qam 'quillblog: a mistake' && git push -q\ncd ../home.git && wild directory fetch",
        typed: "wild app add quillblog --grant stonedb.password",
        says: [
            "error: add quillblog",
            "because: quillblog/deployment.yaml:6:16: T201: the config has no key \"replicaz\"; it has dbHost, dbName, dbPort, dbUser, domain, externalDnsDomain, features, image and 7 more",
            "try: wild directory fetch, once sample has corrected it",
        ],
        gains: &["add quillblog failed unchanged"],
        repair: "cd $ROOT/up && git revert --no-edit HEAD && git push -q\ncd $ROOT/home.git && wild directory fetch",
        again: ("wild app add quillblog --grant stonedb.password", 0),
        ..ORDINARY
    },
    Row {
        name: "a missing requirement",
        typed: "wild app add photobox --grant stonedb.password --grant quickcache.auth",
        says: [
            "error: add photobox",
            "because: photobox/manifest.yaml:9: P054: the package needs a quickcache, and none is installed",
            "try: wild app add quickcache",
        ],
        gains: &["add photobox failed unchanged"],
        second: "quillblog",
        deploys: "wild app add quillblog --deploy --grant stonedb.password",
        again: ("wild app add photobox --grant stonedb.password --grant quickcache.auth", 0),
        ..ORDINARY
    },
    Row {
        name: "a missing secret",
        set_up: "cd home/.local/state/wild/instances/*/ && cp secrets.yaml $ROOT/kept.yaml && echo 'apps: {}' > secrets.yaml",
        typed: "wild app add quillblog --grant stonedb.password",
        says: [
            "error: make the secrets of quillblog",
            "because: manifest.yaml: P064: the secret apps.stonedb.password that quillblog reads has no value",
            "try: add it to {root}/home/.local/state/wild/instances/{id}/secrets.yaml",
        ],
        gains: &["add quillblog failed unchanged"],
        repair: "tail -n +2 $ROOT/kept.yaml >> $(ls $ROOT/home/.local/state/wild/instances/*/secrets.yaml)",
        again: ("wild app add quillblog --grant stonedb.password", 0),
        ..ORDINARY
    },
    Row {
        name: "broken YAML in secrets.yaml",
        set_up: "cd home/.local/state/wild/instances/*/ && cp secrets.yaml $ROOT/kept.yaml && echo 'apps: {' > secrets.yaml",
        typed: "wild app deploy stonedb",
        says: [
            "error: deploy stonedb",
            "because: {root}/home/.local/state/wild/instances/{id}/secrets.yaml:1:7: Y100: this is no valid YAML: unclosed bracket '{'",
            "try: edit {root}/home/.local/state/wild/instances/{id}/secrets.yaml",
        ],
        gains: &["deploy stonedb failed unchanged"],
        // No app can be applied without its secrets, so the file is put right before a second one deploys.
        deploys: "cp $ROOT/kept.yaml $ROOT/home/.local/state/wild/instances/*/secrets.yaml && wild app add quickcache --deploy",
        repair: "",
        again: ("wild app deploy stonedb --wait", 0),
        ..ORDINARY
    },
    Row {
        name: "an unreachable upstream",
        typed: "wild directory add other $ROOT/gone.git",
        says: [
            "error: add the directory other",
            "because: fetch {root}/gone.git: fatal: '{root}/gone.git' does not appear to be a git repository",
            "try: git ls-remote {root}/gone.git",
        ],
        gains: &["directory - failed unchanged"],
        repair: "git clone -q --bare $ROOT/directory.git $ROOT/gone.git && {try}",
        again: ("wild directory add other $ROOT/gone.git", 0),
        ..ORDINARY
    },
    Row {
        name: "an address that the host does not allow",
        typed: "wild directory add other https://127.0.0.1:1/x.git",
        says: [
            "error: add the directory other",
            "because: connect to 127.0.0.1: it leads to 127.0.0.1, which is not public (egress/address)",
            "try: egress: {allow: [\"https://127.0.0.1:1/x.git\"]} in daemon.yaml",
        ],
        gains: &["directory - failed unchanged"],
        repair: "",
        again: ("wild directory list", 0),
        ..ORDINARY
    },
    Row {
        name: "an empty repository",
        set_up: "git init -q --bare -b main empty.git",
        folder: "empty.git",
        typed: "wild status",
        says: [
            "error: open the instance {root}/empty.git",
            "because: its branch main has no commit",
            "try: wild init {root}/empty.git",
        ],
        again: ("wild status", 0),
        ..ORDINARY
    },
    Row {
        name: "a directory that is no instance",
        set_up: "mkdir photos && touch photos/cat.jpg",
        folder: ".",
        typed: "wild status --local photos",
        says: ["error: find the instance", "because: {root}/photos is no git repository", "try: wild init my-cloud"],
        again: ("wild status --local my-cloud", 0),
        ..ORDINARY
    },
    Row {
        name: "a port in use",
        set_up: "port=$(grep -o '127.0.0.1:[0-9]*' daemon.log | head -n 1)\n\
                 printf 'listen: %s\\nmetricsListen: \"\"\\nsocket: %s/run/two.sock\\ninstances: [{name: home, path: %s/home.git}]\\n' $port $ROOT $ROOT > two.yaml",
        folder: ".",
        typed: "wild daemon --config two.yaml",
        says: [
            "error: start the daemon",
            "because: listen on 127.0.0.1:{port}: Address already in use (os error 98)",
            "try: another port in daemon.yaml, such as listen: 127.0.0.1:5065",
        ],
        repair: "sed -i 's/^listen: .*/listen: 127.0.0.1:0/' two.yaml",
        // The port is free now; what stops this daemon is the one that holds the instance.
        again: ("wild daemon --config two.yaml", 6),
        ..ORDINARY
    },
    Row {
        name: "a second daemon on one instance",
        set_up: "printf 'listen: 127.0.0.1:0\\nmetricsListen: \"\"\\nsocket: %s/run/two.sock\\ninstances: [{name: home, path: %s/home.git}]\\n' $ROOT $ROOT > two.yaml",
        folder: ".",
        typed: "wild daemon --config two.yaml",
        code: 6,
        says: [
            "error: open the instance",
            "because: the instance is held by pid {pid} since {time}",
            "try: wild status, which asks that process, or stop it",
        ],
        repair: "",
        again: ("wild status", 0),
        ..ORDINARY
    },
    Row {
        name: "uncommitted edits in the way",
        shape: Shape::WorkTree,
        set_up: "cd cloud && wild app add quickcache && sed -i '1i # mine' config.yaml",
        folder: "cloud",
        typed: "wild app add quillblog --grant stonedb.password",
        code: 6,
        says: ["error: add quillblog", "because: uncommitted edits are in the way: config.yaml", "try: git stash"],
        gains: &["add quillblog failed blocked"],
        deploys: "wild app deploy quickcache",
        again: ("wild app add quillblog --grant stonedb.password && git stash pop", 0),
        ..ORDINARY
    },
    Row {
        name: "a push with conflict markers",
        set_up: "cd work && printf '<<<<<<< mine\\na\\n=======\\nb\\n>>>>>>> yours\\n' > apps/stonedb/README.md && git commit -qam 'merge'",
        folder: "work",
        typed: "git push -q",
        code: 1,
        says: [
            "error: push to main",
            "because: apps/stonedb/README.md:1: conflict/marker: a conflict marker was committed",
            "try: decide the conflict, remove the markers, git commit --amend --all --no-edit, git push",
        ],
        repair: "echo a > apps/stonedb/README.md && git commit -q --amend --all --no-edit && git pull -q --rebase",
        again: ("git push -q", 0),
        ..ORDINARY
    },
    Row {
        name: "a push with secrets in clear",
        set_up: "cd work && echo 'apps: {stonedb: {password: hunter2}}' > secrets.yaml && echo b >> apps/stonedb/README.md\n\
                 git add -f secrets.yaml apps && git commit -qm 'all of it'",
        folder: "work",
        typed: "git push -q",
        code: 1,
        says: [
            "error: push to main",
            "because: secrets.yaml: secret/plaintext: commit {commit} holds secret values in clear",
            "try: git rm --cached secrets.yaml, git commit --amend --no-edit, git push, and change the values",
        ],
        repair: "git rm -q --cached secrets.yaml && git commit -q --amend --no-edit && git pull -q --rebase",
        again: ("git push -q", 0),
        ..ORDINARY
    },
];
