//! The binary: hands the command line to [`bumpwright::cli`] and its answer to the shell.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    bumpwright::cli::main()
}
