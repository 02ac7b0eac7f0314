//! One opened instance: everything that its passes need, held under the instance lock.
//!
//! Not here: the line (`mod.rs`), the daemon's table of instances (`daemon`).

mod open_files;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use super::Error;
use super::approvals::Approvals;
use super::audit::Turns;
use super::brakes::HeldBrakes;
use super::cancel::Cancels;
use super::claims::Wishes;
use super::consents::Consents;
use super::homes;
use super::leaks::Leaks;
use super::neighbours;
use super::offers;
use super::overview::{self, Overview};
use super::proposed;
use super::realms::Realms;
use super::settled::Memory;
use super::shippers::Shippers;
use super::statuses::Verdicts;
use super::superseded::Writes;
use super::targets::{Absence, Clusters, Identities, KnownCluster, Reach, Targets};
use crate::base::Timestamp;
use crate::broadcast::Bus;
use crate::git::{InstanceTree, Remote, Repository, Signers, Writers};
use crate::model::{
    AppName, Author, ClusterIdentity, ClusterName, CommitId, InstanceId, InstanceName, Operation, OperationId,
    OperationState, RefusalText, Request, SETTINGS_VERSION, Settings, Subdirectory,
};
use crate::plan::{Fights, Underway};
use crate::settings::{Home, InstanceLock, SecretsFile, StateDirectory};
use crate::store::Store;
use crate::target::{Access, Keycloak, Plugin, RealmAccess};
pub use open_files::OpenFile;
use open_files::OpenFiles;

/// An instance that this process works on, alone.
pub struct Instance {
    /// Name for people.
    pub name: InstanceName,
    /// Identity.
    pub id: InstanceId,
    /// The deployed branch.
    pub branch: String,
    /// Its repository, which other instances may live in as well.
    pub repository: Repository,
    /// Its own files in there.
    pub tree: InstanceTree,
    /// The repository that it is kept equal to, if there is one.
    pub remote: Option<Remote>,
    /// Who may sign upstreams.
    pub(super) signers: Signers,
    /// Our memory.
    pub store: Store,
    /// Its clusters.
    pub(super) clusters: Clusters,
    /// Its secrets.
    pub secrets: SecretsFile,
    /// Key of the hashes on live objects.
    pub hash_key: [u8; 32],
    /// Where news go.
    pub bus: Bus,
    /// Who commits.
    pub committer: Author,
    /// The clock.
    pub clock: fn() -> Timestamp,
    /// Its Keycloak.
    pub(super) realms: Realms,
    /// Requests that an earlier process left open: they may be done in part.
    pub(super) open_before: BTreeSet<OperationId>,
    /// What was deleted in the newest revision, once it was read. Held while a plan with deletions is made, so that two do not count on the same
    /// budget.
    pub(super) deletions: tokio::sync::Mutex<Option<super::budget::Ledger>>,
    /// What of the newest head stands in clear that is a secret.
    pub(super) leaks: Leaks,
    /// The newest overview that was read.
    pub(super) overview: tokio::sync::Mutex<Option<Arc<Overview>>>,
    /// Which commits may have been written.
    pub(super) writes: Writes,
    /// What turns states of apps into statuses, one at a time.
    pub(super) verdicts: Verdicts,
    /// By app, the commit of which the target refused an object last. A restart forgets it, which costs one more try.
    pub(super) refused: Mutex<BTreeMap<AppName, CommitId>>,
    /// By app, the objects that were put back lately. A restart forgets them, which costs a few more corrections.
    pub(super) fights: Mutex<BTreeMap<AppName, Fights>>,
    /// Deletions to which people agreed.
    pub(super) consents: Consents,
    /// Apps that are held by brakes of an earlier head.
    pub(super) brakes: HeldBrakes,
    /// Grants that wait for a person's word.
    pub(super) approvals: Approvals,
    /// By app, what is on its way. A restart forgets it and takes up when the cluster says it was changed last.
    pub(super) underway: Mutex<BTreeMap<AppName, Underway>>,
    /// The apps that were found as wanted.
    pub(super) settled: Memory,
    /// What each app wants in the cluster, for the others.
    pub(super) wishes: Wishes,
    /// What people ended.
    pub(super) cancels: Cancels,
    /// What its passes did.
    pub(super) counts: Mutex<super::Counts>,
    /// Who brings kinds that the cluster did not know.
    pub(super) shippers: Mutex<Shippers>,
    /// What upstreams offered when they were looked at last.
    pub(super) offers: Mutex<offers::Memory>,
    /// What is to be compared value by value.
    pub(super) audits: Turns,
    /// Told when objects went.
    pub(super) went: Notify,
    /// Apps whose last pass could not go on, and may have left an operation open.
    pub(super) broken_off: Mutex<BTreeSet<AppName>>,
    /// Its files that others could read.
    open_files: OpenFiles,
    lock: Mutex<Option<InstanceLock>>,
}

