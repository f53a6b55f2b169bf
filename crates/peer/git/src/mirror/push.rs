//! Pushes: updates of references, and their results.

use std::sync::Arc;

use super::layout::bound;
use super::repository::Mirror;
use crate::wire::conversation::Conversation;
use crate::wire::listing::{Greeting, Listing, read_greeting};
use crate::wire::report::{HookOutcome, Report, Verdict};
use crate::wire::send::{Push, Receiver, RefUpdate, body, check};
use crate::{Connection, GitError, ObjectId, Pack, Protocol, Service, TransportError};

/// The result of one update.
#[derive(Debug)]
pub struct PushStatus {
    /// The full name.
    pub reference: String,
    /// `None`: done. Otherwise [`GitError::Moved`] or [`GitError::Rejected`].
    pub refused: Option<GitError>,
    /// The server's output beside its report on a successful update, cleaned: the address of a review, for example. The
    /// same for all updates of a push.
    pub said: String,
    /// What the server's hook made of it, when reported.
    pub became: Option<HookOutcome>,
}

impl Mirror {
    /// Pushes one or several updates with the objects of `pack`, and moves the mirror's references with those that
    /// succeeded, as far as it holds their objects: [`Mirror::store`] the pack first. `None` sends no objects, for
    /// references to objects of the server, and for deletions. A push is sent once; when its answer is lost, the
    /// remote's references show the result.
    ///
    /// # Errors
    /// The first refusal: [`GitError::Moved`] or [`GitError::Rejected`]. Else [`GitError::PushOptionsUnsupported`],
    /// [`GitError::Transport`], [`GitError::Protocol`].
    pub fn push(&self, push: &Push, pack: Option<&Pack>) -> Result<(), GitError> {
        match self
            .push_each(push, pack)?
            .into_iter()
            .find_map(|status| status.refused)
        {
            Some(refused) => Err(refused),
            None => Ok(()),
        }
    }

    /// As [`Mirror::push`], with a status for each update instead of the first refusal.
    ///
    /// # Errors
    /// Errors of the push as a whole: [`GitError::PushOptionsUnsupported`], [`GitError::Transport`],
    /// [`GitError::Protocol`], [`GitError::Invalid`].
    pub fn push_each(&self, push: &Push, pack: Option<&Pack>) -> Result<Vec<PushStatus>, GitError> {
        check(push)?;
        let judge = |update: &RefUpdate| -> Result<PushStatus, GitError> {
            let refused = (!self.is_allowed(update)?).then(|| not_forward(update));
            Ok(PushStatus {
                reference: update.reference.clone(),
                refused,
                said: String::new(),
                became: None,
            })
        };
        let mut statuses = push.updates.iter().map(judge).collect::<Result<Vec<_>, _>>()?;
        let both = push.updates.iter().zip(&mut statuses);
        let mut pending: Vec<_> = both.filter(|(_, status)| status.refused.is_none()).collect();
        if pending.is_empty() {
            return Ok(statuses);
        }
        let mut connection = self.transport.connect(Service::ReceivePack, Protocol::V0)?;
        let names: Vec<String> = pending.iter().map(|(update, _)| update.reference.clone()).collect();
        let (receiver, listing) = self.receiver(connection.as_mut(), !push.options.is_empty(), &names)?;
        if !push.options.is_empty() && !receiver.push_options && !push.allow_dropped_push_options {
            goodbye(connection);
            return Err(GitError::PushOptionsUnsupported);
        }
        if let Some(listing) = listing {
            pending.retain_mut(|(update, status)| {
                let now = value(&listing, &update.reference);
                if now != update.expect {
                    status.refused = moved(update, now);
                }
                now == update.expect
            });
        }
        if pending.is_empty() {
            goodbye(connection);
        } else {
            let updates: Vec<&RefUpdate> = pending.iter().map(|(update, _)| *update).collect();
            let (verdicts, report) = self.send(connection, &receiver, push, &updates, pack)?;
            for ((update, status), refused) in pending.into_iter().zip(verdicts) {
                status.refused = refused;
                status.said.clone_from(&report.words);
                status.became = report.became(&update.reference).cloned();
            }
        }
        self.advance(push, &statuses)?;
        Ok(statuses)
    }

