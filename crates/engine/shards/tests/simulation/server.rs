//! The API server: Leases with versions as preconditions.

use std::collections::BTreeMap;

use bumpwright_shards::{Deal, SeenDeal, SeenMember, Snapshot};

/// A request.
#[derive(Clone, Debug)]
pub enum Request {
    List,
    Create { name: String, lease: SeenMember },
    Renew { name: String, lease: SeenMember },
    Delete { name: String, version: String },
    Deal { version: Option<String>, deal: Deal },
}

/// An answer.
#[derive(Clone, Debug)]
pub enum Answer {
    Listed(Snapshot),
    Written,
    Refused,
}

#[derive(Default)]
pub struct Server {
    version: u64,
    pub members: BTreeMap<String, SeenMember>,
    pub deal: Option<(u64, Deal)>,
    /// The key of each object.
    pub keys: Vec<usize>,
}

impl Server {
    pub fn with(keys: Vec<usize>) -> Self {
        Self {
            keys,
            ..Self::default()
        }
    }

    fn next(&mut self) -> String {
        self.version += 1;
        self.version.to_string()
    }

    pub fn answer(&mut self, request: Request) -> Answer {
        match request {
            Request::List => Answer::Listed(self.snapshot()),
            Request::Create { name, lease } => {
                if self.members.contains_key(&name) {
                    return Answer::Refused;
                }
                let version = self.next();
                let lease = SeenMember { version, ..lease };
                self.members.insert(name, lease);
                Answer::Written
            }
            Request::Renew { name, lease } => {
                if self.members.get(&name).is_none_or(|old| old.version != lease.version) {
                    return Answer::Refused;
                }
                let version = self.next();
                let lease = SeenMember { version, ..lease };
                self.members.insert(name, lease);
                Answer::Written
            }
            Request::Delete { name, version } => {
                if self.members.get(&name).is_none_or(|old| old.version != version) {
                    return Answer::Refused;
                }
                self.members.remove(&name);
                Answer::Written
            }
            Request::Deal { version, deal } => {
                if self.deal.as_ref().map(|(version, _)| version.to_string()) != version {
                    return Answer::Refused;
                }
                self.next();
                self.deal = Some((self.version, deal));
                Answer::Written
            }
        }
    }

    pub fn snapshot(&self) -> Snapshot {
        let deal = self.deal.as_ref().map(|(version, deal)| SeenDeal {
            version: version.to_string(),
            deal: Some(deal.clone()),
        });
        Snapshot {
            deal,
            members: self.members.clone(),
        }
    }
}
