//! Builds a directory as `kustomize build` does: `cargo run -p bumpwright-kustomize --example build -- ROOT TARGET`.
//!
//! ROOT is read into memory, TARGET is a directory in it. `--order=none` keeps the order in which objects were found.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use bumpwright_kustomize::tree::{MemoryTree, Sealed};
use bumpwright_kustomize::{Options, Order, build};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let (flags, words): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let [root, target] = words.as_slice() else {
        eprintln!("usage: build ROOT TARGET [--order=none] [--time]");
        return ExitCode::from(2);
    };
    let mut tree = MemoryTree::new();
    if let Err(error) = add(&mut tree, Path::new(root), "/") {
        eprintln!("{root}: {error}");
        return ExitCode::FAILURE;
    }
    let options = Options {
        order: flags.iter().any(|flag| flag == "--order=none").then_some(Order::Fifo),
        ..Options::default()
    };
    let begin = Instant::now();
    let built = build(&tree, target, &options, &Sealed);
    let middle = Instant::now();
    let text = match built.map(|built| built.to_yaml()) {
        Ok(Ok(text)) => text,
        Ok(Err(error)) => {
            eprintln!("Error: {error}");
            return ExitCode::FAILURE;
        }
        Err(error) => {
            eprintln!("Error: {error}");
            return ExitCode::FAILURE;
        }
    };
    if flags.iter().any(|flag| flag == "--time") {
        eprintln!("build {:?}, write {:?}", middle - begin, middle.elapsed());
    }
    print!("{text}");
    ExitCode::SUCCESS
}

/// Adds the content of a folder, symbolic links as such.
fn add(tree: &mut MemoryTree, folder: &Path, name: &str) -> std::io::Result<()> {
    tree.add_directory(name);
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let below = format!("{name}/{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            add(tree, &entry.path(), &below)?;
        } else if kind.is_symlink() {
            tree.add_link(&below, &std::fs::read_link(entry.path())?.to_string_lossy());
        } else {
            tree.add_file(&below, std::fs::read(entry.path())?);
        }
    }
    Ok(())
}
