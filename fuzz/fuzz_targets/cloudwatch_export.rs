//! A log in the envelope `cloudwatch-export`.

#![no_main]

kubetoll_fuzz::target!();
