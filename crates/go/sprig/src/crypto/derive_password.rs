//! `derivePassword`: the Master Password algorithm, a password for each site derived from a single one.

use bumpwright_template::{Args, Failure, Host, Text, Value};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

const SEED: &[u8] = b"com.lyndir.masterpassword";

/// The cost of scrypt, in steps of the rendering: some tenths of a second.
const STEPS: u64 = 500_000;

/// `derivePassword COUNTER TYPE PASSWORD USER SITE`
pub(crate) fn derive(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let &Value::Uint(_, counter) = args.value(0)?.bare() else {
        return Err(Failure::new("internal: the counter is not an unsigned integer"));
    };
    let (kind, password, user, site) = (args.text(1)?, args.text(2)?, args.text(3)?, args.text(4)?);
    let Some(templates) = templates(kind) else {
        let mut text = b"cannot find password template ".to_vec();
        text.extend_from_slice(kind);
        return Ok(Value::text(text));
    };
    host.step(STEPS)?;
    let failed = |error: &dyn std::fmt::Display| Failure::new(format!("failed to derive password: {error}"));

    let salt = [SEED, &length(user), user].concat();
    let parameters = scrypt::Params::new(15, 8, 2).map_err(|error| failed(&error))?;
    let mut key = Zeroizing::new([0; 64]);
    scrypt::scrypt(password, &salt, &parameters, key.as_mut()).map_err(|error| failed(&error))?;

    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key.as_ref()).map_err(|error| failed(&error))?;
    mac.update(SEED);
    mac.update(&length(site));
    mac.update(site);
    mac.update(&(counter as u32).to_be_bytes());
    let seed: Zeroizing<[u8; 32]> = Zeroizing::new(mac.finalize().into_bytes().into());

    let (&first, rest) = seed.split_first().unwrap_or((&0, &[]));
    let template = pick(templates, first).copied().unwrap_or_default();
    let derived: Vec<u8> = template
        .bytes()
        .zip(rest)
        .filter_map(|(class, &byte)| pick(characters(class), byte).copied())
        .collect();
    Ok(Value::text(derived))
}

/// The length prefix of a text in the algorithm.
fn length(text: &Text) -> [u8; 4] {
    (text.len() as u32).to_be_bytes()
}

fn pick<T>(from: &[T], byte: u8) -> Option<&T> {
    from.get(usize::from(byte).checked_rem(from.len())?)
}

/// The possible templates of a password type.
fn templates(kind: &[u8]) -> Option<&'static [&'static str]> {
    Some(match kind {
        b"maximum" => &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"],
        b"long" => &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
        b"medium" => &["CvcnoCvc", "CvcCvcno"],
        b"short" => &["Cvcn"],
        b"basic" => &["aaanaaan", "aannaaan", "aaannaaa"],
        b"pin" => &["nnnn"],
        _ => return None,
    })
}

/// The characters for a letter of a template.
fn characters(class: u8) -> &'static [u8] {
    match class {
        b'V' => b"AEIOU",
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'A' => b"AEIOUBCDFGHJKLMNPQRSTVWXYZ",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        b'x' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
        _ => b"",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use crate::testing::call;
    use bumpwright_template::{UintKind, Value};

    #[test]
    fn derives_what_the_published_algorithm_does() {
        for (kind, expected) in [
            ("long", "ZedaFaxcZaso9*"),
            ("maximum", "pf4zS1LjCg&LjhsZ7T2~"),
            ("medium", "ZedJuz8$"),
            ("basic", "pIS54PLs"),
            ("short", "Zed5"),
            ("pin", "6685"),
            ("other", "cannot find password template other"),
        ] {
            let arguments = [
                Value::Uint(UintKind::Uint32, 1),
                kind.into(),
                "password".into(),
                "user".into(),
                "example.com".into(),
            ];
            let Value::String(text) = call("derivePassword", &arguments).unwrap() else {
                panic!("not a text")
            };
            assert_eq!(text.lossy(), expected, "{kind}");
        }
    }
}
