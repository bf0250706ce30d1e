//! Lines of the apiserver's own log.

#![no_main]

kubetoll_fuzz::target!();
