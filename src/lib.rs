//! What each client costs your Kubernetes control plane.

#![warn(unreachable_pub)]

// Unit tests share code with integration tests, which use the crate's name.
#[cfg(test)]
extern crate self as kubetoll;

pub mod anonymize;
pub mod apiserver;
pub mod budget;
mod cache;
pub mod cost;
pub mod decode;
pub mod diff;
pub mod files;
pub mod input;
pub mod judged;
pub mod k8s;
pub mod ledger;
mod named;
pub mod patterns;
pub mod pipeline;
pub mod products;
pub mod profile;
pub mod render;
pub mod report;
pub mod requests;
pub mod rules;
pub mod shell;
pub mod upgrade;
pub mod version;

pub mod cli;
