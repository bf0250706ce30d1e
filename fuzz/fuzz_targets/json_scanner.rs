//! Where JSON documents end.

#![no_main]

kubetoll_fuzz::target!();
