//! Keeps the instance repository and its remote equal: what people push there comes in, what we commit goes out.
//!
//! The remote is the arbiter. A commit of ours that it rejects because somebody was faster is taken back before anybody was told of it, and
//! the pass begins again from the new head. Not here: when it is polled (`daemon`), the calls (`git`).

use std::collections::{BTreeMap, BTreeSet};

use super::read::head;
use super::{Error, Instance, files, leaks, overview, statuses};
use crate::base::RepoPath;
use crate::git::{
    self, FetchRef, IdFault, Moved, NamedId, NewCommit, PushRef, Pushed, PushedRef, RefChange, Remote, WrittenId,
};
use crate::merge::{self, RESOLUTIONS_REF};
use crate::model::{CommitId, EventKind};

/// Name of the cursor that says why the remote cannot be followed; empty if it can.
const TROUBLE: &str = "remote.trouble";

/// Below this our refs say where the branches of the remote were.
const TRACKED: &str = "refs/wild/remote/";

/// What a push of a new head came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Published {
    /// The remote has it, or there is no remote, or it cannot be reached now and gets it later.
    Kept,
    /// The remote moved meanwhile: our branch was taken back to where the remote is.
    TakenBack,
}

/// Where we stand towards the remote after a look at it.
struct Standing {
    /// Whether our deployed branch moved.
    moved: bool,
    /// Why the remote cannot be followed; empty if it can.
    trouble: String,
}

impl Standing {
    fn apart(trouble: String) -> Self {
        Self { moved: false, trouble }
    }
}

/// Brings our branches forward to where the remote's are, or pushes ours; returns whether the deployed branch moved.
pub async fn sync_remote(instance: &Instance) -> Result<bool, Error> {
    let Some(remote) = &instance.remote else { return Ok(false) };
    let _turn = instance.repository.turn().await;
    match follow(instance, remote).await {
        Ok(standing) => {
            trouble(instance, &standing.trouble).await?;
            Ok(standing.moved)
        }
        Err(error) => {
            trouble(instance, &crate::base::chain(&error)).await?;
            Err(error)
        }
    }
}

async fn follow(instance: &Instance, remote: &Remote) -> Result<Standing, Error> {
    let branch = format!("refs/heads/{}", instance.branch);
    let here = head(instance).await?;
    let there = git::ls_remote(remote).await?;
    let Some(tip) = there.get(&branch) else { return first(instance, &here, there.is_empty()).await };
    let mut wanted = Vec::new();
    for (name, ours) in update_branches(instance).await?.into_iter().chain([(branch.clone(), here.clone())]) {
        match there.get(&name) {
            Some(theirs) if *theirs == ours => track(instance, &name, theirs).await?,
            Some(_) => wanted.push(FetchRef { to: tracked(&name), from: name }),
            None => {}
        }
    }
    let mut standing = Standing::apart(String::new());
    unite_resolutions(instance, remote, there.get(RESOLUTIONS_REF)).await?;
    if !wanted.is_empty() {
        let scanner = leaks::scanner(instance, overview(instance).await?.as_ref()).await?;
        let fetched = match git::fetch_scanned(&instance.repository, remote, &wanted, scanner).await {
            Ok(fetched) => fetched.refs,
            Err(git::Error::Leaking { leaks, .. }) => {
                let first = leaks.first().map(ToString::to_string).unwrap_or_default();
                statuses::leaking(instance, tip, &first).await;
                return Ok(Standing::apart(format!("nothing is taken from the remote: {first}")));
            }
            Err(error) => return Err(error.into()),
        };
        for (wanted, fetched) in wanted.iter().zip(&fetched).filter(|(wanted, _)| wanted.from != branch) {
            follow_update(instance, &wanted.from, &fetched.new).await?;
        }
        if let Some(fetched) = fetched.iter().find(|fetched| fetched.name == tracked(&branch)) {
            standing = follow_branch(instance, &here, &fetched.new, fetched.moved).await?;
        }
    }
    let pushed = wanted.iter().any(|wanted| wanted.from != branch) || here != *tip;
    if standing.trouble.is_empty() && !standing.moved && pushed {
        standing.trouble = push_all(instance, &here).await?.kept;
    }
    drop_branches(instance, remote).await?;
    Ok(standing)
}

