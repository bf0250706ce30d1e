//! A log in the envelope `otlp`.

#![no_main]

kubetoll_fuzz::target!();
