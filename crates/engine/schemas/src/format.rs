//! The formats of texts that API servers validate in custom resources, as strfmt of k8s.io/kube-openapi does. Other
//! formats (`int32`, `email` and more) are not checked: the server ignores them, or they are rare.

use std::net::{Ipv4Addr, Ipv6Addr};

use bumpwright_gostd::{Duration, Time, Url};
use bumpwright_text::Parts;

/// A format of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    DateTime,
    Date,
    Duration,
    Byte,
    Ipv4,
    Ipv6,
    Cidr,
    Uri,
    Uuid,
}

/// Units of durations that Go does not have: a unit is one of them, or starts with the last of its line.
const UNITS: [&[&str]; 8] = [
    &["ns", "nano"],
    &["us", "µs", "micro"],
    &["ms", "milli"],
    &["s", "sec"],
    &["m", "min"],
    &["h", "hr", "hour"],
    &["d", "day"],
    &["w", "wk", "week"],
];

impl Format {
    /// A format by its name in a schema, where dashes do not count.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name.replace('-', "").as_str() {
            "datetime" => Self::DateTime,
            "date" => Self::Date,
            "duration" => Self::Duration,
            "byte" => Self::Byte,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "cidr" => Self::Cidr,
            "uri" => Self::Uri,
            "uuid" => Self::Uuid,
            _ => return None,
        })
    }

    /// Its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DateTime => "date-time",
            Self::Date => "date",
            Self::Duration => "duration",
            Self::Byte => "byte",
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
            Self::Cidr => "cidr",
            Self::Uri => "uri",
            Self::Uuid => "uuid",
        }
    }

    pub(crate) fn has(self, text: &str) -> bool {
        match self {
            Self::DateTime => is_date_time(text),
            Self::Date => is_date(text),
            Self::Duration => is_duration(text),
            Self::Byte => is_base64(text),
            Self::Ipv4 => text.contains('.') && is_address(text),
            Self::Ipv6 => text.contains(':') && is_address(text),
            Self::Cidr => is_cidr(text),
            Self::Uri => is_uri(text),
            Self::Uuid => is_uuid(text),
        }
    }
}

fn is_date(text: &str) -> bool {
    Time::parse(b"2006-01-02", text.as_bytes()).is_ok()
}

/// A date, `T`, and `15:04:05`, `15:04:05.999` with `Z` or `+01:00`.
fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    is_date(date) && is_time(time).unwrap_or(false)
}

fn is_time(time: &str) -> Option<bool> {
    let (clock, rest) = time.split_at_checked(8)?;
    let rest = match rest.strip_suffix('z') {
        Some(rest) => rest,
        None => {
            let (rest, offset) = rest.split_at_checked(rest.len().checked_sub(6)?)?;
            let is_offset = like(offset, "+00:00") || like(offset, "-00:00");
            is_offset.then_some(rest)?
        }
    };
    let mut fraction = rest.chars();
    let is_fraction =
        rest.is_empty() || fraction.next().is_some() && !fraction.as_str().is_empty() && digits(fraction.as_str());
    let mut fields = clock.split(':');
    let mut within = |most| fields.next().is_some_and(|field| field <= most);
    Some(is_fraction && like(clock, "00:00:00") && within("23") && within("59") && within("59"))
}

/// Whether a text has digits where the form has zeros, and the form's own bytes elsewhere.
fn like(text: &str, form: &str) -> bool {
    let is_like = |(byte, of): (u8, u8)| match of {
        b'0' => byte.is_ascii_digit(),
        of => byte == of,
    };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(is_like)
}

fn digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Go's durations; else a whole number with a unit anywhere in the text: `5 days`.
fn is_duration(text: &str) -> bool {
    if Duration::parse(text.as_bytes()).is_ok() {
        return true;
    }
    let is_letter = |letter: char| letter.is_ascii_alphabetic() || letter == 'µ';
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let after = rest.tail(start);
        let after = after.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let name = after.trim_start_matches([' ', '\t', '\n', '\u{c}', '\r']);
        let end = name.find(|letter| !is_letter(letter)).unwrap_or(name.len());
        if is_unit(&name.part(..end).to_lowercase()) {
            return true;
        }
        rest = after;
    }
    false
}

