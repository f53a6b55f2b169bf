//! Verification of a policy's images by their signatures (`bumpwright.dev/verify-…`): which, by whom, and
//! what becomes of others.

use super::annotation::{InvalidAnnotation, PREFIX};
use bumpwright_re2::Regexp;

/// Greatest number of identities.
const MAX_IDENTITIES: usize = 16;
const IDENTITY: &str = "a line for each identity such as issuer=https://issuer.example subject=ann@acme.example, with ~ in place of = before a \
                        regular expression of the whole text";
const ROOT: &str = "Secret/NAME or ConfigMap/NAME";
const NAME: &str = "the name of a Secret";

/// Whose signatures an image needs to be chosen.
#[derive(Clone, Debug)]
pub struct Verification {
    pub signers: Signers,
    /// The attestation that is wanted instead of a signature.
    pub attestation: Option<Provenance>,
    /// Whether lower tags are candidates when higher ones do not verify.
    pub fallback: bool,
}

/// The signers whose signatures count.
#[derive(Clone, Debug)]
pub enum Signers {
    /// Holders of the keys of a Secret (cosign).
    Keys(String),
    /// Identities (cosign), by the trusted root of an object, or the one that ships.
    Identities(Vec<Identity>, Option<TrustedRootRef>),
    /// Owners of certificates, by a Secret with certificates and a trust policy (Notation).
    Notation(String),
}

/// The object with a trusted root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedRootRef {
    /// Whether it is a ConfigMap; a Secret otherwise.
    pub is_config_map: bool,
    /// Its name, in the namespace of the policy.
    pub name: String,
}

/// An attestation of SLSA's provenance that is required.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The builder, if only this one counts.
    pub builder: Option<String>,
}

/// An identity that is accepted.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The issuer of the identity.
    pub issuer: Text,
    pub subject: Text,
}

/// A text that is accepted.
#[derive(Clone, Debug)]
pub enum Text {
    Exactly(String),
    /// Those that match as a whole.
    Matching(Regexp),
}

/// The annotations, with their keys.
#[derive(Default)]
struct Given<'a> {
    provider: Option<&'a str>,
    secret: Option<&'a str>,
    identity: Option<&'a str>,
    root: Option<&'a str>,
    attestation: Option<&'a str>,
    builder: Option<&'a str>,
    fallback: Option<&'a str>,
}

impl Verification {
    /// Reads a policy's annotations, without those of others; `None` when it wants no verification.
    ///
    /// # Errors
    /// [`InvalidAnnotation`] for one that does not parse, or that means nothing beside the others.
    pub(super) fn read(ours: &[(&str, &str)]) -> Result<Option<Self>, InvalidAnnotation> {
        let mut given = Given::default();
        for (key, value) in ours {
            match *key {
                "verify-provider" => given.provider = Some(value),
                "verify-secret" => given.secret = Some(value),
                "verify-identity" => given.identity = Some(value),
                "verify-trusted-root" => given.root = Some(value),
                "verify-attestation" => given.attestation = Some(value),
                "verify-builder-id" => given.builder = Some(value),
                "verify-fallback" => given.fallback = Some(value),
                _ => {}
            }
        }
        let Some(provider) = given.provider else {
            let any = ours.iter().find(|(key, _)| key.starts_with("verify-"));
            return match any {
                Some((key, _)) => Err(beside(key, "verify-provider is missing")),
                None => Ok(None),
            };
        };
        let signers = match provider {
            "cosign" => given.cosign()?,
            "notation" => given.notation()?,
            other => return Err(InvalidAnnotation::value("verify-provider", other, "cosign or notation")),
        };
        Ok(Some(Self {
            signers,
            attestation: given.provenance()?,
            fallback: match given.fallback {
                None | Some("false") => false,
                Some("true") => true,
                Some(other) => {
                    return Err(InvalidAnnotation::value(
                        "verify-fallback",
                        other,
                        "\"true\" or \"false\"",
                    ));
                }
            },
        }))
    }
}

