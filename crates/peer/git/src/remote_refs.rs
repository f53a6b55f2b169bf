//! The references of a remote, without their objects: `git ls-remote`.

use super::conversation::{Conversation, KnownServer};
use super::listing::MAX_NAME;
use super::mirror::Mirror;
use super::remote::{Remote, open};
use super::resolve::commit_of;
use super::{GitError, RemoteRef};

impl Mirror {
    /// Lists the remote's references that begin with one of `prefixes`, in one round trip. Nothing is fetched.
    ///
    /// # Errors
    /// [`GitError::Transport`], [`GitError::Protocol`]; [`GitError::Invalid`] for a prefix that cannot begin a name.
    pub fn remote_refs(&self, prefixes: &[String]) -> Result<Vec<RemoteRef>, GitError> {
        if prefixes
            .iter()
            .any(|name| name.len() > MAX_NAME || name.contains(['\n', '\0']))
        {
            return Err(GitError::Invalid(
                "a name of a reference has a line break or is too long".to_owned(),
            ));
        }
        let mut talk = Conversation::start(self.transport.as_ref(), &self.state.known)?;
        let listing = talk.list(prefixes)?;
        talk.finish();
        let seen = listing.refs.iter().map(|listed| RemoteRef {
            reference: listed.name.clone(),
            commit: commit_of(listed),
            object: listed.id,
        });
        Ok(seen.collect())
    }
}

/// The names of the tags of a remote, in one conversation and without a mirror.
///
/// # Errors
/// [`GitError::Transport`], [`GitError::Protocol`]
pub fn remote_tags(remote: &Remote) -> Result<Vec<String>, GitError> {
    const TAGS: &str = "refs/tags/";
    let transport = open(remote)?;
    let known = KnownServer::unknown();
    let mut talk = Conversation::start(transport.as_ref(), &known)?;
    let listing = talk.list(&[TAGS.to_owned()])?;
    talk.finish();
    let names = listing.refs.iter().filter_map(|listed| listed.name.strip_prefix(TAGS));
    Ok(names.map(str::to_owned).collect())
}
