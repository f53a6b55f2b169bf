//! Who signed: the issuer and the subject in a certificate of Fulcio, and who is accepted.

use bumpwright_gostd::quote;
use bumpwright_re2::{Budget, Regexp};

use crate::cosign::der::Der;
use crate::x509::Certificate;

/// The issuer of the identity: 1.3.6.1.4.1.57264.1.8, and before Fulcio v1.0 …1.1, which is plain text.
const ISSUER: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xbf, 0x30, 0x01, 0x08];
const OLD_ISSUER: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xbf, 0x30, 0x01, 0x01];
const UTF8_STRING: u8 = 0x0c;
/// Bounds on all searches for a signer: more than real patterns need for a few lines. A certificate may
/// have thousands of names.
const STEPS: u64 = 10_000_000;
const BYTES: usize = 16 << 20;
/// Greatest length of a name in a message.
const SHOWN: usize = 200;

/// A text that an issuer or subject is compared with.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// It is this one.
    Exactly(String),
    /// This is found in it, as Go's `regexp.MatchString` does.
    Found(Regexp),
}

/// An identity that is accepted.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The issuer of the identity, such as `https://token.actions.githubusercontent.com`.
    pub issuer: Pattern,
    /// The signer, by an email address, a URI or another name.
    pub subject: Pattern,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signer {
    issuer: String,
    subjects: Vec<String>,
}

impl Pattern {
    fn accepts(&self, text: &str, budget: &mut Budget) -> bool {
        match self {
            Self::Exactly(wanted) => wanted == text,
            Self::Found(pattern) => pattern.is_match(text.as_bytes(), budget).unwrap_or(false),
        }
    }
}

impl Signer {
    pub(super) fn of(certificate: &Certificate) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let issuer = certificate
            .extension(ISSUER)
            .and_then(|value| Der(value).element(UTF8_STRING));
        let issuer = issuer.or_else(|| certificate.extension(OLD_ISSUER)).and_then(text);
        Self {
            issuer: issuer.unwrap_or_default(),
            subjects: certificate.subjects(),
        }
    }

    pub(super) fn is_accepted(&self, identities: &[Identity]) -> bool {
        let mut budget = Budget::new(STEPS, BYTES);
        identities.iter().any(|identity| {
            identity.issuer.accepts(&self.issuer, &mut budget)
                && self
                    .subjects
                    .iter()
                    .any(|subject| identity.subject.accepts(subject, &mut budget))
        })
    }

    /// For a message: anybody may have chosen the names.
    pub(super) fn shown(&self) -> String {
        let shown = |text: &str| quote(&text.chars().take(SHOWN).collect::<String>());
        let subject = self.subjects.first().map(String::as_str).unwrap_or_default();
        format!("{} (issuer {})", shown(subject), shown(&self.issuer))
    }
}
