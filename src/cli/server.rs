//! From flags to the server that requests are judged for.

use anyhow::{Context, bail};

use super::args::ServerArgs;
use crate::apiserver::features::{State, can_be_emulated};
use crate::apiserver::{FeatureGates, Gate, Server};
use crate::classify::contract::supported;
use crate::k8s::KubeVersion;

/// The server that the flags describe; its version is the newest known where none was given.
pub(super) fn server(args: &ServerArgs) -> anyhow::Result<Server> {
    let version = match &args.kube_version {
        Some(text) => supported(text.parse()?).context("--kube-version")?,
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
        let parsed = text
            .split_once('=')
            .and_then(|(name, value)| Some((name, value.to_ascii_lowercase().parse::<bool>().ok()?)));
        let Some((name, value)) = parsed else {
            bail!("--feature-gate '{text}' is not of the form Name=true or Name=false");
        };
        if let Some(gate) = Gate::by_name(name) {
            gates.set(gate, value);
            continue;
        }
        // The whole list of a server's gates may be given; a likely slip is pointed out.
        let near = Gate::ALL.into_iter().find(|gate| strsim::osa_distance(gate.name(), name) <= 3);
        match near {
            Some(gate) => bail!("--feature-gate '{name}' is not known; did you mean {}?", gate.name()),
            None => anstream::eprintln!(
                "note: the feature gate '{name}' does not decide where a read is answered from; it is ignored"
            ),
        }
    }
    Ok(gates)
}

/// What a reader should know of the configuration for a version.
pub(super) fn notes(server: &Server, version: KubeVersion) -> Vec<String> {
    let mut notes = Vec::new();
    if version.minor > KubeVersion::NEWEST.minor {
        notes.push(format!(
            "Kubernetes {version} is newer than the newest that kubetoll knows; it is judged as {}",
            KubeVersion::NEWEST
        ));
    }
    for (name, value) in server.gates.iter() {
        let gate = Gate::by_name(name).expect("gates are kept by their known names");
        match gate.state(version) {
            State::Locked(locked) if locked != value && can_be_emulated(gate, version) => notes.push(format!(
                "the feature gate {name} is locked to {locked} in {version}; {value} is taken for a server that \
                 emulates an older version"
            )),
            State::Locked(locked) if locked != value => {
                notes.push(format!("the feature gate {name} can't be changed in {version}; it is {locked}"));
            }
            State::Absent(_) => {
                notes.push(format!("Kubernetes {version} has no feature gate {name}; it is ignored"));
            }
            _ => {}
        }
    }
    notes
}
