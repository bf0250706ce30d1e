//! A log in the envelope `azure-records`.

#![no_main]

kubetoll_fuzz::target!();
