//! Reviews of pull requests (`--reviews`): the open requests of GitRepositories that ask for it, each pair of commits
//! reviewed once, with a commit status and a comment as the result (docs/guides/reviews.md).
//!
//! ```text
//! round: list ─▶ (merge base, head) ─▶ done before? ─▶ look: fetch, build, compare ─▶ post: comment, then status
//! ```
//!
//! For pages, what the cluster has not applied and what automations pushed is reviewed as well, and nothing posted.
//!
//! Who writes a pull request need not be trusted with the cluster: values of Secrets are not read at all, and what a
//! fork says reaches no server.

pub(crate) mod book;
mod connection;
mod error;
mod known;
mod look;
mod named_images;
mod not_applied;
mod own;
mod post;
mod pushes;
mod release_notes;
mod round;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::mirrors::Mirrors;
use super::settings::Settings;
use crate::fleet_view::Providers;
use crate::images::origins::ImageOrigins;
use crate::parts::Parts;
use crate::parts::context::Context;
use crate::parts::registered::{Registration, Workers};
use crate::parts::watching::{Caches, Watch};
use book::RequestBook;
use bumpwright_api::{GitRepository, ObjectName, Reason, ReviewAnnotations};
use bumpwright_kube::{Cache, GIT_REPOSITORY, KUSTOMIZATION, Object};
use bumpwright_runtime::triggers::own;
use bumpwright_runtime::{Action, EventType, Finish, Log, Queue, Services, Working, events};
use bumpwright_schemas::{Schemas, UnknownMinor};
use bumpwright_shards::Verdict;
use known::Known;
use round::{Failed, Round};

/// The name of the lease, and the field of logs.
pub const CONTROLLER: &str = "review-controller";

/// The source of events.
const EVENTS: &str = "bumpwright";

/// The owner of mirrors: an object that is reviewed no more leaves those of its source alone.
const OWNER: &str = "GitRepository under review";

/// How many repositories are reviewed at once, whatever the number of workers: each has the clusters of two commits in
/// memory.
const AT_ONCE: usize = 2;

/// When an object is checked again that another process still works at.
const AGAIN: Duration = Duration::from_millis(500);

/// The longest pause that a forge may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// The row of the table of kinds.
pub(super) const REGISTRATION: Registration = Registration {
    kind: &GIT_REPOSITORY,
    queue: Some("gitrepository-review"),
    controller: CONTROLLER,
    is_enabled: |kinds| kinds.reviews,
    watches,
    triggers,
    workers,
};

fn watches(_: &Settings) -> Vec<Watch> {
    vec![Watch::ours(&GIT_REPOSITORY), Watch::when_needed(&KUSTOMIZATION)]
}

fn triggers(caches: &Caches, queue: &Arc<Queue>) {
    own(&caches.of(Watch::ours(&GIT_REPOSITORY)), queue);
}

fn workers(parts: &Parts, services: &Arc<Services>, queue: &Arc<Queue>) -> Option<Workers> {
    let reviews = Arc::new(Reviews {
        context: Arc::clone(&parts.shared),
        providers: Providers::of(parts),
        mirrors: Arc::clone(&parts.mirrors),
        cache: parts.caches.of(Watch::ours(&GIT_REPOSITORY)),
        kustomizations: parts.caches.of(Watch::when_needed(&KUSTOMIZATION)),
        services: Arc::clone(services),
        queue: Arc::clone(queue),
        origins: ImageOrigins::of(parts),
        schemas: OnceLock::new(),
        known: Mutex::default(),
        book: parts.requests.clone(),
    });
    Some(Workers {
        queue: Arc::clone(queue),
        start: Box::new(move |running| {
            running.spawn(reviews.work());
        }),
    })
}

/// Reviews the requests of the GitRepositories in a queue.
struct Reviews {
    context: Arc<Context>,
    providers: Providers,
    mirrors: Arc<Mirrors>,
    cache: Arc<Cache>,
    /// Empty as long as nobody looks at pages.
    kustomizations: Arc<Cache>,
    services: Arc<Services>,
    queue: Arc<Queue>,
    /// For release notes.
    origins: Arc<ImageOrigins>,
    /// The kinds of Kubernetes, read with the first review.
    schemas: OnceLock<Result<Schemas, UnknownMinor>>,
    /// What earlier rounds have found out.
    known: Mutex<HashMap<ObjectName, Known>>,
    /// The requests, for pages; none if pages are not served.
    book: Option<Arc<RequestBook>>,
}

impl Reviews {
    /// Runs until the queue is closed. Running rounds are finished.
    async fn work(self: Arc<Self>) {
        self.queue.lead();
        tokio::select! {
            () = self.cache.listed() => {}
            () = self.queue.closed() => return,
        }
        let places = Arc::new(Semaphore::new(AT_ONCE.min(self.services.workers.max(1))));
        let mut turns = JoinSet::new();
        while let Ok(place) = Arc::clone(&places).acquire_owned().await
            && let Some((name, working)) = self.queue.next().await
        {
            while turns.try_join_next().is_some() {}
            let reviews = Arc::clone(&self);
            turns.spawn(async move {
                reviews.take(&name, working).await;
                drop(place);
            });
        }
        while turns.join_next().await.is_some() {}
    }

