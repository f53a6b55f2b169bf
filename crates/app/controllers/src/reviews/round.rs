//! A round: the open requests of a repository are listed, and those that are not reviewed yet are. The changes of the
//! cluster itself come after them (`own`).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::connection::{self, Connection};
use super::error::{ConnectionError, ReviewError};
use super::known::{Known, Pair};
use super::look::{Look, Nothing};
use super::named_images::NamedImages;
use super::post::{Posting, context, ending, short};
use super::release_notes::ReleaseNotes;
use super::{Reviews, book};
use crate::dereference;
use crate::fleet_view::{self, Elsewhere, Secrets};
use bumpwright_api::{GitRepository, Reason, ReviewAnnotations};
use bumpwright_connect::References;
use bumpwright_fleet::{self as fleet, ClusterObjects, ImageRegistries, Outside};
use bumpwright_forge::{ForgeError, OpenRequest, OpenRequests};
use bumpwright_http::Job;
use bumpwright_kube::{ClusterError, IMAGE_REPOSITORY, Object};
use bumpwright_pages::Subject;
use bumpwright_pages::request::{Review, ReviewState};
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

impl Due {
    fn subject(&self) -> Subject {
        Subject::Request(self.number)
    }
}

pub(super) struct Round<'a> {
    pub(super) reviews: &'a Reviews,
    pub(super) object: Arc<Object>,
    pub(super) repository: GitRepository,
    wanted: Arc<ReviewAnnotations>,
    pub(super) known: Known,
    pub(super) log: Log,
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

    /// Reviews what is due: requests first. Returns when to look again.
    ///
    /// # Errors
    /// What keeps all requests from being reviewed. What the cluster has not applied is reviewed all the same.
    pub(super) async fn run(&mut self) -> Result<Duration, Failed> {
        let connection = Arc::new(self.connect().await.map_err(Failed::of)?);
        let began = Instant::now();
        let requests = self.requests(&connection, began).await;
        let own = self.own_changes(&connection, began).await;
        if requests? & own? {
            self.known.is_well();
        }
        Ok(self.next)
    }

    /// Reviews the requests that are due. Returns whether all went well.
    async fn requests(&mut self, connection: &Arc<Connection>, began: Instant) -> Result<bool, Failed> {
        let listed = self.list(connection).await?;
        let due = self.due(connection, listed).await?;
        let mut all_well = true;
        for one in due {
            if self.is_over(began) || !self.is_current() {
                break;
            }
            if self.was_done(connection, &one).await? {
                let why = "an earlier process has reviewed it: the commit status at the forge has the result";
                self.note(&one.subject(), &one.pair.base, ReviewState::NotKept(why.to_owned()));
                self.known.done(one.subject(), one.pair, Vec::new());
                continue;
            }
            match self.review(connection, &one).await {
                Ok(posting) => self.post(connection, one, posting).await?,
                Err(error) => {
                    all_well = false;
                    self.put_off_request(&one, &error.to_string());
                }
            }
        }
        Ok(all_well)
    }

    /// Whether other repositories have their turn; this one comes back at once.
    pub(super) fn is_over(&mut self, began: Instant) -> bool {
        let is_over = began.elapsed() >= TURN;
        if is_over {
            self.next = Duration::ZERO;
        }
        is_over
    }

    /// Whether the object is still to be reviewed as it was.
    pub(super) fn is_current(&self) -> bool {
        self.reviews.is_current(&self.object, &self.wanted)
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
        let job = move || Job::on(budget.memory).run(|| Job::within(ASKING, || question(&connection)));
        blocking::ask(job).await.map_err(Failed::of)
    }

    /// The branch that the repository follows; none if it follows none.
    pub(super) fn branch(&self) -> Result<Option<String>, Failed> {
        let start = settings::start(self.repository.spec.reference.as_ref());
        let (start, _) = start.map_err(Failed::of)?;
        Ok(match start {
            Start::Branch(branch) => Some(branch),
            Start::Name(name) => name.strip_prefix("refs/heads/").map(str::to_owned),
            _ => None,
        })
    }

    /// The open requests into the branch of the repository; into all branches if it follows none.
    async fn list(&mut self, connection: &Arc<Connection>) -> Result<Vec<OpenRequest>, Failed> {
        let branch = self.branch()?;
        let listed = self.ask(connection, move |servers| {
            servers.forge.open_requests(branch.as_deref(), REQUESTS)
        });
        let OpenRequests { requests, has_more } = listed.await?.map_err(|error| Failed::at_forge(&error))?;
        if has_more {
            self.tell(format!(
                "more than {REQUESTS} open pull requests: those that changed last are reviewed"
            ));
        }
        if let Some(book) = &self.reviews.book {
            book.list(&self.object.name, &requests, clock::now().unix_seconds());
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
            let (number, subject) = (request.number, Subject::Request(request.number));
            if request.is_fork && !self.wanted.forks {
                let why = "it is of a fork: the GitRepository needs the annotation bumpwright.dev/review-forks";
                self.note(&subject, "", ReviewState::Skipped(why.to_owned()));
                self.tell(format!(
                    "pull request #{number} is of a fork: it is not reviewed without bumpwright.dev/review-forks"
                ));
                continue;
            }
            let Some(head) = request.head.clone() else {
                self.note(&subject, "", ReviewState::Skipped("its head is gone".to_owned()));
                self.tell(format!(
                    "the head of pull request #{number} is gone: it is not reviewed"
                ));
                continue;
            };
            if let Some(until) = self.known.waits(&subject, Instant::now()) {
                self.come_back_at(until);
                continue;
            }
            if tip.as_ref().is_none_or(|(branch, _)| *branch != request.base) && request.merge_base.is_none() {
                let branch = request.base.clone();
                let commit = self.ask(connection, move |servers| servers.forge.tip(&branch)).await?;
                tip = Some((request.base.clone(), commit.map_err(|error| Failed::at_forge(&error))?));
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
            if !self.known.is_done(&subject, &one.pair, &[]) {
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
        let (number, subject) = (request.number, Subject::Request(request.number));
        if let Some(base) = &request.merge_base {
            return Ok(Some(base.clone()));
        }
        let Some(tip) = tip else {
            let why = format!("it and {} have no commit in common", request.base);
            self.note(&subject, "", ReviewState::Skipped(why));
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
        let answer = self
            .ask(connection, move |servers| servers.forge.merge_base(&from, &to))
            .await?;
        match answer {
            Ok(base) => {
                let pair = Pair {
                    base: base.clone(),
                    head: head.to_owned(),
                };
                self.known.put_base(number, tip, pair);
                Ok(Some(base))
            }
            Err(error @ ForgeError::Refused { .. }) if !error.is_about_login() => {
                let until = self.known.failed(&subject, Instant::now());
                self.come_back_at(until);
                self.note(&subject, "", ReviewState::Failed(book::why(&error.to_string())));
                self.tell(format!("pull request #{number}: {error}"));
                Ok(None)
            }
            Err(error) => Err(Failed::at_forge(&error)),
        }
    }

    /// Whether the forge knows that the pair was reviewed, before this process began. Without a status it is reviewed
    /// again; the comment stays as it is if it says the same.
    async fn was_done(&self, connection: &Arc<Connection>, one: &Due) -> Result<bool, Failed> {
        if !connection.forge.takes_status(one.is_fork) {
            return Ok(false);
        }
        let (commit, context) = (one.pair.head.clone(), context(&self.wanted));
        let answer = self
            .ask(connection, move |servers| servers.forge.status(&commit, &context))
            .await?;
        let status = answer.map_err(|error| Failed::at_forge(&error))?;
        Ok(status.is_some_and(|description| description.ends_with(&ending(&one.pair))))
    }

    async fn review(&mut self, connection: &Arc<Connection>, one: &Due) -> Result<Posting, ReviewError> {
        let outside: Box<dyn Outside + Send> = if one.is_fork { Box::new(Nothing) } else { self.outside() };
        let cluster = self.cluster(one.is_fork).await?;
        let place = (Some(one.branch.clone()), false);
        let mut look = self.look(connection, one.pair.clone(), place, (cluster, outside))?;
        let images = if one.is_fork { None } else { self.named_images().await };
        look.registries = images.clone().map(|images| images as Arc<dyn ImageRegistries>);
        let notes = images.map(|images| self.release_notes(connection, &images));
        let (pair, wanted) = (one.pair.clone(), Arc::clone(&self.wanted));
        let has_pages = self.reviews.book.is_some();
        self.looked(look, move |mut review| {
            if let (Some(notes), Some(review)) = (notes, review.as_mut()) {
                notes.add(review);
            }
            Posting::of(review.as_ref(), &pair, &wanted, has_pages)
        })
        .await
    }

    /// Whom to ask about the releases of new images.
    pub(super) fn release_notes(&self, connection: &Connection, images: &Arc<NamedImages>) -> ReleaseNotes {
        let forges = self.reviews.origins.forges(&self.object.name.namespace);
        ReleaseNotes::new(images, forges, &connection.forge, self.log.clone())
    }

    /// Whom to ask about new images: nobody where it is not wanted.
    pub(super) async fn named_images(&mut self) -> Option<Arc<NamedImages>> {
        if !self.wanted.release_notes {
            return None;
        }
        let (context, namespace) = (&self.reviews.context, &self.object.name.namespace);
        match fleet_view::all_of(context, &IMAGE_REPOSITORY, namespace).await {
            Ok(repositories) => {
                let memory = context.settings.fetches.of(namespace).memory;
                let (origins, log) = (&self.reviews.origins, self.log.clone());
                Some(Arc::new(NamedImages::new(origins, repositories, memory, log)))
            }
            Err(error) => {
                self.tell(format!("reviews are without what registries know of images: {error}"));
                None
            }
        }
    }

    /// What a review has from elsewhere.
    pub(super) fn outside(&self) -> Box<dyn Outside + Send> {
        let providers = self.reviews.providers.clone();
        Box::new(Elsewhere::new(
            providers,
            &self.object.name.namespace,
            "the GitRepository",
        ))
    }

    /// A review of a pair of commits: of which branch the earlier one is, and whether the later one is, too.
    pub(super) fn look(
        &self,
        connection: &Connection,
        pair: Pair,
        (branch, is_on_branch): (Option<String>, bool),
        (cluster, outside): (ClusterObjects, Box<dyn Outside + Send>),
    ) -> Result<Look, UnknownMinor> {
        let context = &self.reviews.context;
        Ok(Look {
            name: self.object.name.clone(),
            repository: self.repository.clone(),
            remote: connection.remote.clone(),
            mirrors: Arc::clone(&self.reviews.mirrors),
            branch,
            is_on_branch,
            pair,
            outside,
            schemas: self.schemas()?,
            strict: context.settings.gates.strict_substitutions,
            memory: context.settings.builds.of(&self.object.name.namespace).memory,
            registries: None,
            cluster,
        })
    }

    /// Reviews, and makes something of the review; of none if the time was over.
    pub(super) async fn looked<T: Send + 'static>(
        &self,
        look: Look,
        then: impl FnOnce(Option<fleet::Review>) -> T + Send + 'static,
    ) -> Result<T, ReviewError> {
        let fetches = self
            .reviews
            .context
            .settings
            .fetches
            .of(&self.object.name.namespace)
            .memory;
        blocking::ask(move || Ok(then(Job::on(fetches).run(|| look.review())?))).await?
    }

    fn schemas(&self) -> Result<Schemas, UnknownMinor> {
        self.reviews.schemas.get_or_init(|| Schemas::bundled(None)).clone()
    }

    /// What the namespace sees of the cluster: no values of Secrets, and for forks not even their keys.
    pub(super) async fn cluster(&mut self, is_fork: bool) -> Result<ClusterObjects, ClusterError> {
        let cached = self.seen.get(usize::from(is_fork)).and_then(Option::as_ref);
        if let Some(cached) = cached {
            return Ok(cached.clone());
        }
        let secrets = if is_fork { Secrets::Unread } else { Secrets::Masked };
        let name = &self.object.name;
        let seen = fleet_view::seen(&self.reviews.context, name.clone(), &name.namespace, secrets).await?;
        if let Some(kept) = self.seen.get_mut(usize::from(is_fork)) {
            *kept = Some(seen.cluster.clone());
        }
        Ok(seen.cluster)
    }

    async fn post(&mut self, connection: &Arc<Connection>, one: Due, mut posting: Posting) -> Result<(), Failed> {
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
        let (verdict, page) = (posting.verdict, posting.page.take());
        let description = posting.description.clone();
        let (number, is_fork) = (one.number, one.is_fork);
        let (pair, wanted) = (one.pair.clone(), Arc::clone(&self.wanted));
        let answer = self
            .ask(connection, move |servers| {
                posting.post(&servers.forge, (number, &pair, is_fork), &wanted)
            })
            .await?;
        match answer {
            Ok(()) => {
                self.log.info(&message);
                self.reviews
                    .record(&self.object, EventType::Trace, Reason::Reviewed, message);
                self.reviews.services.metrics.review(verdict.word());
                self.keep(&one, page, description);
                self.known.done(one.subject(), one.pair, Vec::new());
                Ok(())
            }
            // What is wrong with this one need not be with others, unless it is the login.
            Err(error @ ForgeError::Refused { .. }) if !error.is_about_login() => {
                self.put_off_request(&one, &error.to_string());
                Ok(())
            }
            Err(error) => Err(Failed::at_forge(&error)),
        }
    }

    /// Keeps a review for its page; without one that it was not finished.
    fn keep(&self, one: &Due, page: Option<(Arc<Review>, u64)>, description: String) {
        let Some(book) = &self.reviews.book else { return };
        match page {
            Some(page) => {
                let now = clock::now().unix_seconds();
                book.keep((&self.object.name, &one.subject()), &one.pair.base, page, now);
            }
            None => self.note(&one.subject(), &one.pair.base, ReviewState::Failed(description)),
        }
    }

    /// Notes for pages what has become of a change.
    pub(super) fn note(&self, subject: &Subject, base: &str, state: ReviewState) {
        if let Some(book) = &self.reviews.book {
            book.note((&self.object.name, subject), base, state, clock::now().unix_seconds());
        }
    }

    /// A request is tried again later.
    fn put_off_request(&mut self, one: &Due, why: &str) {
        let what = format!("pull request #{} at {}", one.number, short(&one.pair.head));
        self.put_off(&one.subject(), &one.pair.base, &what, why);
    }

    /// A change is tried again later.
    pub(super) fn put_off(&mut self, subject: &Subject, base: &str, what: &str, why: &str) {
        self.note(subject, base, ReviewState::Failed(book::why(why)));
        let until = self.known.failed(subject, Instant::now());
        self.come_back_at(until);
        let message = format!("{what}: {why}");
        if self.known.warns(&message) {
            self.log.error(&Reason::ReviewFailed, &message);
            self.reviews
                .record(&self.object, EventType::Warning, Reason::ReviewFailed, message);
        }
    }

    pub(super) fn come_back_at(&mut self, until: Instant) {
        self.come_back_in(until.saturating_duration_since(Instant::now()));
    }

    pub(super) fn come_back_in(&mut self, pause: Duration) {
        self.next = self.next.min(pause.max(Duration::from_secs(1)));
    }

    /// Tells of what is as it should be, once.
    pub(super) fn tell(&mut self, message: String) {
        if self.known.tells(&message) {
            self.log.info(&message);
        }
    }
}
