//! A log in the envelope `http-log-json`.

#![no_main]

kubetoll_fuzz::target!();
