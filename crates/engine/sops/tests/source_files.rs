//! Files that generators and patches read (K-152 … K-154); `overlay` decides which those are.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use bumpwright_sops::{Format, LocalKeys, MAX_FILE_SIZE, decrypt_file};
use support::{case_named, keys};

fn age1() -> LocalKeys {
    keys(&["age1".to_owned()])
}

#[test]
fn a_file_is_decrypted_in_the_format_of_its_name() {
    for name in [
        "dotenv/basic",
        "yaml/comments-spaced",
        "json/docker",
        "binary/text",
        "ini/basic",
    ] {
        let case = case_named(name);
        let plain = decrypt_file(&case.file, case.from, &age1()).unwrap().unwrap();
        assert_eq!(plain.as_slice(), case.want.unwrap(), "{name}");
    }
}

#[test]
fn a_plain_file_stays_as_it_is() {
    for (format, text) in [
        (Format::Dotenv, b"A=1\nno equals".as_slice()),
        (Format::Yaml, b"a: ["),
        (Format::Binary, b"\xff"),
        (Format::Dotenv, &case_named("yaml/comments-spaced").file),
    ] {
        assert_eq!(decrypt_file(text, format, &age1()).unwrap(), None, "{format:?}");
    }
}

#[test]
fn refusals_say_what_upstream_says() {
    let large = vec![b'x'; MAX_FILE_SIZE + 1];
    for (file, wanted) in [
        (
            large,
            "cannot decrypt file with size (5242881 bytes) exceeding limit (5242880)",
        ),
        (
            case_named("tampered plain changed").file,
            "failed to verify sops data integrity: MAC mismatch",
        ),
    ] {
        let error = decrypt_file(&file, Format::Yaml, &age1()).unwrap_err();
        assert_eq!(error.to_string(), wanted);
    }
    let whole = vec![b'x'; MAX_FILE_SIZE];
    assert_eq!(decrypt_file(&whole, Format::Yaml, &age1()).unwrap(), None);
}
