//! A log in the envelope `node-logs`.

#![no_main]

kubetoll_fuzz::target!();
