//! This process' part in a group: renews its Lease, reads the group, and does what the rules say.

mod controllers;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::leases::Group;
use super::{DealtKind, Moved, Shards};
use crate::parts::context::Context;
use crate::process::End;
use crate::settings::Election;
use bumpwright_kube::lease::holder;
use bumpwright_kube::{ClusterError, Object};
use bumpwright_runtime::Log;
use bumpwright_shards::{Action, BUCKETS, Joining, Member, Rules, Snapshot};
use controllers::{ControllerLease, Taken};

/// Others wait for a tenth longer than a Lease is good for.
const MARGIN: u32 = 10;

/// The most attempts to release what the process has: a renewal may still be under way, and change it after
/// it was looked at.
const RELEASES: u32 = 5;

/// This process in its group.
pub(super) struct Process {
    context: Arc<Context>,
    shards: Arc<Shards>,
    kinds: Vec<DealtKind>,
    election: Election,
    group: Group,
    log: Log,
    member: Member,
    /// The beginning of the member's clock.
    start: Instant,
    /// The version of the member's Lease.
    version: Option<String>,
    renewed: Instant,
    /// When the last list was begun.
    listed: Instant,
    controllers: Vec<ControllerLease>,
}

/// A lease is lost: its name.
pub(super) struct Lost(pub(super) String);

