//! Pure. A small world around `propose`: an instance whose branch, generations and update branch move as the proposals
//! say.
//!
//! Not here: the cases, which stand in one file per request.

mod adding;
mod adopting;
mod bending;
mod changing;
mod consenting;
mod customising;
mod drifting;
mod ending;
mod remembering;
mod samples;
mod updating;

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Authors, Cause, Join, Proposal, Refusal, Sources, TreeEdit, UpdateBranch, UpstreamPackage, propose};
use super::{Fate, PackageVersion, PastMerge};
use crate::base::RepoPath;
use crate::merge::{Remembered, has_markers};
use crate::model::{
    AppName, CommitId, DataFate, Decision, Deploy, File, FileTree, Generation, PackageName, Request, SecretOrigins,
    Take, Upstream,
};

const SETTINGS: &str = "apiVersion: rewild.dev/v1\ninstanceId: k3f7q2m5xd\nupdates: {policy: all}\n";

/// The package `blog` at a version. Its files are long enough to be edited at two places.
pub(super) fn blog(version: &str, edit: impl Fn(&str, &str) -> String) -> FileTree {
    let files = [
        (
            "manifest.yaml",
            "name: blog\nversion: \"VERSION\"\ndefaultConfig:\n  image: blog:VERSION\n  title: Garden\n  memory: 1Gi\n",
        ),
        ("kustomization.yaml", "resources:\n- deployment.yaml\n- service.yaml\n"),
        (
            "deployment.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: blog\nspec:\n  replicas: 1\n  selector:\n    \
             matchLabels: {app: blog}\n  template:\n    metadata:\n      labels: {app: blog}\n    spec:\n      restartPolicy: Always\n      containers:\n      \
             - name: blog\n        image: \"{{ .image }}\"\n        env:\n        - name: TITLE\n          value: \"{{ .title }}\"\n        \
             resources:\n          limits:\n            memory: \"{{ .memory }}\"\n",
        ),
        (
            "service.yaml",
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: blog\nspec:\n  selector:\n    app: blog\n  ports:\n  - port: 80\n",
        ),
    ];
    let text = |name: &str, text: &str| edit(name, &text.replace("VERSION", version));
    files
        .iter()
        .map(|(name, content)| (RepoPath::parse(name).unwrap(), File::text(&text(name, content))))
        .filter(|(_, file)| !file.bytes.is_empty())
        .collect()
}

pub(super) fn plain(_: &str, text: &str) -> String {
    text.to_owned()
}

pub(super) fn app(name: &str) -> AppName {
    AppName::parse(name).unwrap()
}

/// An instance and one upstream. Commits are numbers.
pub(super) struct World {
    /// Trees of the deployed branch, oldest first.
    pub(super) main: Vec<FileTree>,
    /// Generations by app.
    pub(super) chains: BTreeMap<AppName, Chain>,
    /// Update branches by app.
    pub(super) updates: BTreeMap<AppName, UpdateBranch>,
    pub(super) packages: Vec<UpstreamPackage>,
    pub(super) past: Option<FileTree>,
    /// What is remembered of decisions, by app.
    pub(super) remembered: BTreeMap<AppName, Remembered>,
    /// A merge that a person made with git.
    pub(super) by_hand: Option<PastMerge>,
    /// Where values of secrets come from.
    pub(super) origins: SecretOrigins,
    /// Grants of an earlier app.
    pub(super) outlived: Vec<String>,
}

/// The generations of an app, and how many of them the deployed branch holds.
#[derive(Default)]
pub(super) struct Chain {
    pub(super) generations: Vec<Generation>,
    pub(super) joined: usize,
}

fn commit(number: usize) -> CommitId {
    CommitId::parse(&format!("{number:040x}")).unwrap()
}

impl World {
    /// An instance whose only upstream has the package `blog` at 1.0.
    pub(super) fn new() -> Self {
        let mut files = FileTree::new();
        files.insert(RepoPath::parse(".wild/config.yaml").unwrap(), File::text(SETTINGS));
        files.insert(RepoPath::parse("config.yaml").unwrap(), File::text("# mine\ncloud:\n  domain: example.org\n"));
        let mut world = Self {
            main: vec![files],
            chains: BTreeMap::new(),
            updates: BTreeMap::new(),
            packages: Vec::new(),
            past: None,
            remembered: BTreeMap::new(),
            by_hand: None,
            origins: SecretOrigins::default(),
            outlived: Vec::new(),
        };
        world.publish("blog", blog("1.0", plain));
        world
    }

