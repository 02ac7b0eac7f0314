//! Pure. What ends a wait, as the rest of a sentence that begins with "when".
//!
//! Not here: what an app waits for (one file per rule beside this one), waking it (`daemon`).

use super::action::WakeOn;

impl WakeOn {
    /// Returns what has to happen, for people.
    pub fn told(&self) -> String {
        match self {
            Self::App(app) => format!("{app} is deployed and healthy"),
            Self::NamespaceGone(namespace) => format!("the namespace {namespace} is gone"),
            Self::Target(cluster) => format!("{} answers", cluster.in_short()),
            Self::Revision => "a commit or a person's word changes that".to_owned(),
            Self::Secret(path) => format!("the secret {path} is set"),
            Self::Health => "the health of one of its objects changes".to_owned(),
            Self::Gone(id) => format!("{} is gone", id.short()),
            Self::Kind { group, kind } if group.is_empty() => format!("the cluster gets to know the kind {kind}"),
            Self::Kind { group, kind } => format!("the cluster gets to know the kind {kind} of {group}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AppName, ClusterName, ObjectId};

    #[test]
    fn everything_that_an_app_may_wait_for_is_a_sentence() {
        let check = |wake: WakeOn, expected: &str| assert_eq!(wake.told(), expected);
        check(WakeOn::App(AppName::parse("stonedb").unwrap()), "stonedb is deployed and healthy");
        check(WakeOn::NamespaceGone("blog".into()), "the namespace blog is gone");
        check(WakeOn::Target(ClusterName::default()), "the cluster answers");
        check(WakeOn::Revision, "a commit or a person's word changes that");
        check(WakeOn::Secret("apps.blog.token".into()), "the secret apps.blog.token is set");
        check(WakeOn::Health, "the health of one of its objects changes");
        check(WakeOn::Gone(ObjectId::new("", "Pod", "blog", "web")), "Pod/web is gone");
        let kind = |group: &str| WakeOn::Kind { group: group.into(), kind: "Widget".into() };
        check(kind(""), "the cluster gets to know the kind Widget");
        check(kind("example.org"), "the cluster gets to know the kind Widget of example.org");
    }
}
