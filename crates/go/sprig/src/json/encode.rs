//! Go's `json.Marshal`.

use super::fields::json_fields;
use crate::text::encoding::base64;
use bumpwright_gostd::{first_rune, format_float, quote};
use bumpwright_template::{Failure, FloatKind, Host, Map, Pointer, Slice, Struct, Type, TypeKind, Value, find_method};

/// From this depth on, Go records the enclosing values, to find cycles.
const DEPTH_OF_SUSPICION: usize = 1_000;

/// The JSON of a value. With `html`, `<`, `>` and `&` are escaped, so that it can stand in a web page.
///
/// # Errors
/// A limit of the host was reached, or the value has no JSON.
pub fn encode(host: &mut Host<'_>, value: &Value, html: bool) -> Result<Vec<u8>, Failure> {
    let mut encoder = Encoder {
        out: Vec::new(),
        html,
        // Sprig passes a pointer to the value to Go when it wants no escaping, and that counts as a level, too.
        depth: usize::from(!html),
        inside: Vec::new(),
    };
    encoder.encode(host, value, false)?;
    Ok(encoder.out)
}

/// Compact JSON on lines of its own, indented by two spaces.
pub(crate) fn indent(host: &mut Host<'_>, compact: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut rest = compact;
    while let [byte, after @ ..] = rest {
        let mut line = false;
        match byte {
            _ if in_string => {
                in_string = escaped || *byte != b'"';
                escaped = !escaped && *byte == b'\\';
            }
            b'"' => in_string = true,
            b'{' | b'[' if !matches!(after, [b'}' | b']', ..]) => {
                depth += 1;
                line = true;
            }
            b'}' | b']' if !matches!(out.last(), Some(b'{' | b'[')) => {
                depth = depth.saturating_sub(1);
                push_line(host, &mut out, depth)?;
            }
            b',' => line = true,
            _ => {}
        }
        out.push(*byte);
        if *byte == b':' && !in_string {
            out.push(b' ');
        }
        if line {
            push_line(host, &mut out, depth)?;
        }
        rest = after;
    }
    host.produce(compact.len())?;
    Ok(out)
}

fn push_line(host: &mut Host<'_>, out: &mut Vec<u8>, depth: usize) -> Result<(), Failure> {
    host.produce(1 + 2 * depth)?;
    out.push(b'\n');
    out.resize(out.len() + 2 * depth, b' ');
    Ok(())
}

/// A byte of the longest escape: `\u0001`.
const MOST_PER_BYTE: usize = 6;

struct Encoder {
    out: Vec<u8>,
    html: bool,
    depth: usize,
    inside: Vec<Enclosing>,
}

/// A map, slice or pointer by its address.
enum Enclosing {
    Map(Map),
    Slice(*const [Value]),
    Pointer(*const Value),
}

impl Enclosing {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Map(a), Self::Map(b)) => a.is_same(b),
            (Self::Slice(a), Self::Slice(b)) => std::ptr::eq(*a, *b),
            (Self::Pointer(a), Self::Pointer(b)) => std::ptr::eq(*a, *b),
            _ => false,
        }
    }
}

impl Encoder {
    /// `addressable`: whether the place of the value is addressable, so that methods of pointers to it count.
    fn encode(&mut self, host: &mut Host<'_>, value: &Value, addressable: bool) -> Result<(), Failure> {
        host.step(1)?;
        if self.encode_by_method(host, value, addressable)? {
            return Ok(());
        }
        let before = self.out.len();
        match value.bare() {
            Value::Nil => self.push("null"),
            Value::Bool(truth) => self.push(if *truth { "true" } else { "false" }),
            Value::Int(_, number) => self.push(&number.to_string()),
            Value::Uint(_, number) => self.push(&number.to_string()),
            Value::Float(kind, number) => self.push(&float(*number, *kind)?),
            Value::Complex(..) => return Err(unsupported_type(value)),
            Value::String(text) => {
                host.produce(text.len().saturating_mul(MOST_PER_BYTE))?;
                push_string(&mut self.out, text, self.html);
            }
            _ => return host.deeper(|host| self.encode_container(host, value, addressable)),
        }
        host.produce(self.out.len() - before)
    }

