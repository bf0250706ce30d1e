//! A log in the envelope `azure-table`.

#![no_main]

kubetoll_fuzz::target!();
