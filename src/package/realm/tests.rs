//! Pure. Files of objects of a Keycloak, and what is wrong with them.

use super::realm_objects;
use crate::base::RepoPath;
use crate::model::{AppName, File, FileTree};

const ROLE: &str = "apiVersion: keycloak.rewild.dev/v1\nkind: Role\nmetadata: {name: editor}\nrealm: shop\n";

fn read(files: &[(&str, &str)]) -> Vec<String> {
    let mut tree = FileTree::new();
    for (name, text) in files {
        tree.insert(RepoPath::parse(&format!("apps/blog/{name}")).unwrap(), File::text(text));
    }
    match realm_objects(&tree, &AppName::parse("blog").unwrap()) {
        Ok(objects) => objects.iter().map(|it| format!("{} {} {}", it.id.short(), it.id.namespace, it.line)).collect(),
        Err(findings) => findings.iter().map(|finding| format!("{finding} ({})", finding.hint)).collect(),
    }
}

#[test]
fn objects_are_read_in_the_order_in_which_they_are_applied() {
    let documents = "apiVersion: keycloak.rewild.dev/v1\nkind: FlowExecution\nmetadata: {name: auth-cookie}\nrealm: shop\nflow: my flow\n---\n\
                     apiVersion: keycloak.rewild.dev/v1\nkind: User\nmetadata: {name: bob}\nrealm: shop\nspec: {enabled: true}\n---\n\
                     apiVersion: keycloak.rewild.dev/v1\nkind: Realm\nmetadata: {name: shop}\n";
    let found = read(&[
        ("keycloak/a.yaml", documents),
        ("keycloak/b.yaml", ROLE),
        ("deployment.yaml", "kind: {"),
        ("keycloak/README.md", ""),
    ]);
    let expected =
        ["Realm/shop shop 13", "Role/editor shop 1", "User/bob shop 7", "FlowExecution/my flow/auth-cookie shop 1"];
    assert_eq!(found, expected);
}

#[test]
fn what_is_not_known_is_refused_with_its_place() {
    let check = |text: &str, expected: &str| assert_eq!(read(&[("keycloak/a.yaml", text)]), [expected], "{text}");
    let place = "apps/blog/keycloak/a.yaml";
    check(&ROLE.replace("Role", "Rolle"), &format!("{place}:2: R004: the kind \"Rolle\" is not known (Role)"));
    check(
        &ROLE.replace("dev/v1", "dev/v2"),
        &format!(
            "{place}:1: R003: apiVersion \"keycloak.rewild.dev/v2\" is not known in keycloak/ (apiVersion: keycloak.rewild.dev/v1)"
        ),
    );
    check(
        &format!("{ROLE}spec:\n  description: x\n  atributes: {{}}\n"),
        &format!("{place}:7: R008: spec.atributes of a Role is not supported (attributes)"),
    );
    check(
        &format!("{ROLE}spec:\n  description:\n"),
        &format!("{place}:6: R008: spec.description has no value (leave the field out, it is nobody's then)"),
    );
    check(
        &format!("{ROLE}flow: x\n"),
        &format!("{place}:5: R005: the key flow is not known (one of apiVersion, kind, metadata, spec, realm)"),
    );
    check(&ROLE.replace("realm: shop\n", ""), &format!("{place}:1: R006: realm is a text of 1 to 255 characters ()"));
    check(&ROLE.replace("shop", "a/b"), &format!("{place}:4: R006: the name of a realm holds no slash ()"));
    check(
        &format!("{ROLE}---\n{ROLE}"),
        &format!("{place}:6: R009: Role/editor of the realm shop stands twice (the other one stands in {place}:1)"),
    );
    let user = ROLE.replace("Role", "User").replace("editor", "Bob");
    check(&user, &format!("{place}:3: R006: Keycloak keeps names of users in small letters (name: bob)"));
}