/// Fills a remote that is new and holds nothing. One that was followed before and lost its branch is a person's to judge.
async fn first(instance: &Instance, here: &CommitId, empty: bool) -> Result<Standing, Error> {
    let known = instance.repository.read_ref(&tracked(&format!("refs/heads/{}", instance.branch))).await?;
    if !empty || known.is_some() {
        return Ok(Standing::apart(format!("the remote has no branch {}", instance.branch)));
    }
    Ok(Standing::apart(push_all(instance, here).await?.kept))
}

/// Judges where the remote's deployed branch is, and follows it if it only went forward.
async fn follow_branch(
    instance: &Instance,
    here: &CommitId,
    there: &CommitId,
    moved: Moved,
) -> Result<Standing, Error> {
    if moved == Moved::Rewound {
        let trouble = format!("the remote went back or rewrote its history, to {}", there.short());
        return Ok(Standing::apart(trouble));
    }
    if let Some(trouble) = other_id(instance, here, there).await? {
        return Ok(Standing::apart(trouble));
    }
    if instance.repository.is_ancestor(here, there).await? {
        forward(instance, here, there).await?;
        return Ok(Standing { moved: true, trouble: String::new() });
    }
    if instance.repository.is_ancestor(there, here).await? {
        return Ok(Standing::apart(String::new()));
    }
    reunite(instance, here, there).await
}

/// Returns why a commit of the remote is not followed by which an instance would not be the one it was.
async fn other_id(instance: &Instance, here: &CommitId, there: &CommitId) -> Result<Option<String>, Error> {
    let mut ids = instance.repository.instance_ids(here).await?;
    let own = WrittenId { id: NamedId::Id(instance.id.to_string()), line: 0 };
    ids.insert(instance.tree.subdirectory().clone(), own);
    let faults = instance.repository.id_faults(ids, there).await?;
    let told = |fault: &IdFault| {
        let place = if fault.line == 0 { fault.file.clone() } else { format!("{}:{}", fault.file, fault.line) };
        format!("the remote is not followed to {}: {place}: {fault}; {}", there.short(), fault.remedy())
    };
    Ok(faults.first().map(told))
}

/// Brings two histories together that parted while the remote could not be reached: one merge commit where no file was
/// changed on both sides. Where one was, only a person can say what holds.
async fn reunite(instance: &Instance, here: &CommitId, there: &CommitId) -> Result<Standing, Error> {
    let repository = &instance.repository;
    let apart = |why: String| {
        let (there, here) = (there.short(), here.short());
        Standing::apart(format!("the remote is at {there} and we are at {here}, on different histories{why}"))
    };
    let Some(fork) = repository.merge_base(here, there).await? else { return Ok(apart(String::new())) };
    let ours = repository.diff_paths(Some(&fork), here).await?;
    let theirs: BTreeSet<RepoPath> = repository.diff_paths(Some(&fork), there).await?.into_iter().collect();
    if let Some(path) = ours.iter().find(|path| theirs.contains(*path)) {
        return Ok(apart(format!(" that both changed {path}; merge them in a clone and push")));
    }
    let names: Vec<&str> = ours.iter().map(RepoPath::as_str).collect();
    let files = repository.read_tree(here, &names).await?;
    let changes = ours.iter().map(|path| (path.clone(), files.get(path.as_str()).cloned())).collect();
    let merged = NewCommit {
        reference: format!("refs/heads/{}", instance.branch),
        expected: Some(here.clone()),
        base_tree: Some(there.clone()),
        changes,
        parents: vec![there.clone(), here.clone()],
        author: instance.committer.clone(),
        committer: instance.committer.clone(),
        message: "chore(all): merge what was pushed while the remote was out of reach".to_owned(),
        time: instance.now(),
    };
    files::hold(instance, here).await?;
    let merged = repository.commit(merged).await?;
    files::follow_or_tell(instance).await;
    let trouble = push_all(instance, &merged).await?.kept;
    Ok(Standing { moved: true, trouble })
}