    /// An instance with the app `blog` at 1.0.
    pub(super) fn with_blog() -> Self {
        let mut world = Self::new();
        world.act(&add("blog", Deploy::Now)).unwrap();
        world
    }

    /// Puts a newer version of a package into the upstream.
    pub(super) fn publish(&mut self, name: &str, files: FileTree) {
        let name = PackageName::parse(name).unwrap();
        let directory = Upstream {
            name: "wild".to_owned(),
            url: "https://git.example.org/wild".to_owned(),
            branch: "main".to_owned(),
            path: String::new(),
            verify: Default::default(),
        };
        let old =
            self.packages.iter().position(|package| package.name == name).map(|place| self.packages.remove(place));
        let mut versions = Vec::new();
        if let Some(old) = &old {
            let text = old.files.text("manifest.yaml").unwrap();
            let version = text.split('"').nth(1).unwrap().to_owned();
            versions = old.versions.clone();
            versions.push(PackageVersion {
                version,
                commit: old.commit.clone(),
                files: old.files.clone(),
                broken: None,
            });
        }
        let commit = commit(0xabc0 + versions.len());
        self.packages.push(UpstreamPackage { directory, commit, name, files, broken: None, versions });
    }

    pub(super) fn head(&self) -> &FileTree {
        self.main.last().unwrap()
    }

    pub(super) fn text(&self, path: &str) -> &str {
        self.head().text(path).unwrap_or_else(|| panic!("there is no {path}"))
    }

    /// A person's push to the deployed branch.
    pub(super) fn push(&mut self, path: &str, edit: impl Fn(&str) -> String) {
        let mut files = self.head().clone();
        let text = edit(files.text(path).unwrap_or_default());
        files.insert(RepoPath::parse(path).unwrap(), File::text(&text));
        self.main.push(files);
    }

    /// A person's push to the update branch.
    pub(super) fn push_update(&mut self, path: &str, edit: impl Fn(&str) -> String) {
        let branch = self.updates.get_mut("blog").unwrap();
        let text = edit(branch.files.text(path).unwrap_or_default());
        branch.files.insert(RepoPath::parse(path).unwrap(), File::text(&text));
        branch.authors = Authors::People;
    }

    /// The update branch of an app.
    pub(super) fn branch(&self, app: &str) -> &UpdateBranch {
        &self.updates[app]
    }

    pub(super) fn sources(&self, app: &AppName) -> Sources {
        let none = Chain::default();
        let chain = self.chains.get(app).unwrap_or(&none);
        Sources {
            head: commit(self.main.len()),
            files: self.head().clone(),
            origins: self.origins.clone(),
            outlived: self.outlived.clone(),
            base: chain.joined.checked_sub(1).map(|newest| chain.generations[newest].clone()),
            tip: chain.generations.last().cloned(),
            packages: self.packages.clone(),
            update: self.updates.get(app).cloned(),
            remembered: self.remembered.get(app).cloned().unwrap_or_default(),
            cut_off: None,
            by_hand: self.by_hand.clone(),
            merges: self.by_hand.clone().into_iter().collect(),
            past: self.past.clone(),
            adoptable: Vec::new(),
            removed: None,
        }
    }

    /// Proposes, commits, and sees to it that the same cause has nothing left to do.
    pub(super) fn run(&mut self, app: &AppName, cause: Cause<'_>) -> Result<Proposal, Refusal> {
        let proposal = propose(app, &self.sources(app), cause)?;
        self.commit(app, &proposal);
        // An update that waits is merged again after the branch moved; that is once.
        if self.updates.contains_key(app) {
            let moved = propose(app, &self.sources(app), Cause::Changed)?;
            self.commit(app, &moved);
        }
        for cause in [Cause::Changed, cause] {
            let repeats = !matches!(
                cause,
                Cause::Request(
                    Request::Add { .. }
                        | Request::Delete { .. }
                        | Request::Abort { .. }
                        | Request::Resolve { .. }
                        | Request::Learn { .. }
                        | Request::Forget { .. }
                        | Request::Adopt { .. }
                        | Request::Eject { .. }
                )
            );
            if repeats && self.head().paths().any(|path| path.is_within(&format!("apps/{app}"))) {
                let again = propose(app, &self.sources(app), cause).unwrap();
                assert!(again.is_nothing(), "{cause:?} again: {:?}", summary(&again));
            }
        }
        Ok(proposal)
    }

    pub(super) fn act(&mut self, request: &Request) -> Result<Proposal, Refusal> {
        let app = request.app().unwrap().clone();
        self.run(&app, Cause::Request(request))
    }

