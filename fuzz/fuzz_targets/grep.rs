//! A log in the envelope `grep`.

#![no_main]

kubetoll_fuzz::target!();