    /// The server's capabilities, and its references of these names where they had to be read anyway. A remembered lack
    /// of push options is checked again.
    fn receiver(
        &self,
        connection: &mut dyn Connection,
        options: bool,
        names: &[String],
    ) -> Result<(Receiver, Option<Listing>), GitError> {
        if connection.stateless()
            && let Some(receiver) = self
                .state
                .receiver
                .lock()
                .clone()
                .filter(|known| known.push_options || !options)
        {
            return Ok((receiver, None));
        }
        let Greeting::V0 {
            listing,
            capabilities,
            hash,
        } = read_greeting(connection.advertisement()?, names)?
        else {
            return Err(GitError::protocol(
                "the server answers a push with protocol version 2, which does not exist",
            ));
        };
        let receiver = Receiver::new(&capabilities, hash);
        *self.state.receiver.lock() = Some(receiver.clone());
        Ok((receiver, Some(listing)))
    }

    /// Sends the updates. Returns a refusal or `None` for each, and the server's report, empty when it got lost.
    fn send(
        &self,
        mut connection: Box<dyn Connection>,
        receiver: &Receiver,
        push: &Push,
        updates: &[&RefUpdate],
        pack: Option<&Pack>,
    ) -> Result<(Vec<Option<GitError>>, Report), GitError> {
        let body = body(receiver, push, updates, pack)?;
        let answer = connection
            .request(&body)
            .map_err(GitError::from)
            .and_then(|reader| Report::read(reader, receiver));
        let report = match answer {
            Ok(report) => report,
            Err(error) => {
                *self.state.receiver.lock() = None;
                // A program at the other side must have ended before the remote is listed.
                drop(connection);
                return Ok((self.after_break(updates, error)?, Report::default()));
            }
        };
        if !connection.stateless() {
            // The report is complete; the program's exit changes nothing.
            drop(connection.finish());
        }
        Ok((self.refusals(&report, updates), report))
    }

    /// The refusals of a report: one that looks like a lost race is one only if the reference has moved.
    fn refusals(&self, report: &Report, updates: &[&RefUpdate]) -> Vec<Option<GitError>> {
        let verdicts: Vec<Verdict> = updates.iter().map(|update| report.verdict(&update.reference)).collect();
        if verdicts.iter().any(|verdict| *verdict != Verdict::Done) {
            *self.state.receiver.lock() = None;
        }
        let raced = verdicts
            .iter()
            .any(|verdict| matches!(verdict, Verdict::Refused { race: true, .. }));
        let now = if raced { self.look(updates).ok() } else { None };
        let both = updates.iter().zip(verdicts);
        both.map(|(update, verdict)| {
            let Verdict::Refused { reason, race } = verdict else {
                return None;
            };
            match now.as_ref().filter(|_| race).map(|now| value(now, &update.reference)) {
                Some(now) if now != update.expect => moved(update, now),
                _ => Some(GitError::Rejected {
                    reference: update.reference.clone(),
                    reason,
                    said: report.words.clone(),
                }),
            }
        })
        .collect()
    }

    /// The connection broke after the updates were sent, so they may have been applied. Lists the remote's references;
    /// never sends twice.
    fn after_break(&self, updates: &[&RefUpdate], error: GitError) -> Result<Vec<Option<GitError>>, GitError> {
        let refused_at_once = matches!(
            error,
            GitError::Transport(
                TransportError::Unauthorized { .. }
                    | TransportError::Credentials { .. }
                    | TransportError::Forbidden { .. }
                    | TransportError::NotFound { .. }
                    | TransportError::HostKey { .. }
                    | TransportError::Config { .. }
            )
        );
        if refused_at_once {
            return Err(error);
        }
        let Ok(now) = self.look(updates) else { return Err(error) };
        if updates
            .iter()
            .any(|update| value(&now, &update.reference) == update.expect && update.expect != update.new)
        {
            return Err(error);
        }
        Ok(updates
            .iter()
            .map(|update| moved(update, value(&now, &update.reference)))
            .collect())
    }

