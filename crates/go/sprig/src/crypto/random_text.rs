//! Texts by chance.

use crate::text::encoding::base64;
use bumpwright_template::{Args, Failure, Function, Host, INT, STRING, Value};
use bumpwright_text::Parts;

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    // Helm looks up hosts only with `--enable-dns`.
    Function::new("getHostByName", &[&STRING], &STRING, |_, _| Ok(Value::text(""))),
    Function::new("randAlpha", &[&INT], &STRING, |host, args| drawn(host, args, LETTERS)),
    Function::new("randAlphaNum", &[&INT], &STRING, |host, args| {
        drawn(host, args, LETTERS_AND_DIGITS)
    }),
    Function::new("randAscii", &[&INT], &STRING, |host, args| drawn(host, args, PRINTABLE)),
    Function::new("randBytes", &[&INT], &STRING, bytes),
    Function::new("randNumeric", &[&INT], &STRING, |host, args| drawn(host, args, DIGITS)),
    Function::new("uuidv4", &[], &STRING, |host, _| Ok(Value::text(uuid(host)))),
];

const DIGITS: &[u8] = b"0123456789";
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LETTERS_AND_DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PRINTABLE: &[u8] =
    b" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";

/// So many characters of an alphabet, each as likely as any other.
fn drawn(host: &mut Host<'_>, args: Args<'_>, alphabet: &[u8]) -> Result<Value, Failure> {
    // Sprig returns nothing where the generator refuses the length.
    let Ok(count) = usize::try_from(args.int(0)?) else {
        return Ok(Value::text(""));
    };
    host.produce(count)?;
    host.step(count as u64)?;
    // Bytes from here on would make the first characters likelier.
    let fair = 256 - 256 % alphabet.len();
    let mut text = Vec::with_capacity(count);
    let mut buffer = [0; 64];
    while text.len() < count {
        host.step(1)?;
        host.world().random(&mut buffer);
        let bytes = buffer.iter().map(|byte| usize::from(*byte));
        let fair = bytes.filter(|byte| *byte < fair);
        let characters = fair.filter_map(|byte| alphabet.get(byte % alphabet.len()));
        text.extend(characters.take(count - text.len()));
    }
    Ok(Value::text(text))
}

fn bytes(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let count =
        usize::try_from(args.int(0)?).map_err(|_| Failure::new("runtime error: makeslice: len out of range"))?;
    host.produce(count.saturating_mul(3))?;
    let mut buffer = vec![0; count];
    host.world().random(&mut buffer);
    Ok(Value::text(base64(&buffer)))
}

fn uuid(host: &Host<'_>) -> String {
    let mut bytes = [0; 16];
    host.world().random(&mut bytes);
    let number = u128::from_be_bytes(bytes);
    let version = number & !(0xf << 76) | 4 << 76;
    let number = version & !(0b11 << 62) | 0b10 << 62;
    let hex = format!("{number:032x}");
    let part = |range| hex.part(range);
    [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use crate::testing::call_any;
    use bumpwright_template::Value;

    fn text(name: &str, arguments: &[Value]) -> String {
        match call_any(name, arguments).unwrap() {
            Value::String(text) => text.lossy().into_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn texts_have_their_length_and_alphabet() {
        for (name, fits) in [
            ("randAlpha", char::is_alphabetic as fn(char) -> bool),
            ("randAlphaNum", char::is_alphanumeric),
            ("randNumeric", char::is_numeric),
            ("randAscii", |character| (' '..='~').contains(&character)),
        ] {
            let drawn = text(name, &[Value::int(100)]);
            assert!(drawn.len() == 100 && drawn.chars().all(fits), "{name}: {drawn}");
        }
        assert_eq!(text("randAlpha", &[Value::int(-1)]), "");
        let uuid = text("uuidv4", &[]);
        assert_eq!((uuid.len(), uuid.get(14..15)), (36, Some("4")));
    }
}