/// Brings what is remembered of decisions together with what another clone remembered: all of both, and of two about one conflict the
/// newer.
async fn unite_resolutions(instance: &Instance, remote: &Remote, there: Option<&CommitId>) -> Result<(), Error> {
    let repository = &instance.repository;
    let here = repository.read_ref(RESOLUTIONS_REF).await?;
    let Some(there) = there.filter(|there| here.as_ref() != Some(there)) else { return Ok(()) };
    let wanted = FetchRef { to: format!("{TRACKED}resolutions"), from: RESOLUTIONS_REF.to_owned() };
    let scanner = leaks::scanner(instance, overview(instance).await?.as_ref()).await?;
    git::fetch_scanned(repository, remote, &[wanted], scanner).await?;
    let Some(here) = here else {
        let change = RefChange { name: RESOLUTIONS_REF.to_owned(), expected: None, new: Some(there.clone()) };
        return Ok(repository.update_refs(&[change]).await?);
    };
    if repository.is_ancestor(there, &here).await? {
        return Ok(());
    }
    let (written, doubled) =
        merge::unite(&repository.read_tree(&here, &[]).await?, &repository.read_tree(there, &[]).await?);
    for path in doubled {
        tracing::info!(instance = %instance.name, %path, "two clones decided one conflict; the newer decision holds");
    }
    let united = NewCommit {
        reference: RESOLUTIONS_REF.to_owned(),
        expected: Some(here.clone()),
        base_tree: Some(here.clone()),
        changes: written.iter().map(|(path, file)| (path.clone(), Some(file.clone()))).collect(),
        parents: vec![here, there.clone()],
        author: instance.committer.clone(),
        committer: instance.committer.clone(),
        message: "resolutions: unite with those of the remote".to_owned(),
        time: instance.now(),
    };
    repository.commit(united).await?;
    Ok(())
}

/// Takes in what people committed to an update branch on the remote.
async fn follow_update(instance: &Instance, name: &str, there: &CommitId) -> Result<(), Error> {
    let Some(here) = instance.repository.read_ref(name).await? else { return Ok(()) };
    let deployed = head(instance).await?;
    if let Some(trouble) = other_id(instance, &deployed, there).await? {
        tracing::warn!(instance = %instance.name, branch = name, trouble, "an update branch is not taken from the remote");
        return Ok(());
    }
    if instance.repository.is_ancestor(&here, there).await? {
        let change = RefChange { name: name.to_owned(), expected: Some(here), new: Some(there.clone()) };
        instance.repository.update_refs(&[change]).await?;
    }
    Ok(())
}

/// Returns the update branches that we have.
async fn update_branches(instance: &Instance) -> Result<BTreeMap<String, CommitId>, git::Error> {
    instance.repository.list_refs("refs/heads/wild/").await
}

/// Returns the ref of ours that says where a ref of the remote was when we last looked.
fn tracked(name: &str) -> String {
    format!("{TRACKED}{}", name.trim_start_matches("refs/heads/"))
}

/// Remembers where a branch of the remote is.
async fn track(instance: &Instance, name: &str, commit: &CommitId) -> Result<(), git::Error> {
    let name = tracked(name);
    let known = instance.repository.read_ref(&name).await?;
    if known.as_ref() == Some(commit) {
        return Ok(());
    }
    instance.repository.update_refs(&[RefChange { name, expected: known, new: Some(commit.clone()) }]).await
}

/// Takes update branches away from the remote that were decided or dropped here. One that a person moved meanwhile stays.
async fn drop_branches(instance: &Instance, remote: &Remote) -> Result<(), git::Error> {
    let ours = update_branches(instance).await?;
    for (known, commit) in instance.repository.list_refs(&format!("{TRACKED}wild/")).await? {
        let name = format!("refs/heads/{}", known.trim_start_matches(TRACKED));
        if ours.contains_key(&name) {
            continue;
        }
        if let Pushed::Rejected { reason } = git::push_deletion(remote, &name, &commit).await? {
            tracing::info!(instance = %instance.name, branch = name, reason, "a branch stays on the remote");
        }
        instance.repository.delete_ref(&known, &commit).await?;
    }
    Ok(())
}

