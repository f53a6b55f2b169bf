//! Scans of image repositories. Connections, tokens and logins are reused.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;

use super::error::{MOST_EXCLUSIONS, ScanError};
use super::image::reference_of;
use super::known::{Book, Known};
use super::lists::{Asked, chart_versions, git_tags};
use super::verification::{Settings, Verified};
use bumpwright_api::{ImagePolicy, ImageRepository, ObjectName, Objects, RepositoryKind};
use bumpwright_budget::Reservation;
use bumpwright_cloud::{Requester, ServiceAccounts, TokenCache};
use bumpwright_connect::registry::{ImageRegistry, LoginSource, Registries};
use bumpwright_connect::requester;
use bumpwright_gostd::Time;
use bumpwright_http::{Deadline, Sent};
use bumpwright_policy::{Exclusions, Reference, Validation};
use bumpwright_registry::{Login, LoginError, LoginLocations, Origin, Registry, RegistryError, TagList, UserKeychain};
use bumpwright_source::{ImageUnverified, OciRemote};

/// The most that one request may take where the manifest sets no `timeout` and someone waits for the answer: the
/// interval, which Flux takes instead, may be hours.
const IMPATIENT: Duration = Duration::from_secs(60);

/// The most that one request may take otherwise; the scan has its own limit.
const LONGEST: Duration = Duration::from_secs(600);

/// The handling of missing Secrets with logins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// They are an error, as in a cluster.
    Refused,
    /// The user's own logins are used instead, with a note.
    OwnLogins,
}

/// The tags of an image repository.
#[derive(Debug)]
pub struct Tags {
    /// `spec.image`, the image name in policies' choices.
    pub image: String,
    /// Full name of registry and repository (`status.canonicalImageName`).
    pub canonical: String,
    /// The tags that count, in reverse alphabetical order.
    pub tags: Vec<String>,
    /// How many tags `spec.exclusionList` dropped.
    pub excluded: usize,
    pub notes: Vec<String>,
    /// The memory of the tags on the account of the job.
    pub held: Option<Reservation>,
}

/// The scanner. Calls block, and may be made from several threads.
#[derive(Debug)]
pub struct Scanner {
    missing: Missing,
    options: ScannerOptions,
    registries: Registries,
    user: OnceLock<Result<UserKeychain, LoginError>>,
    verified: Mutex<Verified>,
    known: Book,
}

/// Options of a scanner in a controller.
#[derive(Clone, Debug, Default)]
pub struct ScannerOptions {
    /// ServiceAccounts with usable identities at clouds.
    pub accounts: Option<ServiceAccounts>,
    /// The cache of tokens.
    pub tokens: TokenCache,
    /// Callback for each request to a registry.
    pub sent: Sent,
    /// Whether somebody may look at what it has come to know of tags ([`Scanner::known`]).
    pub looked_at: bool,
}

/// A repository, and how its registry is reached.
struct Access {
    reference: Reference,
    registry: ImageRegistry,
}

impl Access {
    /// The error of a registry; of one that wants a login, with what the Secrets lack.
    fn refused(&self, error: RegistryError) -> ScanError {
        let lack = match &self.registry.login {
            LoginSource::Secrets(keychain) if matches!(error.status(), Some(401 | 403)) => {
                keychain.lack(&self.reference)
            }
            _ => None,
        };
        match lack {
            Some(lack) => ScanError::NoLogin {
                error,
                lack: Box::new(lack),
            },
            None => error.into(),
        }
    }
}

impl Scanner {
    #[must_use]
    pub fn new(missing: Missing) -> Self {
        Self::within(missing, ScannerOptions::default())
    }

    /// A scanner in a cluster.
    #[must_use]
    pub fn within(missing: Missing, options: ScannerOptions) -> Self {
        Self {
            missing,
            registries: match missing {
                Missing::Refused => Registries::new(options.tokens.clone(), options.sent.clone()),
                Missing::OwnLogins => Registries::of_command(),
            },
            options,
            user: OnceLock::new(),
            verified: Mutex::default(),
            known: Book::default(),
        }
    }

    /// Reads the tags of a repository; `objects` has the Secrets and service accounts that it refers to.
    ///
    /// # Errors
    /// The registry cannot be reached, or does not return its tags.
    pub fn tags(&self, repository: &ImageRepository, objects: &Objects) -> Result<Tags, ScanError> {
        match repository.spec.exclusion_list.len() {
            0..=MOST_EXCLUSIONS => {}
            more => return Err(ScanError::Exclusions(more)),
        }
        let exclusions = Exclusions::new(repository.exclusions())?;
        let access = self.access(repository, objects)?;
        let requester = requester("ImageRepository", &repository.metadata);
        let listed = match repository.kind()? {
            RepositoryKind::Oci => {
                let (registry, login, deadline) = self.reach(&access, repository, &requester)?;
                let tags = registry.tags(&access.reference, &login, deadline);
                tags.map_err(|error| access.refused(error))?
            }
            kind => self.list(kind, &access, repository, &requester)?,
        };
        let count = listed.len();
        let mut notes = access.registry.notes;
        if listed.too_long() > 0 {
            notes.push(format!(
                "ImageRepository {}: {} names are left out, since they are longer than a tag may be",
                repository.name(),
                listed.too_long()
            ));
        }
        let (listed, held) = listed.into_parts();
        let tags = exclusions.keep(listed)?;
        Ok(Tags {
            image: repository.spec.image.clone(),
            canonical: access.reference.context(),
            excluded: count - tags.len(),
            tags,
            notes,
            held: Some(held),
        })
    }