impl Process {
    /// The process with these controllers, and whether the group has the lease of each.
    pub(super) fn new(
        context: &Arc<Context>,
        (shards, kinds): (&Arc<Shards>, Vec<DealtKind>),
        (election, expected): (&Election, usize),
        controllers: &[&'static str],
    ) -> (Self, Vec<watch::Receiver<bool>>) {
        // That of the pod, which keeps it with its volume.
        let name = bumpwright_storage::host_name().unwrap_or_default().to_lowercase();
        let group = Group::of(election, controllers, name.clone());
        let leases = controllers
            .iter()
            .map(|controller| ControllerLease::new(group.controller(controller)));
        let leases: Vec<ControllerLease> = leases.collect();
        let held = leases.iter().map(ControllerLease::held).collect();
        let rules = Rules {
            duration: election.duration,
            margin: election.duration / MARGIN,
            expected,
        };
        let now = Instant::now();
        let process = Self {
            context: Arc::clone(context),
            shards: Arc::clone(shards),
            kinds,
            log: context.log.named("shards"),
            member: Member::new(&name, &election.identity, rules, Duration::ZERO),
            election: election.clone(),
            group,
            start: now,
            version: None,
            renewed: now,
            listed: now,
            controllers: leases,
        };
        (process, held)
    }

    /// Takes part until a lease is lost.
    pub(super) async fn run(&mut self, mut ended: watch::Receiver<End>) -> Lost {
        // Who deals has to know what there is.
        for one in &self.kinds {
            one.cache.listed().await;
        }
        let mut leaves = false;
        loop {
            match self.step().await {
                Ok(Again::AtOnce) => continue,
                Ok(Again::Later) => {}
                Err(lost) => return lost,
            }
            tokio::select! {
                () = tokio::time::sleep(self.election.retry) => {}
                _ = ended.wait_for(|end| *end != End::NotYet), if !leaves => {
                    leaves = true;
                    self.member.leave();
                    self.enforce();
                }
            }
        }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn lost(&self) -> Lost {
        Lost(self.group.member_name(&self.group.member).to_string())
    }

    async fn step(&mut self) -> Result<Again, Lost> {
        if let Some(version) = self.version.clone() {
            self.renew(&version).await?;
        }
        let began = Instant::now();
        let list = self.context.cluster.leases(&self.election.namespace);
        let Some(leases) = self.in_time("list leases", list).await else {
            return Ok(Again::Later);
        };
        let snapshot = self.group.snapshot(&leases);
        let again = match self.member.fence() {
            Some(_) => self.observe(&snapshot, &leases).await,
            None => Ok(self.join(&snapshot).await),
        };
        self.listed = began;
        again
    }

    /// Waits for an answer no longer than the Lease can; none on a failure, which is logged.
    async fn in_time<T>(&self, what: &str, request: impl Future<Output = Result<T, ClusterError>>) -> Option<T> {
        let Election {
            renew_deadline, retry, ..
        } = &self.election;
        let left = match self.version {
            Some(_) => renew_deadline.saturating_sub(self.renewed.elapsed()),
            None => *renew_deadline,
        };
        // A dead connection must not take all the time.
        let timeout = left.min((*renew_deadline / 3).max(*retry));
        match tokio::time::timeout(timeout, request).await {
            Ok(Ok(answer)) => Some(answer),
            // Another write came first; the next list shows it.
            Ok(Err(ClusterError::Conflict(_))) => None,
            Ok(Err(error)) if error.is_not_found() => None,
            Ok(Err(error)) => {
                self.log.error(&error, &format!("failed to {what}"));
                None
            }
            Err(_) => {
                let seconds = timeout.as_secs_f64();
                let error = format!("the API server did not answer within {seconds:.1} seconds");
                self.log.error(&error, &format!("failed to {what}"));
                None
            }
        }
    }

    async fn join(&mut self, snapshot: &Snapshot) -> Again {
        let name = self.group.member_name(&self.group.member);
        match self.member.join(snapshot, self.start.elapsed()) {
            Joining::Create => {
                let lease = self.group.own(&self.member.ack(BTreeSet::new()));
                let creation = self.in_time("create the member's lease", lease.write(&self.context.cluster, None));
                match creation.await {
                    Some(()) => Again::AtOnce,
                    None => Again::Later,
                }
            }
            Joining::Evict(version) => {
                let delete = self.context.cluster.delete_lease(&name, &version);
                self.in_time("delete the lease of an earlier process", delete).await;
                Again::Later
            }
            Joining::Wait => {
                let who = &self.group.member;
                self.log
                    .info(&format!("waiting: another process is, or was, member {who}"));
                Again::Later
            }
            Joining::Joined(version) => {
                self.renewed = Instant::now();
                match self.version.replace(version) {
                    None => Again::AtOnce,
                    // The renewal that makes it a member has failed.
                    Some(_) => Again::Later,
                }
            }
        }
    }

    /// Renews the member's Lease, with what it acknowledges.
    async fn renew(&mut self, version: &str) -> Result<(), Lost> {
        if self.renewed.elapsed() >= self.election.renew_deadline {
            return Err(self.lost());
        }
        let busy = self.kinds.iter().flat_map(|one| one.busy(&self.shards)).collect();
        let lease = self.group.own(&self.member.ack(busy));
        // Others count from the write of the lease, so we count from before it.
        let began = Instant::now();
        let write = lease.write(&self.context.cluster, Some(version));
        if self.in_time("renew the member's lease", write).await.is_some() {
            let now = self.now();
            let renewed = self.member.renewed(began - self.start, now);
            let until = renewed.map_err(|_| self.lost())?;
            self.renewed = began;
            self.context.cluster.act_until(&lease.name, self.start + until);
        }
        Ok(())
    }

    async fn observe(&mut self, snapshot: &Snapshot, leases: &[Object]) -> Result<Again, Lost> {
        let now = self.now();
        let weights = || {
            let mut weights = [0; BUCKETS];
            self.kinds.iter().for_each(|one| one.weigh(&mut weights));
            weights
        };
        let observed = self.member.observe(snapshot, now, weights);
        let actions = observed.map_err(|_| self.lost())?;
        let own = snapshot.members.get(&self.group.member);
        self.version = own.map(|own| own.version.clone());
        let has_changed = self.enforce();
        self.keep_controllers(leases).await?;
        let mut has_acted = false;
        for action in actions {
            has_acted |= self.act(action).await;
        }
        // An epoch is acknowledged at once, and a deal of our own read.
        Ok(if has_changed || has_acted {
            Again::AtOnce
        } else {
            Again::Later
        })
    }

    /// Puts the member's view in force, and lets go of what is another's. Returns whether the epoch has changed.
    fn enforce(&self) -> bool {
        let view = self.member.view();
        let (epoch, new) = (view.epoch, view.clone());
        let old = self.shards.put(view);
        let metrics = &self.context.metrics;
        let mut total = Moved::default();
        for one in &self.kinds {
            let moved = one.moved(&old, &new);
            metrics.shard_objects(one.kind.kind, moved.kept + moved.gained);
            total.gained += moved.gained;
            total.lost += moved.lost;
            total.kept += moved.kept;
        }
        metrics.shard_epoch(epoch);
        if epoch != old.epoch {
            let members = self.member.deal().map_or(0, |deal| deal.members().len());
            let Moved { gained, lost, kept } = total;
            self.log.info(&format!(
                "epoch {epoch} with {members} members: {gained} objects gained, {lost} lost, {kept} kept"
            ));
        }
        epoch != old.epoch
    }

    /// Returns whether that has succeeded.
    async fn act(&self, action: Action) -> bool {
        let cluster = &self.context.cluster;
        match action {
            Action::Evict { name, version } => {
                self.log
                    .info(&format!("member {name} has not renewed its lease in time"));
                let name = self.group.member_name(&name);
                let delete = cluster.delete_lease(&name, &version);
                self.in_time("delete the lease of a lost member", delete)
                    .await
                    .is_some()
            }
            Action::Deal { version, deal } => {
                let lease = self.group.dealt(&deal);
                let write = lease.write(cluster, version.as_deref());
                self.in_time("write a deal", write).await.is_some()
            }
        }
    }

    /// Acquires or renews the leases of controllers, which stay where they are: this may be dropped while it waits,
    /// and [`Self::release`] needs them.
    async fn keep_controllers(&mut self, leases: &[Object]) -> Result<(), Lost> {
        let mut due = Vec::new();
        for one in &mut self.controllers {
            let lease = leases.iter().find(|lease| lease.name == one.lease.name);
            let is_due = one.look(lease, self.listed, self.election.retry);
            if is_due.map_err(|Taken| Lost(one.lease.name.to_string()))? {
                due.push((one.lease.clone(), lease));
            }
        }
        for (lease, seen) in due {
            let began = Instant::now();
            let write = lease.write_over(&self.context.cluster, seen);
            if self.in_time("renew a controller's lease", write).await.is_some() {
                let written = self.controllers.iter_mut().filter(|one| one.lease.name == lease.name);
                written.for_each(|one| one.written(began));
            }
        }
        let now = Instant::now();
        for one in &self.controllers {
            let name = &one.lease.name;
            match one.until() {
                Some(until) if until <= now => return Err(Lost(name.to_string())),
                Some(until) => {
                    self.context.cluster.act_until(name, until);
                    self.context.metrics.leader(&name.name, true);
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Gives back what the process has, once its work is done: the member's Lease, and with the last member
    /// the leases of controllers.
    pub(super) async fn release(&mut self) {
        let cluster = &self.context.cluster;
        for _ in 0..RELEASES {
            let leases = cluster.leases(&self.election.namespace);
            let Some(leases) = self.in_time("list leases", leases).await else {
                return;
            };
            let name = self.group.member_name(&self.group.member);
            let own = leases.iter().find(|lease| lease.name == name);
            let own = own.filter(|own| holder(own) == self.election.identity);
            match own {
                Some(own) => {
                    let delete = cluster.delete_lease(&name, &own.resource_version);
                    self.in_time("delete the member's lease", delete).await;
                }
                None => {
                    cluster.act_without(&name);
                    if self.release_controllers(&leases).await {
                        return;
                    }
                }
            }
        }
    }

    /// Gives back the leases of controllers if this was the last member; false when a write came in between.
    async fn release_controllers(&self, leases: &[Object]) -> bool {
        let cluster = &self.context.cluster;
        let is_last = self.group.snapshot(leases).members.is_empty();
        let mut done = true;
        for one in self.controllers.iter().filter(|one| one.until().is_some()) {
            let name = &one.lease.name;
            let held = leases.iter().find(|lease| lease.name == *name);
            // Who joins writes the lease before it works, so then this version is gone.
            if let Some(held) = held.filter(|held| is_last && holder(held) == one.lease.identity) {
                let give_back = one.lease.give_back(cluster, held);
                done &= self.in_time("release a controller's lease", give_back).await.is_some();
            }
            cluster.act_without(name);
            self.context.metrics.leader(&name.name, false);
        }
        done
    }
}

/// When the next step is due.
enum Again {
    AtOnce,
    Later,
}
