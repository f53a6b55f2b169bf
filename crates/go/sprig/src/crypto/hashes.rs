//! Hashes, passwords, encryption.

use super::derive_password::derive;
use super::private_keys::generate;
use crate::text::encoding::unbase64;
use aes::Aes256;
use base64::{Engine, prelude::BASE64_STANDARD};
use bumpwright_template::{Args, Failure, Function, Host, STRING, UINT32, Value};
use bumpwright_text::Parts;
use cbc::cipher::{
    BlockModeDecrypt, BlockModeEncrypt, KeyIvInit,
    block_padding::{NoPadding, Pkcs7},
};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use zeroize::{Zeroize, Zeroizing};

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("adler32sum", &[&STRING], &STRING, adler32sum),
    Function::new("bcrypt", &[&STRING], &STRING, bcrypt),
    Function::new("decryptAES", &[&STRING, &STRING], &STRING, decrypt_aes),
    Function::new(
        "derivePassword",
        &[&UINT32, &STRING, &STRING, &STRING, &STRING],
        &STRING,
        derive,
    ),
    Function::new("encryptAES", &[&STRING, &STRING], &STRING, encrypt_aes),
    Function::new("genPrivateKey", &[&STRING], &STRING, generate),
    Function::new("htpasswd", &[&STRING, &STRING], &STRING, htpasswd),
    Function::new("sha1sum", &[&STRING], &STRING, sha1sum),
    Function::new("sha256sum", &[&STRING], &STRING, sha256sum),
    Function::new("sha512sum", &[&STRING], &STRING, sha512sum),
];

/// Bytes that are hashed or encrypted in one step of the rendering.
const BYTES_A_STEP: usize = 64;
/// The cost of bcrypt, in steps: some hundredths of a second.
const BCRYPT_STEPS: u64 = 500_000;
/// Go's `bcrypt.DefaultCost`.
const BCRYPT_COST: u32 = 10;
/// The longest text that bcrypt hashes; Go rejects longer ones.
const BCRYPT_LONGEST: usize = 72;
/// The block of AES, which is also the size of its initialization vector.
const BLOCK: usize = 16;

fn walk(host: &mut Host<'_>, bytes: &[u8]) -> Result<(), Failure> {
    host.step((bytes.len() / BYTES_A_STEP) as u64)
}

fn hash<D: Digest>(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let text = args.text(0)?;
    walk(host, text)?;
    let hex: String = D::digest(&**text).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(hex.into())
}

fn sha1sum(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    hash::<Sha1>(host, args)
}

fn sha256sum(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    hash::<Sha256>(host, args)
}

fn sha512sum(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    hash::<Sha512>(host, args)
}

fn adler32sum(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    const MODULUS: u32 = 65_521;
    let text = args.text(0)?;
    walk(host, text)?;
    let (low, high) = text.iter().fold((1, 0), |(low, high), &byte| {
        let low = (low + u32::from(byte)) % MODULUS;
        (low, (high + low) % MODULUS)
    });
    Ok((high << 16 | low).to_string().into())
}

fn bcrypt(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(bcrypt_hash(host, args.text(0)?)?.into())
}

fn htpasswd(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let (user, password) = (args.text(0)?, args.text(1)?);
    let text = if user.contains(&b':') {
        [b"invalid username: ", &**user].concat()
    } else {
        [user, b":".as_slice(), bcrypt_hash(host, password)?.as_bytes()].concat()
    };
    Ok(Value::text(text))
}

fn bcrypt_hash(host: &mut Host<'_>, password: &[u8]) -> Result<String, Failure> {
    if password.len() > BCRYPT_LONGEST {
        let text = "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes";
        return Ok(text.to_owned());
    }
    host.step(BCRYPT_STEPS)?;
    let mut salt = [0; 16];
    host.world().random(&mut salt);
    // The C implementation hashes the NUL at the end, too, where it has room.
    let mut key = Zeroizing::new([password, b"\0".as_slice()].concat());
    key.truncate(BCRYPT_LONGEST);
    let hash = bcrypt::bcrypt(BCRYPT_COST, salt, &key);
    // And it omits the last byte.
    let hash = hash.split_last().map_or([].as_slice(), |(_, kept)| kept);
    let encode = |bytes: &[u8]| bcrypt::BASE_64.encode(bytes);
    Ok(format!("$2a${BCRYPT_COST}${}{}", encode(&salt), encode(hash)))
}

/// The password cut or padded with zeros to the size of the key, as Sprig does.
fn aes_key(password: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    for (to, from) in key.iter_mut().zip(password) {
        *to = *from;
    }
    key
}

fn encrypt_aes(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let (password, plain) = (args.text(0)?, args.text(1)?);
    if plain.is_empty() {
        return Ok("".into());
    }
    walk(host, plain)?;
    host.produce(plain.len().saturating_mul(3))?;
    let mut vector = [0; BLOCK];
    host.world().random(&mut vector);
    let encrypted =
        cbc::Encryptor::<Aes256>::new(&(*aes_key(password)).into(), &vector.into()).encrypt_padded_vec::<Pkcs7>(plain);
    Ok(BASE64_STANDARD.encode([&vector, encrypted.as_slice()].concat()).into())
}

