//! etcd's own log.

#![no_main]

kubetoll_fuzz::target!();
