//! Caches texts that many entries of a report share.

use std::sync::{Mutex, PoisonError};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::advice::ClientRole;
use super::context::Context;
use super::{advice, v1};
use crate::apiserver::{Reason, Server};
use crate::cost::CostBasis;
use crate::k8s::{KubeVersion, Verb};

/// The cache key of an advice. The rest of the server's configuration never changes within a report.
type AdviceKey = (Reason, Verb, KubeVersion, ClientRole);

pub(super) struct TextCache {
    /// The file names by source index.
    files: Vec<v1::Shared<str>>,
    /// The cost if only durations are known.
    latency: v1::Shared<v1::Cost>,
    versions: Mutex<HashMap<KubeVersion, v1::Shared<str>, FxBuildHasher>>,
    advice: Mutex<HashMap<AdviceKey, Option<v1::Shared<str>>, FxBuildHasher>>,
}

impl TextCache {
    pub(super) fn new(context: &Context<'_>) -> Self {
        let sources = &context.sources.list;
        Self {
            files: sources.iter().map(|source| source.name().into()).collect(),
            latency: super::cost::from_basis(&CostBasis::Latency, super::cost::CostContext::default()).into(),
            versions: Mutex::default(),
            advice: Mutex::default(),
        }
    }

    pub(super) fn file(&self, source: u32) -> v1::Shared<str> {
        let name = usize::try_from(source).ok().and_then(|source| self.files.get(source));
        name.cloned().unwrap_or_else(|| "".into())
    }

    pub(super) fn cost(
        &self,
        basis: &CostBasis,
        cost_context: super::cost::CostContext<'_>,
    ) -> v1::Shared<v1::Cost> {
        match basis {
            CostBasis::Latency => self.latency.clone(),
            _ => super::cost::from_basis(basis, cost_context).into(),
        }
    }

    pub(super) fn version(&self, version: KubeVersion) -> v1::Shared<str> {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        versions.entry(version).or_insert_with(|| version.to_string().into()).clone()
    }

    /// Returns the result of [`advice::advice`] for a server of this version.
    pub(super) fn advice(
        &self,
        reason: Reason,
        verb: Verb,
        version: KubeVersion,
        role: ClientRole,
        context: &Context<'_>,
    ) -> Option<v1::Shared<str>> {
        let mut cached = self.advice.lock().unwrap_or_else(PoisonError::into_inner);
        let advice = cached.entry((reason, verb, version, role)).or_insert_with(|| {
            let server = Server { version, ..context.server.clone() };
            advice::advice(reason, verb, &server, role).map(Into::into)
        });
        advice.clone()
    }
}
