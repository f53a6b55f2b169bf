//! The pages below `docs/`: each is in the book's summary, links and anchors resolve, commands parse, manifests fit the
//! schemas of their kinds, and blocks that say so are run (`documents/page.rs` has the notes that a block may have).
//!
//! `faults` are pure functions over paths and texts, with tests of their own: a checker that
//! cannot fail checks nothing.

mod commands;
mod links;
mod manifests;
mod page;
mod run;

use std::collections::BTreeSet;
use std::path::Path;

use page::Page;

const SUMMARY: &str = "docs/SUMMARY.md";

/// All pages, by their paths from the root.
fn pages() -> Vec<Page> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut folders, mut pages) = (vec![root.join("docs")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                pages.push(Page::read(name, &std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    pages.sort_by(|one, other| one.path.cmp(&other.path));
    pages
}

fn refuse(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn the_summary_lists_each_page_once() {
    refuse(&summary_faults(&pages()));
}

#[test]
fn links_and_anchors_resolve() {
    refuse(&links::faults(&pages()));
}

#[test]
fn commands_parse_and_manifests_fit_their_schemas() {
    let pages = pages();
    refuse(&pages.iter().flat_map(block_faults).collect::<Vec<_>>());
    let commands: usize = pages.iter().flat_map(|page| &page.blocks).map(commands::count).sum();
    assert!(commands > 50, "only {commands} commands found in docs/");
}

/// What marked blocks print is what they show.
#[test]
fn marked_blocks_do_what_they_say() {
    let pages = pages();
    let marked: Vec<_> = pages
        .iter()
        .filter(|page| page.blocks.iter().any(run::is_run))
        .collect();
    assert!(marked.len() > 5, "only {} pages have blocks to run", marked.len());
    refuse(&marked.into_iter().flat_map(run::faults).collect::<Vec<_>>());
}

/// The same of what mdBook made of the pages: run by `make book`.
#[test]
#[ignore = "needs the book: make book"]
fn links_of_the_book_resolve() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/book");
    refuse(&links::faults_of_book(&book));
}

fn summary_faults(pages: &[Page]) -> Vec<String> {
    let summary = pages.iter().find(|page| page.path == SUMMARY).expect(SUMMARY);
    let (mut listed, mut faults) = (BTreeSet::new(), Vec::new());
    for link in &summary.links {
        let path = format!("docs/{}", link.target);
        if !listed.insert(path.clone()) {
            faults.push(format!("{SUMMARY}:{}: {path} is listed twice", link.line));
        }
    }
    let others = pages.iter().filter(|page| page.path != SUMMARY);
    faults.extend(others.filter(|page| !listed.contains(&page.path)).map(|page| {
        format!(
            "{} is not in {SUMMARY}: add it, or nobody finds it in the book",
            page.path
        )
    }));
    faults
}

fn block_faults(page: &Page) -> Vec<String> {
    let check = |block: &page::Block| {
        let unknown = block.unknown_notes().map(|note| format!("there is no note {note:?}"));
        let mut faults: Vec<String> = unknown.collect();
        if block.language.is_empty() {
            faults.push("the block has no language".to_owned());
        }
        if block.note("unchecked").is_none() {
            faults.extend(commands::faults(block));
            faults.extend(manifests::faults(block));
        }
        let place = |fault| format!("{}:{}: {fault}", page.path, block.line);
        faults.into_iter().map(place).collect::<Vec<_>>()
    };
    page.blocks.iter().flat_map(check).collect()
}

mod checker {
    use super::*;

    fn page(path: &str, text: &str) -> Page {
        Page::read(path.to_owned(), text)
    }

    #[test]
    fn refuses_pages_that_the_summary_lacks_or_repeats() {
        let pages = [
            page(SUMMARY, "[One](a.md)\n\n- [Two](a.md)\n"),
            page("docs/a.md", "# A\n"),
            page("docs/b/c.md", "# C\n"),
        ];
        assert_eq!(
            summary_faults(&pages),
            [
                "docs/SUMMARY.md:3: docs/a.md is listed twice",
                "docs/b/c.md is not in docs/SUMMARY.md: add it, or nobody finds it in the book"
            ]
        );
    }

    #[test]
    fn refuses_wrong_blocks() {
        for (text, fault) in [
            ("```\nx\n```\n", "a.md:1: the block has no language"),
            ("<!-- runs -->\n```text\n```\n", "a.md:2: there is no note \"runs\""),
            (
                "```sh\nls | bumpwright update --dry-rum \\\n  a\n```\n",
                "a.md:1: bumpwright update --dry-rum a: error: unexpected argument '--dry-rum' found",
            ),
            (
                "\n```yaml\nscript:\n- |\n  cd x && bumpwright polcy\n```\n",
                "a.md:2: bumpwright polcy: error: unrecognized subcommand 'polcy'",
            ),
            ("```yaml\na: [\n```\n", "a.md:1: not YAML: "),
            ("```json\n{\n```\n", "a.md:1: not JSON: "),
            (
                "```yaml\nspec: {interval: 1h}\n```\n",
                "a.md:1: a part of an object: note its kind, <!-- part of: KIND -->",
            ),
            (
                "<!-- part of: Bucket -->\n```yaml\nspec: {intervall: 1h}\n```\n",
                "a.md:2: 4:8: Bucket example: spec.intervall is unknown: did you mean interval?",
            ),
            (
                "```yaml\napiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: a}\nspec: {interval: 1h}\n```\n",
                "a.md:1: 4:7: OCIRepository a: spec.url is required",
            ),
        ] {
            let faults = block_faults(&page("a.md", text));
            let [found] = faults.as_slice() else {
                panic!("{text}\n{faults:?}")
            };
            assert!(found.starts_with(fault), "{found}");
        }
    }

    #[test]
    fn accepts_right_blocks() {
        for text in [
            "<!-- unchecked: an example of a mistake -->\n```sh\nbumpwright polcy\n```\n",
            "```console\n$ A=1 bumpwright --version # bumpwright nothing\nbumpwright 0.1.0\n```\n",
            "```sh\ncat > a <<'EOF'\nbumpwright nothing\nEOF\necho \"$(bumpwright crds)\" > bumpwright\n```\n",
            "<!-- part of: Kustomization -->\n```yaml\nspec:\n  prune: true\n```\n",
            "- a list\n\n  ```yaml\n  kind: Other\n  spec: {a: b}\n  ```\n",
        ] {
            assert_eq!(block_faults(&page("a.md", text)), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn refuses_links_that_lead_nowhere() {
        let pages = [
            page(
                "docs/a.md",
                "# `A`, *b* & C\n\n## A b c\n## A b c\n\n[x](b/c.md#here) `[y](no.md)`\n",
            ),
            page(
                "docs/b/c.md",
                "# Here\n[1](../a.md#a-b--c) [2](../a.md#a-b-c-1) [3](#here) [4](https://x)\n",
            ),
        ];
        assert_eq!(links::faults(&pages), Vec::<String>::new());
        for (target, fault) in [
            ("d.md", "docs/b/c.md:2: there is no docs/b/d.md"),
            ("../a.md#d", "docs/b/c.md:2: docs/a.md has no heading #d"),
            ("#d", "docs/b/c.md:2: docs/b/c.md has no heading #d"),
            (
                "../../README.md",
                "docs/b/c.md:2: ../../README.md leads out of docs/: name the file in backticks",
            ),
        ] {
            let [first, _] = &pages;
            let second = page("docs/b/c.md", &format!("# Here\n[1]({target})\n"));
            let first = page(&first.path, "# A\n");
            assert_eq!(links::faults(&[first, second]), [fault]);
        }
    }

    #[test]
    fn refuses_output_that_differs() {
        for (text, fault) in [
            (
                "<!-- run -->\n```console\n$ echo a\nb\n```\n",
                "a.md:3: echo a printed:\na\n",
            ),
            (
                "<!-- run -->\n```console\n$ echo a\nb…\n```\n",
                "a.md:3: echo a printed:\na\n",
            ),
            ("<!-- run -->\n```sh\necho a\nfalse\n```\n", "a.md:2: exit code 1:\na\n"),
        ] {
            let faults = run::faults(&page("a.md", text));
            assert_eq!(faults, [fault], "{text}");
        }
        let text = "<!-- file: x -->\n```text\n1\n2\n```\n<!-- run -->\n```console\n$ cat x\n…\n2\n$ echo 'a    b' \\\n   c\na  b c\n```\n";
        assert_eq!(run::faults(&page("a.md", text)), Vec::<String>::new());
    }
}
