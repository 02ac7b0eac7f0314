//! The story: ten steps, each with the commands that a person types and with what must then be in git and in the cluster.
//!
//! Not here: looking (`witness.rs`), printing (`teller.rs`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::error::ExitCode;
use super::super::output::Captured;
use super::StepFailed;
use super::stage::Stage;
use super::teller::Teller;
use super::witness::{Unmet, Witness};

const STONEDB: &str = "/apis/apps/v1/namespaces/stonedb/statefulsets/stonedb";
const SERVER: &str = "/apis/apps/v1/namespaces/photobox/deployments/photobox-server";
const WORKER: &str = "/apis/apps/v1/namespaces/photobox/deployments/photobox-worker";
const SETTINGS: &str = "/api/v1/namespaces/photobox/configmaps/photobox-settings";
const SECRETS: &str = "/api/v1/namespaces/photobox/secrets/photobox-secrets";
const LIBRARY: &str = "/api/v1/namespaces/photobox/persistentvolumeclaims/photobox-library";

/// Where the server's image, memory limit and processor request stand in its Deployment.
const IMAGE: &str = "/spec/template/spec/containers/0/image";
const MEMORY: &str = "/spec/template/spec/containers/0/resources/limits/memory";
const CPU: &str = "/spec/template/spec/containers/0/resources/requests/cpu";
const REPLICAS: &str = "/spec/replicas";

/// What the demo's commit statuses begin with.
const DEPLOYED: &str = "wild/deploy (home) success";
const DRIFTED: &str = "wild/drift (home) failure";
const AS_IN_GIT: &str = "wild/drift (home) success";

const GENERATED: &str = "refs/wild/generated/photobox";
const UPDATE: &str = "refs/heads/wild/update/photobox";

/// The story at work.
pub(super) struct Story<'a> {
    stage: &'a Stage,
    witness: Witness,
    teller: Teller<'a>,
    /// The commit of the person's customisation.
    customised: String,
}

impl<'a> Story<'a> {
    /// Begins a story.
    pub(super) fn new(stage: &'a Stage, teller: Teller<'a>) -> Self {
        Self { stage, witness: stage.witness(), teller, customised: String::new() }
    }

    /// Plays all steps, up to the first that does not hold.
    pub(super) async fn play(&mut self) -> Result<(), Unmet> {
        self.add().await?;
        self.deploy().await?;
        self.customise().await?;
        self.update().await?;
        self.conflict().await?;
        self.resolve().await?;
        self.drift().await?;
        self.heal().await?;
        self.roll_back().await?;
        self.delete().await?;
        self.teller.end();
        Ok(())
    }

    /// Returns the step that does not hold.
    pub(super) fn failed(&mut self, unmet: Unmet) -> StepFailed {
        let (step, command) = self.teller.failed();
        StepFailed { step, command, unmet }
    }

    async fn add(&mut self) -> Result<(), Unmet> {
        self.teller.step("add");
        self.wild(&["directory", "fetch"], ExitCode::Done).await?;
        self.teller.holds("the sample directory is a bare git repository in the demo's folder").await;
        self.wild(&["app", "add", "stonedb"], ExitCode::Done).await?;
        self.subject("main", "feat(stonedb): add 15.4").await?;
        self.same_commit("main^2", "refs/wild/generated/stonedb").await?;
        self.contains("main", "apps/stonedb/statefulset.yaml", "kind: StatefulSet").await?;
        let namespace = "/api/v1/namespaces/stonedb";
        self.absent(namespace, "an added app is not in the cluster before it is deployed").await?;
        let seen = format!("main {} feat(stonedb): add 15.4; nothing in the cluster yet", self.short("main").await?);
        self.teller.holds(&seen).await;
        Ok(())
    }

