//! What each client costs your Kubernetes control plane.

pub mod accounts;
pub mod apiserver;
pub mod classify;
pub mod cost;
pub mod decode;
pub mod files;
pub mod input;
pub mod k8s;
pub mod ledger;
pub mod patterns;
pub mod pipeline;
pub mod products;
pub mod render;
pub mod report;
pub mod rules;
pub mod shell;
pub mod version;

pub mod cli;
