//! The name of a client in tables and sentences.

use super::plain::{counted, escaped};
use crate::report::v1::Client;

pub(super) fn client_name(client: &Client) -> String {
    let base = match (&client.service_account, client.kind.as_str()) {
        (Some(service_account), _) => format!("{}/{}", service_account.namespace, service_account.name),
        (None, "node") => {
            let more = if client.nodes.more { " or more" } else { "" };
            format!("{}{more}", counted(client.nodes.count, "node"))
        }
        (None, "control-plane") => {
            client.identity.strip_prefix("system:").unwrap_or(&client.identity).to_owned()
        }
        (None, "user") if !client.identity.starts_with('(') => format!("user {}", client.identity),
        (None, _) => client.identity.clone(),
    };
    let name = match &client.impersonated_by {
        Some(real) => format!("{base} (by {real})"),
        None => base,
    };
    escaped(&name).into_owned()
}
