//! The binary: hands the command line to [`bumpwright::cli`] and its answer to the shell.

#[cfg(not(feature = "jemalloc"))]
use std::alloc::System as Allocator;
#[cfg(feature = "jemalloc")]
use tikv_jemallocator::Jemalloc as Allocator;
use zeroizing_alloc::ZeroAlloc;

/// What is given back is wiped: whichever library had a key or a decrypted value in its hands, no
/// copy outlives its use.
#[global_allocator]
static ALLOCATOR: ZeroAlloc<Allocator> = ZeroAlloc(Allocator);

fn main() -> std::process::ExitCode {
    bumpwright::cli::main()
}