    /// The remote's references below `prefix` with the value `id`, such as `refs/pull/3/head`.
    ///
    /// # Errors
    /// [`GitError::Transport`] and [`GitError::Protocol`] when the remote cannot be listed.
    pub fn holders(&self, prefix: &str, id: ObjectId) -> Result<Vec<String>, GitError> {
        let mut talk = Conversation::start(self.transport.as_ref(), &self.state.known, &[prefix.to_owned()])?;
        let listing = talk.list()?;
        talk.finish();
        let held = listing.refs.iter().filter(|listed| listed.id == Some(id));
        Ok(held.map(|listed| listed.name.clone()).collect())
    }

    /// Lists the remote's current references.
    fn look(&self, updates: &[&RefUpdate]) -> Result<Arc<Listing>, GitError> {
        let names: Vec<String> = updates.iter().map(|update| update.reference.clone()).collect();
        let mut talk = Conversation::start(self.transport.as_ref(), &self.state.known, &names)?;
        let listing = talk.list()?;
        talk.finish();
        Ok(listing)
    }

    fn is_allowed(&self, update: &RefUpdate) -> Result<bool, GitError> {
        match (update.expect, update.new, update.force) {
            (Some(old), Some(new), false) => self.is_ancestor(old, new),
            _ => Ok(true),
        }
    }

    /// Updates the mirror's references with those that were changed, for the next fetch.
    fn advance(&self, push: &Push, statuses: &[PushStatus]) -> Result<(), GitError> {
        let done: Vec<&RefUpdate> = (push.updates.iter().zip(statuses))
            .filter(|(update, status)| status.refused.is_none() && !is_magic(&update.reference))
            .map(|(update, _)| update)
            .collect();
        let Some(hash) = done
            .iter()
            .find_map(|update| update.new.or(update.expect))
            .map(|id| id.kind())
        else {
            return Ok(());
        };
        let objects = self.state.objects(hash)?;
        let layout = &self.state.layout;
        let _update = layout.lock_update()?;
        let mut refs = layout.refs(hash);
        for update in &done {
            match update.new {
                Some(new) if objects.contains(new) => refs.insert(update.reference.clone(), new),
                _ => refs.remove(&update.reference),
            };
        }
        bound(&mut refs, |name| done.iter().any(|update| update.reference == name));
        layout.write_refs(&refs)
    }
}

/// Gerrit's `refs/for/…`: a target of pushes, not a reference.
fn is_magic(reference: &str) -> bool {
    reference.starts_with("refs/for/")
}

fn value(listing: &Listing, reference: &str) -> Option<ObjectId> {
    listing.find(reference).and_then(|listed| listed.id)
}

/// `None` when the remote has the new value.
fn moved(update: &RefUpdate, now: Option<ObjectId>) -> Option<GitError> {
    (now != update.new).then(|| GitError::Moved {
        reference: update.reference.clone(),
        expected: update.expect,
        now,
    })
}

/// The refusal starts as go-git's does, since Flux's users search for it.
fn not_forward(update: &RefUpdate) -> GitError {
    let held = update.expect.map_or_else(String::new, |id| format!(" ({id})"));
    GitError::Rejected {
        reference: update.reference.clone(),
        reason: format!(
            "non-fast-forward update: what it holds{held} is not part of the history that is pushed; nothing was sent. \
             Merge it into the branch that is checked out, or, to replace it, write the refspec with a leading '+'"
        ),
        said: String::new(),
    }
}

/// Closes a conversation in which nothing is sent.
fn goodbye(mut connection: Box<dyn Connection>) {
    if !connection.stateless() {
        drop(connection.request(b"0000"));
        drop(connection.finish());
    }
}
