//! What is posted about a review: a comment, and a commit status after it, which says that all is done.

use std::sync::Arc;

use super::known::Pair;
use super::look::LIMIT;
use bumpwright_api::{GoDuration, ReviewAnnotations};
use bumpwright_findings::Severity;
use bumpwright_fleet::Review;
use bumpwright_forge::{CommitStatus, ForgeError, ReviewServer, Verdict};
use bumpwright_pages::request;
use bumpwright_text::Excerpt;

/// Which check a status is of.
const CONTEXT: &str = "bumpwright/review";

/// The longest description of a status, in characters: GitHub's.
const LONGEST: usize = 140;

/// How much of the id of a commit is shown.
const SHORT: usize = 12;

/// The result of a review, to be posted.
#[derive(Debug)]
pub(super) struct Posting {
    pub(super) verdict: Verdict,
    pub(super) description: String,
    /// The comment, and whether there is anything in it that anybody has to know.
    comment: Option<(String, bool)>,
    /// The review for its page, with its bytes; none if it is not finished, or pages are not served.
    pub(super) page: Option<(Arc<request::Review>, u64)>,
}

/// The context of the statuses of a repository.
pub(super) fn context(wanted: &ReviewAnnotations) -> String {
    match &wanted.name {
        Some(name) => format!("{CONTEXT}/{name}"),
        None => CONTEXT.to_owned(),
    }
}

/// The first line of our comments.
fn mark(wanted: &ReviewAnnotations) -> String {
    format!("<!-- bumpwright:review {} -->", wanted.name.as_deref().unwrap_or("-"))
}

/// What the description of a status ends with: it says which review it is of, so that none is made twice.
pub(super) fn ending(pair: &Pair) -> String {
    format!(" (from {})", short(&pair.base))
}

pub(super) fn short(commit: &str) -> &str {
    commit.get(..SHORT).unwrap_or(commit)
}

impl Posting {
    /// Of a review; none if it was not finished in time.
    pub(super) fn of(review: Option<&Review>, pair: &Pair, wanted: &ReviewAnnotations, has_pages: bool) -> Self {
        let ending = ending(pair);
        let Some(review) = review else {
            let limit = GoDuration::from(LIMIT);
            return Self {
                verdict: Verdict::Error,
                description: format!("not everything could be built within {limit}{ending}"),
                comment: None,
                page: None,
            };
        };
        let errors = review.report.open().any(|finding| finding.severity == Severity::Error);
        let text = format!("{}; {}", review.changes(), review.summary());
        let comment = format!(
            "{}\n<sub>The review of {} by bumpwright, compared with {}.</sub>\n",
            review.markdown().trim_end(),
            short(&pair.head),
            short(&pair.base)
        );
        Self {
            verdict: if errors { Verdict::Failure } else { Verdict::Success },
            description: format!("{}{ending}", text.fitted(LONGEST - ending.chars().count())),
            comment: wanted.comments.then(|| (comment, !review.is_empty())),
            page: has_pages.then(|| review.page()),
        }
    }

    /// Posts it: the comment alone where the commit takes no status. Blocks. A retry is safe.
    ///
    /// # Errors
    /// [`ForgeError`]
    pub(super) fn post(
        &self,
        forge: &ReviewServer,
        (number, pair, is_fork): (u64, &Pair, bool),
        wanted: &ReviewAnnotations,
    ) -> Result<(), ForgeError> {
        if let Some((comment, is_needed)) = &self.comment {
            forge.keep_comment(number, &mark(wanted), comment, *is_needed)?;
        }
        if !forge.takes_status(is_fork) {
            return Ok(());
        }
        let status = CommitStatus {
            context: &context(wanted),
            verdict: self.verdict,
            description: &self.description,
        };
        forge.set_status(&pair.head, status)
    }
}
