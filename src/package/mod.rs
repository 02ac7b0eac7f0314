//! Pure. What an upstream publishes and what an instance makes of it: manifests, requirements and bindings, default config
//! and its order, secrets, versions, and the search of a directory for packages.
//!
//! A package's path through here: [`list`] finds it, [`load`] reads it, [`bind`] settles which apps satisfy its
//! requirements, [`resolve`] makes the config its templates see, [`SecretNeeds`] says which secrets it wants.
//! Findings name file, line and rule. Not here: rendering files and building the app (`compile`).

mod bind;
mod breaking;
mod consent;
mod convert;
mod definitions;
mod dialect;
mod directory;
mod glob;
mod ignore;
mod leaks;
pub mod lint;
mod load;
mod manifest;
mod read;
pub mod realm;
mod resolve;
mod sample;
mod sample_config;
mod scaffold;
mod secret_keys;
mod secret_order;
mod secrets;
mod service;
mod steps;
mod version;

pub use bind::{Binding, Installed, bind, bindings_of, check_exports, requirement_cycle};
pub use breaking::{LocalEdits, VersionSide, breaking};
pub use consent::{Consent, Consents, SecretGrant, is_granted};
pub use convert::{Converted, convert};
pub use definitions::package_defining;
pub use dialect::detect as detect_dialect;
pub use directory::{
    Listed, Listing, MANIFESTS, candidates, containers, directories, doubled, find, is_for_packages, list, load_at,
    unfit_name,
};
pub use glob::matches;
pub use ignore::Ignore;
pub use leaks::{leaks, values as leak_values};
pub use load::{MANIFEST, MAX_PACKAGE_BYTES, Package, SERVICE_MANIFEST, is_for_people, load, manifest_of};
pub use manifest::{
    Charset, Need, PackageDialect, PackageManifest, RenderRules, RequiredSecret, Requirement, SecretSpec, ServiceKey,
    Supply, UpgradeStep,
};
pub use read::{ReadManifest, read_manifest};
pub use resolve::{ResolveInput, Resolved, config_section, references, resolve};
pub use sample::{SampleCommit, history};
pub use sample_config::sample_config;
pub use scaffold::scaffold;
pub use secret_keys::{KeyPaths, ObjectKeys, UnresolvedKey, object_keys, secret_keys, secret_name, secret_names};
pub use secrets::{Entropy, Naming, SecretCopy, SecretNeeds, Settlement, generate, settle};
pub use steps::{Stop, upgrade_way};
pub use version::{MAX_VERSION_CHARS, compare_versions, is_version, satisfies};
