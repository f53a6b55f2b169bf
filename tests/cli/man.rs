//! Manual pages: one for each command, without faults for the readers of manuals.

use std::collections::BTreeSet;
use std::process::Command;

use bumpwright::cli::args::command;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::has;

fn exported() -> Bench {
    let bench = Bench::new();
    assert_eq!(bench.ok(&["man", "--export", "man1"]).out, "");
    bench
}

fn pages(bench: &Bench) -> BTreeSet<String> {
    let files = std::fs::read_dir(bench.path("man1")).unwrap();
    files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// The page of a command, and those of the commands below it.
fn name_pages(name: &str, command: &clap::Command, wanted: &mut BTreeSet<String>) {
    wanted.insert(format!("{name}.1"));
    for part in command.get_subcommands() {
        name_pages(&format!("{name}-{}", part.get_name()), part, wanted);
    }
}

#[test]
fn each_command_has_a_page() {
    let bench = exported();
    let program = command();
    let mut wanted = BTreeSet::new();
    name_pages("bumpwright", &program, &mut wanted);
    assert_eq!(pages(&bench), wanted);
    for (name, parts) in [
        (
            "bumpwright-update.1",
            [
                "EXAMPLES",
                "EXIT CODES",
                "ENVIRONMENT",
                "\\-\\-dry\\-run",
                "BUMPWRIGHT_GIT_USERNAME",
            ],
        ),
        (
            "bumpwright.1",
            [
                "SUBCOMMANDS",
                "EXAMPLES",
                "EXIT CODES",
                "SEE ALSO",
                "bumpwright\\-update(1)",
            ],
        ),
    ] {
        let page = bench.read(&format!("man1/{name}"));
        for part in parts {
            assert!(page.contains(part), "{name} lacks {part}: {page}");
        }
    }
    assert_eq!(bench.ok(&["man", "update"]).out, bench.read("man1/bumpwright-update.1"));
    assert_eq!(bench.ok(&["man"]).out, bench.read("man1/bumpwright.1"));
}

#[test]
fn errors_name_the_command_or_the_folder() {
    let bench = Bench::new();
    bench.write("file", "");
    for (arguments, error) in [
        (
            &["man", "updat"][..],
            "there is no command updat; `bumpwright --help` lists them",
        ),
        (&["man", "--export", "file/man1"], "cannot make the folder file/man1"),
    ] {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains(error), "{}", ran.err);
    }
}

/// groff with preconv, as `man` runs it, and mandoc's own lint. A page has no date, so that it is the
/// same in each build.
#[test]
fn readers_of_manuals_have_nothing_to_say() {
    let bench = exported();
    let pages: Vec<String> = pages(&bench).into_iter().collect();
    if has("groff", "groff-base") {
        for page in &pages {
            let mut groff = Command::new("groff");
            groff
                .args(["-K", "utf8", "-man", "-Tutf8", "-ww", "-z", page])
                .current_dir(bench.path("man1"));
            let out = groff.output().unwrap();
            assert!(
                out.status.success() && out.stderr.is_empty(),
                "{page}: {}",
                String::from_utf8_lossy(&out.stderr)
            );
        }
    }
    if has("mandoc", "mandoc") {
        let mut mandoc = Command::new("mandoc");
        mandoc
            .args(["-T", "lint", "-W", "warning"])
            .args(&pages)
            .current_dir(bench.path("man1"));
        let out = mandoc.output().unwrap();
        let found = String::from_utf8_lossy(&out.stdout).into_owned();
        // Line breaks around the values of a flag, by clap_mangen, which readers leave out.
        let is_known = |line: &&str| line.contains("missing date") || line.contains("skipping paragraph macro: br");
        let found: Vec<&str> = found.lines().filter(|line| !is_known(line)).collect();
        assert!(found.is_empty(), "{found:#?}");
    }
}
