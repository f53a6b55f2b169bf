//! Completion scripts, read and asked by the real shells.

use std::process::Command;

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::has;

/// A bench with the script of a shell in a file.
fn script(shell: &str) -> Bench {
    let bench = Bench::new();
    let script = bench.ok(&["completions", shell]).out;
    assert!(
        script.contains("bumpwright") && script.contains("dry-run"),
        "{shell}: {script}"
    );
    bench.write("script", script);
    bench
}

/// Runs a shell with a script of ours, in the folder of the bench.
fn shell(bench: &Bench, program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(&bench.dir)
        .env("HOME", bench.home.path());
    let out = command.output().unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr),
    );
    assert!(out.status.success() && stderr.is_empty(), "{program}: {stdout}{stderr}");
    stdout.into_owned()
}

#[test]
fn bash_completes_commands_flags_and_values() {
    if !has("bash", "bash") {
        return;
    }
    let bench = script("bash");
    shell(&bench, "bash", &["-n", "script"]);
    for (line, expected) in [
        ("bumpwright up", "update"),
        ("bumpwright update --dry", "--dry-run"),
        ("bumpwright update --output m", "markdown"),
        ("bumpwright completions fi", "fish"),
        ("bumpwright controller --feature", "--feature-gates"),
    ] {
        // As readline calls the function: the words, the index of the current one, the command, the current
        // and the previous word.
        let ask = format!(
            "source ./script; COMP_WORDS=({line}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); \
             function=$(complete -p bumpwright | sed 's/.*-F \\([^ ]*\\).*/\\1/'); \
             $function bumpwright \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let found = shell(&bench, "bash", &["--norc", "-c", &ask]);
        assert_eq!(found.trim(), expected, "{line}");
    }
}

#[test]
fn fish_completes_commands_and_flags() {
    if !has("fish", "fish") {
        return;
    }
    let bench = script("fish");
    shell(&bench, "fish", &["--no-execute", "script"]);
    for (line, expected) in [
        ("bumpwright up", "update\tSet the marked image fields"),
        ("bumpwright update --dry", "--dry-run\tPrint what would happen"),
        ("bumpwright update --output m", "markdown\tA summary"),
    ] {
        let ask = format!("source script; complete --do-complete '{line}'");
        let found = shell(&bench, "fish", &["--no-config", "-c", &ask]);
        let found = found.lines().find(|found| found.contains(expected));
        assert!(found.is_some(), "{line}: {found:?}");
    }
}

/// zsh completes in an editor only: its parser reads the script, and its completion system takes the function.
#[test]
fn zsh_reads_the_script_and_registers_it() {
    if !has("zsh", "zsh") {
        return;
    }
    let bench = script("zsh");
    shell(&bench, "zsh", &["-f", "-n", "script"]);
    std::fs::rename(bench.path("script"), bench.path("_bumpwright")).unwrap();
    let ask = "fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -d ./dump; print -r -- $_comps[bumpwright]; \
               autoload +X _bumpwright; functions _bumpwright | grep -c -- --dry-run";
    let found = shell(&bench, "zsh", &["-f", "-c", ask]);
    let mut lines = found.lines();
    assert_eq!(lines.next(), Some("_bumpwright"), "{found}");
    assert!(lines.next().is_some_and(|number| number != "0"), "{found}");
}

#[test]
fn other_shells_have_a_script_too() {
    for shell in ["powershell", "elvish"] {
        script(shell);
    }
    let ran = Bench::new().run(&["completions", "tcsh"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("bash, elvish, fish, powershell, zsh"), "{}", ran.err);
}
