//! The signer of commits: `--sign-key`, the automation's `signingKey`, or the user's own git
//! (docs/cli.md, *TARGET*, rule 6).

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::args::Update;
use super::git_signer::GitSigner;
use super::typed::Typed;
use crate::cli::access;
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::images::now;
use crate::cli::words;
use bumpwright_api::{ImageUpdateAutomation, ObjectName, SigningKey, SigningKeyType};
use bumpwright_connect::{SigningKeyError, signer};
use bumpwright_secret::Secret;
use bumpwright_signing::{self as signing, Signer, SigningError};
use bumpwright_update::{Author, WorktreeSigning};

/// Limit on the size of keys, in bytes.
const LONGEST: u64 = 1 << 20;

/// A Secret and the settings for reading it.
type Key = (ObjectName, SigningKeyType);

/// The unlocked keys: unlocking takes time.
#[derive(Default)]
pub(super) struct Signers {
    /// That of `--sign-key`.
    given: Option<Arc<dyn Signer>>,
    secrets: RefCell<HashMap<Key, Arc<dyn Signer>>>,
}

impl Signers {
    /// Unlocks the key of the command line.
    pub(super) fn read(args: &Update) -> Result<Self, CliError> {
        let passphrase = args
            .sign_passphrase_file
            .as_deref()
            .map(access::secret_file)
            .transpose()?;
        let given = args.sign_key.as_deref().map(|file| of_file(file, passphrase.as_ref()));
        Ok(Self {
            given: given.transpose()?,
            ..Self::default()
        })
    }
}

impl Typed<'_> {
    /// The signer of a pushed commit. The key is unlocked in previews too, to report unusable keys.
    pub(super) fn signer(
        &self,
        automation: Option<&ImageUpdateAutomation>,
        author: &Author,
        notes: &mut Vec<String>,
    ) -> Result<Option<Arc<dyn Signer>>, CliError> {
        if let Some(key) = self.key(automation, notes)? {
            return Ok(Some(key));
        }
        // The automation configures its own signing key (IUA-039); the user's settings are for the user's own commits.
        if automation.is_some() || self.args.no_sign {
            return Ok(None);
        }
        let own = GitSigner::of_settings(author)?;
        if let Some(own) = own.as_ref().filter(|_| self.is_dry(automation)) {
            notes.push(format!(
                "git's settings ask for signed commits: {} would sign",
                own.name()
            ));
        }
        Ok(own.map(|own| Arc::new(own) as Arc<dyn Signer>))
    }

    /// The signer of a commit in a working repository.
    pub(super) fn signing_in_folder(
        &self,
        automation: Option<&ImageUpdateAutomation>,
        notes: &mut Vec<String>,
    ) -> Result<WorktreeSigning, CliError> {
        Ok(match self.key(automation, notes)? {
            Some(key) => WorktreeSigning::With(key),
            None if self.args.no_sign => WorktreeSigning::Unsigned,
            None => WorktreeSigning::AsGitSays,
        })
    }

    /// The key of the command line, or that of the automation's Secret.
    fn key(
        &self,
        automation: Option<&ImageUpdateAutomation>,
        notes: &mut Vec<String>,
    ) -> Result<Option<Arc<dyn Signer>>, CliError> {
        let git = automation.and_then(|automation| automation.spec.git.as_ref());
        let wanted = automation.zip(git.and_then(|git| git.commit.signing_key.as_ref()));
        let key = match (&self.signers.given, wanted) {
            (Some(given), _) => given.clone(),
            (None, Some((automation, wanted))) => self.of_secret(automation, wanted)?,
            (None, None) => return Ok(None),
        };
        if self.is_dry(automation) {
            notes.push(format!(
                "the commit would be signed with {}, which can be used",
                key.name()
            ));
        }
        Ok(Some(key))
    }

    /// The key of a Secret in the automation's namespace (IUA-040).
    fn of_secret(
        &self,
        automation: &ImageUpdateAutomation,
        wanted: &SigningKey,
    ) -> Result<Arc<dyn Signer>, SigningKeyError> {
        let name = ObjectName::new(automation.metadata.namespace_or_default(), &wanted.secret_ref.name);
        let key = (name, wanted.kind);
        if let Some(known) = self.signers.secrets.borrow().get(&key) {
            return Ok(known.clone());
        }
        let secret = self
            .objects
            .secret(&key.0)
            .ok_or_else(|| SigningKeyError::NotFound(wanted.secret_ref.name.clone()))?;
        let unlocked = signer(secret, wanted.kind, now().unix_seconds())?;
        self.signers.secrets.borrow_mut().insert(key, unlocked.clone());
        Ok(unlocked)
    }
}

/// The key in a file: its first line shows its kind.
fn of_file(file: &Path, passphrase: Option<&Secret>) -> Result<Arc<dyn Signer>, CliError> {
    let shown = file.display().to_string();
    let place = format!("--sign-key {}", words::inline(&shown));
    let mut text = String::new();
    std::fs::File::open(file)
        .and_then(|opened| opened.take(LONGEST + 1).read_to_string(&mut text))
        .at(&place)?;
    let text = Secret::new(text);
    let opened = if signing::is_openpgp(&text) {
        signing::openpgp(&text, passphrase, now().unix_seconds())
    } else {
        signing::ssh(&text, passphrase)
    };
    let opened = opened.map_err(|reason| match reason {
        SigningError::PassphraseMissing => CliError::new(format!("{reason}: --sign-passphrase-file FILE")),
        SigningError::NoPem => CliError::new("it holds no private key, neither of OpenPGP (armoured) nor of SSH"),
        other => other.into(),
    });
    opened.at(place)
}
