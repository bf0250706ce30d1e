//! From a request or an event to what it asks, who asks, and how it ended.

pub mod contract;
