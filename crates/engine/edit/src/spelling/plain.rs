//! The resolution of plain scalars, under YAML 1.1 and 1.2 as in go-yaml.

/// Whether `value`, written without quotes, is read as the same string.
pub(crate) fn can_be_plain(value: &str, flow: bool, typed: bool) -> bool {
    fits(value, flow) && (typed || !is_other_type(value))
}

/// Whether the syntax allows `value` as a plain scalar on one line.
fn fits(value: &str, flow: bool) -> bool {
    let mut chars = value.chars();
    let Some(first) = chars.next() else { return false };
    let second = chars.next();
    let second_is_safe = second.is_some_and(|c| !(c.is_whitespace() || flow && is_flow_indicator(c)));
    let start_is_safe = match first {
        ':' if flow => false,
        '-' | '?' | ':' => second_is_safe && !is_document_marker(value),
        ',' | '[' | ']' | '{' | '}' | '#' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => false,
        '.' => !is_document_marker(value),
        c => !c.is_whitespace(),
    };
    let breaks =
        |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    let colon_ends =
        |pair: &[char]| matches!(pair, [':', next] if next.is_whitespace() || (flow && is_flow_indicator(*next)));
    let hash_begins = |pair: &[char]| matches!(pair, [before, '#'] if before.is_whitespace());
    let chars: Vec<char> = value.chars().collect();
    let is_broken = value.ends_with(':')
        || value.ends_with(char::is_whitespace)
        || value.contains(breaks)
        // go-yaml ends a plain scalar in flow context at `?`.
        || flow && value.contains(|c| c == '?' || is_flow_indicator(c))
        || chars.windows(2).any(|pair| colon_ends(pair) || hash_begins(pair));
    start_is_safe && !is_broken
}

