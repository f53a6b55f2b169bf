//! Requests that somebody has closed without merging them: a no, which is not asked about again.

use super::api::PullRequest;
use super::description::{Content, content_of};
use super::{Forge, ForgeApi, ForgeError};

/// Pages of closed requests that are looked through, newest first. GitHub chooses by branches itself and needs one; at
/// Gitea all closed requests of the repository come, and a no that is older than these is forgotten.
const CLOSED_PAGES: usize = 10;

impl Forge {
    /// The newest closed request from `head` to `base`, if it was not merged and asked for the same as is asked for now.
    ///
    /// What was asked for is in its description. A description that somebody has emptied still has a commit beside it at
    /// GitHub; Gitea shows the branch as it is now instead.
    pub(super) fn declined(
        &self,
        (head, base): (&str, &str),
        content: &Content,
        commit: &str,
    ) -> Result<Option<PullRequest>, ForgeError> {
        let attempt = format!("look for closed pull requests from {head} to {base}");
        for page in 1..=CLOSED_PAGES {
            let url = self.list("closed", head, base, page);
            let (found, more) = self.page(&attempt, url)?;
            if let Some(closed) = found.into_iter().find(|found| found.joins(head, base)) {
                let same = match content_of(closed.body.as_deref().unwrap_or_default()) {
                    Some(known) => known == *content,
                    None => self.kind == ForgeApi::GitHub && closed.head.sha == commit,
                };
                return Ok(Some(closed).filter(|closed| same && closed.merged_at.is_none()));
            }
            if !more {
                break;
            }
        }
        Ok(None)
    }
}
