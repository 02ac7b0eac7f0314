//! Rewild keeps a Kubernetes cluster as its git repository says, and keeps that repository up to date with its upstream app
//! directory without losing a single local change. One crate, one binary `wild`: daemon, command line, status page.
//!
//! # The main line
//!
//! ```text
//! git push · merge bot's schedule · timer · watch event · the commit of a Request
//!       │  Trigger: a wake-up, never data
//! daemon ─> git ──> merge ──> compile ──> git ──> observe ──> plan ──> apply ──> record ──> broadcast
//!           read    pure      pure        commit  read        pure     write     write      write
//!           Sources Merged    Proposal    Revision Snapshot   Plan     Applied   Operation  Event
//! ```
//!
//! There is one path with several entries and exits, and [`pipeline`] reads as this picture. A drift check enters at observe. `wild plan`
//! and `--dry-run` leave after plan. A roll-back is a revert commit and then the same line; a deletion is the same line with the app gone
//! from the tree. What a person asks for is a [`model::Request`]: stored before it is acknowledged, then exactly one commit, then the line.
//! Nothing waits inside a pass: what cannot be done now is a value with its reason and with what ends it.
//!
//! # Modules
//!
//! An arrow may only point to a smaller number. `tests/tidy.rs` holds this table as data and enforces it, with the purity of 1–11: no
//! `async`, clock, randomness, environment, file, network or lock.
//!
//! | # | module | lives here | may use |
//! |---|---|---|---|
//! | 1 | `base` | hashes, repository paths, times, schedules, text differences, order of graphs, limits | std |
//! | 2 | `model` | the nouns that at least three modules share | 1 |
//! | 3 | `yaml` | reading as kubectl and gomplate do, writing, edits of one key | 1 2 |
//! | 4 | `schema` | what is known of Kubernetes types | 1 2 |
//! | 5 | `template` | Go templates with gomplate's functions | 1–3 |
//! | 6 | `package` | manifests, requirements and bindings, config, secrets, versions | 1–5 |
//! | 7 | `merge` | three-way merge of trees and texts, conflicts, decisions | 1–4 |
//! | 8 | `kustomize` | builds a directory as kustomize does | 1–4 |
//! | 9 | `compile` | packages, config and requests become at most one commit | 1–8 |
//! | 10 | `health` | health of an object and of an app, with the reason | 1–4 |
//! | 11 | `plan` | a snapshot becomes a plan | 1–10 |
//! | 12 | `git` | the only user of libgit2 and of the git program | 1–4 |
//! | 13 | `settings` | the daemon's settings, secrets.yaml, keys, locks, entropy | 1–4 |
//! | 14 | `store` | operations, outcomes, inventory, archive, events, statuses in SQLite | 1 2 |
//! | 15 | `target` | a Kubernetes cluster: writes, watches, refusals; a Keycloak | 1–4 10 |
//! | 16 | `forge` | commit statuses on a forge | 1 2 |
//! | 17 | `observe` | a committed revision and the live state become a snapshot | 1–16 |
//! | 18 | `apply` | walks a plan over a target | 1–4 11 15 |
//! | 19 | `record` | opens and closes operations, keeps the inventory | 1 2 11 14 18 |
//! | 20 | `broadcast` | events, statuses, notes | 1 2 11 14–16 |
//! | 21 | `pipeline` | the straight line | 1–20 |
//! | 22 | `daemon` | wake-ups become passes, one serial worker per app | 1–21 |
//! | 23 | `sandbox` | an in-memory Kubernetes API server | 1–4 |
//! | 24 | `http` | the API and the status page | 1–22 |
//! | 25 | `cli` | the command line | 1–24 |
//!
//! # Refs
//!
//! | ref | meaning |
//! |---|---|
//! | `refs/heads/main` | the deployed branch: forward only, one commit per change |
//! | `refs/wild/generated/<app>` | exactly the bytes that were compiled; the parent is the generation before |
//! | `refs/heads/wild/update/<app>` | an update that waits for decisions |
//! | `refs/heads/wild/drift/<app>` | values of the cluster that a person adopted for review |
//! | `refs/wild/resolutions` | what people decided about conflicts; applied again when the same one appears |
//! | `refs/wild/upstream/<name>/<branch>` | an upstream as fetched and checked |
//! | `refs/notes/wild` | what is said about commits, with or without a forge |
//!
//! A repository may hold several instances, each in a sub-directory of its own: their refs carry it before the app or the upstream
//! (`refs/wild/generated/clusters/home/<app>`), and so do the paths below `refs/wild/resolutions`.
//!
//! A merge into the deployed branch has the parents (branch, generation), so `git merge-base` finds the base and plain git understands
//! the history without us.
//!
//! # Invariants
//!
//! - Git is the truth, the cluster is its shadow, the store is memory. Losing the store loses history, never the ability to reconcile.
//! - Modules 1–11 have no I/O. `plan` never sees a secret value, only digests. `apply` never decides, `observe` never writes,
//!   `broadcast` never delays or fails a pass.
//! - No commit on the deployed branch without compare-and-swap, no conflict marker on it ever.
//! - No object is written before it is in the inventory; none is deleted that the plan did not list with its uid, or before it is in the
//!   archive. No claim is deleted before its volume is told to stay, unless a person waived that.
//! - Doubt never deletes: unknown, unreachable, partial and empty are four different states, and none of them means "not wanted".
//! - No secret in git, arguments, environment of children, logs, errors, plans, events or metrics.
//! - No status says healthy before health was seen.
//! - Acting twice is acting once: the second run of any step writes nothing.

pub mod apply;
pub mod base;
pub mod broadcast;
pub mod cli;
pub mod compile;
pub mod daemon;
pub mod forge;
pub mod git;
pub mod health;
pub mod http;
pub mod kustomize;
pub mod merge;
pub mod model;
pub mod observe;
pub mod package;
pub mod pipeline;
pub mod plan;
pub mod record;
pub mod sandbox;
pub mod schema;
pub mod settings;
pub mod store;
pub mod target;
pub mod template;
pub mod yaml;
