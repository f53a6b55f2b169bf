//! The 512 bytes of a tar header, as Go's `archive/tar` writes them: USTAR, and PAX where necessary.

use super::pax;
use bumpwright_gostd::runes;
use bumpwright_text::Parts;

/// Block size of a tar file.
pub(super) const BLOCK: usize = 512;

pub(super) const REGULAR: u8 = b'0';
pub(super) const DIRECTORY: u8 = b'5';

/// Sizes of the fields for name and prefix.
const NAME: usize = 100;
const PREFIX: usize = 155;
/// Greatest number of eleven octal digits: 8 GiB less one byte.
const LARGEST_OCTAL: u64 = 0o777_7777_7777;

/// The fields of an entry's header; owners, times and devices are zero.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeaderFields<'a> {
    pub(super) name: &'a [u8],
    pub(super) mode: u32,
    pub(super) size: u64,
    pub(super) kind: u8,
}

/// The blocks before the content of an entry: the header, after a PAX header if a name is not ASCII or too long to be
/// split, or a size has more than eleven octal digits.
pub(super) fn header_blocks(entry: HeaderFields<'_>) -> Vec<u8> {
    let is_short = entry.name.is_ascii() && entry.name.len() <= NAME;
    let split = split_name(entry.name);
    let parts = if is_short { Some((&[][..], entry.name)) } else { split };
    if let (Some((prefix, name)), true) = (parts, entry.size <= LARGEST_OCTAL) {
        return block(HeaderFields { name, ..entry }, prefix).to_vec();
    }
    let mut records = Vec::new();
    if !is_short {
        pax::append_record(&mut records, b"path", entry.name);
    }
    if entry.size > LARGEST_OCTAL {
        pax::append_record(&mut records, b"size", entry.size.to_string().as_bytes());
    }
    let mut blocks = pax_header(entry.name, records.len()).to_vec();
    blocks.append(&mut records);
    blocks.resize(blocks.len().next_multiple_of(BLOCK), 0);
    let name = cut(&ascii(entry.name));
    let size = if entry.size > LARGEST_OCTAL { 0 } else { entry.size };
    blocks.extend(block(
        HeaderFields {
            name: &name,
            size,
            ..entry
        },
        &[],
    ));
    blocks
}

/// The header of PAX records, an entry of its own.
fn pax_header(name: &[u8], size: usize) -> [u8; BLOCK] {
    let at = name.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let (directory, file) = (name.part(..at), name.part(at..));
    let mut beside = ascii(&[directory, b"PaxHeaders.0/", file].concat());
    beside.truncate(NAME);
    let slashes = beside.iter().rev().take_while(|byte| **byte == b'/').count();
    beside.truncate(beside.len() - slashes);
    let header = HeaderFields {
        name: &beside,
        mode: 0,
        size: size as u64,
        kind: b'x',
    };
    let mut block = unsummed(header);
    // Go omits the device numbers of these.
    put(&mut block, 329, &[0; 16]);
    with_sum(block)
}

fn block(entry: HeaderFields<'_>, prefix: &[u8]) -> [u8; BLOCK] {
    let mut block = unsummed(entry);
    put(&mut block, 345, prefix);
    with_sum(block)
}

fn unsummed(entry: HeaderFields<'_>) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    put(&mut block, 0, entry.name);
    put(&mut block, 100, format!("{:07o}", entry.mode).as_bytes());
    put(&mut block, 108, b"0000000");
    put(&mut block, 116, b"0000000");
    put(&mut block, 124, format!("{:011o}", entry.size).as_bytes());
    put(&mut block, 136, b"00000000000");
    put(&mut block, 156, &[entry.kind]);
    put(&mut block, 257, b"ustar\x0000");
    put(&mut block, 329, b"0000000");
    put(&mut block, 337, b"0000000");
    block
}

fn with_sum(mut block: [u8; BLOCK]) -> [u8; BLOCK] {
    put(&mut block, 148, b"        ");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    put(&mut block, 148, format!("{sum:06o}\0 ").as_bytes());
    block
}

fn put(block: &mut [u8; BLOCK], at: usize, bytes: &[u8]) {
    if let Some(field) = block.get_mut(at..at + bytes.len()) {
        field.copy_from_slice(bytes);
    }
}

/// Prefix and name of a long ASCII name: split at the last `/` that leaves a prefix of at most 155 bytes.
fn split_name(name: &[u8]) -> Option<(&[u8], &[u8])> {
    if name.len() <= NAME || !name.is_ascii() {
        return None;
    }
    let head = name.get(..name.len().min(PREFIX + 1))?;
    let slash = head.iter().rposition(|byte| *byte == b'/').filter(|at| *at > 0)?;
    let (prefix, rest) = name.split_at_checked(slash)?;
    let rest = rest.get(1..)?;
    (rest.len() <= NAME && !rest.is_empty()).then_some((prefix, rest))
}

/// A name without characters that are not ASCII.
fn ascii(name: &[u8]) -> Vec<u8> {
    let ascii = runes(name).filter(|(rune, _)| rune.is_ascii() && *rune != '\0');
    ascii.filter_map(|(rune, _)| u8::try_from(rune).ok()).collect()
}

/// A name truncated to its field, without a `/` at its end, which would make it a directory.
fn cut(name: &[u8]) -> Vec<u8> {
    let Some(head) = name.get(..NAME).filter(|_| name.len() > NAME) else {
        return name.to_vec();
    };
    let mut head = head.to_vec();
    if head.ends_with(b"/") {
        let end = head.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
        if let Some(byte) = head.get_mut(end) {
            *byte = 0;
        }
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Algorithm;
    use serde_json::Value;

    /// Bytes stored in JSON as the runes U+0000 to U+00FF.
    fn bytes(value: &Value) -> Vec<u8> {
        let text = value.as_str().unwrap();
        text.chars()
            .map(|rune| u8::try_from(u32::from(rune)).unwrap())
            .collect()
    }

    #[test]
    fn headers_are_those_of_go() {
        let text = include_str!("../../../../../fixtures/artifact/headers.jsonl");
        assert!(text.lines().count() == 161);
        for line in text.lines() {
            let expected: Value = serde_json::from_str(line).unwrap();
            let name = bytes(&expected["path"]);
            let is_directory = expected["directory"].as_bool().unwrap();
            let blocks = header_blocks(HeaderFields {
                name: &name,
                mode: u32::try_from(expected["mode"].as_u64().unwrap()).unwrap(),
                size: expected["size"].as_u64().unwrap(),
                kind: if is_directory { DIRECTORY } else { REGULAR },
            });
            assert_eq!(blocks.len() as u64, expected["length"].as_u64().unwrap(), "{line}");
            let sum = Algorithm::Sha256.digest(&blocks);
            let shown = String::from_utf8_lossy(&blocks);
            assert_eq!(sum.hex(), expected["sha256"].as_str().unwrap(), "{line}\n{shown:?}");
        }
    }
}
