//! Events read on demand, beside `serde_json`.

#![no_main]

kubetoll_fuzz::target!();
