//! Whose token it is: TokenReviews, cached by the token's SHA-256. What is revoked ends within a minute.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use bumpwright_kube::{Cluster, User};
use bumpwright_secret::Secret;

/// How long an answer counts: a person's, and that a token is nobody's. With the beat of streams that is a minute.
const KEPT: Duration = Duration::from_secs(45);
const REFUSED: Duration = Duration::from_secs(10);

/// The most answers of each sort.
const ANSWERS: usize = 1024;

/// The most reviews at once, and how long one may wait.
const AT_ONCE: usize = 8;
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest token, in bytes.
pub(super) const LONGEST: usize = 8 << 10;

/// Why nobody is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Nothing says who it is.
    Nobody,
    /// The token is not accepted, or not any more.
    Refused,
    /// It cannot be checked at the moment.
    NotChecked,
    /// The proxy did not prove itself, or did not say who it is.
    Proxy,
}

pub(crate) struct Tokens {
    cluster: Cluster,
    people: Mutex<HashMap<[u8; 32], (Instant, User)>>,
    refused: Mutex<HashMap<[u8; 32], Instant>>,
    turns: Semaphore,
}

impl Tokens {
    pub(super) fn new(cluster: Cluster) -> Self {
        Self {
            cluster,
            people: Mutex::default(),
            refused: Mutex::default(),
            turns: Semaphore::new(AT_ONCE),
        }
    }

    /// Whose token it is.
    pub(super) async fn whose(&self, token: &Secret) -> Result<User, Unknown> {
        if token.is_empty() || token.expose().len() > LONGEST {
            return Err(Unknown::Refused);
        }
        let id: [u8; 32] = Sha256::digest(token.expose()).into();
        if let Some(known) = self.known(&id) {
            return known;
        }
        let review = async {
            let _turn = self.turns.acquire().await;
            match self.known(&id) {
                Some(known) => known.map(Some),
                None => self.cluster.whose(token).await.map_err(|_| Unknown::NotChecked),
            }
        };
        let user = timeout(PATIENCE, review).await.map_err(|_| Unknown::NotChecked)??;
        match user {
            Some(user) => {
                put(
                    &mut self.people.lock(),
                    id,
                    (Instant::now(), user.clone()),
                    |(at, _)| *at,
                );
                Ok(user)
            }
            None => {
                put(&mut self.refused.lock(), id, Instant::now(), |at| *at);
                Err(Unknown::Refused)
            }
        }
    }

    fn known(&self, id: &[u8; 32]) -> Option<Result<User, Unknown>> {
        let user = self
            .people
            .lock()
            .get(id)
            .filter(|(at, _)| at.elapsed() < KEPT)
            .map(|(_, user)| user.clone());
        let is_refused = || self.refused.lock().get(id).is_some_and(|at| at.elapsed() < REFUSED);
        user.map(Ok).or_else(|| is_refused().then_some(Err(Unknown::Refused)))
    }
}

/// Adds an answer; if the table is full, the oldest answer goes.
fn put<T>(answers: &mut HashMap<[u8; 32], T>, id: [u8; 32], answer: T, at: impl Fn(&T) -> Instant) {
    if answers.len() >= ANSWERS {
        let oldest = answers.iter().min_by_key(|(_, answer)| at(answer)).map(|(id, _)| *id);
        oldest.and_then(|id| answers.remove(&id));
    }
    answers.insert(id, answer);
}