impl Signers {
    /// The Secrets that are needed.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let own = match self {
            Self::Keys(name) | Self::Notation(name) => Some(name.as_str()),
            Self::Identities(..) => None,
        };
        let root = self.trusted_root().filter(|root| !root.is_config_map);
        own.into_iter().chain(root.map(|root| root.name.as_str()))
    }

    /// The ConfigMap that is needed.
    pub fn config_map(&self) -> Option<&str> {
        let root = self.trusted_root().filter(|root| root.is_config_map);
        root.map(|root| root.name.as_str())
    }

    fn trusted_root(&self) -> Option<&TrustedRootRef> {
        match self {
            Self::Identities(_, root) => root.as_ref(),
            _ => None,
        }
    }
}

impl Given<'_> {
    fn cosign(&self) -> Result<Signers, InvalidAnnotation> {
        match (self.secret, self.identity) {
            (Some(_), Some(_)) => Err(beside("verify-identity", "verify-secret names keys already")),
            (None, None) => Err(beside(
                "verify-provider",
                "cosign needs verify-secret (keys) or verify-identity",
            )),
            (Some(_), None) if self.root.is_some() => {
                Err(beside("verify-trusted-root", "it is for verify-identity, not for keys"))
            }
            (Some(secret), None) => Ok(Signers::Keys(named("verify-secret", secret, NAME)?)),
            (None, Some(identity)) => {
                let root = self.root.map(trusted_root).transpose()?;
                Ok(Signers::Identities(identities(identity)?, root))
            }
        }
    }

    fn notation(&self) -> Result<Signers, InvalidAnnotation> {
        for (key, value) in [
            ("verify-identity", self.identity),
            ("verify-trusted-root", self.root),
            ("verify-attestation", self.attestation),
        ] {
            if value.is_some() {
                return Err(beside(key, "notation does not have it"));
            }
        }
        let missing = || {
            beside(
                "verify-provider",
                "notation needs verify-secret (certificates and trustpolicy.json)",
            )
        };
        let secret = self.secret.ok_or_else(missing)?;
        Ok(Signers::Notation(named("verify-secret", secret, NAME)?))
    }

    fn provenance(&self) -> Result<Option<Provenance>, InvalidAnnotation> {
        match (self.attestation, self.builder) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(beside("verify-builder-id", "verify-attestation is missing")),
            (Some("slsaprovenance"), Some("")) => {
                Err(InvalidAnnotation::value("verify-builder-id", "", "the id of a builder"))
            }
            (Some("slsaprovenance"), builder) => Ok(Some(Provenance {
                builder: builder.map(str::to_owned),
            })),
            (Some(other), _) => Err(InvalidAnnotation::value("verify-attestation", other, "slsaprovenance")),
        }
    }
}

fn named(key: &'static str, name: &str, grammar: &'static str) -> Result<String, InvalidAnnotation> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    if !name.is_empty() && name.len() <= 253 && name.bytes().all(allowed) {
        Ok(name.to_owned())
    } else {
        Err(InvalidAnnotation::value(key, name, grammar))
    }
}

fn trusted_root(value: &str) -> Result<TrustedRootRef, InvalidAnnotation> {
    let wrong = || InvalidAnnotation::value("verify-trusted-root", value, ROOT);
    let (kind, name) = value.split_once('/').ok_or_else(wrong)?;
    let is_config_map = match kind {
        "ConfigMap" => true,
        "Secret" => false,
        _ => return Err(wrong()),
    };
    let name = named("verify-trusted-root", name, ROOT).map_err(|_| wrong())?;
    Ok(TrustedRootRef { is_config_map, name })
}