    async fn deploy(&mut self) -> Result<(), Unmet> {
        self.teller.step("deploy");
        self.wild(&["app", "deploy", "stonedb", "--wait"], ExitCode::Done).await?;
        let live = self.witness.fields(STONEDB, &[("/status/readyReplicas", json!(1))]).await?;
        self.marked(&live, "stonedb", "apps/stonedb/statefulset.yaml").await?;
        let head = self.commit("main").await?;
        self.witness.noted(&head, DEPLOYED).await?;
        self.teller.holds("StatefulSet/stonedb is ready and names its commit; git notes say success").await;
        self.wild(&["app", "add", "quickcache", "--deploy"], ExitCode::Done).await?;
        self.wild_quietly(&["app", "wait", "quickcache"]).await?;
        let cache = "/apis/apps/v1/namespaces/quickcache/deployments/quickcache";
        self.witness.fields(cache, &[("/status/readyReplicas", json!(1))]).await?;
        self.teller.holds("Deployment/quickcache is ready").await;
        let grants = ["--grant", "stonedb.password", "--grant", "quickcache.auth"];
        let add = ["app", "add", "photobox", "--deploy"];
        self.wild(&[&add[..], &grants].concat(), ExitCode::Done).await?;
        self.wild_quietly(&["app", "wait", "photobox"]).await?;
        for path in [SERVER, WORKER] {
            self.witness.fields(path, &[("/status/readyReplicas", json!(1))]).await?;
        }
        self.secret_is_shared_and_not_in_git().await?;
        let head = self.commit("main").await?;
        self.witness.noted(&head, DEPLOYED).await?;
        self.teller.holds("3 apps run; photobox has the password of stonedb, which is nowhere in git").await;
        Ok(())
    }

    async fn customise(&mut self) -> Result<(), Unmet> {
        self.teller.step("customise");
        self.teller.command("git clone --no-local home.git work && vi work/apps/photobox/*.yaml && git -C work push");
        let clone = self.stage.clone_of_person();
        self.witness.git_in(self.stage.root(), &["clone", "--quiet", "--no-local", "home.git", "work"]).await?;
        edit(&clone.join("apps/photobox/server-deployment.yaml"), "memory: 512Mi", "memory: 1Gi")?;
        edit(&clone.join("apps/photobox/worker.yaml"), "replicas: 1", "replicas: 2")?;
        self.customised = self.push("scale(photobox): room for videos").await?;
        let live = self.witness.fields(SERVER, &[(MEMORY, json!("1Gi"))]).await?;
        self.names_commit(&live, &self.customised)?;
        self.witness.fields(WORKER, &[(REPLICAS, json!(2)), ("/status/readyReplicas", json!(2))]).await?;
        self.witness.noted(&self.customised, DEPLOYED).await?;
        let seen = "server memory 512Mi → 1Gi, worker replicas 1 → 2: pushed, live, and the commit is green";
        self.teller.holds(seen).await;
        Ok(())
    }

    async fn update(&mut self) -> Result<(), Unmet> {
        self.teller.step("update");
        self.publish("photobox 1.1").await?;
        self.wild(&["app", "update", "photobox"], ExitCode::Done).await?;
        self.merged("1.1").await?;
        self.contains("main", "apps/photobox/server-deployment.yaml", "photobox/server:1.1").await?;
        self.contains("main", "apps/photobox/server-deployment.yaml", "periodSeconds: 5").await?;
        self.contains("main", "apps/photobox/server-deployment.yaml", "memory: 1Gi").await?;
        self.contains("main", "apps/photobox/worker.yaml", "replicas: 2").await?;
        let image = json!("registry.example.org/photobox/server:1.1");
        self.witness.fields(SERVER, &[(IMAGE, image.clone()), (MEMORY, json!("1Gi")), (CPU, json!("150m"))]).await?;
        self.witness.fields(WORKER, &[(IMAGE, image), (REPLICAS, json!(2))]).await?;
        self.witness.fields(SETTINGS, &[("/data/THUMBNAIL_SIZES", json!("160,640"))]).await?;
        let head = self.commit("main").await?;
        self.witness.noted(&head, DEPLOYED).await?;
        self.teller.holds("1.1 runs with the memory and the replicas of the customisation; a true merge commit").await;
        Ok(())
    }

