//! Where each kind is in the Admin API, by its natural key.
//!
//! Not here: sending (`call.rs`).

use serde_json::{Map, Value, json};

use crate::model::{ObjectId, RealmKind};
use crate::target::address::segment as encoded;

/// Where an object is read, and how it is told from its neighbours in a list.
pub(super) struct Place {
    pub(super) kind: RealmKind,
    /// Path of its realm below the address of the server.
    pub(super) realm: String,
    /// Path at which it, or a list that holds it, is read.
    pub(super) path: String,
    name: String,
    /// Of a step the path of its flow.
    flow: String,
}

impl Place {
    /// Returns the place of a realm.
    pub(super) fn realm(realm: &str) -> Self {
        let path = format!("/admin/realms/{}", encoded(realm));
        Self { kind: RealmKind::Realm, realm: path.clone(), path, name: realm.to_owned(), flow: String::new() }
    }

    /// Returns the place of an object; nothing for one of a cluster.
    pub(super) fn of(id: &ObjectId) -> Option<Self> {
        let kind = RealmKind::of(id)?;
        let at = Self::realm(&id.namespace);
        let realm = &at.realm;
        let key = encoded(&id.name);
        let (path, name, flow) = match kind {
            RealmKind::Realm => return Some(at),
            RealmKind::Role => (format!("{realm}/roles/{key}"), id.name.clone(), String::new()),
            RealmKind::Client => (format!("{realm}/clients?clientId={key}"), id.name.clone(), String::new()),
            RealmKind::User => (format!("{realm}/users?username={key}&exact=true"), id.name.clone(), String::new()),
            RealmKind::Flow => (format!("{realm}/authentication/flows"), id.name.clone(), String::new()),
            RealmKind::RequiredAction => {
                (format!("{realm}/authentication/required-actions/{key}"), id.name.clone(), String::new())
            }
            RealmKind::FlowExecution => {
                let (flow, step) = id.name.rsplit_once('/')?;
                let flow = format!("{realm}/authentication/flows/{}/executions", encoded(flow));
                (flow.clone(), step.to_owned(), flow)
            }
        };
        Some(Self { kind, realm: realm.clone(), path, name, flow })
    }

    /// Takes the object out of what was read at its path; nothing if it is not there. Steps with the same name cannot be told apart.
    pub(super) fn pick(&self, answer: Value) -> Result<Option<Value>, String> {
        let key = match self.kind {
            RealmKind::Realm | RealmKind::Role | RealmKind::RequiredAction => return Ok(Some(answer)),
            RealmKind::Client => "clientId",
            RealmKind::User => "username",
            RealmKind::Flow => "alias",
            RealmKind::FlowExecution => "providerId",
        };
        let Value::Array(list) = answer else { return Err("the server gave no list".to_owned()) };
        let is_deeper = |entry: &Value| entry.get("level").and_then(Value::as_i64).is_some_and(|level| level > 0);
        let is_it = |entry: &Value| entry.get(key).and_then(Value::as_str) == Some(self.name.as_str());
        let mut fitting = list.into_iter().filter(|entry| is_it(entry) && !is_deeper(entry));
        match (fitting.next(), fitting.next()) {
            (found, None) => Ok(found),
            (_, Some(_)) => Err(format!("{} stands there more than once", self.name)),
        }
    }

    /// Returns the path at which an object is changed that was read like this.
    pub(super) fn path_of(&self, entry: &Value) -> String {
        let id = entry.get("id").and_then(Value::as_str).map(encoded).unwrap_or_default();
        match self.kind {
            RealmKind::Realm | RealmKind::Role | RealmKind::RequiredAction => self.path.clone(),
            RealmKind::Client => format!("{}/clients/{id}", self.realm),
            RealmKind::User => format!("{}/users/{id}", self.realm),
            RealmKind::Flow => format!("{}/authentication/flows/{id}", self.realm),
            RealmKind::FlowExecution => self.flow.clone(),
        }
    }

    /// Returns path and body of the request that makes an object with these fields.
    pub(super) fn creation(&self, declared: &Map<String, Value>) -> (String, Value) {
        let (realm, name) = (&self.realm, Value::from(self.name.as_str()));
        let with = |pairs: &[(&str, Value)]| {
            let mut body = declared.clone();
            for (key, value) in pairs {
                body.entry((*key).to_owned()).or_insert_with(|| value.clone());
            }
            Value::Object(body)
        };
        match self.kind {
            RealmKind::Realm => ("/admin/realms".to_owned(), with(&[("realm", name)])),
            RealmKind::Role => (format!("{realm}/roles"), with(&[("name", name)])),
            RealmKind::Client => (format!("{realm}/clients"), with(&[("clientId", name)])),
            RealmKind::User => (format!("{realm}/users"), with(&[("username", name)])),
            RealmKind::Flow => {
                let always = [("alias", name), ("providerId", json!("basic-flow")), ("topLevel", json!(true))];
                (format!("{realm}/authentication/flows"), with(&always))
            }
            RealmKind::RequiredAction => {
                let label = declared.get("name").cloned().unwrap_or_else(|| name.clone());
                let body = json!({"providerId": name, "name": label});
                (format!("{realm}/authentication/register-required-action"), body)
            }
            RealmKind::FlowExecution => (format!("{}/execution", self.flow), json!({"provider": name})),
        }
    }

    /// Returns whether the request that makes an object leaves out declared fields.
    pub(super) fn is_made_in_two_steps(&self) -> bool {
        matches!(self.kind, RealmKind::RequiredAction | RealmKind::FlowExecution)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::realm_object;

    #[test]
    fn each_kind_has_its_place_and_names_are_no_way_out_of_it() {
        let check = |kind, name: &str, expected: &str| {
            assert_eq!(Place::of(&realm_object(kind, "my realm", name)).unwrap().path, expected);
        };
        check(RealmKind::Role, "a/../b", "/admin/realms/my%20realm/roles/a%2F..%2Fb");
        check(RealmKind::Client, "a&b=c", "/admin/realms/my%20realm/clients?clientId=a%26b%3Dc");
        check(
            RealmKind::FlowExecution,
            "a/b/auth-cookie",
            "/admin/realms/my%20realm/authentication/flows/a%2Fb/executions",
        );
        check(RealmKind::Role, "..", "/admin/realms/my%20realm/roles/%2E%2E");
        assert!(Place::of(&ObjectId::new("", "Role", "n", "x")).is_none());
    }

    #[test]
    fn a_step_that_stands_twice_is_no_one() {
        let place = Place::of(&realm_object(RealmKind::FlowExecution, "r", "f/auth-cookie")).unwrap();
        let step = |level: i64| json!({"providerId": "auth-cookie", "level": level});
        assert_eq!(place.pick(json!([step(0), step(1)])), Ok(Some(step(0))));
        assert_eq!(place.pick(json!([])), Ok(None));
        assert!(place.pick(json!([step(0), step(0)])).is_err());
    }
}