    fn encode_container(&mut self, host: &mut Host<'_>, value: &Value, addressable: bool) -> Result<(), Failure> {
        match value.bare() {
            Value::Slice(slice) => self.encode_slice(host, slice, value),
            Value::Array(array) => self.encode_items(host, array.items(), addressable && !array.item.is_interface()),
            Value::Map(map) => self.encode_map(host, map, value),
            Value::Struct(of) => self.encode_struct(host, of, addressable),
            Value::Pointer(Pointer {
                to,
                target: Some(target),
            }) => {
                let inside = Enclosing::Pointer(std::ptr::from_ref(&**target));
                self.inside(host, value, inside, |encoder, host| {
                    encoder.encode(host, target, !to.is_interface())
                })
            }
            _ => {
                self.push("null");
                host.produce(4)
            }
        }
    }

    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Encodes values with a JSON or text method of their own. Returns false for others.
    fn encode_by_method(&mut self, host: &mut Host<'_>, value: &Value, addressable: bool) -> Result<bool, Failure> {
        let Some(of @ (Type::Struct(_) | Type::Named(_) | Type::Pointer(_))) = value.type_of() else {
            return Ok(false);
        };
        for name in ["MarshalJSON", "MarshalText"] {
            let Some(method) = find_method(&of, name, addressable) else {
                continue;
            };
            if matches!(value, Value::Pointer(Pointer { target: None, .. })) {
                self.push("null");
                return Ok(true);
            }
            let text = method.call(host, value).map_err(|failure| match failure {
                Failure::Error(text) => Failure::new(format!("json: error calling {name} for type {of}: {text}")),
                limit => limit,
            })?;
            let text = text_of(&text);
            host.produce(text.len().saturating_mul(MOST_PER_BYTE))?;
            match name {
                "MarshalJSON" => self.out.extend(text),
                _ => push_string(&mut self.out, &text, self.html),
            }
            return Ok(true);
        }
        Ok(false)
    }

    fn encode_slice(&mut self, host: &mut Host<'_>, slice: &Slice, value: &Value) -> Result<(), Failure> {
        if slice.is_nil() {
            self.push("null");
            return host.produce(4);
        }
        if slice.item.kind_name() == "uint8" {
            let bytes = base64(&text_of(value));
            host.produce(bytes.len())?;
            self.push("\"");
            self.out.extend(bytes);
            self.push("\"");
            return Ok(());
        }
        let inside = Enclosing::Slice(std::ptr::from_ref(slice.items()));
        self.inside(host, value, inside, |encoder, host| {
            encoder.encode_items(host, slice.items(), !slice.item.is_interface())
        })
    }

    fn encode_items(&mut self, host: &mut Host<'_>, items: &[Value], addressable: bool) -> Result<(), Failure> {
        let mut before = b'[';
        for item in items {
            self.out.push(before);
            before = b',';
            self.encode(host, item, addressable)?;
        }
        self.push(if before == b'[' { "[]" } else { "]" });
        host.produce(items.len() + 2)
    }

    fn encode_map(&mut self, host: &mut Host<'_>, map: &Map, value: &Value) -> Result<(), Failure> {
        let plain = matches!(map.key.kind(), TypeKind::String | TypeKind::Int | TypeKind::Uint);
        if !plain && find_method(map.key, "MarshalText", false).is_none() {
            return Err(unsupported_type(value));
        }
        if map.is_nil() {
            self.push("null");
            return host.produce(4);
        }
        self.inside(host, value, Enclosing::Map(map.clone()), |encoder, host| {
            let mut entries = Vec::new();
            let listed = map.counted_entries(host)?;
            for (key, item) in listed.iter() {
                host.step(1)?;
                entries.push((key_text(host, key, value)?, item));
            }
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            let mut before = b'{';
            for (key, item) in entries {
                let start = encoder.out.len();
                encoder.out.push(before);
                before = b',';
                push_string(&mut encoder.out, &key, encoder.html);
                encoder.out.push(b':');
                host.produce(encoder.out.len() - start)?;
                encoder.encode(host, item, false)?;
            }
            encoder.push(if before == b'{' { "{}" } else { "}" });
            host.produce(2)
        })
    }

    fn encode_struct(&mut self, host: &mut Host<'_>, of: &Struct, addressable: bool) -> Result<(), Failure> {
        let mut before = b'{';
        for field in json_fields(of.of) {
            let Some((value, addressable)) = field_at(of, &field.path, addressable) else {
                continue;
            };
            if field.omit_empty && is_empty(value) {
                continue;
            }
            let start = self.out.len();
            self.out.push(before);
            before = b',';
            push_string(&mut self.out, field.name.as_bytes(), self.html);
            self.out.push(b':');
            host.produce(self.out.len() - start)?;
            self.encode(host, value, addressable)?;
        }
        self.push(if before == b'{' { "{}" } else { "}" });
        host.produce(2)
    }