fn identities(value: &str) -> Result<Vec<Identity>, InvalidAnnotation> {
    let wrong = || InvalidAnnotation::value("verify-identity", value, IDENTITY);
    let lines = value.lines().map(str::trim).filter(|line| !line.is_empty());
    let identities: Option<Vec<Identity>> = lines.take(MAX_IDENTITIES + 1).map(identity).collect();
    let few = |identities: &Vec<Identity>| (1..=MAX_IDENTITIES).contains(&identities.len());
    identities.filter(few).ok_or_else(wrong)
}

fn identity(line: &str) -> Option<Identity> {
    let mut words = line.split_whitespace();
    let issuer = text(words.next()?.strip_prefix("issuer")?)?;
    let subject = text(words.next()?.strip_prefix("subject")?)?;
    words.next().is_none().then_some(Identity { issuer, subject })
}

fn text(rest: &str) -> Option<Text> {
    if let Some(exact) = rest.strip_prefix('=') {
        return Some(Text::Exactly(exact.to_owned())).filter(|_| !exact.is_empty());
    }
    let pattern = rest.strip_prefix('~').filter(|pattern| !pattern.is_empty())?;
    // By itself it has to be a pattern, so that it cannot close the group around it.
    Regexp::new(pattern).ok()?;
    let whole = Regexp::new(format!(r"\A(?:{pattern})\z"));
    whole.ok().map(Text::Matching)
}

