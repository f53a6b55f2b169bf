//! The changes with their last reviews, for pages. They are in memory alone, on the account of the namespace:
//! when it is full, the oldest reviews are dropped, and counted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;

use bumpwright_api::ObjectName;
use bumpwright_budget::{Exceeded, Memory, Reservation};
use bumpwright_forge::OpenRequest;
use bumpwright_pages::Subject;
use bumpwright_pages::request::{Behind, Review, ReviewState, ReviewedChange};
use bumpwright_text::Excerpt;
use bumpwright_ui::Requests;

/// The most bytes of all changes, and of those of a namespace.
const ALL: u64 = 64 << 20;
const NAMESPACE: u64 = ALL / 4;

/// What a change takes beside its texts, in bytes.
const CHANGE: usize = 1 << 10;

/// What a Kustomization that is behind takes beside its name, in bytes, with the longest reason.
const BEHIND: usize = 1 << 10;

/// The longest reason why a change has no review, in characters.
const WHY: usize = 500;

/// The changes of the repositories that this process reviews.
#[derive(Debug)]
pub(crate) struct RequestBook {
    memory: Memory,
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    repositories: BTreeMap<ObjectName, Repository>,
    /// Counts changes.
    version: u64,
}

#[derive(Debug, Default)]
struct Repository {
    requests: Listed,
    /// The changes of the cluster itself.
    own: Listed,
    /// How many commits that Kustomizations have applied are not compared with that of the repository.
    not_compared: usize,
}

/// Changes in the order of their list.
#[derive(Debug, Default)]
struct Listed {
    entries: Vec<Entry>,
    /// How many there was no room for.
    left_out: usize,
}

#[derive(Debug)]
struct Entry {
    change: Arc<ReviewedChange>,
    _own: Reservation,
    review: Option<Reservation>,
    /// The number of the change by which it came to its review.
    turn: u64,
}

impl Repository {
    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.requests.entries.iter().chain(&self.own.entries)
    }

    fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.requests.entries.iter_mut().chain(&mut self.own.entries)
    }

    fn left_out(&self) -> usize {
        self.requests.left_out + self.own.left_out
    }
}

impl Entry {
    /// What the Kustomizations say by now. Returns whether that is something else.
    fn renew(&mut self, behind: Vec<Behind>) -> bool {
        let is_new = self.change.behind != behind;
        if is_new {
            Arc::make_mut(&mut self.change).behind = behind;
        }
        is_new
    }
}

impl Default for RequestBook {
    fn default() -> Self {
        Self::within(ALL, NAMESPACE)
    }
}

impl RequestBook {
    fn within(all: u64, namespace: u64) -> Self {
        Self {
            memory: Memory::for_objects(all, namespace),
            book: Mutex::default(),
        }
    }

    /// The open requests of a repository, by now. A review of another head is not that of this one.
    pub(super) fn list(&self, repository: &ObjectName, open: &[OpenRequest], now: i64) {
        let mut requests: Vec<ReviewedChange> = open.iter().map(|one| begun(repository, one, now)).collect();
        requests.sort_by(|one, other| one.subject.cmp(&other.subject));
        self.relist(repository, |repository| &mut repository.requests, requests);
    }

    /// The changes of the cluster, and how many commits that are applied are not compared.
    pub(super) fn list_own(&self, repository: &ObjectName, changes: Vec<ReviewedChange>, not_compared: usize) {
        self.relist(repository, |repository| &mut repository.own, changes);
        let mut book = self.book.lock();
        if let Some(listed) = book.repositories.get_mut(repository)
            && listed.not_compared != not_compared
        {
            listed.not_compared = not_compared;
            book.version += 1;
        }
    }

