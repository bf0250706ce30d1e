//! A log in the envelope `azure-admin`.

#![no_main]

kubetoll_fuzz::target!();
