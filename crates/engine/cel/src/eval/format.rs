//! `'%s is %d'.format([name, count])`, as the second version of cel-go's `ext.Strings` formats.

use super::budget::Budget;
use super::outcome::Outcome;
use crate::check::format_clause::Clause;
use crate::value::{Fault, Value, convert_seconds, moment};
use bumpwright_gostd::{Digits, append_float, format_float};

/// The greatest precision that Go's `fmt` accepts.
const MAX_PRECISION: i64 = 1_000_000;

/// Formats values.
///
/// # Errors
/// When a clause does not accept its value, or there are fewer values than clauses.
pub fn format(text: &str, list: &[Value], budget: &mut Budget) -> Outcome {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    let mut index = 0;
    while let [first, behind @ ..] = rest {
        match (first, behind) {
            (b'%', [b'%', behind @ ..]) => {
                out.push(b'%');
                rest = behind;
            }
            (b'%', clause) => {
                let Some(value) = list.get(index) else {
                    return Err(Fault::new(format!("index {index} out of range")));
                };
                index += 1;
                let (piece, behind) = one(clause, value)?;
                budget.bytes(piece.len())?;
                out.extend_from_slice(&piece);
                rest = behind;
            }
            (byte, behind) => {
                out.push(*byte);
                rest = behind;
            }
        }
    }
    Ok(Value::string(&String::from_utf8_lossy(&out)))
}

fn one<'t>(clause: &'t [u8], value: &Value) -> Result<(Vec<u8>, &'t [u8]), Fault> {
    if clause.is_empty() {
        return Err(Fault::new("unexpected end of string"));
    }
    let (clause, rest) = Clause::parse(clause).map_err(|error| Fault::new(error.to_string()))?;
    let piece = match clause.verb {
        b's' => string(value),
        b'd' => decimal(value),
        b'f' | b'e' => float(value, clause),
        b'b' => binary(value),
        b'o' => octal(value),
        verb => hex(value, verb == b'X'),
    };
    let piece = piece.map_err(|refused| Fault::new(clause.refusal(refused)))?;
    Ok((piece, rest))
}

/// The text of a value, or the name of a type that the clause does not accept.
type Piece = Result<Vec<u8>, &'static str>;

fn special(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        Some("NaN")
    } else if number == f64::NEG_INFINITY {
        Some("-Infinity")
    } else if number == f64::INFINITY {
        Some("Infinity")
    } else {
        None
    }
}

fn plain_double(number: f64) -> String {
    special(number).map_or_else(|| format_float(number, b'f', None, 64), str::to_owned)
}

fn string(value: &Value) -> Piece {
    let mut out = Vec::new();
    append(&mut out, value)?;
    Ok(out)
}

fn append(out: &mut Vec<u8>, value: &Value) -> Result<(), &'static str> {
    match value {
        Value::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Value::Int(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Uint(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Double(number) => out.extend_from_slice(plain_double(*number).as_bytes()),
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
        Value::String(text) => out.extend_from_slice(text.as_bytes()),
        Value::Duration(span) => out.extend_from_slice(convert_seconds(*span).as_bytes()),
        Value::Timestamp(time) => {
            let time = time.clone().in_zone(bumpwright_gostd::Zone::Utc);
            out.extend_from_slice(moment(&time).as_bytes());
        }
        Value::Null => out.extend_from_slice(b"null"),
        Value::Type(name) => out.extend_from_slice(name.as_bytes()),
        Value::List(list) => {
            out.push(b'[');
            for (index, element) in list.iter().enumerate() {
                if index > 0 {
                    out.extend_from_slice(b", ");
                }
                append(out, element)?;
            }
            out.push(b']');
        }
        Value::Map(map) => {
            let mut entries = Vec::with_capacity(map.len());
            for (key, value) in map.iter() {
                entries.push((string(&key.value())?, string(value)?));
            }
            entries.sort_by(|(left, _), (right, _)| left.cmp(right));
            let entries: Vec<Vec<u8>> = entries
                .into_iter()
                .map(|(key, value)| [key.as_slice(), b": ", value.as_slice()].concat())
                .collect();
            out.push(b'{');
            out.extend_from_slice(&entries.join(b", ".as_slice()));
            out.push(b'}');
        }
        Value::Optional(_) => return Err(value.type_name()),
    }
    Ok(())
}

fn decimal(value: &Value) -> Piece {
    match value {
        Value::Int(number) => Ok(number.to_string().into_bytes()),
        Value::Uint(number) => Ok(number.to_string().into_bytes()),
        Value::Double(number) => Ok(plain_double(*number).into_bytes()),
        _ => Err(value.type_name()),
    }
}

/// Go's `fmt` reports integers within the text, as they are not floats.
fn float(value: &Value, clause: Clause) -> Piece {
    let Clause { verb, precision } = clause;
    let name = char::from(verb);
    let not_a_float = |kind: &str, digits: String| Ok(format!("%!{name}({kind}={digits})").into_bytes());
    let number = match value {
        Value::Int(number) => return not_a_float("int64", padded(*number < 0, number.unsigned_abs(), precision)),
        Value::Uint(number) => return not_a_float("uint64", padded(false, *number, precision)),
        Value::Double(number) => *number,
        _ => return Err(value.type_name()),
    };
    if let Some(special) = special(number) {
        return Ok(special.as_bytes().to_vec());
    }
    if precision > MAX_PRECISION {
        return Ok(format!("%!(BADPREC)%!{name}(float64={number})").into_bytes());
    }
    let mut out = Vec::new();
    append_float(&mut out, number, verb, usize::try_from(precision).ok(), 64);
    Ok(out)
}

/// A number with at least that many digits.
fn padded(negative: bool, number: u64, digits: i64) -> String {
    let width = usize::try_from(digits.clamp(0, 1000)).unwrap_or(0);
    let sign = if negative { "-" } else { "" };
    format!("{sign}{number:0>width$}")
}

fn in_base(negative: bool, number: u64, base: u32) -> Vec<u8> {
    let mut out = Vec::new();
    if negative {
        out.push(b'-');
    }
    out.extend_from_slice(Digits::new(number, base).bytes());
    out
}

fn binary(value: &Value) -> Piece {
    match value {
        Value::Bool(value) => Ok(vec![b'0' + u8::from(*value)]),
        Value::Int(number) => Ok(in_base(*number < 0, number.unsigned_abs(), 2)),
        Value::Uint(number) => Ok(in_base(false, *number, 2)),
        _ => Err(value.type_name()),
    }
}

fn octal(value: &Value) -> Piece {
    match value {
        Value::Int(number) => Ok(in_base(*number < 0, number.unsigned_abs(), 8)),
        Value::Uint(number) => Ok(in_base(false, *number, 8)),
        _ => Err(value.type_name()),
    }
}

fn hex(value: &Value, upper: bool) -> Piece {
    let of_bytes = |bytes: &[u8]| {
        bytes
            .iter()
            .flat_map(|byte| bumpwright_gostd::hex_pair(*byte))
            .collect()
    };
    let mut out: Vec<u8> = match value {
        Value::Int(number) => in_base(*number < 0, number.unsigned_abs(), 16),
        Value::Uint(number) => in_base(false, *number, 16),
        Value::String(text) => of_bytes(text.as_bytes()),
        Value::Bytes(bytes) => of_bytes(bytes),
        _ => return Err(value.type_name()),
    };
    if upper {
        out.make_ascii_uppercase();
    } else {
        out.make_ascii_lowercase();
    }
    Ok(out)
}
