//! Objects of a real Keycloak, on a sandbox cluster: made in order, left as they are, healed, deleted, waited for.
//!
//! One server serves all checks; each has a realm and an app of its own. Not here: a Keycloak that is away (`tests/it/line/realms.rs`).

use reqwest::Method;
use rewild::model::{Effect, Outcome, Request, SecretValue};
use rewild::settings::KeycloakEntry;
use serde_json::{Value, json};

use crate::parts::{KeycloakServer, fail};
use crate::world::{World, app};

/// A value that must stand nowhere but in Keycloak and in secrets.yaml.
const SECRET: &str = "planted-secret-of-a-client";

/// An app with a config map and objects of the server.
struct Realm<'a> {
    world: &'a World,
    server: &'a KeycloakServer,
    name: &'static str,
}

impl Realm<'_> {
    /// Pushes documents, each as kind, name and the rest after `realm`, in one file.
    async fn push(&self, documents: &[(&str, &str, &str)]) {
        let document = |(kind, name, rest): &(&str, &str, &str)| {
            let realm = if *kind == "Realm" { String::new() } else { format!("realm: {}\n", self.name) };
            format!("apiVersion: keycloak.rewild.dev/v1\nkind: {kind}\nmetadata: {{name: {name}}}\n{realm}{rest}\n")
        };
        let all = documents.iter().map(document).collect::<Vec<_>>().join("---\n");
        let name = self.name;
        let list = format!("namespace: {name}\nresources: [config.yaml]\n");
        let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {k: v}\n";
        let paths =
            ["kustomization.yaml", "config.yaml", "keycloak/objects.yaml"].map(|file| format!("apps/{name}/{file}"));
        let changes = [(&*paths[0], Some(&*list)), (&*paths[1], Some(config)), (&*paths[2], Some(&*all))];
        self.world.push(&format!("{name}: objects"), &changes).await;
    }

    async fn applied(&self) {
        let head = self.world.head().await;
        self.world
            .until(&format!("{} is applied", self.name), async || {
                let state = self.world.state(self.name).await;
                state.is_some_and(|state| state.intent == "applied" && state.applied.as_ref() == Some(&head))
            })
            .await;
        self.world.healthy(self.name).await;
    }

    async fn stands_for(&self, reason: &str, says: &str) {
        self.world
            .until(&format!("{} stands still for {reason}: {says}", self.name), async || {
                let state = self.world.state(self.name).await;
                state.is_some_and(|state| state.reason == reason && state.needs_you.contains(says))
            })
            .await;
    }

    async fn get(&self, path: &str) -> Value {
        self.server.get(&format!("/{}{path}", self.name)).await
    }

    /// Changes a representation as a person does in the console.
    async fn edit(&self, path: &str, change: impl FnOnce(&mut Value)) {
        let mut body = self.get(path).await;
        change(&mut body);
        self.server.call(Method::PUT, &format!("/{}{path}", self.name), Some(&body)).await;
    }

    async fn until(&self, what: &str, path: &str, holds: impl Fn(&Value) -> bool) {
        let met = async || holds(&self.get(path).await);
        self.world.until(&format!("{}: {what}", self.name), met).await;
    }

    /// Returns the requests that changed something so far.
    fn writes(&self) -> u64 {
        self.world.handle.instance().keycloak().unwrap().counts().writes()
    }

    /// Looks at the app again, twice, and returns how many requests that changed something.
    async fn writes_of_a_look(&self) -> u64 {
        let before = self.writes();
        self.world.look_again(self.name).await;
        self.world.look_again(self.name).await;
        self.writes() - before
    }

    /// Returns what the operations of the app did to objects of the server, oldest first.
    async fn outcomes(&self) -> Vec<Outcome> {
        let instance = self.world.handle.instance();
        let operations = instance.store.operations(&instance.id, &Default::default()).await.unwrap();
        let mut all = Vec::new();
        for operation in operations.iter().rev().filter(|it| it.app == Some(app(self.name))) {
            all.extend(instance.store.outcomes(&operation.id).await.unwrap());
        }
        all.retain(|outcome| outcome.object.group == "keycloak.rewild.dev");
        all
    }
}

