//! Webhooks: an authenticated event triggers the reconciliation of the objects concerned (`docs/guides/webhooks.md`).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::net::TcpListener;

use super::server::{self as webhook_server, Call, Reply};
use crate::parts::Parts;
use crate::parts::context::Context;
use crate::parts::watching::Watch;
use bumpwright_api::{
    GitRepository, HelmChart, HelmRepository, ImageRepository, Metadata, ObjectName, OciRepository, ReviewAnnotations,
    Secret,
};
use bumpwright_kube::{
    Cache, ClusterError, GIT_REPOSITORY, HELM_CHART, HELM_REPOSITORY, IMAGE_REPOSITORY, Kind, OCI_REPOSITORY,
};
use bumpwright_runtime::{Log, REQUESTED_AT, clock};
use bumpwright_webhook::{
    self as webhook, Event, GitReference, Id, MAX_BODY, OciReference, Rejection, Request, Target, Tokens,
};

/// Tokens are cached this long, so that strangers cannot cause requests to the API server.
const TOKENS_KEPT: Duration = Duration::from_secs(10);

/// The field manager of the annotation.
const MANAGER: &str = "bumpwright-webhooks";

/// Answers requests of forges and registries.
pub(crate) struct Webhooks {
    context: Arc<Context>,
    git_repositories: Arc<Cache>,
    oci_repositories: Arc<Cache>,
    image_repositories: Arc<Cache>,
    helm_repositories: Arc<Cache>,
    helm_charts: Arc<Cache>,
    /// The Secret with the tokens.
    secret: ObjectName,
    log: Log,
    tokens: RwLock<Option<(Instant, Arc<Tokens>)>>,
}

impl Webhooks {
    pub(crate) fn new(parts: &Parts, secret: ObjectName) -> Self {
        let (context, caches) = (Arc::clone(&parts.shared), &parts.caches);
        Self {
            log: context.log.named("webhooks"),
            context,
            git_repositories: caches.of(Watch::all(&GIT_REPOSITORY)),
            oci_repositories: caches.of(Watch::ours(&OCI_REPOSITORY)),
            image_repositories: caches.of(Watch::ours(&IMAGE_REPOSITORY)),
            helm_repositories: caches.of(Watch::all(&HELM_REPOSITORY)),
            helm_charts: caches.of(Watch::ours(&HELM_CHART)),
            secret,
            tokens: RwLock::default(),
        }
    }

    /// Serves until the process ends.
    pub(crate) async fn serve(self, listener: TcpListener) {
        let webhooks = Arc::new(self);
        let answer = move |call| {
            let webhooks = Arc::clone(&webhooks);
            async move { webhooks.answer(&call).await }
        };
        webhook_server::serve(listener, MAX_BODY, answer).await;
    }

    async fn answer(&self, call: &Call) -> Reply {
        let tokens = match self.tokens().await {
            Ok(tokens) => tokens,
            Err(error) => {
                self.log.error(&error, "tokens of webhooks cannot be read");
                return Reply::new(503, "webhooks cannot be checked at the moment");
            }
        };
        match received(call, &tokens) {
            Ok(events) => self.follow(&events).await,
            Err(rejection) => {
                // The path may be a secret, and the body is untrusted.
                self.log.info(&format!("refused a webhook: {rejection}"));
                Reply::new(rejection.status(), rejection.answer())
            }
        }
    }

