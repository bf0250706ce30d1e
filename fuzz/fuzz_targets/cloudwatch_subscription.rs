//! A log in the envelope `cloudwatch-subscription`.

#![no_main]

kubetoll_fuzz::target!();
