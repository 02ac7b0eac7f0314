//! Services of type LoadBalancer: each gets an address.
//!
//! Not here: cluster addresses and node ports, which the server itself gives (`rules.rs`).

use serde_json::{Value, json};

use crate::sandbox::controllers::{set_status, text};
use crate::sandbox::failure::Failure;
use crate::sandbox::store::{Key, Sort, Store};
use crate::schema::kind;

const SERVICES: Sort = Sort { group: "", plural: "services" };
/// The address that every Service gets: one that documents use and nobody has.
const ADDRESS: &str = "192.0.2.10";

/// Gives one Service its address.
pub(super) fn answer(store: &mut Store, key: &Key) -> Result<(), Failure> {
    let (Some(own), Some(live)) = (kind("", "Service"), store.get(SERVICES, key).cloned()) else { return Ok(()) };
    let served =
        live.pointer("/status/loadBalancer/ingress").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    let wanted = text(&live, "/spec/type") == "LoadBalancer";
    if served == wanted || store.is_held(key) {
        return Ok(());
    }
    let addresses = if wanted { json!([{"ip": ADDRESS, "ipMode": "VIP"}]) } else { json!([]) };
    set_status(store, own, key, |status| {
        status.insert("loadBalancer".to_owned(), json!({"ingress": addresses}));
    })
}
