//! A log in the envelope `http-log-older`.

#![no_main]

kubetoll_fuzz::target!();