fn beside(key: &str, why: &'static str) -> InvalidAnnotation {
    InvalidAnnotation::Beside {
        key: key.trim_start_matches(PREFIX).to_owned(),
        why,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use bumpwright_re2::Budget;

    fn read(ours: &[(&str, &str)]) -> String {
        match Verification::read(ours) {
            Ok(None) => "none".to_owned(),
            Ok(Some(found)) => format!(
                "{}{}{}",
                match &found.signers {
                    Signers::Keys(name) => format!("keys {name}"),
                    Signers::Notation(name) => format!("notation {name}"),
                    Signers::Identities(all, root) => format!("{} by {root:?}", all.len()),
                },
                found
                    .attestation
                    .map(|wanted| format!(" {wanted:?}"))
                    .unwrap_or_default(),
                if found.fallback { " or lower" } else { "" },
            ),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_is_said_in_full_is_read() {
        let cosign = ("verify-provider", "cosign");
        let by = (
            "verify-identity",
            "issuer=https://i.example subject~^.*@acme[.]example$",
        );
        for (ours, expected) in [
            (&[][..], "none"),
            (&[("hold", "x")], "none"),
            (&[cosign, ("verify-secret", "keys")], "keys keys"),
            (&[cosign, by], "1 by None"),
            (
                &[
                    cosign,
                    by,
                    ("verify-trusted-root", "ConfigMap/sigstore"),
                    ("verify-fallback", "true"),
                ],
                "1 by Some(TrustedRootRef { is_config_map: true, name: \"sigstore\" }) or lower",
            ),
            (
                &[
                    cosign,
                    by,
                    ("verify-attestation", "slsaprovenance"),
                    ("verify-builder-id", "https://b.example"),
                ],
                "1 by None Provenance { builder: Some(\"https://b.example\") }",
            ),
            (
                &[("verify-provider", "notation"), ("verify-secret", "trust")],
                "notation trust",
            ),
        ] {
            assert_eq!(read(ours), expected);
        }
    }

    /// Others than these are not read for a tenant's policy.
    #[test]
    fn the_objects_that_are_needed() {
        let (cosign, by) = (
            ("verify-provider", "cosign"),
            ("verify-identity", "issuer=https://i subject=x"),
        );
        let root = |value| [cosign, by, ("verify-trusted-root", value)];
        for (ours, secrets, config_map) in [
            (&[cosign, ("verify-secret", "keys")][..], &["keys"][..], None),
            (
                &[("verify-provider", "notation"), ("verify-secret", "trust")],
                &["trust"],
                None,
            ),
            (&[cosign, by], &[], None),
            (&root("Secret/sigstore"), &["sigstore"], None),
            (&root("ConfigMap/sigstore"), &[], Some("sigstore")),
        ] {
            let signers = Verification::read(ours).unwrap().unwrap().signers;
            assert_eq!(signers.secrets().collect::<Vec<_>>(), secrets, "{ours:?}");
            assert_eq!(signers.config_map(), config_map, "{ours:?}");
        }
        let long = "a".repeat(254);
        for name in ["", "Keys", "a/b", "a_b", &long] {
            let expected = format!("annotation {PREFIX}verify-secret: {name:?} is not {NAME}");
            assert_eq!(read(&[cosign, ("verify-secret", name)]), expected);
        }
        assert_eq!(read(&[cosign, ("verify-secret", "k.8-s")]), "keys k.8-s");
    }

    #[test]
    fn what_is_not_is_told() {
        let (cosign, notation, keys) = (
            ("verify-provider", "cosign"),
            ("verify-provider", "notation"),
            ("verify-secret", "keys"),
        );
        for (ours, expected) in [
            (&[keys][..], "verify-secret: verify-provider is missing"),
            (
                &[("verify-fallback", "true")],
                "verify-fallback: verify-provider is missing",
            ),
            (
                &[("verify-provider", "gpg")],
                "verify-provider: \"gpg\" is not cosign or notation",
            ),
            (
                &[cosign],
                "verify-provider: cosign needs verify-secret (keys) or verify-identity",
            ),
            (
                &[notation],
                "verify-provider: notation needs verify-secret (certificates and trustpolicy.json)",
            ),
            (
                &[cosign, keys, ("verify-identity", "x")],
                "verify-identity: verify-secret names keys already",
            ),
            (
                &[cosign, keys, ("verify-trusted-root", "Secret/x")],
                "verify-trusted-root: it is for verify-identity, not for keys",
            ),
            (
                &[notation, keys, ("verify-attestation", "slsaprovenance")],
                "verify-attestation: notation does not have it",
            ),
            (
                &[cosign, keys, ("verify-builder-id", "x")],
                "verify-builder-id: verify-attestation is missing",
            ),
            (
                &[cosign, keys, ("verify-attestation", "spdx")],
                "verify-attestation: \"spdx\" is not slsaprovenance",
            ),
            (
                &[cosign, keys, ("verify-fallback", "yes")],
                "verify-fallback: \"yes\" is not \"true\" or \"false\"",
            ),
            (
                &[cosign, ("verify-secret", "other/keys")],
                "verify-secret: \"other/keys\" is not the name of a Secret",
            ),
        ] {
            assert_eq!(read(ours), format!("annotation {PREFIX}{expected}"));
        }
    }

    #[test]
    fn identities_are_texts_or_patterns_of_all_of_them() {
        for wrong in [
            "",
            "issuer=a",
            "subject=b issuer=a",
            "issuer= subject=b",
            "issuer~ subject=b",
            "issuer=a subject=b c",
            "issuer=a,subject=b",
            "issuer~( subject=b",
            "issuer~a)|(b subject=b",
            "issuer:a subject=b",
            "issuer=a subject=b\nissuer=a",
        ] {
            let said = read(&[("verify-provider", "cosign"), ("verify-identity", wrong)]);
            assert!(said.contains("is not a line for each identity"), "{wrong}: {said}");
        }
        let matches = |pattern: &str, found: &str| match text(pattern).unwrap() {
            Text::Exactly(wanted) => wanted == found,
            Text::Matching(pattern) => pattern
                .is_match(found.as_bytes(), &mut Budget::new(100_000, 1 << 20))
                .unwrap(),
        };
        for (pattern, found, expected) in [
            ("=a.c", "a.c", true),
            ("=a.c", "abc", false),
            ("~a.c", "abc", true),
            ("~a.c", "abcd", false),
            ("~a|b", "ab", false),
            ("~(?i)A,B", "a,b", true),
            // A line of its own within the text is not the text.
            ("~(?m)^a$", "a\nb", false),
        ] {
            assert_eq!(matches(pattern, found), expected, "{pattern} {found}");
        }
    }
}
