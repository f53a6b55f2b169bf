//! Flux 2.10: each flag and gate of its four controllers is accepted, and has a row in
//! `docs/reference/flux-versions.md`.

use std::path::Path;
use std::process::Command;

use bumpwright::cli::args::command;
use bumpwright_controllers::Gates;

/// The names of one kind in the recorded table.
fn recorded(kind: &str) -> Vec<String> {
    let table = std::fs::read_to_string(root().join("fixtures/flux/flags.tsv")).unwrap();
    let rows = table.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let names = rows.filter(|row| row[2] == kind).map(|row| row[3].to_owned());
    let names: std::collections::BTreeSet<String> = names.collect();
    assert!(names.len() > 10, "{names:?}");
    names.into_iter().collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The last cell of the row of a name in the page.
fn verdict(page: &str, name: &str) -> String {
    let start = format!("| `{name}` |");
    let mut rows = page.lines().filter(|line| line.starts_with(&start));
    let row = rows.next().unwrap_or_else(|| panic!("{name} has no row"));
    assert!(rows.next().is_none(), "{name} has two rows");
    let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
    cells[2].trim_end_matches(" |").trim().to_owned()
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/reference/flux-versions.md")).unwrap()
}

const VERDICTS: [&str; 4] = ["same", "better", "accepted without effect", "not yet"];

#[test]
fn each_flag_is_accepted_and_has_its_row() {
    let mut program = command();
    program.build();
    let controller = program.find_subcommand("controller").unwrap();
    let page = page();
    for flag in recorded("flag") {
        let known = controller.get_arguments().any(|arg| arg.get_long() == Some(&*flag));
        assert!(known, "--{flag} is unknown");
        let verdict = verdict(&page, &format!("--{flag}"));
        assert!(
            VERDICTS.iter().any(|word| verdict.starts_with(word)),
            "--{flag}: {verdict}"
        );
    }
}

#[test]
fn each_gate_is_accepted_and_has_its_row() {
    let page = page();
    for gate in recorded("gate") {
        for value in [true, false] {
            Gates::default().set(&format!("{gate}={value}")).unwrap();
        }
        let verdict = verdict(&page, &gate);
        assert!(
            VERDICTS.iter().any(|word| verdict.starts_with(word)),
            "{gate}: {verdict}"
        );
    }
}

/// docs/decisions.md, *SPIFFE*: what would leave connections without protection is no start.
#[test]
fn flags_of_spiffe_are_refused_by_their_names() {
    for flag in recorded("flag").iter().filter(|flag| flag.contains("spiffe")) {
        let ran = Command::new(env!("CARGO_BIN_EXE_bumpwright"))
            .args(["controller", &format!("--{flag}=spiffe://self/x")])
            .output()
            .unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{said}");
        assert!(
            said.contains(&format!("--{flag}: SPIFFE is not supported; remove the flag")),
            "{said}"
        );
    }
}

/// What is said to be the same, or better, is tested: the last cell of its row names the file.
#[test]
fn what_is_the_same_names_its_test() {
    let page = page();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).collect();
    let mut tested = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let (Some(test), Some(verdict)) = (cells.last(), cells.iter().rev().nth(1)) else {
            continue;
        };
        if ["same", "better", "gone"].iter().any(|word| verdict.starts_with(word)) {
            let file = test.split('`').nth(1).unwrap_or_else(|| panic!("no test: {row}"));
            assert!(root().join(file).is_file(), "{file}: {row}");
            tested += 1;
        }
    }
    assert!(tested > 70, "{tested}");
}
