//! Some lines of a log, from their bytes to a report.

#![no_main]

kubetoll_fuzz::target!();