/// What an instance is opened with.
pub struct Opening {
    /// Name for people.
    pub name: InstanceName,
    /// Path of the repository.
    pub path: PathBuf,
    /// The directory of the repository in which it lives.
    pub subdirectory: Subdirectory,
    /// The deployed branch.
    pub branch: String,
    /// The repository that it is kept equal to.
    pub remote: Option<Remote>,
    /// Who may sign upstreams.
    pub signers: Signers,
    /// How its clusters are reached; nothing looks for the kubeconfig in the state directory.
    pub access: Option<Access>,
    /// The programs that sign in, by what the kubeconfig calls a cluster; empty for the first one.
    pub plugins: BTreeMap<String, Plugin>,
    /// How its Keycloak is reached, if it has one.
    pub keycloak: Option<RealmAccess>,
    /// Files with credentials that the daemon's settings name: nobody else may read them.
    pub credentials: Vec<PathBuf>,
    /// The clock.
    pub clock: fn() -> Timestamp,
    /// The instances that this process has opened already.
    pub beside: Vec<Arc<Instance>>,
}

/// Connects the clusters of an instance, each to be known again by what is remembered of it.
async fn connect(
    reach: Reach,
    store: &Store,
    (id, settings): (&InstanceId, &Settings),
    clock: fn() -> Timestamp,
) -> Result<Clusters, Error> {
    let identities = Identities::read(store, id).await?;
    let named = (id, settings.cluster.control_namespace.as_str());
    // On the heap: what connects is large, and the stack of a thread is not.
    Box::pin(Clusters::connect(reach, identities, named, clock)).await
}

impl Instance {
    /// Opens an instance: reads its identity from the head of the deployed branch, takes its lock, connects its clusters lazily.
    pub async fn open(opening: Opening, state: &StateDirectory, store: Store) -> Result<Self, Error> {
        let instance = Box::pin(Self::assemble(opening, state, store)).await?;
        if let Some(head) = instance.repository.head(&instance.branch).await? {
            proposed::write_down(&instance, &head).await?;
        }
        instance.narrow().await.map(|()| instance)
    }