const REALM: &str = "spec: {enabled: true, displayName: Shop, attributes: {ours: \"1\"}}";
const EDITOR: (&str, &str, &str) = ("Role", "editor", "spec: {description: edits}");
const VIEWER: (&str, &str, &str) = ("Role", "viewer", "spec: {description: views}");
const WEB: (&str, &str, &str) =
    ("Client", "web", "secretFrom: web\nspec: {enabled: true, redirectUris: [\"https://b/*\", \"https://a/*\"]}");
const USER: &str = "spec: {enabled: true, firstName: A, lastName: B}";

fn whole(realm: &'static str) -> Vec<(&'static str, &'static str, &'static str)> {
    vec![
        ("FlowExecution", "auth-cookie", "flow: own flow\nspec: {requirement: ALTERNATIVE, priority: 20}"),
        (
            "FlowExecution",
            "auth-username-password-form",
            "flow: own flow\nspec: {requirement: ALTERNATIVE, priority: 10}",
        ),
        ("RequiredAction", "CONFIGURE_TOTP", "spec: {defaultAction: true, priority: 5}"),
        ("Flow", "own flow", "spec: {description: ours}"),
        ("User", "ann", USER),
        ("User", "bob", USER),
        WEB,
        EDITOR,
        VIEWER,
        ("Realm", realm, REALM),
    ]
}

/// A fresh app waits for its secret, then everything is made in order; nothing is written again.
async fn everything_is_made_in_order_and_once(shop: &Realm<'_>) {
    shop.push(&whole("shop")).await;
    shop.stands_for("SecretMissing", "apps.shop.web").await;
    shop.world.handle.instance().secrets.set("apps.shop.web", &SecretValue::new(SECRET.to_owned())).unwrap();
    shop.applied().await;
    assert_eq!(shop.get("").await["displayName"], "Shop");
    assert_eq!(shop.get("/roles/editor").await["description"], "edits");
    assert_eq!(shop.get("/clients?clientId=web").await[0]["secret"], SECRET);
    for user in ["ann", "bob"] {
        assert_eq!(shop.get(&format!("/users?username={user}&exact=true")).await[0]["firstName"], "A");
    }
    assert_eq!(shop.get("/authentication/required-actions/CONFIGURE_TOTP").await["defaultAction"], true);
    let steps = shop.get("/authentication/flows/own%20flow/executions").await;
    let order: Vec<&str> = steps.as_array().unwrap().iter().map(|step| step["providerId"].as_str().unwrap()).collect();
    assert_eq!(order, ["auth-username-password-form", "auth-cookie"]);
    let outcomes = shop.outcomes().await;
    let made: Vec<String> = outcomes.iter().map(|it| format!("{:?} {}", it.effect, it.object.short())).collect();
    let expected = [
        "Created Realm/shop",
        "Created Role/editor",
        "Created Role/viewer",
        "Created User/ann",
        "Created User/bob",
        "Created Flow/own flow",
        "Configured RequiredAction/CONFIGURE_TOTP",
        "Created FlowExecution/own flow/auth-cookie",
        "Created FlowExecution/own flow/auth-username-password-form",
        "Created Client/web",
    ];
    assert_eq!(made, expected);
    let objects = shop.world.state("shop").await.unwrap().objects;
    assert_eq!(
        objects.iter().filter(|it| it.object.group == "keycloak.rewild.dev" && it.health == "healthy").count(),
        10
    );
    assert_eq!(shop.writes_of_a_look().await, 0);
    assert_eq!(shop.outcomes().await.len(), outcomes.len());
}

