//! The lines of an ignore file that are patterns, as `sourceignore.ReadPatterns` finds them.

use bumpwright_gostd::runes;

/// From a line of this many bytes on, all lines are dropped, since Go's scanner stops there in silence.
const LONGEST: usize = 64 * 1024;

/// Lines without their `\n` or `\r\n` that are neither comments nor blank.
pub(super) fn patterns(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text
        .split(|byte| *byte == b'\n')
        .take_while(|line| line.len() < LONGEST);
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| !line.starts_with(b"#") && !is_blank(line))
}

fn is_blank(line: &[u8]) -> bool {
    runes(line).all(|(rune, _)| rune.is_whitespace())
}
