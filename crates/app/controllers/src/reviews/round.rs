//! A round: the open requests of a repository are listed, and those that are not reviewed yet are.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Reviews;
use super::connection::{self, Connection};
use super::error::{ConnectionError, ReviewError};
use super::known::{Known, Pair};
use super::look::{Look, Nothing};
use super::post::{Posting, context, ending, short};
use crate::dereference;
use crate::fleet_view::{self, Elsewhere, Secrets};
use bumpwright_api::{GitRepository, Reason, ReviewAnnotations};
use bumpwright_connect::References;
use bumpwright_fleet::{ClusterObjects, Outside};
use bumpwright_forge::{ForgeError, OpenRequest, OpenRequests};
use bumpwright_http::Job;
use bumpwright_kube::{ClusterError, Object};
use bumpwright_runtime::{EventType, Log, blocking, clock};
use bumpwright_schemas::{Schemas, UnknownMinor};
use bumpwright_update::{Start, settings};
use std::fmt::Display;

/// The most open requests of a repository: those that changed last.
const REQUESTS: usize = 100;

/// The shortest interval of lists.
const LEAST_INTERVAL: Duration = Duration::from_secs(30);

/// The interval of a repository that has none.
const INTERVAL: Duration = Duration::from_secs(300);

/// How long a repository is worked at before others have their turn.
const TURN: Duration = Duration::from_secs(60);

/// The time for a request to a forge, or a few of them.
const ASKING: Duration = Duration::from_secs(60);

/// Why a round has ended early.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) message: String,
    /// How long the forge is not to be asked again.
    pub(super) pause: Option<Duration>,
}

impl Failed {
    pub(super) fn of(why: impl Display) -> Self {
        Self {
            message: why.to_string(),
            pause: None,
        }
    }

    fn at_forge(error: &ForgeError) -> Self {
        Self {
            message: error.to_string(),
            pause: error.pause(clock::now().unix_seconds()),
        }
    }
}

/// A request that is not reviewed yet.
struct Due {
    number: u64,
    branch: String,
    pair: Pair,
    is_fork: bool,
}

/// A round.
pub(super) struct Round<'a> {
    reviews: &'a Reviews,
    object: Arc<Object>,
    repository: GitRepository,
    wanted: Arc<ReviewAnnotations>,
    known: Known,
    log: Log,
    /// The Kustomizations with the variables that requests of the repository itself see, and those of forks.
    seen: [Option<ClusterObjects>; 2],
    /// When to come back at the latest.
    next: Duration,
}

impl<'a> Round<'a> {
    pub(super) fn new(
        reviews: &'a Reviews,
        object: Arc<Object>,
        repository: GitRepository,
        wanted: ReviewAnnotations,
        known: Known,
    ) -> Self {
        let interval = repository.spec.interval.map_or(INTERVAL, |interval| interval.as_std());
        Self {
            log: reviews.log(&object.name),
            reviews,
            object,
            repository,
            wanted: Arc::new(wanted),
            known,
            seen: [None, None],
            next: interval.max(LEAST_INTERVAL),
        }
    }

    /// What is known by now.
    pub(super) fn end(self) -> Known {
        self.known
    }

    /// Reviews what is due. Returns when to look again.
    ///
    /// # Errors
    /// What keeps all requests from being reviewed.
    pub(super) async fn run(&mut self) -> Result<Duration, Failed> {
        let connection = Arc::new(self.connect().await.map_err(Failed::of)?);
        let listed = self.list(&connection).await?;
        let due = self.due(&connection, listed).await?;
        let (began, mut all_well) = (Instant::now(), true);
        for one in due {
            if began.elapsed() >= TURN {
                self.next = Duration::ZERO;
                break;
            }
            if !self.reviews.is_current(&self.object, &self.wanted) {
                break;
            }
            if self.was_done(&connection, &one).await? {
                self.known.done(one.number, one.pair);
                continue;
            }
            match self.review(&connection, &one).await {
                Ok(posting) => self.post(&connection, one, posting).await?,
                Err(error) => {
                    all_well = false;
                    self.put_off(&one, &error.to_string());
                }
            }
        }
        if all_well {
            self.known.is_well();
        }
        Ok(self.next)
    }

    async fn connect(&self) -> Result<Connection, ConnectionError> {
        let context = &self.reviews.context;
        let references = References::of(&self.repository, &context.accounts);
        let references = references.with_secrets(connection::secret(&self.repository, &self.wanted));
        let objects = dereference::read(context, references).await?;
        let (context, repository, wanted) = (Arc::clone(context), self.repository.clone(), Arc::clone(&self.wanted));
        blocking::ask(move || connection::connect(&context, &repository, &objects, &wanted)).await?
    }

