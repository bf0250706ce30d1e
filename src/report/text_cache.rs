//! Texts that many parts of a report have in common, each made once.

use std::sync::{Mutex, PoisonError};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::advice::ClientRole;
use super::build::{Context, file_name};
use super::{advice, v1};
use crate::apiserver::{Reason, Server};
use crate::cost::CostBasis;
use crate::k8s::{KubeVersion, Verb};

/// What advice is told by; the server's configuration is the same for all.
type AdviceKey = (Reason, Verb, KubeVersion, ClientRole);

/// Texts of all clients.
pub(super) struct TextCache {
    /// By source.
    files: Vec<v1::Shared<str>>,
    /// What is known of a cost where nothing but its latency is.
    latency: v1::Shared<v1::Cost>,
    versions: Mutex<HashMap<KubeVersion, v1::Shared<str>, FxBuildHasher>>,
    advice: Mutex<HashMap<AdviceKey, Option<v1::Shared<str>>, FxBuildHasher>>,
}

impl TextCache {
    pub(super) fn new(context: &Context<'_>) -> Self {
        let sources = &context.sources.list;
        let file = |index| file_name(sources, u32::try_from(index).unwrap_or(u32::MAX)).into();
        Self {
            files: (0..sources.len()).map(file).collect(),
            latency: super::cost::known(&CostBasis::Latency, super::cost::Priced::default()).into(),
            versions: Mutex::default(),
            advice: Mutex::default(),
        }
    }

    /// The name of a source.
    pub(super) fn file(&self, source: u32) -> v1::Shared<str> {
        let known = usize::try_from(source).ok().and_then(|source| self.files.get(source));
        known.cloned().unwrap_or_else(|| "".into())
    }

    /// What requests cost.
    pub(super) fn cost(&self, known: &CostBasis, priced: super::cost::Priced<'_>) -> v1::Shared<v1::Cost> {
        match known {
            CostBasis::Latency => self.latency.clone(),
            _ => super::cost::known(known, priced).into(),
        }
    }

    /// A version of Kubernetes.
    pub(super) fn version(&self, version: KubeVersion) -> v1::Shared<str> {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        versions.entry(version).or_insert_with(|| version.to_string().into()).clone()
    }

    /// What to change, as [`advice::advice`] tells it for a server of this version.
    pub(super) fn advice(
        &self,
        reason: Reason,
        verb: Verb,
        version: KubeVersion,
        role: ClientRole,
        context: &Context<'_>,
    ) -> Option<v1::Shared<str>> {
        let mut known = self.advice.lock().unwrap_or_else(PoisonError::into_inner);
        let advice = known.entry((reason, verb, version, role)).or_insert_with(|| {
            let server = Server { version, ..context.server.clone() };
            advice::advice(reason, verb, &server, role).map(Into::into)
        });
        advice.clone()
    }
}
