//! Certificates as Go's `crypto/x509` reads them: all of it is looked at, in Go's order, and little is kept.

use super::{
    der::{self, Element, Reader},
    public_keys::PublicKey,
    x509_extensions::{self, Extension},
};
use crate::{
    gostd::{Time, quote},
    template::Failure,
};

/// What signing needs to know of a certificate.
#[derive(Debug)]
pub(super) struct Certificate {
    /// The subject, encoded.
    pub subject: Vec<u8>,
    /// The subject's key identifier; empty when it has none.
    pub key_id: Vec<u8>,
    /// `None`: of an algorithm that Go does not know.
    pub public: Option<PublicKey>,
}

/// An algorithm with its parameters.
struct Algorithm<'a> {
    oid: &'a [u8],
    /// An element, or nothing.
    parameters: &'a [u8],
}

pub(super) fn wrong(what: &str) -> Failure {
    Failure::new(format!("x509: {what}"))
}

/// Go's `x509.ParseCertificate`.
pub(super) fn parse(text: &[u8]) -> Result<Certificate, Failure> {
    let mut input = Reader(text);
    let outer = input
        .element(der::SEQUENCE)
        .ok_or_else(|| wrong("malformed certificate"))?;
    let certificate = parse_parts(Reader(outer.content))?;
    if !input.is_empty() {
        return Err(wrong("trailing data"));
    }
    Ok(certificate)
}

fn parse_parts(mut outer: Reader<'_>) -> Result<Certificate, Failure> {
    let mut inner = outer
        .inside(der::SEQUENCE)
        .ok_or_else(|| wrong("malformed tbs certificate"))?;
    let version = version(&mut inner)?;
    let serial = inner.integer().ok_or_else(|| wrong("malformed serial number"))?;
    if serial.first().is_some_and(|first| first & 0x80 != 0) {
        return Err(wrong("negative serial number"));
    }
    let algorithm = inner
        .inside(der::SEQUENCE)
        .ok_or_else(|| wrong("malformed signature algorithm identifier"))?;
    let again = outer
        .inside(der::SEQUENCE)
        .ok_or_else(|| wrong("malformed algorithm identifier"))?;
    if again.0 != algorithm.0 {
        return Err(wrong("inner and outer signature algorithm identifiers don't match"));
    }
    parse_algorithm(algorithm)?;
    name(&mut inner)?;
    let mut validity = inner.inside(der::SEQUENCE).ok_or_else(|| wrong("malformed validity"))?;
    time(&mut validity)?;
    time(&mut validity)?;
    let subject = name(&mut inner)?.whole.to_vec();
    let public = public_key(&mut inner)?;
    let key_id = further(&mut inner, version)?;
    outer.bits().ok_or_else(|| wrong("malformed signature"))?;
    Ok(Certificate {
        subject,
        key_id,
        public,
    })
}

/// The version, counted from 1.
fn version(reader: &mut Reader<'_>) -> Result<i64, Failure> {
    let malformed = || wrong("malformed version");
    let version = match reader.optional(der::context_constructed(0)).ok_or_else(malformed)? {
        None => 0,
        Some(mut inside) => inside
            .int64(der::INTEGER)
            .filter(|&version| version >= 0 && inside.is_empty())
            .ok_or_else(malformed)?,
    };
    if version > 2 {
        return Err(wrong("invalid version"));
    }
    Ok(version + 1)
}

fn parse_algorithm(mut reader: Reader<'_>) -> Result<Algorithm<'_>, Failure> {
    let oid = reader.oid().ok_or_else(|| wrong("malformed OID"))?;
    if reader.is_empty() {
        return Ok(Algorithm { oid, parameters: &[] });
    }
    let parameters = reader.any().ok_or_else(|| wrong("malformed parameters"))?.whole;
    Ok(Algorithm { oid, parameters })
}

/// A distinguished name.
fn name<'a>(reader: &mut Reader<'a>) -> Result<Element<'a>, Failure> {
    // Go says "issuer" of the subject, too.
    let name = reader.element(der::SEQUENCE).ok_or_else(|| wrong("malformed issuer"))?;
    let invalid = |what: &str| wrong(&format!("invalid RDNSequence{what}"));
    let mut sets = Reader(name.content);
    while !sets.is_empty() {
        let mut set = sets.inside(der::SET).ok_or_else(|| invalid(""))?;
        while !set.is_empty() {
            let mut attribute = set
                .inside(der::SEQUENCE)
                .ok_or_else(|| invalid(": invalid attribute"))?;
            attribute.oid().ok_or_else(|| invalid(": invalid attribute type"))?;
            let value = attribute.any().ok_or_else(|| invalid(": invalid attribute value"))?;
            check_string(value).map_err(|what| invalid(&format!(": invalid attribute value: {what}")))?;
        }
    }
    Ok(name)
}

/// Whether a string has only the characters of its type.
fn check_string(value: Element<'_>) -> Result<(), String> {
    let text = value.content;
    let (fine, what) = match value.tag {
        der::T61_STRING => (true, ""),
        der::PRINTABLE_STRING => (text.iter().all(|&byte| is_printable(byte)), "PrintableString"),
        der::UTF8_STRING => (std::str::from_utf8(text).is_ok(), "UTF-8 string"),
        der::BMP_STRING => (is_bmp(text), "BMPString"),
        der::IA5_STRING => (is_ia5(text), "IA5String"),
        der::NUMERIC_STRING => (
            text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b' ')),
            "NumericString",
        ),
        other => return Err(format!("unsupported string type: {other}")),
    };
    if fine { Ok(()) } else { Err(format!("invalid {what}")) }
}