    async fn tokens(&self) -> Result<Arc<Tokens>, ClusterError> {
        let cached = self.tokens.read().clone();
        if let Some((read, tokens)) = cached
            && read.elapsed() < TOKENS_KEPT
        {
            return Ok(tokens);
        }
        let secret = match self.context.configs.secret(&self.secret).await {
            Ok(secret) => Some(secret),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let entries = secret.iter().flat_map(entries);
        let (tokens, invalid) = Tokens::read(&self.secret.namespace, &self.secret.name, entries);
        for entry in invalid {
            self.log
                .error(&entry, "an entry of the Secret with webhooks' tokens is not used");
        }
        if tokens.is_empty() {
            let why = format!("the Secret {} has no token", self.secret);
            self.log.error(&why, "no webhook can prove itself");
        }
        let tokens = Arc::new(tokens);
        *self.tokens.write() = Some((Instant::now(), Arc::clone(&tokens)));
        Ok(tokens)
    }

    /// Requests the reconciliation of all objects concerned.
    async fn follow(&self, events: &[Event]) -> Reply {
        let ids = self.select(events);
        let mut failed = 0;
        for id in &ids {
            let name = ObjectName::new(&id.namespace, &id.name);
            if let Err(error) = self.request(id, &name).await {
                failed += 1;
                let log = self.log.with("object", format!("{}/{name}", id.kind.name()));
                log.error(
                    &error,
                    "cannot ask for a reconciliation; the object looks when its interval is over",
                );
            }
        }
        let text = webhook::answer(events, ids.len());
        self.log.info(&text);
        match failed {
            0 => Reply::new(202, text),
            // The sender may retry.
            _ => Reply::new(
                500,
                format!("{failed} of {} objects could not be asked to look", ids.len()),
            ),
        }
    }

    fn select(&self, events: &[Event]) -> Vec<Id> {
        let git: Vec<GitRepository> = read(&self.git_repositories);
        let oci: Vec<OciRepository> = read(&self.oci_repositories);
        let images: Vec<ImageRepository> = read(&self.image_repositories);
        let git = git.iter().map(|repository| {
            let target = Target::Git(&repository.spec.url, git_reference(repository));
            object(&repository.metadata, repository.spec.suspend, target)
        });
        let oci = oci.iter().map(|repository| {
            let target = Target::Oci(&repository.spec.url, oci_reference(repository));
            object(&repository.metadata, repository.spec.suspend, target)
        });
        let images = images.iter().map(|repository| {
            let target = Target::Image(&repository.spec.image);
            object(&repository.metadata, repository.spec.suspend, target)
        });
        let repositories: Vec<HelmRepository> = read(&self.helm_repositories);
        let charts: Vec<HelmChart> = read(&self.helm_charts);
        let charts = in_registries(&charts, &repositories);
        let indexes = repositories.iter().filter(|repository| !repository.is_oci());
        let indexes = indexes.map(|repository| {
            let target = Target::Index(&repository.spec.url);
            object(&repository.metadata, repository.spec.suspend, target)
        });
        let charts = charts
            .iter()
            .map(|(chart, url)| object(&chart.metadata, chart.spec.suspend, Target::Chart(url)));
        let objects: Vec<webhook::Object<'_>> = git.chain(oci).chain(images).chain(indexes).chain(charts).collect();
        webhook::select(events, &objects)
    }

    async fn request(&self, id: &Id, name: &ObjectName) -> Result<(), ClusterError> {
        let patch = json!({"metadata": {"annotations": {REQUESTED_AT: clock::exact(&clock::now())}}});
        self.context
            .cluster
            .patch(kind(id.kind), name, MANAGER, &patch)
            .await
            .map(drop)
    }
}

fn received(call: &Call, tokens: &Tokens) -> Result<Vec<Event>, Rejection> {
    let headers: Vec<(&str, &str)> = call
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let request = Request {
        method: &call.method,
        path: &call.path,
        headers: &headers,
        body: &call.body,
    };
    webhook::receive(&request, tokens)
}

fn kind(kind: webhook::TargetKind) -> &'static Kind {
    match kind {
        webhook::TargetKind::GitRepository => &GIT_REPOSITORY,
        webhook::TargetKind::ImageRepository => &IMAGE_REPOSITORY,
        webhook::TargetKind::OciRepository => &OCI_REPOSITORY,
        webhook::TargetKind::HelmRepository => &HELM_REPOSITORY,
        webhook::TargetKind::HelmChart => &HELM_CHART,
    }
}

/// The readable entries of a Secret.
fn entries(secret: &Secret) -> impl Iterator<Item = (&str, &[u8])> {
    let value = |key| secret.get(key).ok().flatten();
    secret.keys().filter_map(move |key| Some((key, value(key)?)))
}

/// The objects of a kind, without those that violate its schema.
fn read<T: DeserializeOwned>(cache: &Cache) -> Vec<T> {
    let objects = cache.list(|_| true);
    objects
        .iter()
        .filter_map(|object| object.read(cache.kind()).ok())
        .collect()
}

/// The charts of registries, and where each of them is.
fn in_registries<'c>(charts: &'c [HelmChart], repositories: &[HelmRepository]) -> Vec<(&'c HelmChart, String)> {
    let registries = repositories.iter().filter(|repository| repository.is_oci());
    let registries: HashMap<(&str, &str), &str> = registries
        .map(|one| {
            let metadata = &one.metadata;
            (
                (metadata.namespace_or_default(), metadata.name.as_str()),
                one.spec.url.trim_end_matches('/'),
            )
        })
        .collect();
    let located = charts.iter().filter_map(|chart| {
        let source = &chart.spec.source_ref;
        let name = (chart.metadata.namespace_or_default(), source.name.as_str());
        let url = registries.get(&name).filter(|_| source.kind == "HelmRepository")?;
        Some((chart, format!("{url}/{}", chart.spec.chart)))
    });
    located.collect()
}

fn object<'a>(metadata: &'a Metadata, suspended: bool, target: Target<'a>) -> webhook::Object<'a> {
    webhook::Object {
        namespace: metadata.namespace_or_default(),
        name: &metadata.name,
        suspended,
        target,
    }
}

fn git_reference(repository: &GitRepository) -> GitReference<'_> {
    let reviewed = ReviewAnnotations::read(&repository.metadata.annotations);
    let is_reviewed = reviewed.is_ok_and(|reviewed| reviewed.is_on);
    let Some(reference) = &repository.spec.reference else {
        return GitReference {
            is_reviewed,
            ..GitReference::default()
        };
    };
    GitReference {
        is_reviewed,
        branch: reference.branch.as_deref(),
        tag: reference.tag.as_deref(),
        semver: reference.semver.as_deref(),
        name: reference.name.as_deref(),
        commit: reference.commit.as_deref(),
    }
}

fn oci_reference(repository: &OciRepository) -> OciReference<'_> {
    let Some(reference) = &repository.spec.reference else {
        return OciReference::default();
    };
    OciReference {
        tag: reference.tag.as_deref(),
        semver: reference.semver.as_deref(),
        digest: reference.digest.as_deref(),
    }
}