/// What a person changes is put back where it is declared, and left where it is not.
async fn declared_fields_are_healed_and_others_left(shop: &Realm<'_>) {
    shop.edit("/roles/editor", |role| role["attributes"] = json!({"theirs": ["1"]})).await;
    shop.edit("", |realm| {
        realm["accessTokenLifespan"] = json!(77);
        realm["attributes"]["theirs"] = json!("1");
    })
    .await;
    assert_eq!(shop.writes_of_a_look().await, 0);
    shop.edit("/roles/editor", |role| role["description"] = json!("somebody's")).await;
    shop.edit("", |realm| {
        realm["displayName"] = json!("somebody's");
        realm["attributes"]["ours"] = json!("2");
    })
    .await;
    let client = shop.get("/clients?clientId=web").await[0]["id"].as_str().unwrap().to_owned();
    shop.server.call(Method::POST, &format!("/shop/clients/{client}/client-secret"), None).await;
    let user = shop.get("/users?username=ann&exact=true").await[0]["id"].as_str().unwrap().to_owned();
    shop.server.call(Method::DELETE, &format!("/shop/users/{user}"), None).await;
    shop.world.look_again("shop").await;
    shop.until("the role is as declared", "/roles/editor", |role| role["description"] == "edits").await;
    shop.until("the client has our secret", "/clients?clientId=web", |list| list[0]["secret"] == SECRET).await;
    shop.until("the user is back", "/users?username=ann&exact=true", |list| list[0]["lastName"] == "B").await;
    let (role, realm) = (shop.get("/roles/editor").await, shop.get("").await);
    assert_eq!(role["attributes"], json!({"theirs": ["1"]}));
    assert_eq!((&realm["displayName"], &realm["accessTokenLifespan"]), (&json!("Shop"), &json!(77)));
    assert_eq!((&realm["attributes"]["ours"], &realm["attributes"]["theirs"]), (&json!("1"), &json!("1")));
    shop.applied().await;
    assert!(shop.world.state("shop").await.unwrap().drift.is_empty());
    // Only told where that is the policy.
    shop.world.set("apps: {shop: {drift: report}}\n").await;
    shop.applied().await;
    shop.edit("/roles/editor", |role| role["description"] = json!("somebody's")).await;
    shop.world.look_again("shop").await;
    let told = shop.world.state("shop").await.unwrap().drift;
    let told: Vec<String> = told.iter().map(|it| format!("{} {} {}", it.object.short(), it.kind, it.path)).collect();
    assert_eq!(told, ["Role/editor changed spec.description"]);
    assert_eq!(shop.writes_of_a_look().await, 0);
    shop.world.done(Request::Deploy { app: app("shop"), approve: None, recreate: Vec::new(), adopt: false }).await;
    shop.until("a person's deploy puts it back", "/roles/editor", |role| role["description"] == "edits").await;
}

/// What leaves the tree goes if we made it; what was there before stays; a realm goes only if a person agrees.
async fn what_leaves_the_tree_is_deleted(shop: &Realm<'_>) {
    shop.server.call(Method::POST, "/shop/roles", Some(&json!({"name": "theirs"}))).await;
    let mut rest = whole("shop");
    rest.retain(|(kind, name, _)| !["bob", "viewer", "auth-cookie"].contains(name) && *kind != "RequiredAction");
    shop.push(&rest).await;
    shop.until("the role is gone", "/roles/viewer", Value::is_null).await;
    shop.applied().await;
    assert_eq!(shop.get("/users?username=bob&exact=true").await, json!([]));
    assert_eq!(shop.get("/roles/theirs").await["name"], "theirs");
    assert_eq!(shop.get("/authentication/required-actions/CONFIGURE_TOTP").await["defaultAction"], true);
    assert_eq!(shop.get("/authentication/flows/own%20flow/executions").await.as_array().unwrap().len(), 1);
    let deleted = shop.outcomes().await.into_iter().filter(|it| it.effect == Effect::Deleted);
    let deleted: Vec<String> = deleted.map(|it| it.object.short()).collect();
    assert_eq!(deleted, ["FlowExecution/own flow/auth-cookie", "User/bob", "Role/viewer"]);
    shop.push(&[("Role", "theirs", "spec: {description: adopted}")]).await;
    shop.stands_for("DeletionNeedsApproval", "takes content with it").await;
    assert_eq!(shop.get("/roles/theirs").await["description"], "adopted");
    assert_eq!(shop.get("").await["displayName"], "Shop");
}

