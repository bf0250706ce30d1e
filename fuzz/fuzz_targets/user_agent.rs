//! A user agent, from its text to a product.

#![no_main]

kubetoll_fuzz::target!();
