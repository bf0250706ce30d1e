//! A log in the envelope `aws-logs-tail`.

#![no_main]

kubetoll_fuzz::target!();
