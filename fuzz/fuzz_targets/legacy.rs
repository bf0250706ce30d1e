//! A log in the envelope `legacy`.

#![no_main]

kubetoll_fuzz::target!();
