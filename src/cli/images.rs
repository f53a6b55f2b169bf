//! Scans registries for the images of policies, each repository once per run.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use crate::cli::process::progress::Line;
use crate::cli::words;
use bumpwright_api::{ImagePolicy, ImageRepository, ObjectName, Objects};
use bumpwright_edit::Reason;
use bumpwright_gostd::Time;
use bumpwright_policy::LatestRef;
use bumpwright_registry::Asker;
use bumpwright_scan::{Asked, Batch, Missing, NoImage, ScanError, Scanner, Tags, reference_of};
use bumpwright_update::{Resolve, Unresolved, Wanted};

/// The registries of a command.
#[derive(Debug)]
pub struct Images {
    batch: Batch,
}

impl Images {
    /// Uses the Secrets and service accounts of `-f`, and the user's own logins otherwise.
    #[must_use]
    pub fn new(objects: &Objects) -> Self {
        let scanner = Scanner::new(Missing::OwnLogins);
        Self {
            batch: Batch::new(scanner, objects.clone(), now()),
        }
    }

    /// The finished scans of a run, and the scanner.
    #[must_use]
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// Scans repositories, and says which ones are waited for.
    pub fn scan(&self, repositories: &[Arc<ImageRepository>]) {
        let line = Line::spinner(self.scanning(repositories));
        self.batch.scan(repositories, &|done, all| {
            if done < all {
                line.say(self.scanning(repositories));
            }
        });
    }

    /// What is not scanned yet.
    fn scanning(&self, repositories: &[Arc<ImageRepository>]) -> Option<String> {
        let images = repositories.iter().filter(|one| self.batch.tags(one).is_none());
        let images: BTreeSet<&str> = images.map(|one| one.spec.image.as_str()).collect();
        let images: Vec<String> = images
            .into_iter()
            .map(|image| words::inline(image).into_owned())
            .collect();
        (!images.is_empty()).then(|| format!("fetching the tags of {} …", words::some(&images)))
    }

    /// Notes of scans, each once.
    #[must_use]
    pub fn notes(&self) -> BTreeSet<String> {
        self.batch.scans().iter().flat_map(|tags| tags.notes.clone()).collect()
    }
}

impl Resolve for Images {
    fn resolve(&self, wanted: &[Wanted]) -> Vec<Result<LatestRef, Unresolved>> {
        let repositories: Vec<Arc<ImageRepository>> = wanted.iter().map(|one| Arc::clone(&one.repository)).collect();
        self.scan(&repositories);
        let scans: Vec<Result<Arc<Tags>, Unresolved>> = wanted.iter().map(|one| self.scanned(one)).collect();
        let ready = wanted.iter().zip(&scans);
        let ready = ready.filter_map(|(one, tags)| {
            Some(Asked {
                policy: &one.policy,
                repository: &one.repository,
                tags: tags.as_ref().ok()?,
                before: one.before.as_ref(),
                is_proven: false,
                digest: None,
            })
        });
        let mut chosen = self.batch.choose(&ready.collect::<Vec<_>>()).into_iter();
        let mut answer = |one: &Wanted, scan: Result<Arc<Tags>, Unresolved>| {
            let tags = scan?;
            match chosen.next() {
                Some(Ok(chosen)) => Ok(chosen.image),
                Some(Err(error)) => Err(unresolved(one, &error, &tags)),
                None => Err(not_scanned(one, "it was not scanned")),
            }
        };
        wanted.iter().zip(scans).map(|(one, scan)| answer(one, scan)).collect()
    }
}

impl Images {
    fn scanned(&self, one: &Wanted) -> Result<Arc<Tags>, Unresolved> {
        match self.batch.tags(&one.repository) {
            Some(Ok(tags)) => Ok(tags),
            Some(Err(error)) => Err(not_scanned(one, &said(&error, &one.repository))),
            None => Err(not_scanned(one, "it was not scanned")),
        }
    }
}