    async fn conflict(&mut self) -> Result<(), Unmet> {
        self.teller.step("conflict");
        self.publish("photobox 2.0").await?;
        let before = self.commit("main").await?;
        self.wild(&["app", "update", "photobox"], ExitCode::Decision).await?;
        self.expect(self.commit("main").await? == before, "main stays where it was", "it moved").await?;
        let conflicts = ".wild/conflicts/photobox.yaml";
        self.contains(UPDATE, conflicts, "server-deployment.yaml").await?;
        self.contains(UPDATE, "apps/photobox/server-deployment.yaml", "memory: 1Gi").await?;
        self.contains(UPDATE, "apps/photobox/server-deployment.yaml", "photobox/server:2.0").await?;
        self.contains(UPDATE, "apps/photobox/worker-deployment.yaml", "replicas: 2").await?;
        self.ancestor("main", UPDATE).await?;
        let markers = self.witness.git_says(&["grep", "--quiet", "^<<<<<<<", UPDATE, "--", "apps"]).await?;
        self.expect(!markers, "no conflict markers on the update branch", "there are some").await?;
        let image = json!("registry.example.org/photobox/server:1.1");
        self.witness.fields(SERVER, &[(IMAGE, image)]).await?;
        let seen = "exit 3: the memory is held on branch wild/update/photobox; main and the cluster are untouched";
        self.teller.holds(seen).await;
        Ok(())
    }

    async fn resolve(&mut self) -> Result<(), Unmet> {
        self.teller.step("resolve");
        self.wild(&["app", "resolve", "photobox", "--take", "mine"], ExitCode::Done).await?;
        self.merged("2.0").await?;
        let branch = self.witness.git_says(&["show-ref", "--verify", "--quiet", UPDATE]).await?;
        self.expect(!branch, "the update branch is gone", "it is still there").await?;
        let open = self.witness.git(&["ls-tree", "--name-only", "main", ".wild/conflicts/"]).await?;
        self.expect(open.is_empty(), "no open conflicts on main", &open).await?;
        let kept = self.witness.git(&["ls-tree", "-r", "--name-only", "refs/wild/resolutions", "photobox/"]).await?;
        let message = self.witness.git(&["log", "-1", "--format=%B", "main"]).await?;
        let key = kept.rsplit('/').next().unwrap_or_default();
        let named = !key.is_empty() && message.contains(&format!("Wild-Resolution: {key} mine"));
        self.expect(named, "the decision is remembered and named in the merge", &format!("{kept}\n{message}")).await?;
        self.contains("main", "apps/photobox/server-deployment.yaml", "memory: 1Gi").await?;
        self.contains("main", "apps/photobox/worker-deployment.yaml", "replicas: 2").await?;
        self.contains("main", "apps/photobox/lens.yaml", "LENS_MODEL").await?;
        let image = json!("registry.example.org/photobox/server:2.0");
        self.witness.fields(SERVER, &[(IMAGE, image.clone()), (MEMORY, json!("1Gi"))]).await?;
        self.witness.fields(WORKER, &[(IMAGE, image), (REPLICAS, json!(2))]).await?;
        let head = self.commit("main").await?;
        self.witness.noted(&head, DEPLOYED).await?;
        self.teller.holds("2.0 runs with 1Gi; the worker kept 2 replicas though its file was renamed upstream").await;
        Ok(())
    }

    async fn drift(&mut self) -> Result<(), Unmet> {
        self.teller.step("drift");
        self.teller.command("kubectl --namespace photobox edit deployment photobox-server");
        let head = self.commit("main").await?;
        self.witness.noted(&head, AS_IN_GIT).await?;
        self.witness.edit(SERVER, &json!({"spec": {"replicas": 5}})).await?;
        self.witness.noted(&head, DRIFTED).await?;
        self.teller.holds("somebody sets replicas to 5; the commit turns red").await;
        let shown = self.wild(&["drift", "show", "photobox"], ExitCode::Answer).await?;
        let found = shown.data.lines().find(|line| line.contains("spec.replicas") && line.contains("kubectl-edit"));
        let Some(found) = found else {
            return Err(Unmet::new("a line with spec.replicas and kubectl-edit", shown.data));
        };
        let found: Vec<&str> = found.split_whitespace().collect();
        self.witness.fields(SERVER, &[(REPLICAS, json!(5))]).await?;
        self.teller.holds(&found.join(" ")).await;
        Ok(())
    }

