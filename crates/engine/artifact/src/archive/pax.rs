//! Records of PAX headers, `<length> <key>=<value>\n`, written and parsed as by Go's `archive/tar`.

use bumpwright_gostd::parse_int;
use bumpwright_text::{Cuts, Parts};

/// Writes one record. Its length counts its own digits.
pub(super) fn append_record(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + digits(rest);
    if rest + digits(length) != length {
        length = rest + digits(length);
    }
    out.extend(length.to_string().bytes());
    for part in [b" ", key, b"=", value, b"\n"] {
        out.extend_from_slice(part);
    }
}

fn digits(number: usize) -> usize {
    number.to_string().len()
}

/// The records of one header, which apply to the next entry.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Records {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) size: Option<i64>,
    /// Whether there are records of a sparse file.
    pub(super) sparse: bool,
    /// A bit for each key with an invalid number or time.
    malformed: u8,
}

impl Records {
    /// Parses all records; `None` when one is malformed.
    pub(super) fn parse(mut text: &[u8]) -> Option<Self> {
        let mut records = Self::default();
        while !text.is_empty() {
            let (key, value, rest) = split_record(text)?;
            records.take(key, value)?;
            text = rest;
        }
        Some(records)
    }

    /// Whether all numbers and times are valid.
    pub(super) const fn is_well_formed(&self) -> bool {
        self.malformed == 0
    }

    fn mark(&mut self, key: u8, is_well_formed: bool) {
        let bit = 1 << key;
        self.malformed = if is_well_formed {
            self.malformed & !bit
        } else {
            self.malformed | bit
        };
    }

    /// Adds a record. The last one of a key applies; an empty value keeps the header's own.
    fn take(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        let given = (!value.is_empty()).then(|| value.to_vec());
        let is_text = matches!(key, b"path" | b"linkpath" | b"uname" | b"gname");
        if (is_text && value.contains(&0)) || (!is_text && key.contains(&0)) {
            return None;
        }
        match key {
            b"path" => self.path = given,
            b"linkpath" => self.link = given,
            b"size" => {
                self.size = given.as_deref().and_then(integer);
                self.mark(0, given.is_none() || self.size.is_some());
            }
            b"uid" => self.mark(1, given.is_none_or(|text| integer(&text).is_some())),
            b"gid" => self.mark(2, given.is_none_or(|text| integer(&text).is_some())),
            b"atime" => self.mark(3, given.is_none_or(|text| is_time(&text))),
            b"mtime" => self.mark(4, given.is_none_or(|text| is_time(&text))),
            b"ctime" => self.mark(5, given.is_none_or(|text| is_time(&text))),
            _ => self.sparse |= key.starts_with(b"GNU.sparse."),
        }
        Some(())
    }
}

fn split_record(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = text.iter().position(|byte| *byte == b' ')?;
    let length = usize::try_from(integer(text.get(..space)?)?).ok()?;
    let (record, rest) = text.split_at_checked(length).filter(|_| length >= 5)?;
    let record = record.get(space + 1..)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=').filter(|at| *at > 0)?;
    let (key, value) = record.split_at_checked(equals)?;
    Some((key, value.get(1..)?, rest))
}

fn integer(text: &[u8]) -> Option<i64> {
    parse_int(text, 10, 64).ok()
}

/// `<seconds>` or `<seconds>.<digits>`.
fn is_time(text: &[u8]) -> bool {
    let seconds = text.before(b'.');
    let digits = text.tail(seconds.len() + 1);
    integer(seconds).is_some() && digits.iter().all(u8::is_ascii_digit)
}
