//! What each client costs your Kubernetes control plane.
pub mod k8s;
pub mod apiserver;
pub mod classify;
