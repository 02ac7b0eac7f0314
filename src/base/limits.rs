//! Pure. The bounds of inputs that several modules share; a bound of one module stands in that module.
//!
//! Not here: deadlines of calls, which stand beside the call.

/// Largest file of an instance or package that is read, in bytes. Object files of real packages stay below 1 MiB; CRD bundles reach 2 MiB.
pub const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;
/// Largest manifest, config file or kustomization, in bytes.
pub const MAX_MANIFEST_BYTES: usize = 1024 * 1024;
/// Files of one app or package. The largest real package has 17.
pub const MAX_APP_FILES: usize = 5_000;
/// Length of a repository path in bytes; git itself stops at 4,096.
pub const MAX_PATH_BYTES: usize = 1_024;
/// Segments of a repository path.
pub const MAX_PATH_DEPTH: usize = 32;
/// Nesting of a YAML document; deeper input is refused before it is built.
pub const MAX_YAML_DEPTH: usize = 128;
/// Nodes of one YAML file with aliases expanded, the bound against alias bombs.
pub const MAX_YAML_NODES: usize = 500_000;
/// Documents in one YAML file.
pub const MAX_YAML_DOCUMENTS: usize = 1_000;
/// Length of an app or package name: derived object names must fit 63 characters.
pub const MAX_NAME_CHARS: usize = 53;
/// Length of an error message kept in the store, in characters.
pub const MAX_MESSAGE_CHARS: usize = 1_024;
