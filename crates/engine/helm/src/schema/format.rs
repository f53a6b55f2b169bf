//! The formats of texts, with the library's messages for invalid ones.

use super::{address::unescaped, format_time};
use bumpwright_gostd::{
    AddressError, EscapeError, NumError, Time, TimeError, Url, UrlError, append_quoted_rune, atoi, check_ip, lossy,
};
use bumpwright_re2::Regexp;
use thiserror::Error;

type Check = fn(&str) -> Result<(), FormatError>;

/// Why a text does not have a format, in the library's words.
#[derive(Clone, Debug, PartialEq, Error)]
pub(super) enum FormatError {
    /// It breaks a rule of the format.
    #[error("{0}")]
    Rule(&'static str),
    /// A part of it breaks a rule: the part and what is wrong with it, in the order of the text.
    #[error("{0} {1}")]
    Part(&'static str, &'static str),
    /// A part has another format, which it does not meet.
    #[error("invalid {part}: {problem}")]
    Inner {
        part: &'static str,
        #[source]
        problem: Box<FormatError>,
    },
    /// An element of a UUID has the wrong length.
    #[error("element {element} must be {length} characters long")]
    Length { element: usize, length: usize },
    #[error("non-hex character {}", spelled(*.0))]
    NotHex(char),
    #[error("invalid character {}", spelled(*.0))]
    Character(char),
    #[error("invalid character {} in {part} identifier", spelled(*.character))]
    InIdentifier { character: char, part: &'static str },
    /// A span of time has its units in another order, or one twice.
    #[error("unit {0:?} out of order")]
    UnitOrder(char),
    #[error("invalid unit {0:?}")]
    Unit(char),
    #[error(transparent)]
    Integer(#[from] NumError<i64>),
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(transparent)]
    Date(#[from] TimeError),
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error("percent decode failed: {0}")]
    Escape(#[from] EscapeError),
    #[error(transparent)]
    Regexp(#[from] bumpwright_re2::Error),
}

impl FormatError {
    /// The error of a part that has a format of its own.
    pub(super) fn of(self, part: &'static str) -> Self {
        let problem = Box::new(self);
        Self::Inner { part, problem }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    name: &'static str,
    check: Check,
}

const FORMATS: [(&str, Check); 19] = [
    ("json-pointer", json_pointer),
    ("relative-json-pointer", relative_json_pointer),
    ("uuid", uuid),
    ("duration", format_time::duration),
    ("period", format_time::period),
    ("ipv4", ipv4),
    ("ipv6", ipv6),
    ("hostname", hostname),
    ("email", email),
    ("date", date),
    ("time", format_time::time),
    ("date-time", format_time::date_time),
    ("uri", uri),
    ("iri", uri),
    ("uri-reference", uri_reference),
    ("iri-reference", uri_reference),
    ("uri-template", uri_template),
    ("semver", semver),
    ("regex", regex),
];

impl Format {
    /// The format of a name; none for a name that means nothing.
    pub(super) fn named(name: &str) -> Option<Self> {
        let (name, check) = *FORMATS.iter().find(|(known, _)| *known == name)?;
        Some(Self { name, check })
    }

    pub(super) fn name(self) -> &'static str {
        self.name
    }

    /// Whether a text has it, or what is wrong.
    pub(super) fn check(self, text: &str) -> Result<(), FormatError> {
        (self.check)(text)
    }
}

/// The error of a rule.
pub(super) fn refuse<T>(rule: &'static str) -> Result<T, FormatError> {
    Err(FormatError::Rule(rule))
}

fn spelled(ch: char) -> String {
    let mut quoted = Vec::new();
    append_quoted_rune(&mut quoted, u64::from(u32::from(ch)), false);
    lossy(&quoted).into_owned()
}

fn regex(text: &str) -> Result<(), FormatError> {
    Ok(Regexp::new(text).map(drop)?)
}

fn json_pointer(text: &str) -> Result<(), FormatError> {
    if text.is_empty() {
        return Ok(());
    }
    if !text.starts_with('/') {
        return refuse("not starting with /");
    }
    let is_escape = |rest: &str| rest.starts_with(['0', '1']);
    if text.split('~').skip(1).all(is_escape) {
        Ok(())
    } else {
        refuse("~ must be followed by 0 or 1")
    }
}

fn relative_json_pointer(text: &str) -> Result<(), FormatError> {
    let rest = text.trim_start_matches(|ch: char| ch.is_ascii_digit());
    match text.len() - rest.len() {
        0 => refuse("must start with non-negative integer"),
        digits if digits > 1 && text.starts_with('0') => refuse("starts with zero"),
        _ if rest == "#" => Ok(()),
        _ => json_pointer(rest),
    }
}

fn uuid(text: &str) -> Result<(), FormatError> {
    let lengths = [8, 4, 4, 4, 12];
    let groups: Vec<&str> = text.split('-').collect();
    if groups.len() != lengths.len() {
        return refuse("must have 5 elements");
    }
    for (index, (group, length)) in groups.iter().zip(lengths).enumerate() {
        if group.len() != length {
            let element = index + 1;
            return Err(FormatError::Length { element, length });
        }
        if let Some(ch) = group.chars().find(|ch| !ch.is_ascii_hexdigit()) {
            return Err(FormatError::NotHex(ch));
        }
    }
    Ok(())
}

fn ipv4(text: &str) -> Result<(), FormatError> {
    let groups: Vec<&str> = text.split('.').collect();
    if groups.len() != 4 {
        return refuse("expected four decimals");
    }
    for group in groups {
        if group.len() > 1 && group.starts_with('0') {
            return refuse("leading zeros");
        }
        let number = atoi(group)?;
        if !(0..=255).contains(&number) {
            return refuse("decimal must be between 0 and 255");
        }
    }
    Ok(())
}

fn ipv6(text: &str) -> Result<(), FormatError> {
    if !text.contains(':') {
        return refuse("missing colon");
    }
    check_ip(text.as_bytes())?;
    if text.contains('%') {
        refuse("zone id is not a part of ipv6 address")
    } else {
        Ok(())
    }
}

fn hostname(text: &str) -> Result<(), FormatError> {
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.len() > 253 {
        return refuse("more than 253 characters long");
    }
    for label in text.split('.') {
        if !(1..=63).contains(&label.len()) {
            return refuse("label must be 1 to 63 characters long");
        }
        if label.starts_with('-') {
            return refuse("label starts with hyphen");
        }
        if label.ends_with('-') {
            return refuse("label ends with hyphen");
        }
        if let Some(ch) = label.chars().find(|ch| !(ch.is_ascii_alphanumeric() || *ch == '-')) {
            return Err(FormatError::Character(ch));
        }
    }
    Ok(())
}

fn email(text: &str) -> Result<(), FormatError> {
    if text.len() > 254 {
        return refuse("more than 255 characters long");
    }
    let Some((local, domain)) = text.rsplit_once('@') else {
        return refuse("missing @");
    };
    if local.len() > 64 {
        return refuse("local part more than 64 characters long");
    }
    let quoted = local.strip_prefix('"').and_then(|local| local.strip_suffix('"'));
    match quoted {
        Some(inner) if inner.contains(['\\', '"']) => {
            return refuse("backslash and quote are not allowed within quoted local part");
        }
        Some(_) => {}
        None => local_part(local)?,
    }
    if let Some(address) = domain.strip_prefix('[').and_then(|domain| domain.strip_suffix(']')) {
        return match address.strip_prefix("IPv6:") {
            Some(address) => ipv6(address).map_err(|error| error.of("ipv6 address")),
            None => ipv4(address).map_err(|error| error.of("ipv4 address")),
        };
    }
    hostname(domain).map_err(|error| error.of("domain"))
}

fn local_part(local: &str) -> Result<(), FormatError> {
    if local.starts_with('.') {
        return refuse("starts with dot");
    }
    if local.ends_with('.') {
        return refuse("ends with dot");
    }
    if local.contains("..") {
        return refuse("consecutive dots");
    }
    let fits = |ch: char| ch.is_ascii_alphanumeric() || ".!#$%&'*+-/=?^_`{|}~".contains(ch);
    match local.chars().find(|ch| !fits(*ch)) {
        Some(ch) => Err(FormatError::Character(ch)),
        None => Ok(()),
    }
}

pub(super) fn date(text: &str) -> Result<(), FormatError> {
    Ok(Time::parse(b"2006-01-02", text.as_bytes()).map(drop)?)
}

fn url(text: &str) -> Result<Url, FormatError> {
    let url = Url::parse(text.as_bytes())?;
    let name = lossy(url.hostname()).into_owned();
    if name.contains(':') {
        if !(url.host.contains(&b'[') && url.host.contains(&b']')) {
            return refuse("ipv6 address not enclosed in brackets");
        }
        ipv6(&name).map_err(|error| error.of("ipv6 address"))?;
    }
    Ok(url)
}

fn uri(text: &str) -> Result<(), FormatError> {
    if url(text)?.scheme.is_empty() {
        refuse("relative url")
    } else {
        Ok(())
    }
}

fn uri_reference(text: &str) -> Result<(), FormatError> {
    if text.contains('\\') {
        refuse("contains \\")
    } else {
        url(text).map(drop)
    }
}

fn uri_template(text: &str) -> Result<(), FormatError> {
    let url = url(text)?;
    for part in lossy(&url.raw_path).split('/') {
        let part = unescaped(part)?;
        let mut is_open = false;
        for ch in part.chars().filter(|ch| matches!(ch, '{' | '}')) {
            if (ch == '{') == is_open {
                return refuse("nested curly braces");
            }
            is_open = !is_open;
        }
        if is_open {
            return refuse("no matching closing brace");
        }
    }
    Ok(())
}

fn semver(text: &str) -> Result<(), FormatError> {
    let (text, build) = split_at_first(text, '+');
    if let Some(build) = build {
        if build.is_empty() {
            return refuse("build is empty");
        }
        for part in build.split('.') {
            identifier(part, "build")?;
        }
    }
    let (text, pre_release) = split_at_first(text, '-');
    for part in pre_release.iter().flat_map(|parts| parts.split('.')) {
        identifier(part, "pre-release")?;
        if part.len() > 1 && part.starts_with('0') && part.bytes().all(|byte| byte.is_ascii_digit()) {
            return refuse("pre-release numeric identifier starts with zero");
        }
    }
    let numbers: Vec<&str> = text.split('.').collect();
    if numbers.len() != 3 {
        return refuse("versionCore must have 3 numbers separated by dot");
    }
    for (number, name) in numbers.iter().zip(["major", "minor", "patch"]) {
        if number.is_empty() {
            return Err(FormatError::Part(name, "is empty"));
        }
        if number.len() > 1 && number.starts_with('0') {
            return Err(FormatError::Part(name, "starts with zero"));
        }
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(FormatError::Part(name, "contains non-digit"));
        }
    }
    Ok(())
}

fn split_at_first(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at)
        .map_or((text, None), |(before, after)| (before, Some(after)))
}

fn identifier(text: &str, part: &'static str) -> Result<(), FormatError> {
    if text.is_empty() {
        return Err(FormatError::Part(part, "identifier is empty"));
    }
    match text.chars().find(|ch| !(ch.is_ascii_alphanumeric() || *ch == '-')) {
        Some(character) => Err(FormatError::InIdentifier { character, part }),
        None => Ok(()),
    }
}