fn decrypt_aes(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let (password, text) = (args.text(0)?, args.text(1)?);
    if text.is_empty() {
        return Ok("".into());
    }
    walk(host, text)?;
    host.produce(text.len().saturating_mul(2))?;
    let crypt = unbase64(text).map_err(|error| Failure::new(error.to_string()))?;
    let Some((vector, blocks)) = crypt.split_first_chunk::<BLOCK>() else {
        return Err(too_short(text.len(), crypt.len()));
    };
    if blocks.len() % BLOCK != 0 {
        return Err(Failure::new("crypto/cipher: input not full blocks"));
    }
    let mut plain = cbc::Decryptor::<Aes256>::new(&(*aes_key(password)).into(), &(*vector).into())
        .decrypt_padded_vec::<NoPadding>(blocks)
        .map_err(|_| Failure::new("crypto/cipher: input not full blocks"))?;
    let Some(&padding) = plain.last() else {
        return Err(Failure::new("runtime error: index out of range [-1]"));
    };
    match plain.len().checked_sub(padding.into()) {
        Some(length) => {
            let text = Value::text(plain.part(..length));
            plain.zeroize();
            Ok(text)
        }
        None => {
            let length = plain.len() as i64 - i64::from(padding);
            plain.zeroize();
            Err(Failure::new(format!(
                "runtime error: slice bounds out of range [:{length}]"
            )))
        }
    }
}

/// Go slices off the vector without a check, and the limit depends on the capacity of the decoded buffer: that has
/// room for all of the text, line breaks and padding, too.
fn too_short(text: usize, decoded: usize) -> Failure {
    let capacity = text / 4 * 3;
    Failure::new(if capacity < BLOCK {
        format!("runtime error: slice bounds out of range [:{BLOCK}] with capacity {capacity}")
    } else {
        format!("runtime error: slice bounds out of range [{BLOCK}:{decoded}]")
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::testing::{FixedWorld, call};
    use bumpwright_template::Limits;

    fn text(name: &str, arguments: &[&str]) -> String {
        let arguments: Vec<Value> = arguments.iter().map(|&argument| argument.into()).collect();
        match call(name, &arguments).unwrap() {
            Value::String(text) => text.lossy().into_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn sums() {
        assert_eq!(text("sha1sum", &["abc"]), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(
            text("sha256sum", &["abc"]),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert!(text("sha512sum", &["abc"]).starts_with("ddaf35a193617abacc417349ae204131"));
        assert_eq!(text("adler32sum", &["Wikipedia"]), "300286872");
        assert_eq!(text("adler32sum", &[&"\u{ff}".repeat(100_000)]), "1840914372");
    }

    #[test]
    fn bcrypt_hashes_can_be_recomputed() {
        for password in ["", "secret", &"x".repeat(71), &"x".repeat(72)] {
            let hash = text("bcrypt", &[password]);
            assert_eq!(hash.len(), 60, "{password}");
            // 22 letters of salt: only two bits of the last one count.
            let salt = hash.strip_prefix("$2a$10$").unwrap().split_at(22).0;
            let salt: [u8; 16] = bcrypt::BASE_64.decode(salt).unwrap().try_into().unwrap();
            let mut key = format!("{password}\0").into_bytes();
            key.truncate(72);
            let again = bcrypt::BASE_64.encode(&bcrypt::bcrypt(10, salt, &key)[..23]);
            assert_eq!(hash[29..], again, "{password}");
        }
        assert_eq!(
            text("bcrypt", &[&"x".repeat(73)]),
            "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes"
        );
        assert_eq!(text("htpasswd", &["a:b", "c"]), "invalid username: a:b");
        assert!(text("htpasswd", &["a", "c"]).starts_with("a:$2a$10$"));
    }

    #[test]
    fn what_is_encrypted_can_be_decrypted() {
        for length in [1, 15, 16, 17, 100] {
            let plain = "é".repeat(length);
            let crypt = text("encryptAES", &["password", &plain]);
            assert_eq!(
                BASE64_STANDARD.decode(&crypt).unwrap().len(),
                16 + 16 * (plain.len() / 16 + 1)
            );
            assert_eq!(text("decryptAES", &["password", &crypt]), plain);
        }
        assert_eq!(text("encryptAES", &["password", ""]), "");
        assert_eq!(text("decryptAES", &["password", ""]), "");
    }

    #[test]
    fn what_cannot_be_decrypted_fails_as_in_go() {
        let zeros = |count| BASE64_STANDARD.encode(vec![0; count]);
        for (crypt, error) in [
            ("QUJD!".to_owned(), "illegal base64 data at input byte 4"),
            (
                zeros(15),
                "runtime error: slice bounds out of range [:16] with capacity 15",
            ),
            (
                format!("{}\n\n\n\n", zeros(15)),
                "runtime error: slice bounds out of range [16:15]",
            ),
            (zeros(16), "runtime error: index out of range [-1]"),
            (zeros(17), "crypto/cipher: input not full blocks"),
        ] {
            let failure = call("decryptAES", &["password".into(), crypt.as_str().into()]).unwrap_err();
            assert_eq!(failure, Failure::new(error), "{crypt:?}");
        }
    }

    #[test]
    fn a_loop_of_slow_functions_runs_into_the_limit() {
        let mut host = Host::new(
            Limits {
                steps: BCRYPT_STEPS * 2,
                ..Limits::default()
            },
            &FixedWorld,
        );
        let arguments = ["x".into()];
        let mut hash = || super::bcrypt(&mut host, Args(&arguments));
        assert!(hash().is_ok() && hash().is_ok());
        assert!(matches!(hash(), Err(Failure::Limit(_))));
    }
}