/// `---` and `...` at the start of a line.
fn is_document_marker(value: &str) -> bool {
    let rest = value.strip_prefix("---").or_else(|| value.strip_prefix("..."));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

fn is_flow_indicator(c: char) -> bool {
    matches!(c, ',' | '[' | ']' | '{' | '}')
}

/// Whether a plain `value` reads as null, a boolean, a number, a time or a merge key.
pub(crate) fn is_other_type(value: &str) -> bool {
    is_word(value) || is_integer(value) || is_float(value) || is_sexagesimal(value) || is_timestamp(value)
}

fn is_word(value: &str) -> bool {
    matches!(
        value,
        "" | "~"
            | "null"
            | "Null"
            | "NULL"
            | "<<"
            | "="
            | "true"
            | "True"
            | "TRUE"
            | "false"
            | "False"
            | "FALSE"
            | "yes"
            | "Yes"
            | "YES"
            | "no"
            | "No"
            | "NO"
            | "on"
            | "On"
            | "ON"
            | "off"
            | "Off"
            | "OFF"
            | "y"
            | "Y"
            | "n"
            | "N"
            | ".nan"
            | ".NaN"
            | ".NAN"
            | ".inf"
            | ".Inf"
            | ".INF"
            | "+.inf"
            | "+.Inf"
            | "+.INF"
            | "-.inf"
            | "-.Inf"
            | "-.INF"
    )
}

fn unsigned(value: &str) -> &str {
    value.strip_prefix(['+', '-']).unwrap_or(value)
}

/// Integers of any base; go-yaml drops every `_` first.
fn is_integer(value: &str) -> bool {
    if !value.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-')) {
        return false;
    }
    let digits: String = unsigned(value).chars().filter(|&c| c != '_').collect();
    let are_digits = |digits: &str, radix: u32| !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    let based = |prefixes: [&str; 2], radix| {
        prefixes
            .iter()
            .any(|prefix| digits.strip_prefix(prefix).is_some_and(|rest| are_digits(rest, radix)))
    };
    are_digits(&digits, 10) || based(["0x", "0X"], 16) || based(["0o", "0O"], 8) || based(["0b", "0B"], 2)
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?` once every `_` is dropped.
fn is_float(value: &str) -> bool {
    if !value.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return false;
    }
    let text: String = unsigned(value).chars().filter(|&c| c != '_').collect();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(unsigned(exponent))),
        None => (text.as_str(), None),
    };
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !whole.is_empty() || (!fraction.is_empty() && mantissa.starts_with('.'));
    has_digits && digits(whole) && digits(fraction) && exponent.is_none_or(|text| !text.is_empty() && digits(text))
}

/// `190:20:30` and `190:20:30.15` (YAML 1.1, types int and float).
fn is_sexagesimal(value: &str) -> bool {
    let text: String = unsigned(value).chars().filter(|&c| c != '_').collect();
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let sixty = |group: &str| digits(group) && group.parse::<u8>().is_ok_and(|number| number < 60);
    let Some((first, rest)) = text.split_once(':') else {
        return false;
    };
    let (middle, last) = rest
        .rsplit_once(':')
        .map_or((None, rest), |(middle, last)| (Some(middle), last));
    let (whole, fraction) = last.split_once('.').unwrap_or((last, "0"));
    digits(first)
        && middle.is_none_or(|middle| middle.split(':').all(sixty))
        && sixty(whole)
        && fraction.chars().all(|c| c.is_ascii_digit())
}

/// Dates, and dates with a time of day (YAML 1.1, type timestamp; go-yaml's `parseTimestamp`).
fn is_timestamp(value: &str) -> bool {
    let (date, rest) = match value.find(['T', 't', ' ', '\t']) {
        Some(at) => value.split_at(at),
        None => (value, ""),
    };
    let parts: Vec<&str> = date.split('-').collect();
    let digits = |text: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&text.len()) && text.chars().all(|c| c.is_ascii_digit())
    };
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    let is_date = digits(year, 4..=4) && digits(month, 1..=2) && digits(day, 1..=2);
    is_date && (rest.is_empty() || rest.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_read_as_another_type_need_quotes() {
        for value in [
            "true",
            "on",
            "Y",
            "null",
            "~",
            "12",
            "1_000",
            "1.10",
            "1e3",
            "0x1f",
            "0o17",
            "0b1",
            "-5",
            ".5",
            "+.inf",
            "12:30:45",
            "2001-01-01",
            "2001-1-1T1:2:3Z",
            "<<",
            "",
        ] {
            assert!(!can_be_plain(value, false, false), "{value}");
        }
        for value in [
            "1.2.3",
            "2026-11-rc1",
            "2026-rc-11",
            "v2026-11-27",
            "20261-11-27",
            "2026-11-27-1",
            "2026-11-27T10",
            "v1",
            "1.2.3-rc.1",
            "sha256:00",
            "0x",
            "1-2",
            "main-12",
            "latest",
            "2026-01",
            "oN",
            "1:60",
        ] {
            assert!(can_be_plain(value, false, false), "{value}");
            assert!(can_be_plain(value, true, false), "{value}");
        }
    }

    #[test]
    fn an_explicit_tag_makes_quotes_needless() {
        assert!(can_be_plain("1.10", false, true));
        assert!(!can_be_plain("@x", false, true));
    }

    #[test]
    fn syntax_decides_what_can_be_plain() {
        for value in [
            "@a", "`a", "%a", "- a", "? a", ": a", "a: b", "a #b", "a:", " a", "a ", "&a", "*a", "!a", "#a", "---",
            "a\tb",
        ] {
            assert!(!can_be_plain(value, false, false), "{value}");
        }
        for value in ["a b", "a,b", "a]", "-a", "?a", "a?"] {
            assert!(can_be_plain(value, false, false), "{value}");
        }
        for value in ["a,b", "a]", "a{", "a?", "-]"] {
            assert!(!can_be_plain(value, true, false), "{value}");
        }
    }
}
