//! A log in the envelope `json`.

#![no_main]

kubetoll_fuzz::target!();
