//! Shared by the tests.

pub mod cases;
pub mod command;
pub mod event;
pub mod library;
