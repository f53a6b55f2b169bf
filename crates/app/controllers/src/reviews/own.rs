//! The changes of the cluster itself: what Kustomizations have not applied of the commit of their source, and what
//! automations pushed. They are for pages alone: nothing about them is posted, and the forge is not asked.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::book;
use super::connection::Connection;
use super::error::ReviewError;
use super::known::{Pair, Pushed};
use super::look::{LIMIT, LookError, PushedCommit};
use super::not_applied::{GRACE, Group, NotApplied, Standing, not_applied};
use super::post::short;
use super::pushes::{Followed, Push, pushes};
use super::round::{Failed, Round};
use crate::fleet_view::{self, Secrets};
use bumpwright_api::{GoDuration, Kustomization, ObjectName};
use bumpwright_artifact::Revision;
use bumpwright_http::Job;
use bumpwright_json::Texts;
use bumpwright_kube::{ClusterError, IMAGE_UPDATE_AUTOMATION, KUSTOMIZATION};
use bumpwright_overview::{Forge, commit_of_revision};
use bumpwright_pages::request::{Review, ReviewState, ReviewedChange};
use bumpwright_pages::{ShortCommit, Subject};
use bumpwright_runtime::{blocking, clock};

/// How long to wait for the first list of Kustomizations; in a cluster without the kind it never comes.
const LISTED: Duration = Duration::from_secs(5);

/// When a repository is looked at again of whose commit something is not applied.
const FOLLOWED: Duration = Duration::from_secs(60);

/// How much of the id of a commit a title has: as much as elsewhere on pages.
const TITLE: usize = 7;

/// The commit that the artifact of a repository is of.
struct Head {
    commit: String,
    /// The branch or tag; may be empty.
    name: String,
    /// Whether the artifact has just been made.
    is_new: bool,
}