    /// Runs `inner` within a value that could contain itself.
    fn inside(
        &mut self,
        host: &mut Host<'_>,
        value: &Value,
        inside: Enclosing,
        inner: impl FnOnce(&mut Self, &mut Host<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.depth += 1;
        let suspicious = self.depth > DEPTH_OF_SUSPICION;
        if suspicious {
            host.step(self.inside.len() as u64 / 64)?;
            if self.inside.iter().any(|outer| outer.is_same(&inside)) {
                let of = value.type_of().map_or_else(String::new, |of| of.to_string());
                return Err(Failure::new(format!(
                    "json: unsupported value: encountered a cycle via {of}"
                )));
            }
            self.inside.push(inside);
        }
        inner(self, host)?;
        if suspicious {
            self.inside.pop();
        }
        self.depth -= 1;
        Ok(())
    }
}

fn unsupported_type(value: &Value) -> Failure {
    let of = value.type_of().map_or_else(String::new, |of| of.to_string());
    Failure::new(format!("json: unsupported type: {of}"))
}

/// The bytes of a string or of a slice of bytes.
fn text_of(value: &Value) -> Vec<u8> {
    match (value.bare(), value.items()) {
        (Value::String(text), _) => text.to_vec(),
        (_, Some(items)) => {
            let byte = |item: &Value| match item.bare() {
                Value::Uint(_, byte) => *byte as u8,
                _ => 0,
            };
            items.iter().map(byte).collect()
        }
        _ => Vec::new(),
    }
}

/// The key of an object for the key of a map.
fn key_text(host: &mut Host<'_>, key: &Value, map: &Value) -> Result<Vec<u8>, Failure> {
    if let Value::String(text) = key.bare() {
        return Ok(text.to_vec());
    }
    if let Some(method) = key.type_of().and_then(|of| find_method(&of, "MarshalText", false)) {
        let text = method.call(host, key).map_err(|failure| match failure {
            Failure::Error(text) => {
                let of = map.type_of().map_or_else(String::new, |of| of.to_string());
                Failure::new(format!(
                    "json: encoding error for type {}: {}",
                    quote(&of),
                    quote(&text)
                ))
            }
            limit => limit,
        })?;
        return Ok(text_of(&text));
    }
    Ok(match key.bare() {
        Value::Int(_, number) => number.to_string().into_bytes(),
        Value::Uint(_, number) => number.to_string().into_bytes(),
        _ => Vec::new(),
    })
}

/// The value of a field, and whether it is addressable; `None` when an embedded pointer on the way is nil.
fn field_at<'v>(of: &'v Struct, path: &[usize], addressable: bool) -> Option<(&'v Value, bool)> {
    let (first, rest) = path.split_first()?;
    let (value, ty) = (of.fields().get(*first)?, of.of.fields.get(*first)?.ty);
    if rest.is_empty() {
        return Some((value, addressable && !ty.is_interface()));
    }
    match value {
        Value::Struct(inner) => field_at(inner, rest, addressable),
        Value::Pointer(Pointer {
            target: Some(target), ..
        }) => match &**target {
            Value::Struct(inner) => field_at(inner, rest, true),
            _ => None,
        },
        _ => None,
    }
}

/// Whether `omitempty` omits it.
fn is_empty(value: &Value) -> bool {
    match value.bare() {
        Value::Bool(truth) => !truth,
        Value::Int(_, number) => *number == 0,
        Value::Uint(_, number) => *number == 0,
        Value::Float(_, number) => *number == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Slice(slice) => slice.items().is_empty(),
        Value::Array(array) => array.items().is_empty(),
        Value::Map(map) => map.is_empty(),
        value => value.is_nil(),
    }
}

/// As JavaScript writes numbers: exponents only for very small and very large ones.
fn float(number: f64, kind: FloatKind) -> Result<String, Failure> {
    let bits = if kind == FloatKind::Float32 { 32 } else { 64 };
    if !number.is_finite() {
        let text = format_float(number, b'g', None, bits);
        return Err(Failure::new(format!("json: unsupported value: {text}")));
    }
    let size = number.abs();
    let plain = match bits {
        32 => size == 0.0 || (1e-6_f32..1e21).contains(&(size as f32)),
        _ => size == 0.0 || (1e-6..1e21).contains(&size),
    };
    if plain {
        return Ok(format_float(number, b'f', None, bits));
    }
    let text = format_float(number, b'e', None, bits);
    Ok(match text.split_once("e-0") {
        Some((digits, exponent)) => format!("{digits}e-{exponent}"),
        None => text,
    })
}

fn push_string(out: &mut Vec<u8>, text: &[u8], html: bool) {
    out.push(b'"');
    let mut rest = text;
    while let Some((ch, length)) = first_rune(rest) {
        let (bytes, after) = rest.split_at_checked(length).unwrap_or((rest, b""));
        rest = after;
        match ch {
            '"' | '\\' => out.extend([b'\\', ch as u8]),
            '\u{8}' => out.extend(b"\\b"),
            '\u{c}' => out.extend(b"\\f"),
            '\n' => out.extend(b"\\n"),
            '\r' => out.extend(b"\\r"),
            '\t' => out.extend(b"\\t"),
            '<' | '>' | '&' if !html => out.push(ch as u8),
            '\0'..'\u{20}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => push_escape(out, ch),
            // Only one byte: it is not valid UTF-8.
            '\u{fffd}' if length == 1 => push_escape(out, ch),
            _ => out.extend_from_slice(bytes),
        }
    }
    out.push(b'"');
}

fn push_escape(out: &mut Vec<u8>, ch: char) {
    out.extend_from_slice(format!("\\u{:04x}", u32::from(ch)).as_bytes());
}
