//! Responses: statuses in the proportions of a busy cluster, messages, and durations.

use super::super::cast::{Client, Role};
use super::super::event::{Failure, Request, Stages};
use super::super::rng::Rng;

/// Adds the response to a request.
pub fn set_response(client: &Client, request: &mut Request, revision: u64, rng: &mut Rng) {
    if matches!(request.stages, Stages::Two) {
        request.micros = duration(request.verb, rng);
    }
    let resource = request.object.as_ref().map_or("", |object| object.resource);
    let uncached = resource == "events";
    request.etcd = uncached || (!resource.is_empty() && !request.uri.contains("resourceVersion=0"));
    request.decoded = uncached && request.verb == "list";
    request.status = status(client.role, request, rng);
    let Some((reason, message)) = failure(client, request, revision) else { return };
    if request.status == 401 {
        request.stages = Stages::Refused;
    }
    request.micros = 90 + rng.below(3_000);
    request.failure = Some(Failure { message, reason, retry_after: u8::from(request.status == 429) });
}

/// Mostly below ten milliseconds; a few lists take seconds.
fn duration(verb: &str, rng: &mut Rng) -> u64 {
    let magnitude = rng.below(14);
    let usual = 250 + rng.below(1 << magnitude);
    match verb {
        "list" if rng.percent(2) => 500_000 + rng.below(4_000_000),
        "list" => usual * 4,
        _ if rng.below(1_000) == 0 => 500_000 + rng.below(600_000),
        _ => usual,
    }
}

fn status(role: Role, request: &Request, rng: &mut Rng) -> u16 {
    let drawn = rng.below(1_000);
    if request.object.is_none() {
        return if request.uri.contains("timeout") && drawn < 600 { 304 } else { 200 };
    }
    if drawn < 3 {
        return 429;
    }
    match (role, request.verb) {
        (Role::Poller, _) if drawn < 20 => 401,
        (Role::Poller, _) if request.uri.contains("%28web") => 400,
        (Role::Pager, _) if request.uri.contains("bm90IGE") => 400,
        (Role::Pager, _) if request.uri.contains("continue") && drawn < 40 => 410,
        (Role::Kubelet, "get") if drawn < 150 => 403,
        (Role::Person, _) if drawn < 80 => 403,
        (_, "get" | "delete") if drawn < 250 => 404,
        (_, "create") if drawn < 12 => 409,
        (_, "update") if drawn < 90 => 409,
        (_, "create") if request.uri.contains("exec") => 101,
        (_, "create") => 201,
        _ => 200,
    }
}

/// Reason and message of a rejected request.
pub fn failure(client: &Client, request: &Request, revision: u64) -> Option<(&'static str, String)> {
    let object = request.object.as_ref()?;
    let resource = object.qualified();
    let name = &object.name;
    Some(match request.status {
        400 if request.uri.contains("continue") => (
            "BadRequest",
            "continue key is not valid: illegal base64 data at input byte 0 (<nil> token & no revision)".to_owned(),
        ),
        400 => (
            "BadRequest",
            "unable to parse requirement: <nil>: Invalid value: \"app in (web,shop\": found '', expected: ',' or ')'"
                .to_owned(),
        ),
        401 => ("Unauthorized", "Unauthorized".to_owned()),
        403 => {
            let place = match &*object.namespace {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace \"{namespace}\""),
            };
            let message = format!(
                "{resource} \"{name}\" is forbidden: User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {place}",
                client.username, request.verb, object.resource, object.group
            );
            ("Forbidden", message)
        }
        404 => ("NotFound", format!("{resource} \"{name}\" not found")),
        409 if request.verb == "create" => ("AlreadyExists", format!("{resource} \"{name}\" already exists")),
        409 => (
            "Conflict",
            format!(
                "Operation cannot be fulfilled on {resource} \"{name}\": the object has been modified; please apply \
                 your changes to the latest version and try again"
            ),
        ),
        410 => (
            "Expired",
            format!("The provided continue parameter is too old to display a consistent list result ({revision})"),
        ),
        429 => ("TooManyRequests", "too many requests, please try again later".to_owned()),
        _ => return None,
    })
}
