//! The binary: hands the command line to [`bumpwright::cli`] and its answer to the shell.

use tikv_jemallocator::Jemalloc;
use zeroizing_alloc::ZeroAlloc;

/// What is given back is wiped: whichever library had a key or a decrypted value in its hands, no copy outlives its use.
#[global_allocator]
static ALLOCATOR: ZeroAlloc<Jemalloc> = ZeroAlloc(Jemalloc);

fn main() -> std::process::ExitCode {
    bumpwright::cli::main()
}