    async fn assemble(opening: Opening, state: &StateDirectory, store: Store) -> Result<Self, Error> {
        let repository = neighbours::repository(&opening).await?;
        let (settings, home) = identify(&opening, &repository, state).await?;
        let id = settings.instance_id.clone();
        let is_shared = opening.beside.iter().any(|other| other.repository.git_dir() == repository.git_dir());
        let tree = repository.instance_at(opening.subdirectory.clone());
        let Opening { name, path, branch, remote, signers, access, plugins, keycloak, clock, .. } = opening;
        let own = state.instance(&id)?;
        let lock = InstanceLock::take(&own.lock(), clock())?;
        own.remember(&home)?;
        let is_alone = !is_shared && tree.subdirectory().is_top();
        repository.clear_left_over(if is_alone { Writers::None } else { Writers::Others }).await?;
        let beside = repository.work_tree().map(|root| root.join(tree.subdirectory().as_str()).join("secrets.yaml"));
        let secrets = SecretsFile::new(beside.unwrap_or_else(|| own.secrets()));
        let absence = if access.is_none() { Absence::NoCluster } else { Absence::Trouble };
        let access = access.unwrap_or_else(|| Access::File { path: own.kubeconfig(), context: String::new() });
        let clusters = connect(Reach { access, absence, plugins }, &store, (&id, &settings), clock).await?;
        let keycloak = keycloak.map(Keycloak::new).transpose();
        let keycloak = keycloak.map_err(|refusal| refused(&path, refusal.message, "wild daemon --help"))?;
        let bus = Bus::new(id.clone(), store.clone());
        let committer = Author { name: "wild".to_owned(), email: "wild@localhost".to_owned() };
        let cancels = Cancels::read(&store, &id).await?;
        let consents = Consents::read(&store, &id).await?;
        let approvals = Approvals::read(&store, &id).await?;
        let brakes = HeldBrakes::read(&store, &id).await?;
        let open_before = left_open(&store, &id, clock()).await?;
        tidy(&store, &id, &settings, clock()).await?;
        let hash_key = own.hash_key()?;
        let open_files = OpenFiles::read((state.clone(), own, opening.credentials), &store, &id).await?;
        Ok(Self {
            name,
            id,
            branch,
            repository,
            tree,
            remote,
            signers,
            store,
            clusters,
            secrets,
            hash_key,
            bus,
            committer,
            clock,
            realms: Realms::of(keycloak),
            open_before,
            deletions: tokio::sync::Mutex::default(),
            leaks: Leaks::default(),
            overview: tokio::sync::Mutex::default(),
            writes: Writes::default(),
            verdicts: Verdicts::default(),
            refused: Mutex::default(),
            fights: Mutex::default(),
            consents,
            brakes,
            approvals,
            underway: Mutex::default(),
            settled: Memory::default(),
            wishes: Wishes::default(),
            cancels,
            counts: Mutex::default(),
            shippers: Mutex::default(),
            offers: Mutex::default(),
            audits: Turns::default(),
            went: Notify::new(),
            broken_off: Mutex::default(),
            open_files,
            lock: Mutex::new(Some(lock)),
        })
    }

    /// Narrows what others may do with its files.
    pub(crate) async fn narrow(&self) -> Result<(), Error> {
        open_files::narrow(self).await
    }

    /// Returns its files that others could read and that nobody has written since.
    pub async fn open_files(&self) -> Vec<OpenFile> {
        open_files::present(self).await
    }

    /// Forgets what is too old to be of use: objects in the archive, and what operations did to each object.
    pub(crate) async fn forget_old(&self) -> Result<(), Error> {
        let settings = super::settings(self).await?;
        tidy(&self.store, &self.id, &settings, self.now()).await
    }

