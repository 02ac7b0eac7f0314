//! An app with objects of a Keycloak that is not there.
//!
//! Not here: what is done with one that is (`tests/live/keycloak.rs`).

use rewild::settings::KeycloakEntry;

use crate::world::World;

const ROLE: &str = "apiVersion: keycloak.rewild.dev/v1\nkind: Role\nmetadata: {name: editor}\nrealm: shop\n";
const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {version: \"1\"}\n";
const CONFIG_PATH: &str = "/api/v1/namespaces/sso/configmaps/config";

async fn push(world: &World, role: &str) {
    let list = "namespace: sso\nresources: [config.yaml]\n";
    let files = [
        ("apps/sso/kustomization.yaml", Some(list)),
        ("apps/sso/config.yaml", Some(CONFIG)),
        ("apps/sso/keycloak/role.yaml", Some(role)),
    ];
    world.push("objects of a Keycloak", &files).await;
}

async fn stands_for(world: &World, reason: &str, says: &str) {
    world
        .until(&format!("sso stands still for {reason}: {says}"), async || {
            let state = world.state("sso").await;
            state.is_some_and(|state| state.reason == reason && state.needs_you.contains(says))
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keycloak_that_is_away_holds_back_its_part_of_the_app_and_nothing_else() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    push(&world, ROLE).await;
    stands_for(&world, "KeycloakUnknown", "daemon.yaml names none").await;
    assert!(world.get(CONFIG_PATH).await.is_some());
    // Nobody listens at the port of a listener that is gone.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let credential_file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(credential_file.path(), "a-secret-of-a-test\n").unwrap();
    let entry = KeycloakEntry {
        url: format!("http://127.0.0.1:{port}"),
        realm: "master".into(),
        client: "wild".into(),
        user: String::new(),
        credential_file: credential_file.path().to_owned(),
    };
    world.restart_with_keycloak(entry).await;
    stands_for(&world, "KeycloakUnreachable", "does not answer").await;
    world.edit("apps/sso/config.yaml", "\"1\"", "\"2\"").await;
    world
        .until("the cluster's part is applied", async || {
            world.get(CONFIG_PATH).await.is_some_and(|live| live["data"]["version"] == "2")
        })
        .await;
    // It is looked for again by the clock alone, less and less often.
    let tokens = || world.handle.instance().keycloak().unwrap().counts().tokens;
    let before = tokens();
    world.until("it is looked for again", async || tokens() > before + 1).await;
    assert_eq!(world.state("sso").await.unwrap().health, "healthy");
    assert!(!world.kept().await.contains("a-secret-of-a-test"));
    world.edit("apps/sso/keycloak/role.yaml", "kind: Role", "kind: Rolle").await;
    stands_for(&world, "Unreadable", "apps/sso/keycloak/role.yaml:2: R004: the kind \"Rolle\" is not known").await;
}