    /// Does to the refs what the pipeline does, and checks what must hold of every commit.
    fn commit(&mut self, app: &AppName, proposal: &Proposal) {
        let chain = self.chains.entry(app.clone()).or_default();
        if let Some(generation) = &proposal.generation {
            let commit = commit(0x9e0 + chain.generations.len());
            chain.generations.push(Generation { commit, files: generation.files.clone() });
        }
        let fork = self.main.last().unwrap().clone();
        if let Some(edit) = &proposal.main {
            let files = applied(&fork, edit);
            assert_ne!(files, fork, "{} changes nothing", edit.subject);
            for (path, file) in files.iter() {
                assert!(!path.is_within(".wild/conflicts"), "{path} is on the deployed branch");
                assert!(!file.as_text().is_some_and(has_markers), "{path} holds markers");
            }
            if edit.join == Join::Generation {
                chain.joined = chain.generations.len();
            }
            self.main.push(files);
        }
        if let Some(edit) = &proposal.update {
            let files = applied(&fork, edit);
            let authors = self.updates.get(app).map_or(Authors::OnlyUs, |branch| branch.authors);
            let name = format!("wild/update/{app}");
            self.updates
                .insert(app.clone(), UpdateBranch { name, tip: commit(0xb0), files, fork: fork.clone(), authors });
        }
        if proposal.update_branch == Fate::Drop {
            self.updates.remove(app);
        }
        let remembered = self.remembered.entry(app.clone()).or_default();
        for (key, resolution) in &proposal.remember {
            remembered.put(key, resolution.clone());
        }
    }
}

fn applied(files: &FileTree, edit: &TreeEdit) -> FileTree {
    assert!(edit.subject.chars().count() <= 72, "{} is too long", edit.subject);
    let mut files = files.clone();
    for (path, file) in &edit.changes {
        match file {
            Some(file) => files.insert(path.clone(), file.clone()),
            None => _ = files.remove(path),
        }
    }
    files
}

/// What a proposal comes to, in one line per part.
pub(super) fn summary(proposal: &Proposal) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(generation) = &proposal.generation {
        lines.push(format!("generation {}", generation.message.lines().next().unwrap()));
    }
    for (word, edit) in [("main", &proposal.main), ("update", &proposal.update)] {
        if let Some(edit) = edit {
            lines.push(format!("{word} {} {:?}", edit.subject, edit.join));
        }
    }
    if proposal.update_branch == Fate::Drop {
        lines.push("drop".to_owned());
    }
    lines.extend(
        proposal.conflicts.iter().map(|conflict| format!("{:?} {} {}", conflict.kind, conflict.path, conflict.key)),
    );
    lines
}

pub(super) fn add(package: &str, deploy: Deploy) -> Request {
    Request::Add {
        package: PackageName::parse(package).unwrap(),
        app: app(package),
        bindings: BTreeMap::new(),
        values: BTreeMap::new(),
        version: None,
        deploy,
        grants: Vec::new(),
    }
}

/// The same request with grants.
pub(super) fn granting(request: Request, given: &[&str]) -> Request {
    let given: Vec<String> = given.iter().map(|grant| (*grant).to_owned()).collect();
    match request {
        Request::Add { package, app, bindings, values, version, deploy, grants: _ } => {
            Request::Add { package, app, bindings, values, version, deploy, grants: given }
        }
        Request::Update { app, to, take, grants: _ } => Request::Update { app, to, take, grants: given },
        other => other,
    }
}

pub(super) fn set(key: &str, value: Value) -> Request {
    Request::Config { app: app("blog"), set: BTreeMap::from([(key.to_owned(), value)]), unset: Vec::new() }
}

pub(super) fn update(to: Option<&str>) -> Request {
    Request::Update { app: app("blog"), to: to.map(str::to_owned), take: None, grants: Vec::new() }
}

pub(super) fn take(conflict: Option<&str>, take: Take) -> Request {
    Request::Resolve { app: app("blog"), decisions: vec![Decision::new(conflict, take)] }
}

pub(super) fn delete(name: &str) -> Request {
    Request::Delete { app: app(name), data: DataFate::Keep }
}

/// Expects a refusal whose kind and two parts are these.
pub(super) fn refused(result: Result<Proposal, Refusal>, expected: &str) {
    let refusal = result.unwrap_err();
    let kind = match refusal {
        Refusal::User(_) => "user",
        Refusal::Undecided(_) => "undecided",
        Refusal::Blocked(_) => "blocked",
    };
    assert_eq!(format!("{kind}: {refusal}; {}", refusal.explanation().remedy), expected);
}