    async fn heal(&mut self) -> Result<(), Unmet> {
        self.teller.step("heal");
        let head = self.commit("main").await?;
        self.wild(&["drift", "revert", "photobox"], ExitCode::Done).await?;
        self.witness.fields(SERVER, &[(REPLICAS, json!(1)), (MEMORY, json!("1Gi"))]).await?;
        self.witness.noted(&head, AS_IN_GIT).await?;
        self.expect(self.commit("main").await? == head, "healing makes no commit", "main moved").await?;
        self.teller.holds("replicas is 1 again and the commit is green").await;
        self.teller.command("kubectl --namespace stonedb edit statefulset stonedb");
        self.witness.edit(STONEDB, &json!({"spec": {"replicas": 4}})).await?;
        self.witness.fields(STONEDB, &[(REPLICAS, json!(1))]).await?;
        self.teller.holds("with drift policy correct nobody has to ask: replicas is 1 again").await;
        Ok(())
    }

    async fn roll_back(&mut self) -> Result<(), Unmet> {
        self.teller.step("roll back");
        let good = self.commit("main").await?;
        self.teller.command("vi work/apps/photobox/server-deployment.yaml && git -C work push");
        let clone = self.stage.clone_of_person();
        self.witness.git_in(&clone, &["pull", "--quiet", "--ff-only"]).await?;
        edit(&clone.join("apps/photobox/server-deployment.yaml"), "memory: 1Gi", "memory: 256Mi")?;
        let mistake = self.push("scale(photobox): save memory").await?;
        self.witness.fields(SERVER, &[(MEMORY, json!("256Mi"))]).await?;
        self.teller.holds("a mistake is pushed and deployed: memory 256Mi").await;
        let to = self.short(&good).await?;
        let args = ["app", "rollback", "photobox", "--to", &to, "--reason", "too little memory"];
        self.wild(&args, ExitCode::Done).await?;
        let same =
            self.witness.git_says(&["diff", "--quiet", &good, "main", "--", "apps/photobox", "config.yaml"]).await?;
        self.expect(same, "photobox is in git as it was", "it differs").await?;
        self.ancestor(&mistake, "main").await?;
        let head = self.commit("main").await?;
        self.expect(head != mistake, "a new commit on main", "there is none").await?;
        self.witness.fields(SERVER, &[(MEMORY, json!("1Gi"))]).await?;
        self.witness.noted(&head, DEPLOYED).await?;
        self.teller.holds("memory is 1Gi again; the mistake stays in history, a new commit undoes it").await;
        Ok(())
    }

    async fn delete(&mut self) -> Result<(), Unmet> {
        self.teller.step("delete");
        let before = self.commit("main").await?;
        self.wild(&["app", "delete", "photobox", "--yes"], ExitCode::Done).await?;
        let left =
            self.witness.git(&["ls-tree", "-r", "--name-only", "main", "apps/photobox", ".wild/generated"]).await?;
        self.expect(!left.contains("photobox"), "nothing of photobox in the tree", &left).await?;
        let config = self.witness.git(&["show", "main:config.yaml"]).await?;
        self.expect(!config.contains("photobox"), "no section photobox in config.yaml", "it is still there").await?;
        self.ancestor(&before, "main").await?;
        for path in [SERVER, WORKER, SETTINGS, SECRETS] {
            self.witness.gone(path).await?;
        }
        for kept in [LIBRARY, "/api/v1/namespaces/photobox"] {
            let there = self.witness.get(kept).await?.is_some();
            self.expect(there, &format!("{kept} is kept"), "it is gone").await?;
        }
        self.witness.fields(STONEDB, &[("/status/readyReplicas", json!(1))]).await?;
        let head = self.commit("main").await?;
        self.witness.noted(&head, DEPLOYED).await?;
        self.teller.holds("its workloads, settings and secrets are gone, its volume stays, other apps run on").await;
        Ok(())
    }
}

