//! Pure. Where in its repository an instance lives, and how its paths and refs read there.
//!
//! An instance at the top of its repository has plain paths and refs (`apps/blog`, `refs/wild/generated/blog`). One in a sub-directory is a
//! whole instance below it (`clusters/home/apps/blog`, `clusters/home/.wild/generated/blog.yaml`), and its refs carry the sub-directory
//! between their kind and the app (`refs/wild/generated/clusters/home/blog`): not the name that a daemon gives it, because every clone must
//! find the same refs. This is the only place that knows of it; whoever compiles or merges sees paths of the instance.
//!
//! Not here: reading and writing (`git::InstanceTree`), which instances one daemon may serve (`daemon`).

use std::fmt;

use super::{AppName, Upstream};
use crate::base::RepoPath;

/// Directories that a sub-directory may lie deep, so that the search for instances ends.
pub const MAX_SUBDIRECTORY_DEPTH: usize = 8;
/// Longest sub-directory in bytes: names of refs that hold it and an app must stay below what git takes.
const MAX_SUBDIRECTORY_BYTES: usize = 128;

/// Where an instance has its apps; no directory above an instance is called so, which tells the two apart in every path.
const APPS: &str = "apps";

/// The directory of its repository in which an instance lives; the top of the repository for most.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Subdirectory(Option<RepoPath>);

/// Why a text names no directory for an instance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the sub-directory {text:?} is refused: {reason}")]
pub struct SubdirectoryError {
    text: String,
    reason: &'static str,
}

impl Subdirectory {
    /// Returns the top of a repository.
    pub fn top() -> Self {
        Self(None)
    }

    /// Parses a directory such as `clusters/home`. It becomes a part of refs, so its names hold what git takes there; an empty text is the top.
    pub fn parse(text: &str) -> Result<Self, SubdirectoryError> {
        let trimmed = text.trim_end_matches('/');
        let trimmed = trimmed.strip_prefix("./").unwrap_or(trimmed);
        if matches!(trimmed, "" | ".") {
            return if text.starts_with('/') { Err(refused(text, "it is absolute")) } else { Ok(Self(None)) };
        }
        let path = RepoPath::parse(trimmed).map_err(|error| refused(text, error.reason))?;
        if trimmed.len() > MAX_SUBDIRECTORY_BYTES {
            return Err(refused(text, "it is longer than 128 characters"));
        }
        if trimmed.split('/').count() > MAX_SUBDIRECTORY_DEPTH {
            return Err(refused(text, "it lies deeper than 8 directories"));
        }
        if trimmed.split('/').any(|part| part == APPS) {
            return Err(refused(text, "a part of it is called apps, which is where an instance has its apps"));
        }
        if !trimmed.split('/').all(is_name) {
            let reason =
                "each name begins with a letter or digit and holds letters, digits, hyphens, dots and underscores";
            return Err(refused(text, reason));
        }
        Ok(Self(Some(path)))
    }

    /// Returns whether it is the top of the repository.
    pub fn is_top(&self) -> bool {
        self.0.is_none()
    }

    /// Returns it as text; the top is empty.
    pub fn as_str(&self) -> &str {
        self.0.as_ref().map_or("", RepoPath::as_str)
    }

    /// Returns a path of the instance as the repository has it; the empty path is the sub-directory itself.
    pub fn outward(&self, path: &str) -> String {
        match (&self.0, path) {
            (None, path) => path.to_owned(),
            (Some(directory), "") => directory.to_string(),
            (Some(directory), path) => format!("{directory}/{path}"),
        }
    }

    /// Returns a path of the repository as the instance has it; nothing if it lies outside.
    pub fn inward(&self, path: &RepoPath) -> Option<RepoPath> {
        match &self.0 {
            None => Some(path.clone()),
            Some(directory) => path.below(directory.as_str()),
        }
    }

    /// Returns whether another one is the same or lies below: the two cannot both hold an instance.
    pub fn holds(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(other)) => other.is_within(own.as_str()),
        }
    }

    /// Returns the directories above it, the top first.
    pub fn above(&self) -> Vec<Self> {
        let mut found = Vec::new();
        let mut at = self.0.clone();
        while let Some(path) = at {
            at = path.parent();
            found.push(Self(at.clone()));
        }
        found.reverse();
        found
    }

    /// Returns the ref of an app's generations.
    pub fn generated_ref(&self, app: &AppName) -> String {
        format!("refs/wild/generated/{}", self.outward(app.as_str()))
    }

    /// Returns the name of the branch of an app's waiting update.
    pub fn update_branch(&self, app: &AppName) -> String {
        format!("wild/update/{}", self.outward(app.as_str()))
    }

    /// Returns the name of the branch on which an adoption of an app's drift waits to be reviewed.
    pub fn drift_branch(&self, app: &AppName) -> String {
        format!("{}{app}", self.drift_branches())
    }

    /// Returns what the names of all such branches of this instance begin with.
    pub fn drift_branches(&self) -> String {
        let below = self.outward("");
        format!("wild/drift/{below}{}", if below.is_empty() { "" } else { "/" })
    }

    /// Returns the ref of an upstream as fetched: two instances may follow different ones under one name.
    pub fn upstream_ref(&self, upstream: &Upstream) -> String {
        format!("refs/wild/upstream/{}/{}", self.outward(&upstream.name), upstream.branch)
    }
}