/// Pushes a commit that was just made. The caller holds the lane of commits.
pub(super) async fn publish(instance: &Instance, before: &CommitId, made: &CommitId) -> Result<Published, git::Error> {
    if instance.remote.is_none() {
        return Ok(Published::Kept);
    }
    match push_all(instance, made).await {
        Ok(Sent { is_taken: true, kept }) => {
            if !kept.is_empty()
                && let Err(error) = trouble(instance, &kept).await
            {
                tracing::error!(instance = %instance.name, error = crate::base::chain(&error), kept, "a trouble was not noted");
            }
            Ok(Published::Kept)
        }
        Ok(Sent { is_taken: false, kept: _ }) => {
            let reference = format!("refs/heads/{}", instance.branch);
            let back = RefChange { name: reference, expected: Some(made.clone()), new: Some(before.clone()) };
            instance.repository.update_refs(&[back]).await?;
            Ok(Published::TakenBack)
        }
        Err(error) => {
            tracing::warn!(instance = %instance.name, error = crate::base::chain(&error), "a commit was not pushed and will be later");
            Ok(Published::Kept)
        }
    }
}

/// Pushes what changed beside the deployed branch. What the remote does not take now it gets with the next commit or poll.
pub(super) async fn publish_branches(instance: &Instance, head: &CommitId) {
    let Some(remote) = &instance.remote else { return };
    let published = async {
        push_all(instance, head).await?;
        drop_branches(instance, remote).await
    };
    if let Err(error) = published.await {
        tracing::warn!(instance = %instance.name, error = crate::base::chain(&error), "a branch was not pushed and will be later");
    }
}

/// What became of a push.
struct Sent {
    /// Whether the remote took the deployed branch, as far as that was pushed.
    is_taken: bool,
    /// Why something was not pushed; empty if all was.
    kept: String,
}

/// Pushes the deployed branch, update branches, generations and notes.
async fn push_all(instance: &Instance, head: &CommitId) -> Result<Sent, git::Error> {
    let Some(remote) = &instance.remote else { return Ok(Sent { is_taken: true, kept: String::new() }) };
    let branch = format!("refs/heads/{}", instance.branch);
    let mut refs = vec![PushRef { commit: head.clone(), to: branch.clone() }];
    for prefix in ["refs/heads/wild/", "refs/wild/generated/", RESOLUTIONS_REF, "refs/notes/wild"] {
        let found = instance.repository.list_refs(prefix).await?;
        refs.extend(found.into_iter().map(|(name, commit)| PushRef { commit, to: name }));
    }
    let (refs, kept) = without_secrets(instance, refs).await?;
    let kept = kept.map(|kept| format!("what holds a secret is not pushed: {kept}")).unwrap_or_default();
    if refs.is_empty() {
        return Ok(Sent { is_taken: true, kept });
    }
    let pushed = git::push(&instance.repository, remote, &refs).await?;
    for (pushed, wanted) in pushed.iter().zip(&refs) {
        match &pushed.result {
            Pushed::Moved | Pushed::Unchanged if pushed.name.starts_with("refs/heads/") => {
                track(instance, &pushed.name, &wanted.commit).await?;
            }
            Pushed::Moved | Pushed::Unchanged => {}
            // A forge that refuses our refs costs nothing: every merged generation is reachable from the branch.
            Pushed::Rejected { reason } => {
                tracing::debug!(instance = %instance.name, reference = pushed.name, reason, "the remote did not take a ref");
            }
        }
    }
    instance.bus.resend();
    let is_rejected = |pushed: &PushedRef| matches!(pushed.result, Pushed::Rejected { .. });
    let is_taken = pushed.iter().filter(|pushed| pushed.name == branch).all(|pushed| !is_rejected(pushed));
    Ok(Sent { is_taken, kept })
}

