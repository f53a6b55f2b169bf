//! Who may see what: SubjectAccessReviews (`list` of a kind in a namespace), cached for a minute. Whatever is
//! not answered is denied.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::kinds::{KINDS, named};
use bumpwright_kube::{AccessQuestion, Cluster, Kind, User};

/// How long an answer counts.
const KEPT: Duration = Duration::from_secs(60);

/// How long a failure counts as a denial.
const FAILED: Duration = Duration::from_secs(5);

/// How long a page waits for answers; the others come for the next one.
const PATIENCE: Duration = Duration::from_secs(4);

/// The most questions that are asked at once for somebody.
const AT_ONCE: usize = 16;

/// The most people whose rights are kept, and answers for each of them.
const PEOPLE: usize = 256;
const ANSWERS: usize = 20_000;

/// A kind in a namespace.
pub(super) type Place = (&'static str, String);

/// What somebody may see of the places that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    /// None where everything may be seen.
    pub(super) places: Option<Arc<BTreeSet<Place>>>,
    /// Kinds that may not be listed in all namespaces, of which nothing is seen.
    pub(super) unlisted: Vec<&'static Kind>,
    /// Whether all questions were answered.
    pub(super) is_complete: bool,
}

impl Sight {
    pub(super) const ALL: Self = Self {
        places: None,
        unlisted: Vec::new(),
        is_complete: true,
    };

    pub(super) fn is_all(&self) -> bool {
        self.places.is_none()
    }

    pub(super) fn has(&self, kind: &str, namespace: &str) -> bool {
        let Some(places) = &self.places else { return true };
        // Names of kinds are those of the table.
        named(kind).is_some_and(|kind| places.contains(&(kind.kind, namespace.to_owned())))
    }
}

/// The rights of people.
pub(super) struct Rights {
    cluster: Cluster,
    people: Mutex<BTreeMap<User, Arc<Answers>>>,
}

/// The answers for one person.
#[derive(Default)]
struct Answers {
    known: Mutex<HashMap<Place, Answer>>,
    /// Held by the one who asks: others wait for the same answers.
    asking: tokio::sync::Mutex<()>,
    used: Mutex<Option<Instant>>,
}

#[derive(Clone, Copy)]
struct Answer {
    allowed: bool,
    until: Instant,
}

impl Rights {
    pub(super) fn new(cluster: Cluster) -> Self {
        Self {
            cluster,
            people: Mutex::default(),
        }
    }

    /// What `user` may see of these places. Where a kind may be listed in all namespaces, nothing more
    /// is asked about it.
    pub(super) async fn sight(&self, user: &User, places: &BTreeSet<Place>) -> Sight {
        let answers = self.answers(user);
        let (cluster, user, asked) = (self.cluster.clone(), user.clone(), Arc::clone(&answers));
        let wanted = places.clone();
        // Not cut off with the page that waits for it.
        let asking = tokio::spawn(async move { asked.ask_all(&cluster, &user, &wanted).await });
        let is_complete = tokio::time::timeout(PATIENCE, asking).await.is_ok();
        let known_answers = answers.known.lock();
        let is_allowed = |(kind, namespace): &Place| {
            let allowed = |namespace: &str| allowed(&known_answers, &(*kind, namespace.to_owned())) == Some(true);
            allowed("") || allowed(namespace)
        };
        let visible: BTreeSet<Place> = places.iter().filter(|place| is_allowed(place)).cloned().collect();
        // It is the same whether there are objects of that kind that may not be seen or none.
        let is_unlisted = |kind: &Kind| {
            let is_denied = allowed(&known_answers, &(kind.kind, String::new())) == Some(false);
            is_denied && visible.iter().all(|(other, _)| *other != kind.kind)
        };
        Sight {
            unlisted: KINDS.into_iter().filter(|kind| is_unlisted(kind)).collect(),
            places: (visible.len() < places.len() || !is_complete).then(|| Arc::new(visible)),
            is_complete,
        }
    }

    /// Whether `user` may do this, as the server answers now. A failure is a denial.
    pub(super) async fn may(&self, user: &User, question: &AccessQuestion<'_>) -> bool {
        self.cluster.user_may(user, question).await.unwrap_or(false)
    }

    pub(super) fn forget(&self) {
        self.people.lock().clear();
    }

    fn answers(&self, user: &User) -> Arc<Answers> {
        let mut people = self.people.lock();
        if !people.contains_key(user) && people.len() >= PEOPLE {
            let oldest = people.iter().min_by_key(|(_, answers)| *answers.used.lock());
            let oldest = oldest.map(|(user, _)| user.clone());
            oldest.and_then(|user| people.remove(&user));
        }
        let answers = Arc::clone(people.entry(user.clone()).or_default());
        *answers.used.lock() = Some(Instant::now());
        answers
    }
}

impl Answers {
    /// Asks what is not known: first about all namespaces.
    async fn ask_all(&self, cluster: &Cluster, user: &User, places: &BTreeSet<Place>) {
        let _asking = self.asking.lock().await;
        let kinds = places.iter().map(|(kind, _)| *kind).chain(KINDS.map(|kind| kind.kind));
        let kinds: BTreeSet<Place> = kinds.map(|kind| (kind, String::new())).collect();
        self.ask(cluster, user, kinds).await;
        let left = places
            .iter()
            .filter(|(kind, _)| allowed(&self.known.lock(), &(*kind, String::new())) != Some(true));
        let left: BTreeSet<Place> = left.cloned().collect();
        self.ask(cluster, user, left).await;
    }

    async fn ask(&self, cluster: &Cluster, user: &User, places: BTreeSet<Place>) {
        let unknown: Vec<Place> = {
            let answers = self.known.lock();
            places
                .into_iter()
                .filter(|place| allowed(&answers, place).is_none())
                .collect()
        };
        let questions: Vec<BoxFuture<'_, ()>> = unknown
            .into_iter()
            .map(|place| self.ask_one(cluster, user, place).boxed())
            .collect();
        futures::stream::iter(questions)
            .buffer_unordered(AT_ONCE)
            .collect::<()>()
            .await;
    }

    async fn ask_one(&self, cluster: &Cluster, user: &User, place: Place) {
        let question = named(place.0).map(|kind| list(kind, &place.1));
        let answer = match question {
            Some(question) => cluster.user_may(user, &question).await,
            None => Ok(false),
        };
        self.learn(place, answer.ok());
    }

    fn learn(&self, place: Place, answer: Option<bool>) {
        let mut answers = self.known.lock();
        if answers.len() >= ANSWERS {
            let now = Instant::now();
            answers.retain(|_, answer| answer.until > now);
        }
        if answers.len() >= ANSWERS {
            answers.clear();
        }
        let until = Instant::now() + if answer.is_some() { KEPT } else { FAILED };
        let allowed = answer.unwrap_or(false);
        answers.insert(place, Answer { allowed, until });
    }
}

fn allowed(known: &HashMap<Place, Answer>, place: &Place) -> Option<bool> {
    let answer = known.get(place).filter(|answer| answer.until > Instant::now())?;
    Some(answer.allowed)
}

fn list<'a>(kind: &'a Kind, namespace: &'a str) -> AccessQuestion<'a> {
    AccessQuestion {
        verb: "list",
        group: kind.group,
        resource: kind.plural,
        namespace,
        name: "",
    }
}
