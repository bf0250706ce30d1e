//! A log in the envelope `audit`.

#![no_main]

kubetoll_fuzz::target!();
