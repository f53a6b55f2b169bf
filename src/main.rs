//! The binary: hands the command line to [`bumpwright::cli`] and its answer to the shell.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    bumpwright::cli::main()
}
