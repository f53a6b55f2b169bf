//! The pages of `docs/reference` that are generated from the program: its flags, gates, annotations, metrics,
//! definitions and rules. `BLESS=1` rewrites them; else they are compared.

mod annotations;
mod commands;
mod defaults;
mod definitions;
mod environment;
mod exit_codes;
mod findings;
mod gates;
mod markdown;
mod metrics;
mod source;

use std::path::{Path, PathBuf};

/// The generated pages: name and text.
fn pages() -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = [
        ("commands.md", commands::page()),
        ("controller-flags.md", commands::controller_flags()),
        ("metrics.md", metrics::page()),
        ("feature-gates.md", gates::page()),
        ("annotations.md", annotations::page()),
        ("environment.md", environment::page()),
        ("exit-codes.md", exit_codes::page()),
        ("findings.md", findings::page()),
        ("defaults.md", defaults::page()),
    ]
    .map(|(name, text)| (name.to_owned(), text))
    .into();
    pages.extend(definitions::pages());
    let end = |(name, text): (String, String)| (name, format!("{}\n", text.trim_end()));
    pages.into_iter().map(end).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference")
}

#[test]
fn the_pages_are_what_the_program_says() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut stale = Vec::new();
    for (name, wanted) in pages() {
        let path = folder().join(&name);
        if bless {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &wanted).unwrap();
        } else if std::fs::read_to_string(&path).unwrap_or_default() != wanted {
            stale.push(name);
        }
    }
    assert!(
        stale.is_empty(),
        "docs/reference: {} out of date: BLESS=1 cargo test --test cli reference",
        stale.join(", ")
    );
}

#[test]
fn the_index_names_each_page_and_none_is_left_over() {
    let index = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let kinds = std::fs::read_to_string(folder().join("crds/README.md")).unwrap();
    let pages = pages();
    for (name, _) in pages.iter().filter(|(name, _)| name != "crds/README.md") {
        let listed = match name.strip_prefix("crds/") {
            Some(kind) => kinds.contains(&format!("]({kind})")),
            None => index.contains(&format!("]({name})")),
        };
        assert!(listed, "{name}");
    }
    let there = std::fs::read_dir(folder().join("crds")).unwrap();
    for file in there.map(|file| file.unwrap().file_name().into_string().unwrap()) {
        assert!(
            pages.iter().any(|(name, _)| *name == format!("crds/{file}")),
            "{file} is of no kind"
        );
    }
}

/// Short enough to be read and compared.
#[test]
fn lines_are_short() {
    for (name, text) in pages() {
        let long = text
            .lines()
            .find(|line| line.chars().count() > 150 && !line.starts_with("Usage"));
        assert_eq!(long, None, "{name}");
    }
}