fn is_unit(name: &str) -> bool {
    let of = |names: &&[&str]| names.contains(&name) || names.last().is_some_and(|last| name.starts_with(last));
    UNITS.iter().any(of)
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let is_body = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !text.is_empty() && text.len().is_multiple_of(4) && text.len() - body.len() <= 2 && body.bytes().all(is_body)
}

/// An address as Go's `net.ParseIP` of the server takes it: leading zeros do not count.
fn is_address(text: &str) -> bool {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().is_ok();
    }
    let octets: Vec<&str> = text.split('.').map(without_zeros).collect();
    octets.join(".").parse::<Ipv4Addr>().is_ok()
}

fn without_zeros(octet: &str) -> &str {
    match octet.trim_start_matches('0') {
        "" if !octet.is_empty() => "0",
        octet => octet,
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let most = if address.contains(':') { 128 } else { 32 };
    is_address(address) && digits(bits) && bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

/// Go's `url.ParseRequestURI`.
fn is_uri(text: &str) -> bool {
    Url::parse(text.as_bytes()).is_ok_and(|url| text.starts_with('/') || !url.scheme.is_empty())
}

/// 32 digits, with or without each of the four dashes.
fn is_uuid(text: &str) -> bool {
    let mut rest = text;
    for (count, dash) in [(8, true), (4, true), (4, true), (4, true), (12, false)] {
        let Some((part, after)) = rest.split_at_checked(count) else {
            return false;
        };
        if !part.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return false;
        }
        rest = if dash {
            after.strip_prefix('-').unwrap_or(after)
        } else {
            after
        };
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As an API server of Kubernetes 1.34 has them.
    #[test]
    fn formats_are_those_of_the_server() {
        for (format, good, bad) in [
            (
                "date-time",
                &["2024-01-01T00:00:00Z", "2024-01-01t00:00:00.5+02:00"][..],
                &[
                    "",
                    "x",
                    "2024-01-01 00:00:00Z",
                    "2024-01-01T00:00:60Z",
                    "2024-13-01T00:00:00Z",
                    "2024-01-01T00:00:00",
                ][..],
            ),
            ("date", &["2024-02-29"], &["2023-02-29", "2024-1-1", ""]),
            (
                "duration",
                &["5m", "1h30m", "-5m", "5 days", "x5m", "5m x", "3 weeks", "0"],
                &["5", "", "5x", "m"],
            ),
            ("byte", &["eA==", "eHg=", "eHh4"], &["", "x", "eA", "eA==\n", "===="]),
            (
                "ipv4",
                &["1.2.3.4", "01.2.3.4", "::ffff:1.2.3.4"],
                &["1.2.3", "::1", "1.2.3.256", ""],
            ),
            ("ipv6", &["::1", "::ffff:1.2.3.4"], &["1.2.3.4", "fe80::1%eth0", ":"]),
            (
                "cidr",
                &["1.2.3.4/8", "::/0"],
                &["1.2.3.4", "1.2.3.4/33", "x/8", "1.2.3.4/+8"],
            ),
            ("uri", &["/x", "http://x", "http:x"], &["x", "", "http://[x"]),
            (
                "uuid",
                &[
                    "123e4567-e89b-12d3-a456-426614174000",
                    "123E4567e89b12d3a456426614174000",
                ],
                &[
                    "x",
                    "",
                    "123e4567-e89b-12d3-a456-42661417400",
                    "123e4567-e89b-12d3-a456-4266141740000",
                ],
            ),
        ] {
            let format = Format::named(format);
            for text in good {
                assert_eq!(format.map(|format| format.has(text)), Some(true), "{format:?} {text:?}");
            }
            for text in bad {
                assert_eq!(
                    format.map(|format| format.has(text)),
                    Some(false),
                    "{format:?} {text:?}"
                );
            }
        }
        assert_eq!(Format::named("int32"), None);
    }
}
