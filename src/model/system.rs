//! Pure. Namespaces of the system: an app enters one only with a grant that the owner of the instance wrote.
//!
//! Not here: namespaces of people and other tools, which only a cluster tells (`plan::ground`).

/// Namespace of our own objects in a cluster unless the settings name another.
pub const CONTROL_NAMESPACE: &str = "wild-system";
/// The namespace that every cluster has for what names none.
const UNNAMED: &str = "default";
/// Beginning of names that Kubernetes keeps for itself.
const KUBERNETES: &str = "kube-";

/// Returns whether a namespace, or an app of that name, is the system's; `control` is the namespace of our own objects.
///
/// No cluster takes capitals in such a name, so one with capitals is meant to be read as the same.
pub fn is_of_system(name: &str, control: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    let is_ours = name == CONTROL_NAMESPACE || (!control.is_empty() && name == control);
    is_ours || name == UNNAMED || name.starts_with(KUBERNETES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_has_its_namespaces_however_they_are_written() {
        for name in
            ["default", "Default", "kube-system", "KUBE-public", "kube-flannel", "wild-system", "control", " default"]
        {
            assert!(is_of_system(name, "control"), "{name}");
        }
        for name in ["blog", "kubernetes-dashboard", "default-blog", "my-kube-system", "wild", "", "kube"] {
            assert!(!is_of_system(name, ""), "{name}");
        }
    }
}
