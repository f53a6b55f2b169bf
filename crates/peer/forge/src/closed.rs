//! Pull requests that were closed without a merge: declined changes are not proposed again.

use super::api::PullRequest;
use super::description::{Content, content_of};
use super::{Forge, ForgeApi, ForgeError};

/// The most pages of closed pull requests, newest first. GitHub filters by branches itself and needs one; Gitea
/// lists all closed ones of the repository, and an older one does not count.
const CLOSED_PAGES: usize = 10;

impl Forge {
    /// Finds the newest closed pull request from `head` to `base`, if it was not merged and has the same content as the wanted one.
    ///
    /// The content is in its description. Without one, GitHub still has the commit;
    /// Gitea shows the current branch instead.
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