/// Returns whether a part of a path can be a part of a ref, and is nothing that programs read as an option.
fn is_name(part: &str) -> bool {
    part.starts_with(|c: char| c.is_ascii_alphanumeric())
        && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && !part.contains("..")
        && !part.ends_with('.')
        && !part.ends_with(".lock")
}

fn refused(text: &str, reason: &'static str) -> SubdirectoryError {
    SubdirectoryError { text: text.to_owned(), reason }
}

impl fmt::Display for Subdirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("the top"),
            Some(path) => path.fmt(f),
        }
    }
}

impl fmt::Debug for Subdirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl std::str::FromStr for Subdirectory {
    type Err = SubdirectoryError;

    fn from_str(text: &str) -> Result<Self, SubdirectoryError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for Subdirectory {
    type Error = SubdirectoryError;

    fn try_from(text: String) -> Result<Self, SubdirectoryError> {
        Self::parse(&text)
    }
}

impl<'de> serde::Deserialize<'de> for Subdirectory {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}

impl serde::Serialize for Subdirectory {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Subdirectory {
        Subdirectory::parse(text).unwrap()
    }

    #[test]
    fn an_instance_at_the_top_has_plain_paths_and_refs() {
        let (top, app) = (at(""), AppName::parse("blog").unwrap());
        assert_eq!((at("."), at("./")), (top.clone(), top.clone()));
        assert_eq!((top.outward("apps/blog").as_str(), top.outward("").as_str()), ("apps/blog", ""));
        assert_eq!(top.generated_ref(&app), "refs/wild/generated/blog");
        assert_eq!(top.update_branch(&app), "wild/update/blog");
        assert_eq!(
            (top.drift_branches().as_str(), top.drift_branch(&app).as_str()),
            ("wild/drift/", "wild/drift/blog")
        );
    }

    #[test]
    fn an_instance_in_a_sub_directory_has_it_in_every_path_and_ref() {
        let (home, app) = (at("clusters/home/"), AppName::parse("blog").unwrap());
        assert_eq!(
            (home.outward("apps/blog").as_str(), home.outward("").as_str()),
            ("clusters/home/apps/blog", "clusters/home")
        );
        assert_eq!(home.generated_ref(&app), "refs/wild/generated/clusters/home/blog");
        assert_eq!(home.update_branch(&app), "wild/update/clusters/home/blog");
        assert_eq!(home.drift_branch(&app), "wild/drift/clusters/home/blog");
        let upstream = Upstream {
            name: "main".into(),
            url: String::new(),
            branch: "stable".into(),
            path: String::new(),
            verify: Default::default(),
        };
        assert_eq!(home.upstream_ref(&upstream), "refs/wild/upstream/clusters/home/main/stable");
        let inward = |path: &str| home.inward(&RepoPath::parse(path).unwrap()).map(|path| path.to_string());
        assert_eq!(inward("clusters/home/config.yaml").as_deref(), Some("config.yaml"));
        assert_eq!(
            (inward("clusters/homes/config.yaml"), inward("config.yaml"), inward("clusters/home")),
            (None, None, None)
        );
    }

    #[test]
    fn what_lies_above_or_below_another_overlaps() {
        for (one, other, holds) in [
            ("", "", true),
            ("", "a", true),
            ("a", "", false),
            ("a", "a/b", true),
            ("a/b", "a", false),
            ("a", "ab", false),
            ("a/b", "a/c", false),
        ] {
            assert_eq!(at(one).holds(&at(other)), holds, "{one:?} {other:?}");
        }
        assert_eq!(at("a/b/c").above(), [at(""), at("a"), at("a/b")]);
        assert!(at("").above().is_empty());
    }

    #[test]
    fn what_git_takes_in_no_ref_or_leads_elsewhere_is_refused() {
        let long = "a".repeat(129);
        for text in [
            "/",
            "/a",
            "../a",
            "a/../b",
            "a//b",
            "a b",
            "-a",
            ".a",
            "a..b",
            "a.",
            "a.lock",
            "apps/a",
            "a/apps",
            "a:b",
            "ä",
            "a/.git",
            &long,
            "a/b/c/d/e/f/g/h/i",
        ] {
            assert!(Subdirectory::parse(text).is_err(), "{text:?} was accepted");
        }
        assert_eq!(at("Clusters/eu_1.prod-a").as_str(), "Clusters/eu_1.prod-a");
    }
}
