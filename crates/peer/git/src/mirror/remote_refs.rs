//! The references of a remote, without their objects: `git ls-remote`.

use std::ops::Deref;
use std::sync::Arc;

use super::repository::Mirror;
use super::resolve::commit_of;
use crate::transport::open::open;
use crate::transport::remote::Remote;
use crate::wire::conversation::{Conversation, KnownServer};
use crate::wire::listing::{Listing, MAX_NAME};
use crate::{GitError, RemoteRef};
use bumpwright_budget::Reservation;

impl Mirror {
    /// Lists the remote's references that begin with one of `prefixes`, in one round trip. Nothing is fetched.
    ///
    /// # Errors
    /// [`GitError::Transport`], [`GitError::Protocol`]; [`GitError::Invalid`] for a prefix that cannot begin a name.
    pub fn remote_refs(&self, prefixes: &[String]) -> Result<RemoteRefs, GitError> {
        if prefixes
            .iter()
            .any(|name| name.len() > MAX_NAME || name.contains(['\n', '\0']))
        {
            return Err(GitError::Invalid(
                "a name of a reference has a line break or is too long".to_owned(),
            ));
        }
        let mut talk = Conversation::start(self.transport.as_ref(), &self.state.known, prefixes)?;
        let listing = talk.list()?;
        talk.finish();
        let seen = listing.refs.iter().map(|listed| RemoteRef {
            reference: listed.name.clone(),
            commit: commit_of(listed),
            object: listed.id,
        });
        let refs = seen.collect();
        Ok(RemoteRefs {
            refs,
            _listing: listing,
        })
    }
}

/// Listed references. Their memory is on the account of the job as long as they live.
#[derive(Debug)]
pub struct RemoteRefs {
    refs: Vec<RemoteRef>,
    _listing: Arc<Listing>,
}

impl Deref for RemoteRefs {
    type Target = [RemoteRef];

    fn deref(&self) -> &[RemoteRef] {
        &self.refs
    }
}

/// The names of the tags of a remote, in one conversation and without a mirror; and their memory on the account of the
/// job, which is to be kept as long as they are.
///
/// # Errors
/// [`GitError::Transport`], [`GitError::Protocol`]
pub fn remote_tags(remote: &Remote) -> Result<(Vec<String>, Option<Reservation>), GitError> {
    const TAGS: &str = "refs/tags/";
    let transport = open(remote)?;
    let server = KnownServer::unknown();
    let mut talk = Conversation::start(transport.as_ref(), &server, &[TAGS.to_owned()])?;
    let listing = talk.list()?;
    talk.finish();
    let whole = |shared: Arc<Listing>| (shared.refs.clone(), None);
    let (refs, held) = Arc::try_unwrap(listing).map_or_else(whole, Listing::into_parts);
    let names = refs
        .into_iter()
        .filter_map(|listed| Some(listed.name.strip_prefix(TAGS)?.to_owned()));
    Ok((names.collect(), held))
}