    /// The versions of what is not a repository of a registry.
    fn list(
        &self,
        kind: RepositoryKind,
        access: &Access,
        repository: &ImageRepository,
        requester: &Requester,
    ) -> Result<TagList, ScanError> {
        let deadline = Deadline::after(repository.timeout());
        let login = self.login(access, requester, deadline)?;
        let ImageRegistry { peer, insecure, .. } = &access.registry;
        let subject = Asked {
            reference: &access.reference,
            peer,
            insecure: *insecure,
            login: &login,
            sent: &self.options.sent,
            deadline,
        };
        match kind {
            RepositoryKind::Helm => chart_versions(&subject),
            _ => git_tags(&subject),
        }
    }

    /// The current digest of a tag, for a policy.
    pub fn digest(
        &self,
        policy: &ImagePolicy,
        repository: &ImageRepository,
        objects: &Objects,
        tag: &str,
    ) -> Result<String, ScanError> {
        let access = self.access(repository, objects)?;
        let (registry, login, deadline) =
            self.reach(&access, repository, &requester("ImagePolicy", &policy.metadata))?;
        Ok(registry.digest(&tagged(repository, tag)?, &login, deadline)?)
    }

    /// The creation time of a tag's image, for a policy; none when it is not recorded.
    pub fn created(
        &self,
        policy: &ImagePolicy,
        repository: &ImageRepository,
        objects: &Objects,
        tag: &str,
    ) -> Result<Option<Time>, ScanError> {
        let access = self.access(repository, objects)?;
        let (registry, login, deadline) =
            self.reach(&access, repository, &requester("ImagePolicy", &policy.metadata))?;
        Ok(registry.created(&tagged(repository, tag)?, &login, deadline)?)
    }

    /// Where a tag's image was built from, for a policy.
    pub fn origin(
        &self,
        policy: &ImagePolicy,
        repository: &ImageRepository,
        objects: &Objects,
        tag: &str,
    ) -> Result<Origin, ScanError> {
        self.origin_for(&requester("ImagePolicy", &policy.metadata), repository, objects, tag)
    }

    /// Where a version of a repository's image was built from: a tag, a digest with `@` before it, or a tag and that.
    ///
    /// # Errors
    /// As [`Scanner::tags`].
    pub fn built_from(
        &self,
        repository: &ImageRepository,
        objects: &Objects,
        version: &str,
    ) -> Result<Origin, ScanError> {
        self.origin_for(
            &requester("ImageRepository", &repository.metadata),
            repository,
            objects,
            version,
        )
    }

    /// Where a version was built from, asked by an object.
    fn origin_for(
        &self,
        requester: &Requester,
        repository: &ImageRepository,
        objects: &Objects,
        version: &str,
    ) -> Result<Origin, ScanError> {
        let access = self.access(repository, objects)?;
        let (registry, login, deadline) = self.reach(&access, repository, requester)?;
        Ok(registry.origin(&tagged(repository, version)?, &login, deadline)?)
    }

    /// Verifies the signatures of an image, for a policy: of this digest, whatever a tag becomes. The inner error is
    /// why none counts. What was verified by the same settings before is not asked about again.
    pub(super) fn verify(
        &self,
        policy: &ImagePolicy,
        repository: &ImageRepository,
        objects: &Objects,
        (digest, settings, now): (&str, &Settings, &Time),
    ) -> Result<Result<(), ImageUnverified>, ScanError> {
        let key = settings.key(digest);
        if self.verified.lock().has(&key) {
            return Ok(Ok(()));
        }
        let access = self.access(repository, objects)?;
        let (registry, login, deadline) =
            self.reach(&access, repository, &requester("ImagePolicy", &policy.metadata))?;
        let remote = OciRemote {
            registry,
            login,
            repository: access.reference,
            deadline,
        };
        let verdict = settings.verifier.verify(&remote, digest, now.unix_seconds());
        if verdict.is_ok() {
            self.verified.lock().remember(key);
        }
        Ok(verdict)
    }

    /// What the policies' choices have come to know of the tags of an image, without a request.
    #[must_use]
    pub fn known(&self, policy: &ObjectName, image: &str) -> BTreeMap<String, Known> {
        self.known.of(policy, image)
    }

