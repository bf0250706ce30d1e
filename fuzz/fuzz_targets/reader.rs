//! A log, from its bytes to a report.

#![no_main]

kubetoll_fuzz::target!();
