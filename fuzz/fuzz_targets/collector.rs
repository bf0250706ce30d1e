//! A log in the envelope `collector`.

#![no_main]

kubetoll_fuzz::target!();
