//! A text that may hold secrets, masked.

#![no_main]

kubetoll_fuzz::target!();