    /// Gives the instance up to other processes; for the end of the daemon, when nothing works on it any more.
    pub(crate) fn release(&self) {
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Returns its clusters as they are now; none until one is added.
    pub fn targets(&self) -> Arc<Targets> {
        self.clusters.present()
    }

    /// Returns the file in which its clusters come and go, if there is one.
    pub(crate) fn kubeconfig(&self) -> Option<PathBuf> {
        self.clusters.file()
    }

    /// Takes in clusters that were added and lets go of those that were removed; returns the names of all that changed.
    pub(crate) async fn follow_clusters(&self) -> Result<BTreeSet<ClusterName>, Error> {
        self.clusters.follow().await
    }

    /// Returns what is remembered of a cluster, so that it is known again; nothing before it was asked which one it is.
    pub async fn known_cluster(&self, name: &ClusterName) -> Result<Option<KnownCluster>, Error> {
        if let Some(target) = self.targets().get(name) {
            self.clusters.remember(name, target.as_ref()).await?;
        }
        Ok(self.clusters.known(name).await)
    }

    /// Takes the cluster that the kubeconfig leads to for the one that is meant, because a person says so who saw this of it.
    pub async fn accept_cluster(&self, name: &ClusterName, seen: &ClusterIdentity, by: &str) -> Result<(), Error> {
        self.clusters.accept(name, seen, by).await
    }

    /// Forgets by what a cluster is known again, because a person removes it.
    pub async fn forget_cluster(&self, name: &ClusterName) -> Result<(), Error> {
        self.clusters.forget(name).await
    }

    /// Returns its Keycloak, if it has one.
    pub fn keycloak(&self) -> Option<&Keycloak> {
        self.realms.keycloak.as_ref()
    }

    /// Returns the present.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Returns an operation that has not begun: of a request and who asked for it, or of a pass that nobody asked for.
    pub fn operation(&self, verb: &str, app: Option<&AppName>, asked: Option<(Request, &str)>) -> Operation {
        Operation::waiting(verb, app, asked, self.now())
    }

    /// Stores a request and returns its operation: from here on it is carried out, also after a crash.
    pub async fn accept(&self, request: Request, actor: &str) -> Result<Operation, Error> {
        let app = request.app().cloned();
        let operation = self.operation(request.verb(), app.as_ref(), Some((request, actor)));
        self.store.insert_operation(&self.id, &operation).await?;
        self.bus.operation_changed();
        super::fault::point("accepted");
        Ok(operation)
    }
}

/// Takes over what an earlier process left running, and returns the requests that it left open.
async fn left_open(store: &Store, id: &InstanceId, now: Timestamp) -> Result<BTreeSet<OperationId>, Error> {
    store.take_over_running(id, now).await?;
    let open = store.operations_in(id, OperationState::Waiting).await?;
    Ok(open.into_iter().map(|operation| operation.id).collect())
}

async fn tidy(store: &Store, id: &InstanceId, settings: &Settings, now: Timestamp) -> Result<(), Error> {
    store.purge_archive(id, now).await?;
    let details = i64::try_from(settings.history.details.as_micros()).unwrap_or(i64::MAX);
    store.forget_outcomes(id, Timestamp(now.0.saturating_sub(details))).await?;
    Ok(())
}

/// Reads who an instance is from the head of its branch, and refuses one that is not the one that lives here.
async fn identify(
    opening: &Opening,
    repository: &Repository,
    state: &StateDirectory,
) -> Result<(Arc<Settings>, Home), Error> {
    let head = head(opening, repository).await?;
    let settings = settings(opening, repository, &head).await?;
    let home = homes::check(opening, (repository, &head), &settings.instance_id, state).await?;
    neighbours::check_identity(opening, &settings.instance_id)?;
    Ok((settings, home))
}

/// Returns the head of the branch of an instance.
async fn head(opening: &Opening, repository: &Repository) -> Result<CommitId, Error> {
    let Opening { path, branch, .. } = opening;
    let Some(head) = repository.head(branch).await? else {
        let remedy = format!("wild init {}", path.display());
        return Err(refused(path, format!("its branch {branch} has no commit"), &remedy));
    };
    neighbours::check_place(opening, repository, &head).await?;
    Ok(head)
}

/// Reads the settings of an instance from the head of its branch.
async fn settings(opening: &Opening, repository: &Repository, head: &CommitId) -> Result<Arc<Settings>, Error> {
    let Opening { path, subdirectory, .. } = opening;
    let tree = repository.instance_at(subdirectory.clone());
    overview::settings_at(&tree, head, None).await?.map_err(|diagnostics| {
        let because = diagnostics.first().map(ToString::to_string).unwrap_or_default();
        let hint = diagnostics.first().map_or(SETTINGS_VERSION, |finding| finding.hint.as_str()).to_owned();
        refused(path, because, &hint)
    })
}

fn refused(path: &Path, because: String, remedy: &str) -> Error {
    let what = format!("open the instance {}", path.display());
    let remedy = remedy.to_owned();
    Error::Refused(Box::new(RefusalText { code: 2, what, because, remedy, diagnostics: Vec::new() }))
}
