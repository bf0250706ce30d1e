//! The `kubetoll` command. All of it is in the library.

use std::process::ExitCode;

#[cfg(all(unix, target_arch = "x86_64"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    kubetoll::cli::main()
}
