//! The ranges of a file that a `Range` header names, as Go's `http.ServeContent` reads it (RFC 9110, section 14).

/// A range of a file, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: u64,
    pub(super) length: u64,
}

impl Range {
    /// `bytes 0-9/1000`
    pub(super) fn content_range(&self, size: u64) -> String {
        // As Go has it: an empty range at the end of the file ends before it begins.
        let end = i128::from(self.start) + i128::from(self.length) - 1;
        format!("bytes {}-{end}/{size}", self.start)
    }
}

/// Why no ranges can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RangeError {
    /// The header is not valid.
    Invalid,
    /// All of them begin after the end of the file.
    Beyond,
}

/// The ranges that a header names of a file of this size; none when all of it is to be sent.
pub(super) fn ranges(header: Option<&str>, size: u64) -> Result<Vec<Range>, RangeError> {
    let Some(header) = header else {
        return Ok(Vec::new());
    };
    let list = header.strip_prefix("bytes=").ok_or(RangeError::Invalid)?;
    let (mut ranges, mut is_beyond) = (Vec::new(), false);
    for one in list.split(',').map(|one| one.trim_matches([' ', '\t'])) {
        if one.is_empty() {
            continue;
        }
        let (start, end) = one.split_once('-').ok_or(RangeError::Invalid)?;
        match range(start.trim_matches([' ', '\t']), end.trim_matches([' ', '\t']), size)? {
            Some(range) => ranges.push(range),
            None => is_beyond = true,
        }
    }
    if ranges.is_empty() && is_beyond && size > 0 {
        return Err(RangeError::Beyond);
    }
    // Ranges that overlap to more than the file has are answered with the file.
    let sum = ranges.iter().fold(0_u64, |sum, range| sum.saturating_add(range.length));
    if sum > size {
        ranges.clear();
    }
    Ok(ranges)
}

/// One range; none when it begins after the end of the file.
fn range(start: &str, end: &str, size: u64) -> Result<Option<Range>, RangeError> {
    if start.is_empty() {
        let length = number(end)?.min(size);
        return Ok(Some(Range {
            start: size - length,
            length,
        }));
    }
    let start = number(start)?;
    if start >= size {
        return Ok(None);
    }
    let last = match end {
        "" => size - 1,
        end => number(end)?,
    };
    if start > last {
        return Err(RangeError::Invalid);
    }
    Ok(Some(Range {
        start,
        length: last.min(size - 1) - start + 1,
    }))
}

/// Go's `strconv.ParseInt`, which takes a plus, for numbers that are not negative.
fn number(text: &str) -> Result<u64, RangeError> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: Option<i64> = digits.parse().ok().filter(|_| is_number);
    number
        .and_then(|number| u64::try_from(number).ok())
        .ok_or(RangeError::Invalid)
}
