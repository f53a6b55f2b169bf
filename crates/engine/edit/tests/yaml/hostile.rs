//! Hostile input: an answer in bounded time and memory, never a crash.

use std::time::{Duration, Instant};

use bumpwright_edit::{self as edit, FileKind, LocalSkip, Reason, Scan};

const MARKED: &str = "a: 1 # {\"$imagepolicy\": \"fs:app\"}\n";

/// Scans and holds the time to what a debug build on a slow machine needs for a linear pass.
fn scan(bytes: &[u8]) -> Scan {
    let start = Instant::now();
    let scan = edit::scan(FileKind::Yaml, bytes);
    assert!(start.elapsed() < Duration::from_secs(30), "took {:?}", start.elapsed());
    scan
}

fn only_skip(bytes: &[u8], reason: Reason) -> LocalSkip {
    let scan = scan(bytes);
    assert_eq!(scan.sites, []);
    assert_eq!(scan.skips.len(), 1, "{:?}", scan.skips);
    assert_eq!(scan.skips[0].reason, reason);
    scan.skips[0].clone()
}

#[test]
fn deep_nesting_does_not_parse() {
    for unit in ["[", "{", "- ", "? ", "[{a: ", "!x [", "&a ["] {
        let text = format!("{MARKED}b: 1\nc:\n  {}", unit.repeat(1_000_000));
        only_skip(text.as_bytes(), Reason::Unparsable);
    }
}

#[test]
fn nesting_within_the_limits_is_read() {
    let deep = format!("{MARKED}b: {}{}\n", "[".repeat(9_000), "]".repeat(9_000));
    assert_eq!(scan(deep.as_bytes()).sites.len(), 1);
    let blocks = format!("{MARKED}b:\n  {}x\n", "- ".repeat(9_000));
    assert_eq!(scan(blocks.as_bytes()).sites.len(), 1);
}

#[test]
fn many_scalars_below_deep_nesting_are_read_in_linear_time() {
    let scalars = "x, ".repeat(200_000);
    let text = format!("{MARKED}b: {}{scalars}{}\n", "[".repeat(5_000), "]".repeat(5_000));
    assert_eq!(scan(text.as_bytes()).sites.len(), 1);
}

#[test]
fn a_line_of_100_mb_is_too_large() {
    let text = format!("{MARKED}b: {}", "x".repeat(100_000_000));
    assert_eq!(only_skip(text.as_bytes(), Reason::TooLarge).line, 1);
    let other = edit::scan(FileKind::Other, text.as_bytes());
    assert_eq!(other, Scan::default());
    let unmarked = vec![b'['; 100_000_000];
    assert_eq!(scan(&unmarked), Scan::default());
}

#[test]
fn a_line_of_30_mb_is_read() {
    let text = format!("b: {}\n{MARKED}", "x".repeat(30_000_000));
    assert_eq!(scan(text.as_bytes()).sites.len(), 1);
}

#[test]
fn many_markers_are_read_in_linear_time() {
    let text: String = (0..100_000)
        .map(|n| format!("k{n}: 1 # {{\"$imagepolicy\": \"fs:app\"}}\n"))
        .collect();
    assert_eq!(scan(text.as_bytes()).sites.len(), 100_000);
    let loose = "# {\"$imagepolicy\": \"fs:app\"}\n\n".repeat(100_000);
    assert_eq!(scan(loose.as_bytes()).skips.len(), 100_000);
    let other = edit::scan(FileKind::Other, &loose.as_bytes()[..1_000_000]);
    assert!(other.skips.len() > 30_000);
}

#[test]
fn comments_alone_are_read_in_linear_time() {
    let text = format!("a:\n{}{MARKED}", "#\n".repeat(2_000_000));
    assert_eq!(scan(text.as_bytes()).sites.len(), 1);
    let lines = format!("{}{MARKED}", "- a #\n".repeat(500_000));
    only_skip(lines.as_bytes(), Reason::Unparsable);
}

#[test]
fn many_comments_without_a_blank_are_read_or_refused_in_bounded_time() {
    let few = "a: \"x\"# c\n".repeat(500) + MARKED;
    assert_eq!(scan(few.as_bytes()).sites.len(), 1);
    let many = "a: \"x\"# c\n".repeat(300_000) + MARKED;
    only_skip(many.as_bytes(), Reason::Unparsable);
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    for (bytes, line, column) in [
        (b"a: \xe9t\xe9\n".as_slice(), 2, 4),
        (b"b: \0\n", 2, 4),
        (b"\x1b[0m: 1\n", 2, 1),
        ("é: \u{85}\u{9f}\n".as_bytes(), 2, 5),
        (b"\xff\xfea\0", 2, 1),
    ] {
        let text = [MARKED.as_bytes(), bytes].concat();
        let skip = only_skip(&text, Reason::Unparsable);
        assert_eq!((skip.line, skip.column), (line, column), "{bytes:?}");
    }
}

#[test]
fn utf_16_is_told_if_it_has_a_marker() {
    let text: Vec<u8> = "\u{feff}"
        .encode_utf16()
        .chain(MARKED.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let skip = only_skip(&text, Reason::Unparsable);
    assert!(skip.message.ends_with("save the file as UTF-8"), "{skip:?}");
    let unmarked: Vec<u8> = "\u{feff}a: 1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(scan(&unmarked), Scan::default());
}

#[test]
fn a_lone_carriage_return_is_a_line_break() {
    let text = MARKED.replace('\n', "\r");
    let scan = scan(format!("b: 1\r{text}c: 2\r").as_bytes());
    assert_eq!((scan.sites[0].line, scan.sites[0].column), (2, 4));
}
