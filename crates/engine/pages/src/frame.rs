//! What is around each page.

use std::fmt;

/// What is around each page.
pub struct Frame<'a> {
    /// Who is signed in; none where nobody has to.
    pub person: Option<&'a str>,
    /// Whether signing out is possible: a cookie of ours says who it is.
    pub can_sign_out: bool,
    /// Now, in seconds since 1970-01-01 UTC.
    pub now: i64,
    /// The version of the program.
    pub version: &'a str,
    /// The name of what is shown, such as a cluster; may be empty.
    pub cluster: &'a str,
    /// The token that forms send back; none when nothing may be asked for.
    pub csrf: Option<&'a str>,
    /// Whether actions are on. They need `csrf`.
    pub has_actions: bool,
    /// Whether there are reviews of pull requests.
    pub has_reviews: bool,
    /// What the page shows, as [`crate::Route::Events`] calls it, which tells of changes since; none
    /// where it tells nothing.
    pub live: Option<&'a str>,
    /// The path and query of this page, as requested.
    pub path: &'a str,
    /// The number of things that need attention.
    pub attention: usize,
    /// Something to tell once above the page, such as what an action did.
    pub notice: Option<&'a str>,
    /// Whether this person may not see everything, or not all of it could be read.
    pub is_partial: bool,
    /// What to do about a reason (`bumpwright explain`), for people; none for one that has no text.
    pub explain: &'a dyn Fn(&str) -> Option<String>,
}

impl fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Frame");
        shown.field("path", &self.path).finish_non_exhaustive()
    }
}
