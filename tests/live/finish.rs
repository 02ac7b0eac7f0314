//! An update that conflicts, finished with the git program and a forge in three ways: by git with our driver, by our command, by plain git. All
//! end in one tree with the same parents, and what was decided is never asked again.
//!
//! Not here: the parts (`home.rs`), histories that people bend (`tests/it/line`).

use crate::home::Home;
use crate::parts::until;

const SERVER: &str = "apps/photobox/server-deployment.yaml";
const RECORD: &str = ".wild/generated/photobox.yaml";
const GENERATED: &str = "refs/wild/generated/photobox";
const UPDATE: &str = "refs/heads/wild/update/photobox";

/// A clone that was set up merges by our driver, which shows base as well.
const BY_DRIVER: &str = "wild hook install 2>/dev/null
    git fetch -q origin
    ! git merge -q --no-edit refs/wild/generated/photobox >/dev/null
    grep -q '^|||||||' apps/photobox/server-deployment.yaml
    sed -i -e '/^|||||||/,/^>>>>>>>/d' -e '/^<<<<<<</d' apps/photobox/server-deployment.yaml";
/// A clone as git makes it.
const BY_PLAIN_GIT: &str = "git fetch -q origin refs/wild/generated/photobox
    ! git merge -q --no-edit FETCH_HEAD >/dev/null
    ! grep -q '^|||||||' apps/photobox/server-deployment.yaml
    sed -i -e '/^=======/,/^>>>>>>>/d' -e '/^<<<<<<</d' apps/photobox/server-deployment.yaml";
/// Only one file may be left to decide about; then the person pushes.
const AND_PUSH: &str = "test \"$(git diff --name-only --diff-filter=U)\" = apps/photobox/server-deployment.yaml
    git add apps/photobox/server-deployment.yaml
    git commit -q --no-edit
    git push -q origin HEAD:main";

#[test]
fn all_three_ways_end_alike_and_nothing_is_asked_again() {
    let Some(home) = Home::start() else { return };
    home.publish("photobox 1.0");
    home.wild(&format!("directory add sample {}", home.path("directory.git").display()), 0);
    for app in ["stonedb", "quickcache", "photobox --grant stonedb.password --grant quickcache.auth"] {
        home.wild(&format!("app add {app}"), 0);
    }
    home.wild("app deploy stonedb quickcache photobox --wait", 0);
    let customised = home.push("scale(photobox): more processor", &[(SERVER, "cpu: 100m", "cpu: 200m")]);
    home.publish("photobox 1.1");
    home.wild("directory fetch", 0);
    let by_driver = finished(&home, "by-driver", |home| home.script_in_clone("by-driver", &script(BY_DRIVER)));
    not_asked_again(&home, &customised, &by_driver);
    let by_command = finished(&home, "by-command", |home| drop(home.wild("app resolve photobox --take mine", 0)));
    assert_eq!(by_command, by_driver);
    not_asked_again(&home, &customised, &by_command);
    let by_plain_git = finished(&home, "by-plain-git", |home| home.script_in_clone("plain", &script(BY_PLAIN_GIT)));
    assert_eq!(by_plain_git, by_driver);
    not_asked_again(&home, &customised, &by_plain_git);
}

fn script(way: &str) -> String {
    format!("{way}\n{AND_PUSH}")
}

/// Updates, which conflicts, finishes that in a way, and returns the tree that it comes to.
fn finished(home: &Home, way: &str, finish: impl Fn(&Home)) -> String {
    let before = home.pull();
    home.wild("app update photobox", 3);
    assert_eq!(home.pull(), before, "{way}: the deployed branch stays");
    let config = home.git(&home.path("home.git"), &["show", "wild/update/photobox:config.yaml"]);
    let generation = home.revision("home.git", GENERATED);
    until("git can fetch the generation", || (home.on_forge(GENERATED)? == generation).then_some(()));
    finish(home);
    until(&format!("{way}: config.yaml follows and the branch of the update goes"), || {
        let follows = home.file("config.yaml").trim_end() == config && !home.file(RECORD).contains("held: ");
        (follows && home.on_forge(UPDATE).is_none()).then_some(())
    });
    let merges = home.in_clone(&["log", "--first-parent", "--merges", "--format=%P", &format!("{before}..HEAD")]);
    assert_eq!(merges, format!("{before} {generation}"), "{way}");
    let server = home.file(SERVER);
    assert!(server.contains("cpu: 200m") && server.contains("photobox/server:1.1"), "{way}: {server}");
    home.in_clone(&["rev-parse", "HEAD^{tree}"])
}

/// Goes back to before the update and updates again, which decides the same by itself; then goes back and forgets.
fn not_asked_again(home: &Home, before: &str, tree: &str) {
    let back = || drop(home.wild(&format!("app rollback photobox --to {before}"), 0));
    back();
    assert!(home.file(RECORD).contains("held: ") && home.file(SERVER).contains("photobox/server:1.0"));
    home.wild("app update photobox", 0);
    home.pull();
    assert_eq!(home.in_clone(&["rev-parse", "HEAD^{tree}"]), tree);
    back();
    home.wild("app resolve photobox --forget", 0);
}
