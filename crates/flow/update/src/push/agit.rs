//! Pull requests that pushes to `refs/for/…` open at Gitea and Forgejo (AGit). Git shows their commits; base, title and
//! end are known from the API, where there is a login for it.

use crate::commit::create::Made;
use crate::job::push::PushSettings;
use crate::job::remote_job::RemoteJob;
use bumpwright_forge::{End, Numbered};
use bumpwright_text::Excerpt;

/// Where the server shows the commits of requests.
pub(crate) const REQUESTS: &str = "refs/pull/";

/// What the requests at `references`, which hold the commit, mean for a push to `reference`.
pub(crate) fn standing(job: &RemoteJob, reference: &str, references: &[String]) -> Standing {
    let Some(first) = references.first() else {
        return Standing::Push(None);
    };
    let unknown = || {
        let note = format!("{reference}: {first} has this commit already, so nothing was pushed");
        let declined = None;
        Standing::Held { note, declined }
    };
    let Some(forge) = &job.agit else {
        return unknown();
    };
    let mut open = Vec::new();
    for number in references.iter().filter_map(|reference| number(reference)) {
        let Ok(request) = forge.numbered(number) else {
            return unknown();
        };
        match request.end {
            _ if !is_for(reference, &request.base) => {}
            End::Open => open.push(request),
            End::Merged => {}
            End::Closed => {
                let url = request.url;
                let note = format!(
                    "pull request #{number} for this commit was closed without merging ({url}): reopen it there to have it after all"
                );
                let declined = Some(format!("pull request #{number} ({url})"));
                return Standing::Held { note, declined };
            }
        }
    }
    Standing::Push(open.pop().filter(|_| open.is_empty()))
}

/// A note on a request whose title is not the one of now: a push sets it only when it opens the request.
pub(crate) fn stale_title(push: &PushSettings, made: &Made, request: &Numbered) -> Option<String> {
    let given = push.options.iter().find(|(key, _)| key == "title");
    let message = String::from_utf8_lossy(&made.message);
    let wanted = match given {
        Some((_, title)) if !title.is_empty() => title.trim(),
        _ => message.first_line().trim(),
    };
    // A title in Base64 is the server's business.
    let is_stale = request.title.trim() != wanted && !wanted.starts_with("{base64}");
    is_stale.then(|| {
        format!(
            "pull request #{} keeps its title {:?} ({}): a push sets it only when it opens one",
            request.number, request.title, request.url
        )
    })
}

/// The request with this reference.
pub(crate) fn request_at(job: &RemoteJob, reference: &str) -> Option<Numbered> {
    job.agit.as_ref()?.numbered(number(reference)?).ok()
}

/// The number in `refs/pull/3/head`.
fn number(reference: &str) -> Option<u64> {
    reference.strip_prefix(REQUESTS)?.split('/').next()?.parse().ok()
}

/// Whether `refs/for/BASE` or `refs/for/BASE/TOPIC` is for this base.
fn is_for(reference: &str, base: &str) -> bool {
    let rest = reference
        .strip_prefix("refs/for/")
        .and_then(|rest| rest.strip_prefix(base));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a push of a commit for review is needed.
pub(crate) enum Standing {
    /// No request holds the commit, or the server has to say whether it is the one that is meant: Git and API show no
    /// topics. With the only open one for the same base.
    Push(Option<Numbered>),
    /// A request holds the commit.
    Held {
        /// What is to be told.
        note: String,
        /// The request, if it was closed without merging.
        declined: Option<String>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_name_numbers_and_bases() {
        assert_eq!(number("refs/pull/12/head"), Some(12));
        assert_eq!(number("refs/pull/x/head"), None);
        for (reference, base, expected) in [
            ("refs/for/main", "main", true),
            ("refs/for/release/1.x", "release/1.x", true),
            ("refs/for/main/topic", "main", true),
            ("refs/for/mainline", "main", false),
            ("refs/for/release", "main", false),
        ] {
            assert_eq!(is_for(reference, base), expected, "{reference}");
        }
    }
}
