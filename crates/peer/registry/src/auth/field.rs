//! The field `auth` of docker's configurations: base64 of `NAME:PASSWORD`, in two dialects.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use zeroize::Zeroizing;

use super::config_fault::AuthFault;
use bumpwright_secret::Secret;

/// A dialect of `auth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// go-containerregistry's, for Secrets: padding is optional, the name may be empty.
    /// Source: go-containerregistry v0.21.6, `pkg/authn/authn.go`, `decodeDockerConfigFieldAuth`.
    Kubernetes,
    /// docker's, for the user's own configuration: padding and name are required, NULs around the password are dropped.
    /// Source: docker/cli v29.4.3, `cli/config/configfile/file.go`, `decodeAuth`.
    Docker,
}

/// As Go's `base64.StdEncoding`: trailing bits are ignored.
const PADDED: GeneralPurpose = engine(DecodePaddingMode::RequireCanonical);
/// As Go's `base64.RawStdEncoding`.
const UNPADDED: GeneralPurpose = engine(DecodePaddingMode::RequireNone);

const fn engine(padding: DecodePaddingMode) -> GeneralPurpose {
    let config = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(padding);
    GeneralPurpose::new(&STANDARD, config)
}

/// Decodes name and password of a field that is not empty.
///
/// # Errors
///
/// The fault, without any part of the field.
pub(crate) fn decode(field: &str, dialect: Dialect) -> Result<(String, Secret), AuthFault> {
    // Go's decoders skip line breaks.
    let field = Zeroizing::new(field.replace(['\r', '\n'], ""));
    let engine = match dialect {
        Dialect::Kubernetes if !field.ends_with('=') => UNPADDED,
        Dialect::Kubernetes | Dialect::Docker => PADDED,
    };
    let bytes = Zeroizing::new(engine.decode(field.as_bytes()).map_err(|_| AuthFault::NoBase64)?);
    let text = std::str::from_utf8(&bytes).map_err(|_| AuthFault::NoText)?;
    let (name, password) = text.split_once(':').ok_or(AuthFault::NoColon)?;
    let password = match dialect {
        Dialect::Kubernetes => password,
        Dialect::Docker if name.is_empty() => return Err(AuthFault::NoName),
        Dialect::Docker => password.trim_matches('\0'),
    };
    Ok((name.to_owned(), Secret::from(password)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_readings() {
        use AuthFault::{NoBase64, NoColon, NoName, NoText};
        let pair = |name: &str, password: &str| Ok((name.to_owned(), Secret::from(password)));
        for (field, kubernetes, docker) in [
            ("dTpwOng=", pair("u", "p:x"), pair("u", "p:x")),
            ("dTpwOng", pair("u", "p:x"), Err(NoBase64)),
            ("dTp\r\nwOng=\n", pair("u", "p:x"), pair("u", "p:x")),
            ("dTpwOn==", pair("u", "p:"), pair("u", "p:")),
            ("dTpwOng =", Err(NoBase64), Err(NoBase64)),
            (" dTpwOng", Err(NoBase64), Err(NoBase64)),
            ("dTpwOng==", Err(NoBase64), Err(NoBase64)),
            ("OnA=", pair("", "p"), Err(NoName)),
            ("dTo=", pair("u", ""), pair("u", "")),
            ("dXA=", Err(NoColon), Err(NoColon)),
            ("dTpwAAA=", pair("u", "p\0\0"), pair("u", "p")),
            ("dTr/", Err(NoText), Err(NoText)),
            ("dTpw_-==", Err(NoBase64), Err(NoBase64)),
        ] {
            assert_eq!(decode(field, Dialect::Kubernetes), kubernetes, "{field:?}");
            assert_eq!(decode(field, Dialect::Docker), docker, "{field:?}");
        }
    }
}
