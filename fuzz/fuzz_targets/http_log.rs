//! A log in the envelope `http-log`.

#![no_main]

kubetoll_fuzz::target!();
