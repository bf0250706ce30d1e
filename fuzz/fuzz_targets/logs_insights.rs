//! A log in the envelope `logs-insights`.

#![no_main]

kubetoll_fuzz::target!();
