//! A log in the envelope `viaq`.

#![no_main]

kubetoll_fuzz::target!();
