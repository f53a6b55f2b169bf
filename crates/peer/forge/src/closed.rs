//! Pull requests that were closed without a merge: declined changes are not proposed again.

use serde::Deserialize;

use super::api::PullRequest;
use super::description::{Content, content_of};
use super::{Forge, ForgeApi, ForgeError};
use bumpwright_gostd::Time;
use bumpwright_http::Request;

/// The most pages of closed pull requests, newest first. GitHub filters by branches itself and needs one; Gitea
/// lists all closed ones of the repository, and an older one does not count.
const CLOSED_PAGES: usize = 10;

/// A request of Gitea that was closed this soon, in seconds, was not closed by somebody who had read it.
const SOON: i64 = 5;

/// As many in a row that seem to be closed by the server are a refusal after all.
const MOST_BY_SERVER: usize = 3;

/// An entry of the timeline of a request at Gitea.
#[derive(Deserialize)]
struct TimelineEntry {
    #[serde(rename = "type")]
    kind: String,
    created_at: String,
}

impl Forge {
    /// Finds the newest pull request from `head` to `base` that somebody has closed, if it was not merged and has the
    /// same content as the wanted one.
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
        let mut by_server = 0;
        for page in 1..=CLOSED_PAGES {
            let url = self.list("closed", head, base, page);
            let (found, more) = self.page(&attempt, url)?;
            for closed in found.into_iter().filter(|found| found.joins(head, base)) {
                let same = match content_of(&closed.description) {
                    Some(known) => known == *content,
                    None => self.kind == ForgeApi::GitHub && closed.head.sha == commit,
                };
                if !same || closed.merged_at.is_some() {
                    return Ok(None);
                }
                by_server += 1;
                if by_server >= MOST_BY_SERVER || self.is_by_somebody(&closed)? {
                    return Ok(Some(closed));
                }
            }
            if !more {
                break;
            }
        }
        Ok(None)
    }

    /// Whether a person closed it. When a branch is deleted, as after a merge, Gitea closes the requests that are open
    /// for its name a moment later, also those that were opened in between; and a second request for the same branches
    /// is closed by the run that opened it.
    fn is_by_somebody(&self, closed: &PullRequest) -> Result<bool, ForgeError> {
        if self.kind != ForgeApi::Gitea {
            return Ok(true);
        }
        let at = |time: &Option<String>| time.as_deref().and_then(seconds);
        if let (Some(created), Some(closed)) = (at(&closed.created_at), at(&closed.closed_at))
            && closed - created <= SOON
        {
            return Ok(false);
        }
        Ok(!self.closed_with_its_branch(closed)?)
    }

    /// Whether it was closed by the deletion of its branch, which comes next in its timeline then.
    fn closed_with_its_branch(&self, closed: &PullRequest) -> Result<bool, ForgeError> {
        let Some(closed_at) = &closed.closed_at else {
            return Ok(false);
        };
        let attempt = format!("see how pull request #{} was closed", closed.number);
        let mut url = (self.repository).url(&["issues", &closed.number.to_string(), "timeline"]);
        url.query_pairs_mut().append_pair("since", closed_at);
        let (entries, _): (Vec<TimelineEntry>, _) = self.calls.send_json(&attempt, Request::get(url))?;
        let mut deletions = entries.iter().filter(|entry| entry.kind == "delete_branch");
        let deleted = deletions.next().and_then(|entry| seconds(&entry.created_at));
        let closed = seconds(closed_at);
        Ok(deleted
            .zip(closed)
            .is_some_and(|(deleted, closed)| deleted - closed <= 1))
    }
}

/// Seconds since 1970 of a time as JSON has it.
fn seconds(time: &str) -> Option<i64> {
    let time = Time::parse(b"2006-01-02T15:04:05Z07:00", time.as_bytes()).ok()?;
    Some(time.unix_seconds())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_any_zone() {
        assert_eq!(seconds("1970-01-01T01:00:05+01:00"), Some(5));
        assert_eq!(seconds("1970-01-01T00:00:05Z"), Some(5));
        assert_eq!(seconds("yesterday"), None);
    }
}
