//! A log in the envelope `syslog`.

#![no_main]

kubetoll_fuzz::target!();