    /// Asks the forge, on the account of the namespace.
    async fn ask<T: Send + 'static>(
        &self,
        connection: &Arc<Connection>,
        question: impl FnOnce(&Connection) -> Result<T, ForgeError> + Send + 'static,
    ) -> Result<Result<T, ForgeError>, Failed> {
        let budget = self.reviews.context.settings.fetches.of(&self.object.name.namespace);
        let connection = Arc::clone(connection);
        let asked = move || Job::on(budget.memory).run(|| Job::within(ASKING, || question(&connection)));
        blocking::ask(asked).await.map_err(Failed::of)
    }

    /// The open requests into the branch of the repository; into all branches if it follows none.
    async fn list(&mut self, connection: &Arc<Connection>) -> Result<Vec<OpenRequest>, Failed> {
        let start = settings::start(self.repository.spec.reference.as_ref());
        let (start, _) = start.map_err(Failed::of)?;
        let branch = match start {
            Start::Branch(branch) => Some(branch),
            Start::Name(name) => name.strip_prefix("refs/heads/").map(str::to_owned),
            _ => None,
        };
        let listed = self.ask(connection, move |servers| {
            servers.forge.open_requests(branch.as_deref(), REQUESTS)
        });
        let OpenRequests { requests, has_more } = listed.await?.map_err(|error| Failed::at_forge(&error))?;
        if has_more {
            self.tell(format!(
                "more than {REQUESTS} open pull requests: those that changed last are reviewed"
            ));
        }
        let open: BTreeSet<u64> = requests.iter().map(|request| request.number).collect();
        self.known.keep(&open);
        Ok(requests)
    }

    /// Those that are to be reviewed now.
    async fn due(&mut self, connection: &Arc<Connection>, listed: Vec<OpenRequest>) -> Result<Vec<Due>, Failed> {
        let mut due = Vec::new();
        let mut tip: Option<(String, Option<String>)> = None;
        for request in listed {
            let number = request.number;
            if request.is_fork && !self.wanted.forks {
                self.tell(format!(
                    "pull request #{number} is of a fork: it is not reviewed without bumpwright.dev/review-forks"
                ));
                continue;
            }
            let Some(head) = request.head.clone() else {
                self.tell(format!(
                    "the head of pull request #{number} is gone: it is not reviewed"
                ));
                continue;
            };
            if let Some(until) = self.known.waits(number, Instant::now()) {
                self.come_back_at(until);
                continue;
            }
            if tip.as_ref().is_none_or(|(branch, _)| *branch != request.base) && request.merge_base.is_none() {
                let branch = request.base.clone();
                let asked = self.ask(connection, move |servers| servers.forge.tip(&branch)).await?;
                tip = Some((request.base.clone(), asked.map_err(|error| Failed::at_forge(&error))?));
            }
            let tip = tip.as_ref().and_then(|(_, tip)| tip.as_deref());
            let Some(base) = self.base(connection, &request, &head, tip).await? else {
                continue;
            };
            let one = Due {
                number,
                branch: request.base,
                pair: Pair { base, head },
                is_fork: request.is_fork,
            };
            if !self.known.is_done(number, &one.pair) {
                due.push(one);
            }
        }
        Ok(due)
    }

    /// The commit that a request begins at, if the two branches have one in common.
    async fn base(
        &mut self,
        connection: &Arc<Connection>,
        request: &OpenRequest,
        head: &str,
        tip: Option<&str>,
    ) -> Result<Option<String>, Failed> {
        let number = request.number;
        if let Some(base) = &request.merge_base {
            return Ok(Some(base.clone()));
        }
        let Some(tip) = tip else {
            self.tell(format!(
                "pull request #{number} and {} have no commit in common: it is not reviewed",
                request.base
            ));
            return Ok(None);
        };
        if let Some(base) = self.known.base(number, tip, head) {
            return Ok(Some(base.to_owned()));
        }
        let (from, to) = (tip.to_owned(), head.to_owned());
        let asked = self
            .ask(connection, move |servers| servers.forge.merge_base(&from, &to))
            .await?;
        match asked {
            Ok(base) => {
                let pair = Pair {
                    base: base.clone(),
                    head: head.to_owned(),
                };
                self.known.put_base(number, tip, pair);
                Ok(Some(base))
            }
            Err(error @ ForgeError::Refused { .. }) if !error.is_about_login() => {
                let until = self.known.failed(number, Instant::now());
                self.come_back_at(until);
                self.tell(format!("pull request #{number}: {error}"));
                Ok(None)
            }
            Err(error) => Err(Failed::at_forge(&error)),
        }
    }

    /// Whether the forge knows that the pair was reviewed, before this process began.
    async fn was_done(&self, connection: &Arc<Connection>, one: &Due) -> Result<bool, Failed> {
        let (commit, context) = (one.pair.head.clone(), context(&self.wanted));
        let asked = self
            .ask(connection, move |servers| servers.forge.status(&commit, &context))
            .await?;
        let known = asked.map_err(|error| Failed::at_forge(&error))?;
        Ok(known.is_some_and(|description| description.ends_with(&ending(&one.pair))))
    }

    /// Reviews a request.
    async fn review(&mut self, connection: &Arc<Connection>, one: &Due) -> Result<Posting, ReviewError> {
        let (name, namespace) = (self.object.name.clone(), &self.object.name.namespace);
        let context = &self.reviews.context;
        let outside: Box<dyn Outside + Send> = if one.is_fork {
            Box::new(Nothing)
        } else {
            let providers = self.reviews.providers.clone();
            Box::new(Elsewhere::new(providers, namespace, "the GitRepository"))
        };
        let memory = context.settings.builds.of(namespace).memory;
        let fetches = context.settings.fetches.of(namespace).memory;
        let look = Look {
            name,
            repository: self.repository.clone(),
            remote: connection.remote.clone(),
            mirrors: Arc::clone(&self.reviews.mirrors),
            branch: one.branch.clone(),
            pair: one.pair.clone(),
            outside,
            schemas: self.schemas()?,
            strict: context.settings.gates.strict_substitutions,
            memory,
            cluster: self.cluster(one.is_fork).await?,
        };
        let (pair, wanted) = (one.pair.clone(), Arc::clone(&self.wanted));
        let looked = move || {
            let review = Job::on(fetches).run(|| look.review())?;
            Ok(Posting::of(review.as_ref(), &pair, &wanted))
        };
        blocking::ask(looked).await?
    }

    fn schemas(&self) -> Result<Schemas, UnknownMinor> {
        self.reviews.schemas.get_or_init(|| Schemas::bundled(None)).clone()
    }

    /// What the namespace sees of the cluster: no values of Secrets, and for forks not even their keys.
    async fn cluster(&mut self, is_fork: bool) -> Result<ClusterObjects, ClusterError> {
        let known = self.seen.get(usize::from(is_fork)).and_then(Option::as_ref);
        if let Some(known) = known {
            return Ok(known.clone());
        }
        let secrets = if is_fork { Secrets::Unread } else { Secrets::Masked };
        let name = &self.object.name;
        let seen = fleet_view::seen(&self.reviews.context, name.clone(), &name.namespace, secrets).await?;
        if let Some(kept) = self.seen.get_mut(usize::from(is_fork)) {
            *kept = Some(seen.cluster.clone());
        }
        Ok(seen.cluster)
    }

    async fn post(&mut self, connection: &Arc<Connection>, one: Due, posting: Posting) -> Result<(), Failed> {
        // Somebody may have changed their mind meanwhile, or another process reviews it by now.
        if !self.reviews.is_current(&self.object, &self.wanted) {
            return Ok(());
        }
        let message = format!(
            "reviewed pull request #{} at {}: {}",
            one.number,
            short(&one.pair.head),
            posting.description
        );
        let verdict = posting.verdict;
        let (number, pair, wanted) = (one.number, one.pair.clone(), Arc::clone(&self.wanted));
        let asked = self
            .ask(connection, move |servers| {
                posting.post(&servers.forge, (number, &pair), &wanted)
            })
            .await?;
        match asked {
            Ok(()) => {
                self.log.info(&message);
                self.reviews
                    .record(&self.object, EventType::Trace, Reason::Reviewed, message);
                self.reviews.services.metrics.review(verdict.word());
                self.known.done(one.number, one.pair);
                Ok(())
            }
            // What is wrong with this one need not be with others, unless it is the login.
            Err(error @ ForgeError::Refused { .. }) if !error.is_about_login() => {
                self.put_off(&one, &error.to_string());
                Ok(())
            }
            Err(error) => Err(Failed::at_forge(&error)),
        }
    }

    /// A request is tried again later.
    fn put_off(&mut self, one: &Due, why: &str) {
        let until = self.known.failed(one.number, Instant::now());
        self.come_back_at(until);
        let message = format!("pull request #{} at {}: {why}", one.number, short(&one.pair.head));
        if self.known.warns(&message) {
            self.log.error(&Reason::ReviewFailed, &message);
            self.reviews
                .record(&self.object, EventType::Warning, Reason::ReviewFailed, message);
        }
    }

    fn come_back_at(&mut self, until: Instant) {
        let pause = until.saturating_duration_since(Instant::now());
        self.next = self.next.min(pause.max(Duration::from_secs(1)));
    }

    /// Tells of what is as it should be, once.
    fn tell(&mut self, message: String) {
        if self.known.tells(&message) {
            self.log.info(&message);
        }
    }
}