/// Why a repository was not scanned: with the place of an image that is not valid, and of a registry that refuses,
/// whether it was given a login and what to do.
#[must_use]
pub fn said(error: &ScanError, repository: &ImageRepository) -> String {
    if let (ScanError::Image(_), Some(place)) = (error, repository.places.of(ImageRepository::IMAGE)) {
        return format!("{place}: {error}");
    }
    let asker = match error {
        ScanError::Registry(error) => error.refused(),
        _ => None,
    };
    match (asker, reference_of(repository)) {
        (Some(asker), Ok(reference)) => {
            let secret = repository.spec.secret_ref.as_ref();
            let secret = secret.map(|secret| repository.beside(&secret.name));
            format!("{error}; {}", refused(asker, reference.registry(), secret.as_ref()))
        }
        _ => error.to_string(),
    }
}

/// What a registry wants that has refused somebody, and the way out; with the Secret that would have been the
/// login in a cluster.
#[must_use]
pub fn refused(asker: &Asker, registry: &str, secret: Option<&ObjectName>) -> String {
    let own = format!("`docker login {registry}`");
    let of_secret =
        |secret: &ObjectName| format!("of Secret {secret} if it is among the manifests, else your own: {own}");
    match (asker, secret) {
        (Asker::Nobody, None) => format!("{registry} needs a login; none was given ({own})"),
        (Asker::Nobody, Some(secret)) => {
            format!("{registry} needs a login; none was given (Secret {secret} among the manifests, or {own})")
        }
        (Asker::User(user), None) => format!("{registry} refused the login of {user} ({own})"),
        (Asker::User(user), Some(secret)) => format!("{registry} refused the login of {user} ({})", of_secret(secret)),
        (Asker::Token, None) => format!("{registry} refused the token ({own})"),
        (Asker::Token, Some(secret)) => format!("{registry} refused the token ({})", of_secret(secret)),
    }
}

fn not_scanned(one: &Wanted, why: &str) -> Unresolved {
    Unresolved {
        reason: Reason::ScanFailed,
        message: format!(
            "ImageRepository {}, which ImagePolicy {} looks at: {}",
            one.repository.name(),
            one.policy.policy_name(),
            words::printable(why)
        ),
    }
}

/// The machine-readable reason why a policy has no image.
#[must_use]
pub fn reason(error: &NoImage) -> Reason {
    match error {
        // It is the policy that asks for what there is not.
        NoImage::Digest { error, .. } | NoImage::Age { error, .. } if matches!(**error, ScanError::Kind(_)) => {
            Reason::PolicyNotReady
        }
        NoImage::Digest { .. } | NoImage::Age { .. } => Reason::ScanFailed,
        NoImage::Refused { refusal, .. } => Reason::from(&**refusal),
        _ => Reason::PolicyNotReady,
    }
}

fn unresolved(one: &Wanted, error: &NoImage, tags: &Tags) -> Unresolved {
    let detail = match error {
        NoImage::NoTag(_) => unfit(&one.policy, tags.tags.len()),
        _ => String::new(),
    };
    Unresolved {
        reason: reason(error),
        message: format!(
            "ImagePolicy {}: {}{}",
            one.policy.policy_name(),
            words::printable(&placed(error, &one.policy)),
            words::printable(&detail)
        ),
    }
}

/// What no tag fits: `: none of 5 tags matches the pattern '^v' and is in the range '^9.0.0'`.
fn unfit(policy: &ImagePolicy, tags: usize) -> String {
    let spec = policy.spec.as_ref();
    let filter = spec.and_then(|spec| spec.filter_tags.as_ref());
    let filter = filter.filter(|filter| !filter.pattern.is_empty());
    let pattern = filter.map(|filter| format!("matches the pattern '{}'", filter.pattern));
    let semver = spec.and_then(|spec| spec.policy.as_ref()?.semver.as_ref());
    let range = semver.map(|semver| format!("is in the range '{}'", semver.range));
    let conditions: Vec<String> = pattern.into_iter().chain(range).collect();
    if conditions.is_empty() {
        return String::new();
    }
    format!(": none of {} {}", words::count(tags, "tag"), conditions.join(" and "))
}

/// Why a policy has no image; of a field that is not valid, with its place in the manifest.
#[must_use]
pub fn placed(error: &NoImage, policy: &ImagePolicy) -> String {
    if let NoImage::Policy(invalid) = error
        && let Some(place) = policy.place_of(invalid)
    {
        return format!("{place}: {invalid}");
    }
    error.to_string()
}

#[must_use]
pub fn now() -> Time {
    Time::from(SystemTime::now())
}