    fn relist(
        &self,
        repository: &ObjectName,
        list: impl Fn(&mut Repository) -> &mut Listed,
        begun: Vec<ReviewedChange>,
    ) {
        let mut book = self.book.lock();
        let mut held = book.repositories.remove(repository).unwrap_or_default();
        let mut known = std::mem::take(list(&mut held));
        let mut next = Listed::default();
        let mut is_new = false;
        for change in begun {
            let before = known.entries.iter().position(|entry| is_same(&entry.change, &change));
            if let Some(before) = before {
                let mut entry = known.entries.swap_remove(before);
                is_new |= entry.renew(change.behind);
                next.entries.push(entry);
                continue;
            }
            is_new = true;
            match self.room(&mut book, &repository.namespace, weigh(&change)) {
                Some(own) => next.entries.push(Entry {
                    change: Arc::new(change),
                    _own: own,
                    review: None,
                    turn: 0,
                }),
                None => next.left_out += 1,
            }
        }
        if is_new || !known.entries.is_empty() || known.left_out != next.left_out {
            book.version += 1;
        }
        *list(&mut held) = next;
        book.repositories.insert(repository.clone(), held);
    }

    /// What has become of a change, and the bytes of its review; nothing if it is not listed any more.
    pub(super) fn note(&self, of: (&ObjectName, &Subject), base: &str, state: ReviewState, now: i64) {
        self.put(of, base, (state, 0), now);
    }

    /// A review of a change.
    pub(super) fn keep(&self, of: (&ObjectName, &Subject), base: &str, (review, bytes): (Arc<Review>, u64), now: i64) {
        self.put(of, base, (ReviewState::Reviewed(review), bytes), now);
    }

    fn put(
        &self,
        (repository, subject): (&ObjectName, &Subject),
        base: &str,
        (state, bytes): (ReviewState, u64),
        now: i64,
    ) {
        let mut book = self.book.lock();
        let Some(entry) = book.entry(repository, subject) else {
            return;
        };
        let is_same = entry.change.state == state && entry.change.base == base;
        if is_same {
            return;
        }
        // What it had makes room for what it gets.
        entry.review = None;
        let held = match bytes {
            0 => None,
            bytes => Some(self.room(&mut book, &repository.namespace, bytes)),
        };
        book.version += 1;
        let turn = book.version;
        let Some(entry) = book.entry(repository, subject) else {
            return;
        };
        let change = Arc::make_mut(&mut entry.change);
        change.state = match held {
            Some(None) => not_kept(&state),
            _ => state,
        };
        base.clone_into(&mut change.base);
        change.at = now;
        entry.review = held.flatten();
        entry.turn = turn;
    }

    /// A repository is not reviewed here any more.
    pub(super) fn forget(&self, repository: &ObjectName) {
        let mut book = self.book.lock();
        if book.repositories.remove(repository).is_some() {
            book.version += 1;
        }
    }

    pub(crate) fn requests(&self) -> Requests {
        let book = self.book.lock();
        let all = book.repositories.values().flat_map(Repository::entries);
        let counts = |count: fn(&Repository) -> usize| {
            let counted = book.repositories.iter().map(|(name, one)| (name.clone(), count(one)));
            counted.filter(|(_, count)| *count > 0).collect::<Vec<_>>()
        };
        Requests {
            version: book.version,
            all: all.map(|entry| Arc::clone(&entry.change)).collect(),
            left_out: counts(Repository::left_out),
            not_compared: counts(|one| one.not_compared),
            repositories: book.repositories.keys().cloned().collect::<BTreeSet<_>>(),
        }
    }

    /// Room for something of a namespace: reviews that are older make it, first those of the namespace itself, and
    /// where all namespaces together have too much those of the one with the most.
    fn room(&self, book: &mut Book, namespace: &str, bytes: u64) -> Option<Reservation> {
        loop {
            let from = match self.memory.of(namespace).reserve(bytes) {
                Ok(held) => return Some(held),
                Err(Exceeded::Full { .. }) => book.largest()?,
                Err(_) => namespace.to_owned(),
            };
            if !book.drop_oldest(&from) {
                return None;
            }
        }
    }
}

impl Book {
    fn entry(&mut self, repository: &ObjectName, subject: &Subject) -> Option<&mut Entry> {
        let mut entries = self.repositories.get_mut(repository)?.entries_mut();
        entries.find(|entry| entry.change.subject == *subject)
    }

