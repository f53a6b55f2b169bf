//! ASN.1 as Go's `encoding/asn1` reads it into structs, with its texts for what does not fit: private keys are read so.

use super::der;

/// What Go's struct asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// `int`
    Int,
    /// `*big.Int`
    BigInt,
    /// `[]byte`
    Octets,
    /// `asn1.BitString`
    Bits,
    /// `asn1.ObjectIdentifier`
    Oid,
    /// `asn1.RawValue`: any element.
    Any,
    /// A struct.
    Struct(&'static Layout),
    /// A slice of structs.
    List(&'static Layout),
}

/// A struct.
#[derive(Debug)]
pub(super) struct Layout {
    pub name: &'static str,
    pub fields: &'static [Field],
}

/// A field of a struct.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    shape: Shape,
    optional: bool,
    /// The number of the tag that is around the field.
    explicit: Option<u32>,
}

/// What was read.
#[derive(Debug)]
pub(super) enum Node<'a> {
    /// An optional field that is not there.
    Absent,
    Int(i64),
    /// The content of an integer.
    BigInt(&'a [u8]),
    /// The content of an octet string.
    Octets(&'a [u8]),
    Bits,
    /// The content of an object identifier.
    Oid(&'a [u8]),
    /// An element with tag and length.
    Any(&'a [u8]),
    Struct(Vec<Node<'a>>),
    List(Vec<Node<'a>>),
}

/// Go's tag and length.
#[derive(Clone, Copy, Debug)]
struct Header {
    class: u8,
    tag: u32,
    length: usize,
    compound: bool,
}

const UNIVERSAL: u8 = 0;
const CONTEXT: u8 = 2;

impl Field {
    pub const fn new(shape: Shape) -> Self {
        Self {
            shape,
            optional: false,
            explicit: None,
        }
    }

    pub const fn optional(shape: Shape) -> Self {
        Self {
            shape,
            optional: true,
            explicit: None,
        }
    }

    pub const fn explicit(shape: Shape, tag: u32) -> Self {
        Self {
            shape,
            optional: true,
            explicit: Some(tag),
        }
    }
}

impl<'a> Node<'a> {
    /// The fields of a struct or the items of a list.
    pub fn nodes(&self) -> &[Node<'a>] {
        match self {
            Self::Struct(nodes) | Self::List(nodes) => nodes,
            _ => &[],
        }
    }

    /// The field of that index, as bytes.
    pub fn bytes(&self, index: usize) -> Option<&'a [u8]> {
        match self.nodes().get(index)? {
            Self::BigInt(bytes) | Self::Octets(bytes) | Self::Oid(bytes) | Self::Any(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The field of that index, as a number; zero when it is absent.
    pub fn int(&self, index: usize) -> i64 {
        match self.nodes().get(index) {
            Some(Self::Int(number)) => *number,
            _ => 0,
        }
    }
}

/// Reads a struct; what is left behind it comes back, too.
pub(super) fn unmarshal<'a>(layout: &'static Layout, text: &'a [u8]) -> Result<(Node<'a>, &'a [u8]), String> {
    let (node, end) = field(&Field::new(Shape::Struct(layout)), text, 0)?;
    Ok((node, text.get(end..).unwrap_or_default()))
}

/// Reads an octet string on its own.
pub(super) fn octets(text: &[u8]) -> Result<&[u8], String> {
    match field(&Field::new(Shape::Octets), text, 0)? {
        (Node::Octets(bytes), _) => Ok(bytes),
        _ => Ok(&[]),
    }
}

/// Reads an object identifier on its own.
pub(super) fn oid(text: &[u8]) -> Result<&[u8], String> {
    match field(&Field::new(Shape::Oid), text, 0)? {
        (Node::Oid(bytes), _) => Ok(bytes),
        _ => Ok(&[]),
    }
}

fn structure(what: &str) -> String {
    format!("asn1: structure error: {what}")
}

fn syntax(what: &str) -> String {
    format!("asn1: syntax error: {what}")
}

/// Tag and length at an offset, and the offset after them.
fn header(text: &[u8], offset: usize) -> Result<(Header, usize), String> {
    let truncated = || syntax("truncated tag or length");
    let rest = text.get(offset..).unwrap_or_default();
    let (&first, mut rest) = rest.split_first().ok_or_else(truncated)?;
    let mut tag = u32::from(first & 0x1f);
    if tag == 0x1f {
        (tag, rest) = der::base128(rest)?;
        if tag < 0x1f {
            return Err(syntax("non-minimal tag"));
        }
    }
    let (&byte, mut rest) = rest.split_first().ok_or_else(truncated)?;
    let mut length = usize::from(byte & 0x7f);
    if byte & 0x80 != 0 {
        let count = std::mem::take(&mut length);
        if count == 0 {
            return Err(syntax("indefinite length found (not DER)"));
        }
        for _ in 0..count {
            let (&byte, after) = rest.split_first().ok_or_else(truncated)?;
            if length >= 1 << 23 {
                return Err(structure("length too large"));
            }
            length = length << 8 | usize::from(byte);
            if length == 0 {
                return Err(structure("superfluous leading zeros in length"));
            }
            rest = after;
        }
        if length < 0x80 {
            return Err(structure("non-minimal length"));
        }
    }
    let header = Header {
        class: first >> 6,
        tag,
        length,
        compound: first & 0x20 != 0,
    };
    Ok((header, text.len() - rest.len()))
}

/// Reads a field at an offset; comes back with the offset after it. The layouts nest only a few levels deep.
fn field<'a>(of: &Field, text: &'a [u8], start: usize) -> Result<(Node<'a>, usize), String> {
    let absent = |error: String| {
        if of.optional {
            Ok((Node::Absent, start))
        } else {
            Err(error)
        }
    };
    if start == text.len() {
        return absent(syntax("sequence truncated"));
    }
    let (mut found, mut offset) = header(text, start)?;
    if let Some(tag) = of.explicit {
        if offset == text.len() {
            return Err(structure("explicit tag has no child"));
        }
        if found.class != CONTEXT || found.tag != tag || !(found.length == 0 || found.compound) {
            return absent(structure("explicitly tagged member didn't match"));
        }
        if found.length == 0 {
            return Err(structure("zero length explicit tag was not an asn1.Flag"));
        }
        (found, offset) = header(text, offset)?;
    }
    if let Some((tag, compound)) = of.shape.universal()
        && (found.class != UNIVERSAL || found.tag != tag || found.compound != compound)
    {
        return absent(mismatch(of, tag, found, offset));
    }
    let end = offset + found.length;
    let inner = text.get(offset..end).ok_or_else(|| syntax("data truncated"))?;
    let node = match of.shape {
        Shape::Int => {
            check_integer(inner)?;
            Node::Int(der::int64(inner).ok_or_else(|| structure("integer too large"))?)
        }
        Shape::BigInt => {
            check_integer(inner)?;
            Node::BigInt(inner)
        }
        Shape::Octets => Node::Octets(inner),
        Shape::Bits => {
            check_bits(inner)?;
            Node::Bits
        }
        Shape::Oid => {
            der::oid_numbers(inner)?;
            Node::Oid(inner)
        }
        Shape::Any => Node::Any(text.get(start..end).unwrap_or_default()),
        Shape::Struct(layout) => Node::Struct(fields(layout, inner)?),
        Shape::List(layout) => Node::List(list(layout, inner)?),
    };
    Ok((node, end))
}

fn fields<'a>(layout: &'static Layout, text: &'a [u8]) -> Result<Vec<Node<'a>>, String> {
    let mut nodes = Vec::with_capacity(layout.fields.len());
    let mut offset = 0;
    for of in layout.fields {
        let (node, next) = field(of, text, offset)?;
        nodes.push(node);
        offset = next;
    }
    Ok(nodes)
}

/// Looks at all items first, as Go does, so that its error is the same.
fn list<'a>(layout: &'static Layout, text: &'a [u8]) -> Result<Vec<Node<'a>>, String> {
    let of = Field::new(Shape::Struct(layout));
    let mut starts = Vec::new();
    let mut offset = 0;
    while offset < text.len() {
        starts.push(offset);
        let (found, content) = header(text, offset)?;
        if (found.class, Some((found.tag, found.compound))) != (UNIVERSAL, of.shape.universal()) {
            return Err(structure("sequence tag mismatch"));
        }
        offset = content + found.length;
        if offset > text.len() {
            return Err(syntax("truncated sequence"));
        }
    }
    starts
        .into_iter()
        .map(|start| field(&of, text, start).map(|(node, _)| node))
        .collect()
}

impl Shape {
    /// The tag and whether it is made of elements; `None`: whatever comes.
    fn universal(self) -> Option<(u32, bool)> {
        Some(match self {
            Self::Int | Self::BigInt => (2, false),
            Self::Bits => (3, false),
            Self::Octets => (4, false),
            Self::Oid => (6, false),
            Self::Struct(_) | Self::List(_) => (16, true),
            Self::Any => return None,
        })
    }

    /// The name of the type in Go; types without one have none.
    fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Bits => "BitString",
            Self::Oid => "ObjectIdentifier",
            Self::Any => "RawValue",
            Self::Struct(layout) => layout.name,
            Self::BigInt | Self::Octets | Self::List(_) => "",
        }
    }
}

/// Go prints its own structs here. Only fields that must be there come this far, and those have no tags.
fn mismatch(of: &Field, expected: u32, found: Header, offset: usize) -> String {
    let Header {
        class,
        tag,
        length,
        compound,
    } = found;
    structure(&format!(
        "tags don't match ({expected} vs {{class:{class} tag:{tag} length:{length} isCompound:{compound}}}) \
         {{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 \
         timeType:0 set:false omitEmpty:false}} {} @{offset}",
        of.shape.name()
    ))
}

fn check_integer(content: &[u8]) -> Result<(), String> {
    if content.is_empty() {
        return Err(structure("empty integer"));
    }
    if !der::is_minimal(content) {
        return Err(structure("integer not minimally-encoded"));
    }
    Ok(())
}

fn check_bits(content: &[u8]) -> Result<(), String> {
    if content.is_empty() {
        return Err(syntax("zero length BIT STRING"));
    }
    match der::bits(content) {
        Some(_) => Ok(()),
        None => Err(syntax("invalid padding bits in BIT STRING")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    static PAIR: Layout = Layout {
        name: "pair",
        fields: &[
            Field::new(Shape::Int),
            Field::explicit(Shape::Oid, 0),
            Field::optional(Shape::Octets),
        ],
    };

    #[test]
    fn optional_fields_may_be_missing() {
        let (node, rest) = unmarshal(&PAIR, &[0x30, 5, 2, 1, 7, 4, 0, 0xff]).unwrap();
        assert_eq!((node.int(0), node.bytes(1), node.bytes(2)), (7, None, Some(&[][..])));
        assert_eq!(rest, [0xff]);
        let (node, _) = unmarshal(&PAIR, &[0x30, 8, 2, 1, 7, 0xa0, 3, 6, 1, 0x2a]).unwrap();
        assert_eq!(node.bytes(1), Some(&[0x2a][..]));
    }

    #[test]
    fn says_what_go_says() {
        for (text, error) in [
            (&[][..], "asn1: syntax error: sequence truncated"),
            (&[0x30, 1, 2], "asn1: syntax error: truncated tag or length"),
            (&[0x30, 3], "asn1: syntax error: data truncated"),
            (&[0x30, 3, 2, 1], "asn1: syntax error: data truncated"),
            (&[0x30, 0x80], "asn1: syntax error: indefinite length found (not DER)"),
            (&[0x30, 0x81, 3, 2, 1, 7], "asn1: structure error: non-minimal length"),
            (
                &[0x30, 4, 2, 2, 0, 7],
                "asn1: structure error: integer not minimally-encoded",
            ),
            (
                &[0x30, 2, 4, 0],
                "asn1: structure error: tags don't match (2 vs {class:0 tag:4 length:0 isCompound:false}) \
                 {optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> \
                 stringType:0 timeType:0 set:false omitEmpty:false} int @2",
            ),
        ] {
            assert_eq!(unmarshal(&PAIR, text).unwrap_err(), error, "{text:?}");
        }
    }
}
