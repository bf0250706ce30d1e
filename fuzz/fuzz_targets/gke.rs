//! A log in the envelope `gke`.

#![no_main]

kubetoll_fuzz::target!();
