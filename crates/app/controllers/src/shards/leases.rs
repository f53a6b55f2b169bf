//! How a group is written down: the names of its Leases, and what they say.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::settings::Election;
use bumpwright_api::ObjectName;
use bumpwright_kube::lease::{duration, holder};
use bumpwright_kube::{GroupLease, Lease, Object};
use bumpwright_shards::{Ack, Deal, SeenDeal, SeenMember, Snapshot};
use bumpwright_text::between;

/// The label of all Leases of a group.
const GROUP: &str = "bumpwright.dev/shards";

/// What a member says of itself.
const MEMBER: &str = "bumpwright.dev/shard";

const DEAL: &str = "bumpwright.dev/deal";

/// The names of a group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    election: Election,
    /// Groups of other controllers or other labels are other groups.
    digest: String,
    /// The name of this member.
    pub(super) member: String,
}

impl Group {
    /// The group of those that run these controllers for objects with the same labels.
    pub(super) fn of(election: &Election, controllers: &[&str], member: String) -> Self {
        let mut controllers = controllers.to_vec();
        controllers.sort_unstable();
        let labels = between("", election.labels.as_deref(), "");
        let digest = Sha256::digest(format!("{}\n{labels}", controllers.join(",")));
        Self {
            election: election.clone(),
            digest: digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect(),
            member,
        }
    }

    fn name(&self, name: String) -> ObjectName {
        ObjectName::new(&self.election.namespace, name)
    }

    /// The Lease of a member.
    pub(super) fn member_name(&self, member: &str) -> ObjectName {
        self.name(format!("bumpwright-shard-{}-{member}", self.digest))
    }

    fn deal_name(&self) -> ObjectName {
        self.name(format!("bumpwright-shards-{}", self.digest))
    }

    fn lease(&self, name: ObjectName, holder: &str, annotation: (&'static str, String)) -> GroupLease {
        GroupLease {
            name,
            holder: holder.to_owned(),
            duration: self.election.duration,
            label: (GROUP, self.digest.clone()),
            annotation,
        }
    }

    /// The Lease of this member, as it says this.
    pub(super) fn own(&self, ack: &Ack) -> GroupLease {
        let name = self.member_name(&self.member);
        self.lease(name, &self.election.identity, (MEMBER, ack.text()))
    }

    /// The Lease with this deal.
    pub(super) fn dealt(&self, deal: &Deal) -> GroupLease {
        self.lease(self.deal_name(), &self.election.identity, (DEAL, deal.text()))
    }

    /// The lease of a controller, which the group holds as a whole: all members give the same identity.
    pub(super) fn controller(&self, controller: &str) -> Lease {
        Lease {
            identity: format!("bumpwright-shards-{}", self.digest),
            ..self.election.lease(controller)
        }
    }

    /// The group, of all Leases of the namespace.
    pub(super) fn snapshot(&self, leases: &[Object]) -> Snapshot {
        let deal_name = self.deal_name();
        let prefix = self.member_name("").name;
        let ours = leases
            .iter()
            .filter(|lease| lease.labels.get(GROUP) == Some(&self.digest));
        let (mut deal, mut members) = (None, BTreeMap::new());
        for lease in ours {
            let text = |key| lease.annotations.get(key).map(String::as_str).unwrap_or_default();
            let version = lease.resource_version.clone();
            if lease.name == deal_name {
                deal = Some(SeenDeal {
                    version,
                    deal: Deal::read(text(DEAL)).ok(),
                });
            } else if let Some(member) = lease.name.name.strip_prefix(&prefix) {
                let seen = SeenMember {
                    version,
                    identity: holder(lease),
                    duration: duration(lease).unwrap_or(self.election.duration),
                    ack: Ack::read(text(MEMBER)),
                };
                members.insert(member.to_owned(), seen);
            }
        }
        Snapshot { deal, members }
    }
}
