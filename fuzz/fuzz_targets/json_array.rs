//! A log in the envelope `json-array`.

#![no_main]

kubetoll_fuzz::target!();
