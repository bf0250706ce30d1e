//! An inventory.

#![no_main]

kubetoll_fuzz::target!();