    /// The namespace whose reviews take the most.
    fn largest(&self) -> Option<String> {
        let mut held: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, repository) in &self.repositories {
            let reviews = repository.entries().filter_map(|entry| entry.review.as_ref());
            *held.entry(&name.namespace).or_default() += reviews.map(Reservation::bytes).sum::<u64>();
        }
        let largest = held.into_iter().max_by_key(|(_, bytes)| *bytes);
        largest.map(|(namespace, _)| namespace.to_owned())
    }

    /// Drops the oldest review of a namespace. False if it has none.
    fn drop_oldest(&mut self, namespace: &str) -> bool {
        let of_it = self
            .repositories
            .iter_mut()
            .filter(|(name, _)| name.namespace == namespace);
        let entries = of_it.flat_map(|(_, repository)| repository.entries_mut());
        let oldest = entries
            .filter(|entry| entry.review.is_some())
            .min_by_key(|entry| entry.turn);
        let Some(entry) = oldest else { return false };
        entry.review = None;
        let state = not_kept(&entry.change.state);
        Arc::make_mut(&mut entry.change).state = state;
        self.version += 1;
        true
    }
}

/// A finished review that does not fit into memory.
fn not_kept(state: &ReviewState) -> ReviewState {
    let verdict = match state {
        ReviewState::Reviewed(review) if review.has_errors => "with new errors",
        _ => "without new errors",
    };
    ReviewState::NotKept(format!(
        "it was reviewed {verdict}; other reviews of the namespace needed the memory, so its details are not kept here"
    ))
}

fn begun(repository: &ObjectName, one: &OpenRequest, now: i64) -> ReviewedChange {
    ReviewedChange {
        repository: repository.clone(),
        subject: Subject::Request(one.number),
        title: one.title.clone(),
        author: one.author.clone(),
        link: one.link.clone(),
        branch: one.base.clone(),
        head: head(one).to_owned(),
        base: String::new(),
        behind: Vec::new(),
        is_behind_partial: false,
        state: ReviewState::Waiting,
        at: now,
    }
}

/// The commit of a request; empty if its branch is gone.
fn head(request: &OpenRequest) -> &str {
    request.head.as_deref().unwrap_or("")
}

/// Whether a change is what it was: with another title it is as it was, and so is what was found. The base of a request
/// comes out later.
fn is_same(known: &ReviewedChange, now: &ReviewedChange) -> bool {
    let texts = |one: &ReviewedChange| (one.title.clone(), one.author.clone(), one.branch.clone());
    let names = |one: &ReviewedChange| one.behind.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    let is_request = matches!(now.subject, Subject::Request(_));
    known.subject == now.subject
        && known.head == now.head
        && texts(known) == texts(now)
        && (is_request || (known.base == now.base && names(known) == names(now)))
}

