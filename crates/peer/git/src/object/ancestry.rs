//! Whether one commit descends from another, also where the mirror has no history.

use std::collections::BTreeSet;

use crate::mirror::repository::Mirror;
use crate::wire::conversation::Conversation;
use crate::wire::pktline::broken;
use crate::wire::transfer::{Depth, Request, transfer};
use crate::{GitError, ObjectId};

/// How many commits of the mirror are read.
const MAX_WALK: usize = 10_000;

impl Mirror {
    /// True when `new` is `old` or descends from it, by the mirror's commits and, at the edge of its history, by an
    /// answer of the server. False also when neither is enough.
    ///
    /// # Errors
    /// [`GitError::Transport`], [`GitError::Damaged`], [`GitError::Storage`].
    pub fn is_ancestor(&self, old: ObjectId, new: ObjectId) -> Result<bool, GitError> {
        let objects = self.state.objects(new.kind())?;
        let shallow = self.state.layout.shallow(new.kind())?;
        let (mut queue, mut seen, mut edges) = (vec![new], BTreeSet::new(), BTreeSet::new());
        while let Some(id) = queue.pop() {
            if id == old {
                return Ok(true);
            }
            if seen.len() >= MAX_WALK || !seen.insert(id) || !objects.contains(id) {
                continue;
            }
            if shallow.contains(&id) {
                edges.insert(id);
            } else {
                queue.extend(objects.commit(id)?.parents);
            }
        }
        for edge in edges {
            if self.server_sees(old, edge)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Requests `old` and claims to have `new`: the pack is empty when `old` is part of the history of `new`.
    /// Any other pack is refused.
    #[expect(
        clippy::disallowed_methods,
        reason = "the head of a pack that answers a question; bound: 12 bytes; account: none, on the stack"
    )]
    fn server_sees(&self, old: ObjectId, new: ObjectId) -> Result<bool, GitError> {
        let mut talk = Conversation::start(self.transport.as_ref(), &self.state.known, &[])?;
        let request = Request {
            want: BTreeSet::from([old]),
            have: vec![new],
            shallow: BTreeSet::new(),
            depth: Depth::Missing,
            object_limit: None,
        };
        let answer = transfer(&mut talk, &request, |pack| {
            let mut header = [0; 12];
            pack.read_exact(&mut header).map_err(broken)?;
            let empty = header.ends_with(&[0; 4]);
            if empty {
                Ok(())
            } else {
                Err(GitError::protocol("the commits differ"))
            }
        });
        match answer {
            Ok(_) => {
                talk.finish();
                Ok(true)
            }
            // They differ, or the server does not know one of them.
            Err(GitError::Protocol(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