/// An app whose realm is somebody else's waits for it, and goes on by itself.
async fn a_realm_is_waited_for(tenant: &Realm<'_>) {
    tenant.push(&[("Client", "api", "spec: {publicClient: true}"), EDITOR]).await;
    tenant.stands_for("RealmMissing", "the realm tenant is not there").await;
    let config = "/api/v1/namespaces/tenant/configmaps/config";
    assert!(tenant.world.get(config).await.is_some());
    let reads = || *tenant.world.handle.instance().keycloak().unwrap().counts().requests.get("GET").unwrap();
    let before = reads();
    tenant.world.until("it is looked for again by the clock", async || reads() > before + 2).await;
    tenant.server.call(Method::POST, "", Some(&json!({"realm": "tenant", "enabled": true}))).await;
    tenant.applied().await;
    let made: Vec<String> = tenant.outcomes().await.iter().map(|it| it.object.short()).collect();
    assert_eq!(made, ["Role/editor", "Client/api"]);
}

/// A value that the server drops is an error, and is not written for ever; what it refuses is told in its words.
async fn what_the_server_does_not_take_is_told(tenant: &Realm<'_>) {
    let odd = ("User", "cyd", "spec: {enabled: true, attributes: {shoe: [\"43\"]}}");
    tenant.push(&[("Client", "api", "spec: {publicClient: true}"), EDITOR, odd]).await;
    tenant.stands_for("ApplyFailed", "keeps spec.attributes.shoe otherwise than declared").await;
    let refused = ("FlowExecution", "no-such-step", "flow: browser\nspec: {requirement: REQUIRED}");
    tenant.push(&[("Client", "api", "spec: {publicClient: true}"), EDITOR, refused]).await;
    tenant.stands_for("ApplyFailed", "the server answered 400").await;
    // The user that was made all the same goes when the rest is right.
    tenant.push(&[("Client", "api", "spec: {publicClient: true}"), EDITOR]).await;
    tenant.applied().await;
    tenant.until("the user is gone", "/users?username=cyd&exact=true", |list| *list == json!([])).await;
}

/// A token that the server no longer takes is asked for anew.
async fn a_token_is_asked_for_anew(tenant: &Realm<'_>) {
    let tokens = || tenant.world.handle.instance().keycloak().unwrap().counts().tokens;
    let before = tokens();
    let sessions = tenant.server.get("/master/users?username=admin&exact=true").await;
    let admin = sessions[0]["id"].as_str().unwrap_or_else(|| fail("there is no administrator")).to_owned();
    tenant.server.call(Method::POST, &format!("/master/users/{admin}/logout"), None).await;
    tenant.edit("/roles/editor", |role| role["description"] = json!("x")).await;
    tenant.world.look_again("tenant").await;
    tenant.until("the role is as declared", "/roles/editor", |role| role["description"] == "edits").await;
    assert!(tokens() > before);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_brings_objects_of_a_keycloak() {
    let Some(server) = KeycloakServer::start().await else { return };
    let mut world = World::start(&["stonedb 15.5"]).await;
    let entry = KeycloakEntry {
        url: server.url(),
        realm: "master".into(),
        client: "admin-cli".into(),
        user: crate::parts::KEYCLOAK_USER.into(),
        credential_file: server.credential(),
    };
    world.restart_with_keycloak(entry).await;
    let realm = |name| Realm { world: &world, server: &server, name };
    let (shop, tenant) = (realm("shop"), realm("tenant"));
    everything_is_made_in_order_and_once(&shop).await;
    declared_fields_are_healed_and_others_left(&shop).await;
    what_leaves_the_tree_is_deleted(&shop).await;
    a_realm_is_waited_for(&tenant).await;
    what_the_server_does_not_take_is_told(&tenant).await;
    a_token_is_asked_for_anew(&tenant).await;
    let kept = world.kept().await;
    assert!(!kept.contains(SECRET), "a secret is kept or told");
    assert!(!kept.contains("Passw0rd-of-a-test"), "a password is kept or told");
}