/// Returns the refs whose new commits hold no secret in clear, and the first secret that keeps the others here.
async fn without_secrets(
    instance: &Instance,
    refs: Vec<PushRef>,
) -> Result<(Vec<PushRef>, Option<String>), git::Error> {
    let known: Vec<CommitId> = instance.repository.list_refs(TRACKED).await?.into_values().collect();
    let scanner = async { leaks::scanner(instance, overview(instance).await?.as_ref()).await };
    match scanner.await {
        Ok(scanner) => leaks::pushable(instance, refs, &known, &scanner).await,
        Err(Error::Git(error)) => Err(error),
        // What could not be searched stays here.
        Err(error) => Ok((Vec::new(), Some(crate::base::chain(&error)))),
    }
}

/// Returns whether a commit of the deployed branch was not pushed yet.
pub async fn is_on_its_way(instance: &Instance, commit: &CommitId) -> Result<bool, Error> {
    if instance.remote.is_none() {
        return Ok(false);
    }
    let repository = &instance.repository;
    let there = repository.read_ref(&tracked(&format!("refs/heads/{}", instance.branch))).await?;
    Ok(match there {
        Some(there) if repository.is_ancestor(commit, &there).await? => false,
        _ => repository.is_ancestor(commit, &head(instance).await?).await?,
    })
}

async fn forward(instance: &Instance, here: &CommitId, there: &CommitId) -> Result<(), Error> {
    let reference = format!("refs/heads/{}", instance.branch);
    let change = RefChange { name: reference, expected: Some(here.clone()), new: Some(there.clone()) };
    files::hold(instance, here).await?;
    instance.repository.update_refs(&[change]).await?;
    files::follow_or_tell(instance).await;
    Ok(())
}

/// Returns why the remote is not followed; nothing if it is, or if there is none.
pub async fn remote_trouble(instance: &Instance) -> Result<Option<String>, Error> {
    let known = match instance.remote {
        Some(_) => instance.store.cursor(&instance.id, TROUBLE).await?,
        None => None,
    };
    Ok(known.filter(|why| !why.is_empty()))
}

