//! What each client costs your Kubernetes control plane.
pub mod k8s;
pub mod apiserver;
pub mod input;
pub mod decode;
pub mod classify;
pub mod ledger;
pub mod pipeline;
