//! Files that the real SOPS encrypted, decrypted as kustomize-controller does (`fixtures/sops`; K-128, K-134 … K-136).
//!
//! `BUMPWRIGHT_SOPS=file` tries the files of another table, as `fixtures/sops/generate` makes them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout, missing_docs)]

mod support;

use bumpwright_sops::{Integrity, decrypt};
use support::{Case, cases, keys};

/// What ours says where upstream would tell plain text, digests of it, or where gpg's own folder shows.
fn told(error: &str) -> String {
    let keybox = "gpg: keybox '/tmp/sops-gnupghome-0/pubring.kbx' created";
    let words: Vec<&str> = error.split_whitespace().filter(|word| *word != "|").collect();
    let text = words.join(" ").replace(&format!("{keybox} "), "");
    let text = redact(&text, "Input string ", " does not match sops' data format");
    let text = redact(&text, "invalid dotenv input line: ", " (line");
    text.split(" (line").next().unwrap_or_default().to_owned()
}

fn redact(text: &str, from: &str, to: &str) -> String {
    let Some((before, rest)) = text.split_once(from) else {
        return text.to_owned();
    };
    let after = rest.split_once(to).map(|(_, after)| format!("{to}{after}"));
    format!("{before}{from}<redacted>{}", after.unwrap_or_default())
}

fn outcome(case: &Case) -> Result<Vec<u8>, String> {
    let local = keys(&case.keys);
    decrypt(&case.file, case.from, case.to, &local, Integrity::Checked)
        .map(|plain| plain.to_vec())
        .map_err(|error| error.to_string())
}

#[test]
fn files_become_what_sops_makes_of_them() {
    let cases = cases();
    let mut wrong = Vec::new();
    for case in &cases {
        let got = outcome(case);
        let same = match (&got, &case.want) {
            (Ok(got), Ok(want)) => got == want,
            (Err(got), Err(want)) => told(got) == told(want) || KNOWN.iter().any(|(name, _)| *name == case.name),
            _ => false,
        };
        if !same {
            wrong.push(format!("{}\n  want {}\n  got  {}", case.name, shown(&case.want), shown(&got)));
        }
    }
    println!("files: {} of {}", cases.len() - wrong.len(), cases.len());
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Errors in other words, and why.
const KNOWN: &[(&str, &str)] = &[];

fn shown(outcome: &Result<Vec<u8>, String>) -> String {
    match outcome {
        Ok(plain) => format!("{:?}", String::from_utf8_lossy(plain)),
        Err(error) => format!("error {error:?}"),
    }
}