/// Things that are typed.
impl Story<'_> {
    /// Types a command of ours and expects how it ends.
    async fn wild(&mut self, args: &[&str], expected: ExitCode) -> Result<Captured, Unmet> {
        let typed: Vec<String> =
            args.iter().map(|arg| if arg.contains(' ') { format!("{arg:?}") } else { (*arg).to_owned() }).collect();
        self.teller.command(&format!("wild {}", typed.join(" ")));
        self.typed(args, expected).await
    }

    /// Types a command that belongs to the one that is shown.
    async fn wild_quietly(&mut self, args: &[&str]) -> Result<Captured, Unmet> {
        self.typed(args, ExitCode::Done).await
    }

    async fn typed(&mut self, args: &[&str], expected: ExitCode) -> Result<Captured, Unmet> {
        let words = std::iter::once("wild").chain(args.iter().copied()).map(Into::into).collect();
        let mut out = Captured::default();
        let ended = Box::pin(super::super::run(words, self.stage.environment(), &mut out)).await;
        if ended == expected {
            return Ok(out);
        }
        let printed = format!("{} {}", out.data, out.notes).replace('\n', " | ");
        let expected = format!("wild {} ends with {}", args.join(" "), expected.number());
        Err(Unmet::new(expected, format!("{}: {printed}", ended.number())))
    }

    /// Brings the sample directory forward and fetches it.
    async fn publish(&mut self, upto: &str) -> Result<(), Unmet> {
        self.teller.command("wild directory fetch");
        let published = self.stage.publish(upto).await;
        published.map_err(|error| Unmet::new(format!("the sample directory has {upto}"), error))?;
        self.typed(&["directory", "fetch"], ExitCode::Done).await?;
        self.teller.holds(&format!("upstream published {upto}")).await;
        Ok(())
    }

    /// Commits and pushes what was edited in the clone; returns the commit.
    async fn push(&self, message: &str) -> Result<String, Unmet> {
        let clone = self.stage.clone_of_person();
        self.witness.git_in(&clone, &["commit", "--quiet", "--all", "--message", message]).await?;
        self.witness.git_in(&clone, &["push", "--quiet", "origin", "main"]).await?;
        self.witness.git_in(&clone, &["rev-parse", "HEAD"]).await
    }
}

