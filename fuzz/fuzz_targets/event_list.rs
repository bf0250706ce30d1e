//! A log in the envelope `event-list`.

#![no_main]

kubetoll_fuzz::target!();
