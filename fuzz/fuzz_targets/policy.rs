//! A policy file.

#![no_main]

kubetoll_fuzz::target!();
