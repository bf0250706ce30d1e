//! A log in the envelope `azure-parsed`.

#![no_main]

kubetoll_fuzz::target!();
