//! Builds the server configuration from flags.

use anyhow::{Context, bail};

use super::args::ServerArgs;
use super::output::say;
use crate::apiserver::features::{GateState, can_be_emulated, known_names};
use crate::apiserver::{FeatureGates, Server};
use crate::k8s::KubeVersion;
use crate::requests::contract::supported;

/// The server configuration. The default version is the newest known version.
pub(super) fn server(args: &ServerArgs) -> anyhow::Result<Server> {
    let version = match &args.kube_version {
        Some(text) => text
            .parse()
            .map_err(anyhow::Error::from)
            .and_then(|version| Ok(supported(version)?))
            .context("--kube-version")?,
        None => KubeVersion::NEWEST,
    };
    Ok(Server {
        version,
        etcd: args.etcd_version.as_deref().map(str::parse).transpose().context("--etcd-version")?,
        gates: gates(&args.feature_gate)?,
        uncached: args.uncached.clone(),
        aggregated: args.aggregated.clone(),
    })
}

fn gates(texts: &[String]) -> anyhow::Result<FeatureGates> {
    let mut gates = FeatureGates::default();
    for text in texts {
        let parsed =
            text.split_once('=').and_then(|(name, value)| Some((name.trim(), boolean(value.trim())?)));
        let Some((name, value)) = parsed else {
            bail!("--feature-gate '{text}' is not of the form Name=true or Name=false");
        };
        if gates.set_by_name(name, value) {
            continue;
        }
        // Unknown names are accepted, because users paste the whole list of a server's gates. A likely typo is an
        // error.
        match known_names().find(|known| strsim::osa_distance(known, name) <= 3) {
            Some(near) => bail!("--feature-gate '{name}' is not known; did you mean {near}?"),
            None => say(&format!(
                "note: the feature gate '{name}' does not change where reads are served from; kubetoll ignores it"
            )),
        }
    }
    Ok(gates)
}

/// Parses a boolean as kube-apiserver does. Source: Go's `strconv.ParseBool`.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" => Some(true),
        "0" | "f" => Some(false),
        text => text.to_ascii_lowercase().parse().ok(),
    }
}

/// Notes for the user on settings that do not fit the version, such as a feature gate that it lacks.
pub(super) fn notes(server: &Server, version: KubeVersion) -> Vec<String> {
    let mut notes = Vec::new();
    if version.minor > KubeVersion::NEWEST.minor {
        notes.push(format!(
            "kubetoll does not know Kubernetes {version} yet, and judges it as {}",
            KubeVersion::NEWEST
        ));
    }
    for (gate, value) in server.gates.gates() {
        let name = gate.name();
        match gate.state(version) {
            GateState::Locked(locked) if locked != value && can_be_emulated(gate, version) => notes.push(format!(
                "the feature gate {name} is locked to {locked} in {version}; kubetoll uses {value}, as on a server that \
                 emulates an older version"
            )),
            GateState::Locked(locked) if locked != value => {
                notes.push(format!("the feature gate {name} is locked in {version}; kubetoll uses {locked}"));
            }
            GateState::Absent(_) => {
                notes.push(format!("Kubernetes {version} has no feature gate {name}; kubetoll ignores it"));
            }
            _ => {}
        }
    }
    notes
}