/// Go also takes `*` and `&`, which certificates have though they should not.
fn is_printable(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"'()+,-./ :=?*&".contains(&byte)
}

/// Go looks for characters beyond ASCII; a byte that is no character counts as one.
pub(super) fn is_ia5(text: &[u8]) -> bool {
    text.is_ascii()
}

fn is_bmp(text: &[u8]) -> bool {
    let text = text.strip_suffix(&[0, 0]).unwrap_or(text);
    text.len() % 2 == 0
        && text.chunks_exact(2).all(|unit| {
            let unit = unit.iter().fold(0, |unit, &byte| unit << 8 | u16::from(byte));
            !matches!(unit, 0xfffe | 0xffff | 0xfdd0..=0xfdef | 0xd800..=0xdfff)
        })
}

fn time(reader: &mut Reader<'_>) -> Result<(), Failure> {
    let (tag, layouts, what): (_, &[&[u8]], _) = if reader.peek(der::UTC_TIME) {
        (
            der::UTC_TIME,
            &[b"060102150405Z0700", b"0601021504Z0700"],
            "malformed UTCTime",
        )
    } else if reader.peek(der::GENERALIZED_TIME) {
        (
            der::GENERALIZED_TIME,
            &[b"20060102150405Z0700"],
            "malformed GeneralizedTime",
        )
    } else {
        return Err(wrong("unsupported time format"));
    };
    let fine = reader
        .inside(tag)
        .is_some_and(|text| layouts.iter().any(|layout| is_time(layout, text.0)));
    if fine { Ok(()) } else { Err(wrong(what)) }
}

/// Whether the text is a time, and would be written like that.
fn is_time(layout: &[u8], text: &[u8]) -> bool {
    Time::parse(layout, text).is_ok_and(|time| time.format(layout) == text)
}

fn public_key(reader: &mut Reader<'_>) -> Result<Option<PublicKey>, Failure> {
    let mut info = reader.inside(der::SEQUENCE).ok_or_else(|| wrong("malformed spki"))?;
    let algorithm = info
        .inside(der::SEQUENCE)
        .ok_or_else(|| wrong("malformed public key algorithm identifier"))?;
    let algorithm = parse_algorithm(algorithm)?;
    let bits = info.bits().ok_or_else(|| wrong("malformed subjectPublicKey"))?;
    PublicKey::parse(algorithm.oid, algorithm.parameters, &bits.right_aligned())
}

/// The unique identifiers and the extensions; comes back with the subject's key identifier.
fn further(reader: &mut Reader<'_>, version: i64) -> Result<Vec<u8>, Failure> {
    if version < 2 {
        return Ok(Vec::new());
    }
    for (number, what) in [(1, "issuerUniqueID"), (2, "subjectUniqueID")] {
        reader
            .optional(der::context(number))
            .ok_or_else(|| wrong(&format!("malformed {what}")))?;
    }
    if version < 3 {
        return Ok(Vec::new());
    }
    let malformed = || wrong("malformed extensions");
    let Some(mut wrapped) = reader.optional(der::context_constructed(3)).ok_or_else(malformed)? else {
        return Ok(Vec::new());
    };
    let mut list = wrapped.inside(der::SEQUENCE).ok_or_else(malformed)?;
    let mut extensions: Vec<Extension<'_>> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    while !list.is_empty() {
        let extension = list.inside(der::SEQUENCE).ok_or_else(|| wrong("malformed extension"))?;
        let extension = parse_extension(extension)?;
        if !seen.insert(extension.oid) {
            let oid = quote(&der::oid_text(extension.oid));
            return Err(wrong(&format!(
                "certificate contains duplicate extension with OID {oid}"
            )));
        }
        extensions.push(extension);
    }
    let mut key_id = Vec::new();
    for extension in &extensions {
        if let Some(id) = x509_extensions::check(extension)? {
            key_id = id.to_vec();
        }
    }
    Ok(key_id)
}

fn parse_extension(mut reader: Reader<'_>) -> Result<Extension<'_>, Failure> {
    let oid = reader.oid().ok_or_else(|| wrong("malformed extension OID field"))?;
    let critical = if reader.peek(der::BOOLEAN) {
        reader
            .boolean()
            .ok_or_else(|| wrong("malformed extension critical field"))?
    } else {
        false
    };
    let value = reader
        .inside(der::OCTET_STRING)
        .ok_or_else(|| wrong("malformed extension value field"))?;
    Ok(Extension {
        oid,
        critical,
        value: value.0,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn times_are_those_that_go_would_write() {
        for (text, fine) in [
            ("240229120000Z", true),
            ("230229120000Z", false),
            ("2402291200Z", true),
            ("240229120000+0130", true),
            ("240229120000+0000", false),
            ("240229120000.5Z", false),
            ("240229120000", false),
        ] {
            let element = der::element(der::UTC_TIME, text.as_bytes());
            assert_eq!(time(&mut Reader(&element)).is_ok(), fine, "{text}");
        }
    }

    #[test]
    fn says_what_is_malformed() {
        for (text, error) in [
            (&[][..], "x509: malformed certificate"),
            (&[0x30, 0], "x509: malformed tbs certificate"),
            (&[0x30, 2, 0x30, 0], "x509: malformed serial number"),
            (&[0x30, 7, 0x30, 5, 0xa0, 3, 2, 1, 3], "x509: invalid version"),
            (&[0x30, 5, 0x30, 3, 2, 1, 0xff], "x509: negative serial number"),
        ] {
            assert_eq!(parse(text).unwrap_err(), Failure::new(error), "{text:?}");
        }
    }
}
