//! A log in the envelope `yaml`.

#![no_main]

kubetoll_fuzz::target!();
