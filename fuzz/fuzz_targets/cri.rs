//! A log in the envelope `cri`.

#![no_main]

kubetoll_fuzz::target!();