/// Remembers why the remote cannot be followed, and tells it once.
async fn trouble(instance: &Instance, why: &str) -> Result<(), Error> {
    let known = instance.store.cursor(&instance.id, TROUBLE).await?.unwrap_or_default();
    if known == why {
        return Ok(());
    }
    instance.store.put_cursor(&instance.id, TROUBLE, why).await?;
    if !why.is_empty() {
        let event = crate::model::Event {
            time: instance.now(),
            app: None,
            operation: None,
            commit: None,
            kind: EventKind::Blocked,
            detail: why.to_owned(),
        };
        instance.bus.tell(vec![event]).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Opening;
    use super::*;
    use crate::base::{RepoPath, Timestamp};
    use crate::git::{Allowed, Egress, Layout, NewCommit, RemoteUrl, Repository};
    use crate::model::{Author, File, InstanceName};
    use crate::settings::StateDirectory;
    use crate::store::Store;

    const MAIN: &str = "refs/heads/main";
    const UPDATE: &str = "refs/heads/wild/update/ghost";

    /// An instance and the empty repository that it is kept equal to.
    struct World {
        instance: Instance,
        theirs: Repository,
        _directory: tempfile::TempDir,
    }

    fn clock() -> Timestamp {
        Timestamp::parse("2026-11-21T08:00:00Z").unwrap()
    }

    async fn commit(repository: &Repository, reference: &str, parent: Option<&CommitId>, text: &str) -> CommitId {
        let author = Author { name: "alice".to_owned(), email: "alice@example.org".to_owned() };
        let settings = "apiVersion: rewild.dev/v1\nkind: Instance\ninstanceId: k3f7q2m5xd\n";
        let file = |path: &str, text: &str| (RepoPath::parse(path).unwrap(), Some(File::text(text)));
        repository
            .commit(NewCommit {
                reference: reference.to_owned(),
                expected: repository.read_ref(reference).await.unwrap(),
                base_tree: None,
                changes: [file(".wild/config.yaml", settings), file("note", text)].into(),
                parents: parent.cloned().into_iter().collect(),
                author: author.clone(),
                committer: author,
                message: text.to_owned(),
                time: clock(),
            })
            .await
            .unwrap()
    }

    /// Commits one changed file over a commit.
    async fn change(repository: &Repository, over: &CommitId, path: &str, text: &str) -> CommitId {
        let author = Author { name: "alice".to_owned(), email: "alice@example.org".to_owned() };
        let new = NewCommit {
            reference: MAIN.to_owned(),
            expected: Some(over.clone()),
            base_tree: Some(over.clone()),
            changes: [(RepoPath::parse(path).unwrap(), Some(File::text(text)))].into(),
            parents: vec![over.clone()],
            author: author.clone(),
            committer: author,
            message: text.to_owned(),
            time: clock(),
        };
        repository.commit(new).await.unwrap()
    }

    async fn bare(path: &Path) -> Repository {
        Repository::init(path, Layout::Bare, "main").await.unwrap()
    }

    impl World {
        async fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path();
            let theirs = bare(&root.join("forge.git")).await;
            commit(&bare(&root.join("home.git")).await, MAIN, None, "first").await;
            let remote = Remote {
                url: RemoteUrl::parse(&root.join("forge.git").display().to_string(), Allowed::Local).unwrap(),
                credential: None,
                egress: Egress::Any,
                scratch: root.join("quarantine"),
            };
            let opening = Opening {
                keycloak: None,
                credentials: Vec::new(),
                name: InstanceName::parse("home").unwrap(),
                path: root.join("home.git"),
                subdirectory: crate::model::Subdirectory::top(),
                branch: "main".to_owned(),
                remote: Some(remote),
                signers: Default::default(),
                access: None,
                plugins: Default::default(),
                clock,
                beside: Vec::new(),
            };
            let state = StateDirectory::open(&root.join("state")).unwrap();
            let store = Store::open(&state.store()).await.unwrap();
            let instance = Instance::open(opening, &state, store).await.unwrap();
            Self { instance, theirs, _directory: directory }
        }

        async fn here(&self, reference: &str) -> Option<CommitId> {
            self.instance.repository.read_ref(reference).await.unwrap()
        }

        async fn there(&self, reference: &str) -> Option<CommitId> {
            self.theirs.read_ref(reference).await.unwrap()
        }

        /// Looks at the remote and returns whether our branch moved, and what is in the way.
        async fn sync(&self) -> (bool, String) {
            let moved = sync_remote(&self.instance).await.unwrap();
            (moved, self.instance.store.cursor(&self.instance.id, TROUBLE).await.unwrap().unwrap_or_default())
        }
    }

    #[tokio::test]
    async fn a_new_remote_is_filled_and_then_followed() {
        let world = World::new().await;
        assert_eq!(world.sync().await, (false, String::new()));
        let first = world.here(MAIN).await;
        assert!(first.is_some() && world.there(MAIN).await == first);
        let second = commit(&world.theirs, MAIN, first.as_ref(), "of a person").await;
        assert_eq!(world.sync().await, (true, String::new()));
        assert_eq!(world.here(MAIN).await, Some(second));
    }

    #[tokio::test]
    async fn a_commit_is_on_its_way_until_it_is_pushed() {
        let world = World::new().await;
        let ways = async |commit: &CommitId| is_on_its_way(&world.instance, commit).await.unwrap();
        let first = world.here(MAIN).await.unwrap();
        assert!(ways(&first).await);
        world.sync().await;
        assert!(!ways(&first).await);
        let second = commit(&world.instance.repository, MAIN, Some(&first), "of ours").await;
        assert!(ways(&second).await && !ways(&first).await);
        world.sync().await;
        assert!(!ways(&second).await);
        let dropped = commit(&world.instance.repository, "refs/heads/elsewhere", Some(&first), "of nobody").await;
        assert!(!ways(&dropped).await, "nothing will ever push it");
    }

    #[tokio::test]
    async fn a_remote_that_lost_its_branch_is_not_filled_again() {
        let world = World::new().await;
        world.sync().await;
        let first = world.there(MAIN).await.unwrap();
        world.theirs.delete_ref(MAIN, &first).await.unwrap();
        assert_eq!(world.sync().await, (false, "the remote has no branch main".to_owned()));
        assert_eq!(world.there(MAIN).await, None);
    }

    #[tokio::test]
    async fn a_remote_that_went_back_is_told_and_not_pushed_over() {
        let world = World::new().await;
        world.sync().await;
        let first = world.here(MAIN).await.unwrap();
        let second = commit(&world.instance.repository, MAIN, Some(&first), "of ours").await;
        assert_eq!(world.sync().await, (false, String::new()));
        assert_eq!(world.there(MAIN).await, Some(second.clone()));
        let back = RefChange { name: MAIN.to_owned(), expected: Some(second.clone()), new: Some(first.clone()) };
        world.theirs.update_refs(&[back]).await.unwrap();
        let (moved, trouble) = world.sync().await;
        assert!(!moved && trouble.starts_with("the remote went back"), "{trouble}");
        assert_eq!((world.there(MAIN).await, world.here(MAIN).await), (Some(first), Some(second)));
    }

    #[tokio::test]
    async fn histories_that_parted_in_other_files_are_merged_and_in_one_file_are_told() {
        let world = World::new().await;
        world.sync().await;
        let first = world.here(MAIN).await.unwrap();
        let ours = change(&world.instance.repository, &first, "ours", "").await;
        let theirs = change(&world.theirs, &first, "theirs", "").await;
        assert_eq!(world.sync().await, (true, String::new()));
        let merged = world.here(MAIN).await.unwrap();
        assert_eq!(world.there(MAIN).await, Some(merged.clone()));
        let commit = world.instance.repository.read_commit(&merged).await.unwrap();
        assert_eq!(commit.parents, [theirs, ours]);
        let files = world.instance.repository.read_tree(&merged, &[]).await.unwrap();
        let names: Vec<&str> = files.paths().map(RepoPath::as_str).collect();
        assert_eq!(names, [".wild/config.yaml", "note", "ours", "theirs"]);
        change(&world.instance.repository, &merged, "note", "ours").await;
        change(&world.theirs, &merged, "note", "theirs").await;
        let (moved, trouble) = world.sync().await;
        assert!(!moved && trouble.contains("both changed note"), "{trouble}");
    }

    #[tokio::test]
    async fn an_update_branch_follows_people_and_goes_when_it_is_decided() {
        let world = World::new().await;
        let first = world.here(MAIN).await.unwrap();
        let update = commit(&world.instance.repository, UPDATE, Some(&first), "an update").await;
        world.sync().await;
        assert_eq!(world.there(UPDATE).await, Some(update.clone()));
        let edited = commit(&world.theirs, UPDATE, Some(&update), "of a person").await;
        world.sync().await;
        assert_eq!(world.here(UPDATE).await, Some(edited.clone()));
        world.instance.repository.delete_ref(UPDATE, &edited).await.unwrap();
        publish_branches(&world.instance, &first).await;
        assert_eq!(world.there(UPDATE).await, None);
        assert_eq!(world.here(&tracked(UPDATE)).await, None);
    }

    #[tokio::test]
    async fn a_branch_that_a_person_moved_meanwhile_stays_on_the_remote() {
        let world = World::new().await;
        let first = world.here(MAIN).await.unwrap();
        let update = commit(&world.instance.repository, UPDATE, Some(&first), "an update").await;
        world.sync().await;
        let edited = commit(&world.theirs, UPDATE, Some(&update), "of a person").await;
        world.instance.repository.delete_ref(UPDATE, &update).await.unwrap();
        publish_branches(&world.instance, &first).await;
        assert_eq!(world.there(UPDATE).await, Some(edited));
    }
}
