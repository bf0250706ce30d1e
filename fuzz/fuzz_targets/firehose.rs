//! A log in the envelope `firehose`.

#![no_main]

kubetoll_fuzz::target!();