/// Things that must hold.
impl Story<'_> {
    async fn expect(&self, holds: bool, expected: &str, found: &str) -> Result<(), Unmet> {
        if holds { Ok(()) } else { Err(Unmet::new(expected, found)) }
    }

    async fn commit(&self, revision: &str) -> Result<String, Unmet> {
        self.witness.git(&["rev-parse", "--verify", &format!("{revision}^{{commit}}")]).await
    }

    async fn short(&self, revision: &str) -> Result<String, Unmet> {
        self.witness.git(&["rev-parse", "--short", revision]).await
    }

    async fn subject(&self, revision: &str, expected: &str) -> Result<(), Unmet> {
        let found = self.witness.git(&["log", "-1", "--format=%s", revision]).await?;
        self.expect(found == expected, &format!("{revision} says {expected:?}"), &found).await
    }

    async fn same_commit(&self, left: &str, right: &str) -> Result<(), Unmet> {
        let (one, other) = (self.commit(left).await?, self.commit(right).await?);
        self.expect(one == other, &format!("{left} is {right}"), &format!("{one} and {other}")).await
    }

    async fn ancestor(&self, older: &str, newer: &str) -> Result<(), Unmet> {
        let holds = self.witness.git_says(&["merge-base", "--is-ancestor", older, newer]).await?;
        self.expect(holds, &format!("{older} is an ancestor of {newer}"), "it is none").await
    }

    async fn contains(&self, revision: &str, path: &str, text: &str) -> Result<(), Unmet> {
        let found = self.witness.git(&["show", &format!("{revision}:{path}")]).await?;
        self.expect(found.contains(text), &format!("{path} of {revision} has {text:?}"), &found).await
    }

    async fn absent(&self, path: &str, expected: &str) -> Result<(), Unmet> {
        let found = self.witness.get(path).await?;
        self.expect(found.is_none(), expected, &format!("GET {path} finds it")).await
    }

    /// Checks that an update became one true merge on main: its generation is an ancestor, and so is what the person pushed.
    async fn merged(&self, version: &str) -> Result<(), Unmet> {
        self.same_commit("main^2", GENERATED).await?;
        let base = self.witness.git(&["merge-base", "main", GENERATED]).await?;
        let generation = self.commit(GENERATED).await?;
        self.expect(base == generation, "the generation is an ancestor of main", &base).await?;
        self.ancestor(&self.customised, "main").await?;
        self.contains("main", ".wild/generated/photobox.yaml", version).await?;
        self.contains("main", "apps/photobox/manifest.yaml", version).await
    }

    /// Checks what our marks on a live object say: whose it is, from which file and from which commit of main.
    async fn marked(&self, live: &Value, app: &str, path: &str) -> Result<(), Unmet> {
        let at = |pointer: &str| live.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let marked = at("/metadata/labels/rewild.dev~1app");
        self.expect(marked == app, &format!("label rewild.dev/app is {app}"), &marked).await?;
        let set = at("/metadata/labels/applyset.kubernetes.io~1part-of");
        self.expect(set.starts_with("applyset-"), "the object belongs to an ApplySet", &set).await?;
        let source = at("/metadata/annotations/rewild.dev~1path");
        self.expect(source == path, &format!("annotation rewild.dev/path is {path}"), &source).await?;
        let commit = at("/metadata/annotations/rewild.dev~1commit");
        self.ancestor(&commit, "main").await?;
        let managers = live.pointer("/metadata/managedFields").and_then(Value::as_array);
        let ours = managers.into_iter().flatten().any(|entry| {
            entry.get("manager") == Some(&json!("wild")) && entry.get("operation") == Some(&json!("Apply"))
        });
        self.expect(ours, "the fields belong to manager wild by server-side apply", "they do not").await
    }

    fn names_commit(&self, live: &Value, commit: &str) -> Result<(), Unmet> {
        let found = live.pointer("/metadata/annotations/rewild.dev~1commit").and_then(Value::as_str);
        if found == Some(commit) {
            return Ok(());
        }
        Err(Unmet::new(format!("annotation rewild.dev/commit is {commit}"), found.unwrap_or("nothing")))
    }

    async fn secret_is_shared_and_not_in_git(&self) -> Result<(), Unmet> {
        let own = self.secret("/api/v1/namespaces/stonedb/secrets/stonedb-secrets", "password").await?;
        let url = self.secret(SECRETS, "dbUrl").await?;
        let shared = !own.is_empty() && url.contains(&own);
        self.expect(shared, "photobox reaches stonedb by the password of stonedb", "another one").await?;
        let absent = self.witness.is_absent(&own, "main").await?;
        self.expect(absent, "the password is nowhere in git", "it is in main").await
    }

    async fn secret(&self, path: &str, key: &str) -> Result<String, Unmet> {
        let object = self.witness.get(path).await?.unwrap_or_default();
        let encoded = object.pointer(&format!("/data/{key}")).and_then(Value::as_str).unwrap_or_default();
        let bytes = STANDARD.decode(encoded).unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap_or_default();
        if text.is_empty() { Err(Unmet::new(format!("{path} has the key {key}"), "it has not")) } else { Ok(text) }
    }
}

/// Replaces a text that occurs once in a file, as a person does in an editor.
fn edit(file: &std::path::Path, from: &str, to: &str) -> Result<(), Unmet> {
    let unmet = |found: String| Unmet::new(format!("{} has {from:?} once", file.display()), found);
    let text = std::fs::read_to_string(file).map_err(|error| unmet(error.to_string()))?;
    match text.matches(from).count() {
        1 => std::fs::write(file, text.replacen(from, to, 1)).map_err(|error| unmet(error.to_string())),
        times => Err(unmet(format!("{times} times"))),
    }
}

#[cfg(test)]
mod tests {
    use super::edit;

    #[test]
    fn an_edit_changes_one_place_or_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.yaml");
        std::fs::write(&file, "a: 1\nb: 1\nc: 2\n").unwrap();
        edit(&file, "c: 2", "c: 3").unwrap();
        assert_eq!(edit(&file, ": 1", ": 4").unwrap_err().found, "2 times");
        assert_eq!(edit(&file, "c: 2", "c: 4").unwrap_err().found, "0 times");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "a: 1\nb: 1\nc: 3\n");
    }
}
