//! The `kubetoll` binary. The library has all the code.

use std::process::ExitCode;

#[cfg(all(unix, target_arch = "x86_64"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    kubetoll::cli::main()
}