    /// Where to note what a choice comes to know; none when nobody looks.
    pub(super) fn notes(&self) -> Option<&Book> {
        self.options.looked_at.then_some(&self.known)
    }

    /// The registries that it has reached, which other users of them may share.
    #[must_use]
    pub fn registries(&self) -> &Registries {
        &self.registries
    }

    /// How the registry of a repository is reached, and which of its repositories it is.
    fn access(&self, repository: &ImageRepository, objects: &Objects) -> Result<Access, ScanError> {
        let reference = reference_of(repository)?;
        let mut registry = ImageRegistry::of(repository, objects, self.options.accounts.as_ref())?;
        registry.peer.timeout = match (self.missing, repository.spec.timeout) {
            (Missing::OwnLogins, None) => IMPATIENT,
            _ => LONGEST,
        };
        if let LoginSource::Missing(error) = registry.login {
            if self.missing == Missing::Refused {
                return Err(error.into());
            }
            registry.notes.push(format!(
                "ImageRepository {}: {error} among the manifests: using your own logins",
                repository.name()
            ));
            registry.login = LoginSource::Unnamed;
        }
        Ok(Access { reference, registry })
    }

    fn reach(
        &self,
        access: &Access,
        repository: &ImageRepository,
        requester: &Requester,
    ) -> Result<(Arc<Registry>, Login, Deadline), ScanError> {
        if repository.kind()? != RepositoryKind::Oci {
            let what =
                "only images of a registry have digests, ages and signatures; bumpwright.dev/kind says what this is";
            return Err(ScanError::Kind(format!(
                "ImageRepository {}: {what}",
                repository.name()
            )));
        }
        // As in the controller, the time limit includes the login.
        let deadline = Deadline::after(repository.timeout());
        let login = self.login(access, requester, deadline)?;
        let ImageRegistry { peer, insecure, .. } = &access.registry;
        let registry = self.registries.of(&access.reference, peer, *insecure);
        Ok((registry, login, deadline))
    }

    fn login(&self, access: &Access, requester: &Requester, deadline: Deadline) -> Result<Login, ScanError> {
        let Access { reference, registry } = access;
        match &registry.login {
            LoginSource::Secrets(keychain) => Ok(keychain.login(reference)),
            LoginSource::Token(account) => {
                let requester = requester.clone();
                Ok(self.registries.token_login(reference, account, requester, deadline)?)
            }
            LoginSource::Unnamed | LoginSource::Missing(_) => self.own_login(reference),
            LoginSource::Cloud(provider, identity) => {
                // A person at the keyboard may have logged in with the provider's own tools, which is
                // quicker to find out.
                let own = self.own_login(reference)?;
                if own != Login::Anonymous {
                    return Ok(own);
                }
                let (at, proxy) = ((*provider, reference), registry.peer.proxy.as_ref());
                let requester = requester.clone();
                Ok(self
                    .registries
                    .cloud_login(at, identity.as_ref(), proxy, requester, deadline)?)
            }
        }
    }

    fn own_login(&self, reference: &Reference) -> Result<Login, ScanError> {
        if self.missing == Missing::Refused {
            return Ok(Login::Anonymous);
        }
        let user = self
            .user
            .get_or_init(|| UserKeychain::load(&LoginLocations::from_environment()));
        match user {
            Ok(keychain) => Ok(keychain.login(reference)?),
            Err(error) => Err(error.clone().into()),
        }
    }
}

fn tagged(repository: &ImageRepository, tag: &str) -> Result<Reference, ScanError> {
    let colon = if tag.starts_with('@') { "" } else { ":" };
    let text = format!("{}{colon}{tag}", repository.spec.image);
    let reference = Reference::parse(&text, Validation::Weak);
    reference.map_err(|error| ScanError::Image(error.into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use bumpwright_api::{UnknownFields, read};

    #[test]
    fn who_waits_at_a_keyboard_does_not_wait_for_the_interval() {
        let limit = |missing, rest: &str| {
            let text = format!(
                "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\nmetadata: {{name: app}}\n\
                 spec: {{image: ghcr.io/acme/app, interval: 12h{rest}}}\n"
            );
            let mut objects = Objects::default();
            objects
                .insert_all(read("r.yaml", text.as_bytes(), UnknownFields::Refuse).unwrap())
                .unwrap();
            let repository = objects.image_repositories().next().unwrap().clone();
            let access = Scanner::new(missing).access(&repository, &objects).unwrap();
            access.registry.peer.timeout
        };
        assert_eq!(limit(Missing::OwnLogins, ""), IMPATIENT);
        assert_eq!(limit(Missing::OwnLogins, ", timeout: 5m"), LONGEST);
        assert_eq!(limit(Missing::Refused, ""), LONGEST);
    }
}
