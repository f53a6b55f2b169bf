//! Variables: envsubst over texts, and over objects.

use std::collections::BTreeMap;

use bumpwright_substitute::{MAX_BYTES, Options, Variables, eval, substitute};
use bumpwright_yaml::{FileId, read_resources};

/// A text with variables; and as an object, whose values are replaced.
pub fn check(input: &[u8]) {
    let long = "x/y.z ".repeat(40);
    let lookup = |name: &str| match name {
        "a" => Some(&b"eu-central-1"[..]),
        "b" => Some(&b""[..]),
        "c" => Some("Ä*?[x]\n\\: # ".as_bytes()),
        "d" => Some(long.as_bytes()),
        "e" => Some(&b"\xff\xfe"[..]),
        _ => None,
    };
    let lenient = eval(input, lookup, false);
    if let Ok(strict) = eval(input, lookup, true) {
        let lenient = lenient.as_ref().expect("what is strictly valid is valid");
        assert!(lenient == &strict && strict.len() <= MAX_BYTES);
    }
    let inline: BTreeMap<String, String> = [("a", "1"), ("b", ""), ("c", "- x: y"), ("d", "0x10"), ("e", "a: &b \"")]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .into();
    let mut variables = Variables::default();
    variables.add_inline(&inline);
    for object in read_resources(input, FileId::NONE).unwrap_or_default() {
        let _ = substitute(&object, &variables, Options::default());
    }
}
