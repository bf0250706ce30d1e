//! A log in the envelope `trace`.

#![no_main]

kubetoll_fuzz::target!();
