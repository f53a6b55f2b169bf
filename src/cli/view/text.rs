//! Wording of views: ages, revisions, conditions; and colours.

use std::io::IsTerminal as _;

use anstyle::{AnsiColor, Style};

use super::table::Cell;
use bumpwright_overview::{Readiness, Stage, State};
use bumpwright_text::Excerpt;

pub(in crate::cli) const BOLD: Style = Style::new().bold();
pub(in crate::cli) const DIM: Style = Style::new().dimmed();
pub(in crate::cli) const GOOD: Style = AnsiColor::Green.on_default();
pub(in crate::cli) const WARN: Style = AnsiColor::Yellow.on_default();
pub(in crate::cli) const BAD: Style = AnsiColor::Red.on_default();

/// The columns of the terminal that standard output is; none when it is not one.
pub(in crate::cli) fn columns() -> Option<usize> {
    std::io::stdout().is_terminal().then(|| {
        let (_, columns) = ::console::Term::stdout().size();
        usize::from(columns)
    })
}

/// How long ago, as kubectl says it; empty when it is not known.
pub(in crate::cli) fn age(now: i64, at: Option<i64>) -> String {
    at.map(|at| duration(now - at)).unwrap_or_default()
}

/// As `HumanDuration` of k8s.io/apimachinery.
fn duration(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let both = |whole: i64, unit: &str, part: i64, small: &str| match part {
        0 => format!("{whole}{unit}"),
        part => format!("{whole}{unit}{part}{small}"),
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => both(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => both(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => both(days, "d", hours % 24, "h"),
        () if days < 730 => format!("{days}d"),
        () if days < 365 * 8 => both(days / 365, "y", days % 365, "d"),
        () => format!("{}y", days / 365),
    }
}

/// The message without its first words where it has them twice, as Flux writes them of a Secret that is missing.
pub(in crate::cli) fn once(message: &str) -> &str {
    match message.split_once(": ") {
        Some((first, rest)) if rest.strip_prefix(first).is_some_and(|rest| rest.starts_with(": ")) => rest,
        _ => message,
    }
}

/// The text with hashes shortened to eight digits, as flux does, and without words that are there twice.
pub(in crate::cli) fn short(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = once(text);
    while !rest.is_empty() {
        let digits = rest
            .bytes()
            .take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
            .count();
        let (hash, after) = rest.split_at(digits);
        out.push_str(match hash.len() {
            40 | 64 => hash.get(..8).unwrap_or(hash),
            _ => hash,
        });
        let others = after
            .find(|c: char| matches!(c, '0'..='9' | 'a'..='f'))
            .unwrap_or(after.len());
        let (other, next) = after.split_at(others);
        out.push_str(other);
        rest = next;
    }
    out
}

/// The first line of a message, with short hashes; with the next one where it announces that.
pub(in crate::cli) fn first_line(message: &str) -> String {
    match (message.first_line(), message.lines().nth(1)) {
        (first, Some(next)) if first.ends_with(':') => short(&format!("{first} {next}")),
        (first, _) => short(first),
    }
}

/// A line in pieces of so many columns at most, broken between words where that is possible.
pub(in crate::cli) fn wrapped(line: &str, columns: Option<usize>) -> Vec<String> {
    let Some(columns) = columns else {
        return vec![line.to_owned()];
    };
    let (mut pieces, mut piece) = (Vec::new(), String::new());
    for word in line.split(' ') {
        let mut word = word;
        if !piece.is_empty() && piece.chars().count() + 1 + word.chars().count() > columns {
            pieces.push(std::mem::take(&mut piece));
        }
        if !piece.is_empty() {
            piece.push(' ');
        }
        while let Some((end, _)) = word.char_indices().nth(columns) {
            let (head, rest) = word.split_at(end);
            pieces.push(head.to_owned());
            word = rest;
        }
        piece.push_str(word);
    }
    pieces.push(piece);
    pieces
}

/// The status of Ready.
pub(in crate::cli) fn ready(readiness: &Readiness) -> Cell {
    match readiness.state {
        State::Ready => Cell::styled("True", GOOD),
        State::Stalled | State::Failed => Cell::styled("False", BAD),
        State::Deleting | State::Progressing | State::Unknown => Cell::styled("Unknown", WARN),
    }
}

/// Whether it is suspended, as flux writes it.
pub(in crate::cli) fn suspended(readiness: &Readiness) -> Cell {
    if readiness.suspended {
        Cell::styled("True", WARN)
    } else {
        Cell::new("False")
    }
}

/// The colour of a stage.
pub(in crate::cli) fn of_stage(stage: Stage) -> Style {
    match stage {
        Stage::Current => GOOD,
        Stage::Behind | Stage::Held | Stage::OnTheWay => WARN,
        Stage::Unknown => BAD,
        Stage::Unused => DIM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_kubectls() {
        for (seconds, text) in [
            (-5, "0s"),
            (119, "119s"),
            (180, "3m"),
            (185, "3m5s"),
            (10_000, "166m"),
            (7 * 3600 + 60, "7h1m"),
            (30 * 3600, "30h"),
            (3 * 86_400, "3d"),
            (3 * 86_400 + 7200, "3d2h"),
            (100 * 86_400, "100d"),
            (800 * 86_400, "2y70d"),
            (4000 * 86_400, "10y"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn long_lines_are_broken_between_words() {
        assert_eq!(wrapped("a bc def", Some(4)), ["a bc", "def"]);
        assert_eq!(wrapped("abcdefghij k", Some(4)), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrapped("a b", None), ["a b"]);
        assert_eq!(wrapped("", Some(4)), [""]);
    }

    #[test]
    fn words_that_a_message_has_twice_are_shown_once() {
        let missing = "failed to get secret 'a/b': secrets \"b\" not found";
        assert_eq!(short(&format!("failed to get secret 'a/b': {missing}")), missing);
        assert_eq!(short("a: ab: c"), "a: ab: c");
        assert_eq!(short("a: a"), "a: a");
    }

    #[test]
    fn hashes_are_short() {
        let (sha1, sha256) = ("a1".repeat(20), "b2".repeat(32));
        assert_eq!(short(&format!("main@sha1:{sha1}")), "main@sha1:a1a1a1a1");
        assert_eq!(short(&format!("sha256:{sha256} of ünï")), "sha256:b2b2b2b2 of ünï");
        assert_eq!(short("apps/abc 1.2.3"), "apps/abc 1.2.3");
        assert_eq!(first_line("a\nb"), "a");
        assert_eq!(first_line("not updated:\na.yaml:1: x\nb"), "not updated: a.yaml:1: x");
    }
}