    async fn take(&self, name: &ObjectName, working: Working) {
        // A panic is retried later; others are not affected.
        let finish = match AssertUnwindSafe(self.turn(name)).catch_unwind().await {
            Ok(finish) => finish,
            Err(_) => {
                self.services
                    .log
                    .named(CONTROLLER)
                    .error(&"panicked", "Reconciler error");
                self.queue.failed(name);
                Finish::Error
            }
        };
        working.finish(finish);
        self.queue.done(name);
        self.queue.ended(&name.namespace);
    }

    async fn turn(&self, name: &ObjectName) -> Finish {
        let Some(object) = self.cache.get(name) else {
            self.drop(name).await;
            return Finish::Success;
        };
        match self.owner(&object) {
            Verdict::Ours => {}
            Verdict::Later => {
                self.queue.add_after(name.clone(), AGAIN);
                return Finish::Requeue;
            }
            Verdict::Others => {
                self.drop(name).await;
                return Finish::Success;
            }
        }
        match ReviewAnnotations::read(&object.annotations) {
            Ok(wanted) if wanted.is_on && !object.deleting => self.review(object, wanted).await,
            Ok(_) => {
                self.drop(name).await;
                Finish::Success
            }
            Err(error) => {
                self.warn(&object, Reason::InvalidAnnotation, error.to_string());
                Finish::TerminalError
            }
        }
    }

    async fn review(&self, object: Arc<Object>, wanted: ReviewAnnotations) -> Finish {
        let name = &object.name;
        match self.round(&object, wanted).await {
            Ok(Some(again)) => {
                self.queue.succeeded(name);
                let pause = self.services.jittered(again);
                self.queue.come_back(name, pause, None);
                Finish::RequeueAfter
            }
            Ok(None) => {
                self.queue.succeeded(name);
                Finish::Success
            }
            Err(Failed { message, pause }) => {
                self.warn(&object, Reason::ReviewFailed, message);
                let least = self.queue.failed(name);
                if let Some(pause) = pause.filter(|pause| *pause > least) {
                    self.queue.add_after(name.clone(), pause.min(LONGEST_PAUSE));
                }
                Finish::Error
            }
        }
    }

    /// A round of changes. Returns when to look again; none for a suspended object.
    async fn round(&self, object: &Arc<Object>, wanted: ReviewAnnotations) -> Result<Option<Duration>, Failed> {
        let name = &object.name;
        let whole = if object.is_left_out() {
            let read = self.context.cluster.get(&GIT_REPOSITORY, name).await;
            Arc::new(read.map_err(|error| Failed::of(error.to_string()))?)
        } else {
            Arc::clone(object)
        };
        let repository: GitRepository = whole
            .read(&GIT_REPOSITORY)
            .map_err(|error| Failed::of(error.to_string()))?;
        if repository.spec.suspend {
            self.drop(name).await;
            return Ok(None);
        }
        let known = std::mem::take(self.known.lock().entry(name.clone()).or_default());
        let mut round = Round::new(self, Arc::clone(object), repository, wanted, known);
        let done = round.run().await;
        let known = round.end();
        self.known.lock().insert(name.clone(), known);
        self.mirrors.measure(OWNER, name).await;
        done.map(Some)
    }

    fn owner(&self, object: &Object) -> Verdict {
        let dealt = self.services.dealt.as_ref();
        dealt.map_or(Verdict::Ours, |dealt| dealt.verdict(&GIT_REPOSITORY, object))
    }

    /// Whether the object is still to be reviewed by this process, as it was at the beginning of a round. A request for
    /// another round changes nothing about this one.
    fn is_current(&self, object: &Object, wanted: &ReviewAnnotations) -> bool {
        self.cache.get(&object.name).is_some_and(|now| {
            let is_same = now.uid == object.uid && now.generation == object.generation;
            let is_wanted = ReviewAnnotations::read(&now.annotations).is_ok_and(|now| now == *wanted);
            is_same && is_wanted && !now.deleting && self.owner(&now) != Verdict::Others
        })
    }

    /// Drops what is kept for an object that is not reviewed here.
    async fn drop(&self, name: &ObjectName) {
        self.queue.forget(name);
        if let Some(book) = &self.book {
            book.forget(name);
        }
        let was_known = self.known.lock().remove(name).is_some();
        if was_known {
            self.mirrors.forget(OWNER, name).await;
        }
    }

    fn log(&self, name: &ObjectName) -> Log {
        let log = self
            .services
            .log
            .controller(CONTROLLER, GIT_REPOSITORY.group, GIT_REPOSITORY.kind);
        log.reconciliation(GIT_REPOSITORY.kind, &name.namespace, &name.name)
    }

    /// Tells of what keeps requests from being reviewed: once, until something else does.
    fn warn(&self, object: &Object, reason: Reason, message: String) {
        let is_new = {
            let mut reviewed = self.known.lock();
            reviewed.entry(object.name.clone()).or_default().warns(&message)
        };
        if is_new {
            self.log(&object.name).error(&reason, &message);
            self.record(object, EventType::Warning, reason, message);
        }
    }

    fn record(&self, object: &Object, event_type: EventType, reason: Reason, message: String) {
        let said = (event_type, reason.as_str(), message);
        let event = events::event(object, &GIT_REPOSITORY, EVENTS, Action::Reconcile, said);
        self.services.recorder.record(event);
    }
}
