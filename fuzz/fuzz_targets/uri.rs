//! A request target, from its text to a verdict of every release.

#![no_main]

kubetoll_fuzz::target!();
