//! A log in the envelope `azure-record`.

#![no_main]

kubetoll_fuzz::target!();
