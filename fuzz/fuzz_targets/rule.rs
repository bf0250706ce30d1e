//! A rule file: its YAML, its conditions, its texts.

#![no_main]

kubetoll_fuzz::target!();
