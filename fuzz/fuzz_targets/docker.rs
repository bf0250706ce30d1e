//! A log in the envelope `docker`.

#![no_main]

kubetoll_fuzz::target!();