/// With the longest reasons that it may get.
fn weigh(change: &ReviewedChange) -> u64 {
    let texts = [&change.title, &change.author, &change.link, &change.branch];
    let behind = change.behind.iter();
    let behind = behind.map(|one| BEHIND + one.name.namespace.len() + one.name.name.len());
    let bytes = CHANGE + 4 * WHY + texts.into_iter().map(String::len).sum::<usize>() + behind.sum::<usize>();
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// A reason that is not too long.
pub(super) fn why(text: &str) -> String {
    text.excerpt(WHY).into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn open(number: u64, head: &str) -> OpenRequest {
        OpenRequest {
            number,
            title: "t".to_owned(),
            author: String::new(),
            link: String::new(),
            base: "main".to_owned(),
            head: Some(head.to_owned()),
            merge_base: None,
            is_fork: false,
        }
    }

    fn review(has_errors: bool) -> (Arc<Review>, u64) {
        let review = Review {
            has_errors,
            ..Review::default()
        };
        (Arc::new(review), 100_000)
    }

    fn states(book: &RequestBook) -> Vec<(String, Subject, &'static str)> {
        let all = book.requests().all.into_iter();
        all.map(|one| (one.repository.namespace.clone(), one.subject.clone(), one.state.words()))
            .collect()
    }

    #[test]
    fn a_new_head_has_no_review_and_what_is_closed_is_gone() {
        let book = RequestBook::default();
        let name = ObjectName::new("a", "fleet");
        book.list(&name, &[open(1, "x"), open(2, "y")], 1);
        book.keep((&name, &Subject::Request(1)), "base", review(true), 2);
        let version = book.requests().version;
        book.list(&name, &[open(1, "x"), open(2, "y")], 3);
        assert_eq!(book.requests().version, version, "nothing is new");
        assert_eq!(states(&book)[0].2, "failure");
        book.list(&name, &[open(1, "z")], 4);
        assert_eq!(states(&book), [("a".to_owned(), Subject::Request(1), "waiting")]);
        // Of a request that is not open any more.
        book.keep((&name, &Subject::Request(2)), "base", review(true), 5);
        assert_eq!(states(&book).len(), 1);
        book.forget(&name);
        assert_eq!((states(&book).len(), book.memory.held()), (0, 0));
    }

    #[test]
    fn the_newest_reviews_are_kept_and_a_tenant_does_not_take_those_of_another() {
        let book = RequestBook::within(500_000, 250_000);
        let (greedy, small) = (ObjectName::new("greedy", "fleet"), ObjectName::new("small", "fleet"));
        book.list(&small, &[open(1, "x")], 1);
        book.keep((&small, &Subject::Request(1)), "base", review(true), 1);
        let many: Vec<OpenRequest> = (1..=5).map(|number| open(number, "x")).collect();
        book.list(&greedy, &many, 1);
        for number in 1..=5 {
            book.keep((&greedy, &Subject::Request(number)), "base", review(number == 1), 1);
        }
        let now = states(&book);
        let words: Vec<&str> = now.iter().map(|(_, _, words)| *words).collect();
        let gone = "reviewed before, not kept here";
        assert_eq!(words, [gone, gone, gone, "success", "success", "failure"]);
        assert!(book.requests().all[0].state.why().contains("with new errors"));
        // One that is larger than all room.
        let large = (Arc::default(), 900_000);
        book.keep((&small, &Subject::Request(1)), "base", large, 2);
        assert_eq!(states(&book)[5].2, gone);
    }

    #[test]
    fn requests_without_room_are_counted() {
        let book = RequestBook::within(20_000, 10_000);
        let name = ObjectName::new("a", "fleet");
        let many: Vec<OpenRequest> = (1..=10).map(|number| open(number, "x")).collect();
        book.list(&name, &many, 1);
        let now = book.requests();
        assert_eq!(now.all.len() + now.left_out[0].1, 10);
        assert!(!now.all.is_empty() && now.left_out[0].1 > 0);
    }

    fn behind(names: &[&str], why: &str) -> ReviewedChange {
        let head = "f".repeat(40);
        let behind = names.iter().map(|name| Behind {
            name: ObjectName::new("a", *name),
            why: why.to_owned(),
        });
        ReviewedChange {
            subject: Subject::parse("not-applied-0123456789ab").unwrap(),
            base: "b".to_owned(),
            behind: behind.collect(),
            ..begun(&ObjectName::new("a", "fleet"), &open(1, &head), 1)
        }
    }

    #[test]
    fn changes_of_the_cluster_and_requests_do_not_drop_each_other() {
        let book = RequestBook::default();
        let name = ObjectName::new("a", "fleet");
        let subject = behind(&[], "").subject;
        book.list(&name, &[open(2, "y"), open(1, "x")], 1);
        book.list_own(&name, vec![behind(&["db", "web"], "suspended")], 2);
        book.keep((&name, &subject), "b", review(false), 2);
        book.list(&name, &[open(1, "x")], 3);
        let words = |book: &RequestBook| states(book).into_iter().map(|(_, _, words)| words).collect::<Vec<_>>();
        assert_eq!(words(&book), ["waiting", "success"]);
        assert_eq!(book.requests().not_compared, [(name.clone(), 2)]);

        // Another reason is shown, and the review stays; another Kustomization is another review.
        let version = book.requests().version;
        book.list_own(&name, vec![behind(&["db", "web"], "BuildFailed")], 2);
        let now = book.requests();
        assert!(now.version > version && now.all[1].behind[0].why == "BuildFailed");
        assert_eq!(words(&book), ["waiting", "success"]);
        book.list_own(&name, vec![behind(&["web"], "BuildFailed")], 0);
        assert_eq!(words(&book), ["waiting", "waiting"]);
        assert!(book.requests().not_compared.is_empty());

        book.list_own(&name, Vec::new(), 0);
        assert_eq!(words(&book), ["waiting"]);
        book.forget(&name);
        assert_eq!(book.memory.held(), 0);
    }
}
