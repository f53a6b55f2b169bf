//! Splits a raw commit or tag into payload and signature, as git and go-git do (v5.19.1, `object/signature.go`,
//! `commit_scanner.go`, `tag_scanner.go`).

use bumpwright_text::{Cuts, Parts};

/// The object format of a repository, which decides which header of a commit has the signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectFormat {
    /// Ids are SHA-1 hashes; signatures of commits are in `gpgsig`.
    Sha1,
    /// Ids are SHA-256 hashes; signatures of commits are in `gpgsig-sha256`.
    Sha256,
}

impl ObjectFormat {
    const fn header(self) -> &'static [u8] {
        match self {
            Self::Sha1 => b"gpgsig",
            Self::Sha256 => b"gpgsig-sha256",
        }
    }
}

/// The signed payload of an object, and its signature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignedObject {
    /// The object without any signature.
    pub payload: Vec<u8>,
    /// The signature in its armour; empty if absent.
    pub signature: Vec<u8>,
}

/// First lines of signatures at the end of a tag (gpg-interface.c, `parse_signed_buffer`), including kinds that are not
/// supported here.
const ARMOURS: [&[u8]; 5] = [
    b"-----BEGIN PGP SIGNATURE-----",
    b"-----BEGIN PGP MESSAGE-----",
    b"-----BEGIN CERTIFICATE-----",
    b"-----BEGIN SIGNED MESSAGE-----",
    b"-----BEGIN SSH SIGNATURE-----",
];

/// Splits a commit (its content, without the `commit LENGTH` of loose objects).
#[must_use]
pub fn commit(raw: &[u8], format: ObjectFormat) -> SignedObject {
    let (header, _) = header_and_body(raw);
    SignedObject {
        payload: without_signatures(raw),
        signature: header_value(header, format.header()),
    }
}

/// Splits an annotated tag: what follows the last line that opens a signature in its message is the signature.
#[must_use]
pub fn tag(raw: &[u8]) -> SignedObject {
    let (header, body) = header_and_body(raw);
    match last_armour(body) {
        Some(at) => {
            let (signed, _) = raw.split_at_checked(header.len() + at).unwrap_or((raw, &[]));
            SignedObject {
                payload: without_signatures(signed),
                signature: body.part(at..).to_vec(),
            }
        }
        None => SignedObject {
            payload: without_signatures(raw),
            signature: Vec::new(),
        },
    }
}

/// The value of a header of a tag or commit up to the end of its line, for example `v1.2.3` for `tag`.
#[must_use]
pub fn header(raw: &[u8], name: &str) -> Option<String> {
    let (header, _) = header_and_body(raw);
    let header_value = lines(header).find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b" "));
    header_value.map(|value| String::from_utf8_lossy(value.trim_ascii_end()).into_owned())
}

/// The headers with the empty line that ends them, and the rest.
fn header_and_body(raw: &[u8]) -> (&[u8], &[u8]) {
    let mut end = 0;
    for line in lines(raw) {
        end += line.len();
        if line == b"\n" {
            break;
        }
    }
    raw.split_at_checked(end).unwrap_or((raw, &[]))
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

/// The value of a header with its continuation lines; the values of repeated headers are joined.
fn header_value(header: &[u8], name: &[u8]) -> Vec<u8> {
    let mut value = Vec::new();
    let mut inside = false;
    for line in lines(header) {
        if let Some(more) = line.strip_prefix(b" ") {
            if inside {
                value.extend_from_slice(more);
            }
            continue;
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let found = line.before(b' ');
        inside = found == name;
        if inside {
            value.extend_from_slice(line.tail(found.len() + 1));
            value.push(b'\n');
        }
    }
    value
}

/// The bytes without the signature headers of both object formats.
fn without_signatures(raw: &[u8]) -> Vec<u8> {
    let (header, body) = header_and_body(raw);
    let mut signed = Vec::with_capacity(raw.len());
    let mut skipping = false;
    for line in lines(header) {
        skipping = match line.first() {
            Some(b' ') => skipping,
            _ => line.starts_with(b"gpgsig ") || line.starts_with(b"gpgsig-sha256 "),
        };
        if !skipping {
            signed.extend_from_slice(line);
        }
    }
    signed.extend_from_slice(body);
    signed
}

fn last_armour(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut last = None;
    for line in lines(text) {
        if ARMOURS.iter().any(|armour| line.starts_with(armour)) {
            last = Some(at);
        }
        at += line.len();
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a@x> 1 +0000\ncommitter A <a@x> 1 +0000\n";

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    #[test]
    fn the_header_of_the_repository_s_own_format_is_the_signature() {
        let raw =
            format!("{HEAD}gpgsig one\n two\n \n three\ngpgsig-sha256 four\n five\nx-other y\n\nmessage\ngpgsig no\n");
        let split = commit(raw.as_bytes(), ObjectFormat::Sha1);
        assert_eq!(text(&split.signature), "one\ntwo\n\nthree\n");
        assert_eq!(text(&split.payload), format!("{HEAD}x-other y\n\nmessage\ngpgsig no\n"));
        let other = commit(raw.as_bytes(), ObjectFormat::Sha256);
        assert_eq!(text(&other.signature), "four\nfive\n");
        assert_eq!(other.payload, split.payload);
    }

    #[test]
    fn headers_that_only_look_like_signatures_stay() {
        let raw = format!("{HEAD}gpgsig2 one\n two\nmergetag object 1\n gpgsig x\n\nmessage");
        let split = commit(raw.as_bytes(), ObjectFormat::Sha1);
        assert_eq!(text(&split.signature), "");
        assert_eq!(text(&split.payload), raw);
    }

    #[test]
    fn the_last_block_of_a_tag_is_its_signature() {
        let head = "object 1\ntype commit\ntag v1\ntagger A <a@x> 1 +0000\n";
        let first = "-----BEGIN PGP SIGNATURE-----\nquoted\n";
        let last = "-----BEGIN SSH SIGNATURE-----\nU1NI\n-----END SSH SIGNATURE-----\n";
        let raw = format!("{head}gpgsig-sha256 a\n b\n\nmessage\n{first}{last}");
        let split = tag(raw.as_bytes());
        assert_eq!(text(&split.signature), last);
        assert_eq!(text(&split.payload), format!("{head}\nmessage\n{first}"));
        assert_eq!(header(raw.as_bytes(), "tag").as_deref(), Some("v1"));

        let plain = format!("{head}\nmessage -----BEGIN SSH SIGNATURE-----\n");
        assert_eq!(tag(plain.as_bytes()).signature, b"");
        assert_eq!(text(&tag(plain.as_bytes()).payload), plain);
    }

    #[test]
    fn bytes_that_are_no_object_give_no_signature() {
        for raw in [&b""[..], b"\n", b"\n\n", b"gpgsig", b" x", b"\xff\xfe\n"] {
            assert_eq!(tag(raw).signature, b"");
            assert_eq!(tag(raw).payload, raw);
        }
    }
}