impl Round<'_> {
    /// Reviews the changes of the cluster that are due, if somebody looks at pages. Returns whether all went well.
    pub(super) async fn own_changes(&mut self, connection: &Arc<Connection>, began: Instant) -> Result<bool, Failed> {
        let Some(book) = self.reviews.book.clone() else {
            return Ok(true);
        };
        let branch = self.branch()?;
        let (mut changes, not_compared) = self.not_applied().await;
        if let Some(branch) = &branch {
            changes.extend(self.pushes(connection, branch, began).await);
        }
        book.list_own(&self.object.name, changes.clone(), not_compared);
        self.known
            .keep_own(&changes.iter().map(|one| one.subject.clone()).collect());
        let mut all_well = true;
        for one in changes {
            if one.state != ReviewState::Waiting || !self.is_due(&one) {
                continue;
            }
            if self.is_over(began) || !self.is_current() {
                break;
            }
            match self.own_review(connection, &one, branch.clone()).await {
                Ok(page) => self.keep_own(one, page),
                Err(ReviewError::Look(error)) if error.is_gone() => {
                    self.note(&one.subject, &one.base, gone(&error.to_string()));
                    self.done(one);
                }
                Err(error) => {
                    all_well = false;
                    self.put_off(&one.subject, &one.base, &what(&one), &error.to_string());
                }
            }
        }
        Ok(all_well)
    }

    fn is_due(&mut self, one: &ReviewedChange) -> bool {
        if self.known.is_done(&one.subject, &pair(one), &names(one)) {
            return false;
        }
        let waits = self.known.waits(&one.subject, Instant::now());
        if let Some(until) = waits {
            self.come_back_at(until);
        }
        waits.is_none()
    }

    fn done(&mut self, one: ReviewedChange) {
        let (pair, names) = (pair(&one), names(&one));
        self.known.done(one.subject, pair, names);
    }

    /// Keeps a review for its page; without one that it was not finished.
    fn keep_own(&mut self, one: ReviewedChange, page: Option<(Arc<Review>, u64)>) {
        let of = (&self.object.name, &one.subject);
        match (page, &self.reviews.book) {
            (Some(page), Some(book)) => book.keep(of, &one.base, page, clock::now().unix_seconds()),
            _ => {
                let limit = GoDuration::from(LIMIT);
                let why = format!("not everything could be built within {limit}");
                self.note(&one.subject, &one.base, ReviewState::Failed(why));
            }
        }
        self.log.info(&format!("reviewed {}", what(&one)));
        self.done(one);
    }

    /// What is not applied of the commit of the artifact, and how many commits that are applied are not compared.
    async fn not_applied(&mut self) -> (Vec<ReviewedChange>, usize) {
        let Some(head) = self.head() else {
            return (Vec::new(), 0);
        };
        let NotApplied { groups, more, has_time } = not_applied(self.standings().await, &head.commit, head.is_new);
        if has_time {
            self.come_back_in(Duration::from_secs(GRACE));
        }
        if !groups.is_empty() {
            self.come_back_in(FOLLOWED);
        }
        let changes = groups.into_iter().filter_map(|group| self.behind(&head, group));
        (changes.collect(), more)
    }

    fn head(&self) -> Option<Head> {
        let status = self.object.status();
        let revision = status.text_at("/artifact/revision");
        let now = clock::spelled(&clock::now());
        let age = clock::seconds_between(status.text_at("/artifact/lastUpdateTime"), &now);
        Some(Head {
            commit: commit_of_revision(revision)?,
            is_new: age.is_some_and(|age| age < GRACE),
            name: Revision::parse(revision)?.name,
        })
    }

    /// How far the Kustomizations of the repository are.
    async fn standings(&mut self) -> Vec<Standing> {
        let kustomizations = Arc::clone(&self.reviews.kustomizations);
        kustomizations.need();
        if kustomizations.failure().is_none() {
            let _ = tokio::time::timeout(LISTED, kustomizations.listed()).await;
        }
        if let Err(error) = kustomizations.is_listed() {
            self.tell(format!("what is not applied is not on pages: {error}"));
            return Vec::new();
        }
        let (own, is_closed) = (self.object.name.clone(), self.is_closed());
        let may = |namespace: &str| !is_closed || namespace == own.namespace;
        let mut unread = 0;
        let mut standings = Vec::new();
        for object in kustomizations.list(|object| !object.deleting && may(&object.name.namespace)) {
            let Ok(kustomization) = object.read::<Kustomization>(&KUSTOMIZATION) else {
                unread += 1;
                continue;
            };
            if kustomization.spec.source_ref.kind == "GitRepository" && kustomization.source() == own {
                standings.push(Standing::of(&kustomization, &object.status()));
            }
        }
        if unread > 0 {
            self.tell(format!(
                "{unread} Kustomizations cannot be read: what they have applied is not on pages"
            ));
        }
        standings
    }

    /// Whether objects of other namespaces may not name the repository.
    fn is_closed(&self) -> bool {
        self.reviews.context.settings.no_cross_namespace_refs
    }

    fn behind(&self, head: &Head, group: Group) -> Option<ReviewedChange> {
        let shown = head.commit.get(..TITLE)?;
        let title = match head.name.as_str() {
            "" => shown.to_owned(),
            name => format!("{name} at {shown}"),
        };
        Some(ReviewedChange {
            subject: Subject::NotApplied(ShortCommit::of(&group.commit)?),
            title,
            head: head.commit.clone(),
            base: group.commit,
            behind: group.behind,
            ..self.begun()
        })
    }

    /// A change of which nothing is known yet.
    fn begun(&self) -> ReviewedChange {
        ReviewedChange {
            repository: self.object.name.clone(),
            subject: Subject::Request(0),
            title: String::new(),
            author: String::new(),
            link: String::new(),
            branch: String::new(),
            head: String::new(),
            base: String::new(),
            behind: Vec::new(),
            is_behind_partial: false,
            state: ReviewState::Waiting,
            at: clock::now().unix_seconds(),
        }
    }

    /// What automations pushed to a branch, the last push first.
    async fn pushes(&mut self, connection: &Arc<Connection>, branch: &str, began: Instant) -> Vec<ReviewedChange> {
        let automations = match self.automations().await {
            Ok(automations) => automations,
            Err(error) => {
                self.tell(format!("pushes of automations are not on pages: {error}"));
                return Vec::new();
            }
        };
        let followed = Followed {
            name: &self.object.name,
            reference: self.repository.spec.reference.as_ref(),
            branch,
            is_closed: self.is_closed(),
        };
        let mut changes = Vec::new();
        for push in pushes(&automations, followed) {
            changes.push(self.pushed(connection, branch, push, began).await);
        }
        changes
    }

    async fn automations(&self) -> Result<Vec<Value>, ClusterError> {
        let context = &self.reviews.context;
        let is_narrow = self.is_closed() || context.settings.scope.namespace.is_some();
        let namespace = if is_narrow {
            self.object.name.namespace.as_str()
        } else {
            ""
        };
        fleet_view::all_of(context, &IMAGE_UPDATE_AUTOMATION, namespace).await
    }

    /// A push, with the commit before it.
    async fn pushed(
        &mut self,
        connection: &Arc<Connection>,
        branch: &str,
        push: Push,
        began: Instant,
    ) -> ReviewedChange {
        let forge = Forge::of(&self.repository.spec.url);
        let mut change = ReviewedChange {
            subject: Subject::Push(push.short),
            title: format!("commit {}", push.commit.get(..TITLE).unwrap_or(&push.commit)),
            author: format!("ImageUpdateAutomation {}", push.automation),
            link: forge.map(|forge| forge.commit(&push.commit)).unwrap_or_default(),
            branch: branch.to_owned(),
            head: push.commit,
            ..self.begun()
        };
        if self.known.pushed(&change.subject).is_none() && self.is_due(&change) && !self.is_over(began) {
            match self.read_push(connection, &change.head, branch).await {
                Ok(pushed) => self.known.put_pushed(change.subject.clone(), pushed),
                Err(error) => {
                    change.state = ReviewState::Failed(book::why(&error.to_string()));
                    self.put_off(&change.subject, "", &what(&change), &error.to_string());
                }
            }
        }
        match self.known.pushed(&change.subject) {
            Some(Pushed::Found { parent, title }) => {
                title.clone_into(&mut change.title);
                match parent {
                    Some(parent) => parent.clone_into(&mut change.base),
                    None => {
                        let why = "it is the first commit: there is nothing to compare it with";
                        change.state = ReviewState::Skipped(why.to_owned());
                    }
                }
            }
            Some(Pushed::Gone(why)) => change.state = gone(why),
            None if change.state == ReviewState::Waiting => {
                change.state = ReviewState::Failed("it is read in one of the next rounds".to_owned());
            }
            None => {}
        }
        change
    }

    async fn read_push(&self, connection: &Connection, commit: &str, branch: &str) -> Result<Pushed, ReviewError> {
        let push = PushedCommit {
            remote: connection.remote.clone(),
            mirrors: Arc::clone(&self.reviews.mirrors),
            name: self.object.name.clone(),
            commit: commit.to_owned(),
            branch: branch.to_owned(),
        };
        let fetches = self
            .reviews
            .context
            .settings
            .fetches
            .of(&self.object.name.namespace)
            .memory;
        let read: Result<Pushed, LookError> = blocking::ask(move || Job::on(fetches).run(|| push.read())).await?;
        Ok(read?)
    }

    /// Reviews what is not applied by the Kustomizations that have not applied it, and pushes by all. None if the time
    /// was over before everything was built.
    async fn own_review(
        &mut self,
        connection: &Connection,
        one: &ReviewedChange,
        branch: Option<String>,
    ) -> Result<Option<(Arc<Review>, u64)>, ReviewError> {
        let cluster = match names(one) {
            all if all.is_empty() => self.cluster(false).await?,
            some => {
                let (name, some): (_, BTreeSet<ObjectName>) = (&self.object.name, some.into_iter().collect());
                let is_behind = |name: &ObjectName| some.contains(name);
                let context = &self.reviews.context;
                let seen = fleet_view::seen_of(context, name.clone(), &name.namespace, Secrets::Masked, is_behind);
                seen.await?.cluster
            }
        };
        let look = self.look(connection, pair(one), (branch, true), (cluster, self.outside()))?;
        let notes = self.named_images().await;
        let notes = notes.map(|images| self.release_notes(connection, &images));
        self.looked(look, move |review| {
            review.map(|mut review| {
                if let Some(notes) = notes {
                    notes.add(&mut review);
                }
                review.page()
            })
        })
        .await
    }
}

fn pair(one: &ReviewedChange) -> Pair {
    Pair {
        base: one.base.clone(),
        head: one.head.clone(),
    }
}

fn names(one: &ReviewedChange) -> Vec<ObjectName> {
    one.behind.iter().map(|one| one.name.clone()).collect()
}

fn gone(why: &str) -> ReviewState {
    let why = format!("the repository does not have the commit any more: {why}");
    ReviewState::Skipped(book::why(&why))
}

/// What a message calls a change.
fn what(one: &ReviewedChange) -> String {
    let head = short(&one.head);
    match one.subject {
        Subject::Request(number) => format!("pull request #{number} at {head}"),
        Subject::NotApplied(_) => format!("what is not applied between {} and {head}", short(&one.base)),
        Subject::Push(_) => format!("the push of {} at {head}", one.author),
    }
}
