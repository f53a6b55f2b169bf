//! The tags of a repository, page by page.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use ureq::http::Method;
use url::Url;

use super::RegistryError;
use super::address::query;
use super::link;
use super::session::{Query, Session};
use bumpwright_http::Answer;

/// The requested size of a page: no registry returns more, and Amazon's refuses larger numbers.
const PAGE: usize = 1000;

/// The largest page, in bytes. Some registries return all tags at once.
const LARGEST_PAGE: usize = 64 << 20;

/// The most pages, tags, and bytes of a list.
const PAGES: usize = 5_000;
const TAGS: usize = 1_000_000;
const BYTES: usize = 256 << 20;

/// All tags, each once, in their order.
///
/// The next page is the one of `Link`. A full page without a `Link` may be that of a registry that supports only `n` and
/// `last`, so the tags after the last one are requested, until there are no new ones. A page is never requested twice.
///
/// # Errors
/// When a page cannot be fetched, links to another host, or there are too many.
pub(super) fn list(session: &mut Session<'_>) -> Result<Vec<String>, RegistryError> {
    let first = session.endpoint("tags/list")?;
    let mut list = List::default();
    let mut listed = HashSet::new();
    let mut next = Some(Page::after(&first, None));
    while let Some(page) = next.take_if(|page| listed.insert(page.url.to_string())) {
        let Some(answer) = page.fetch(session)? else {
            break;
        };
        let tags = read(session, &answer)?;
        let (count, last) = (tags.len(), tags.last().cloned());
        let grown = list
            .add(tags, &answer)
            .map_err(|what| too_much(session, &answer, what))?;
        next = match link::next(session, &answer)? {
            Some(url) => Some(Page { url, guessed: false }),
            None if count == PAGE && grown => Some(Page::after(&first, last)),
            None => None,
        };
        if next.is_some() && listed.len() >= PAGES {
            let what = format!("the list of tags has more than {PAGES} pages");
            return Err(too_much(session, &answer, what));
        }
    }
    Ok(list.tags)
}

/// A page to request.
struct Page {
    url: Url,
    /// Whether the page may not exist.
    guessed: bool,
}

impl Page {
    fn after(first: &Url, last: Option<String>) -> Self {
        let mut url = first.clone();
        let guessed = last.is_some();
        let mut pairs = vec![("n".to_owned(), PAGE.to_string())];
        pairs.extend(last.map(|last| ("last".to_owned(), last)));
        url.set_query(query(pairs).as_deref());
        Self { url, guessed }
    }

    /// Requests the page; none when it was a guess and does not exist.
    fn fetch(&self, session: &mut Session<'_>) -> Result<Option<Answer>, RegistryError> {
        let query = Query {
            method: Method::GET,
            url: self.url.clone(),
            accept: None,
            limit: LARGEST_PAGE,
        };
        match session.fetch(&query) {
            Err(error) if self.guessed && matches!(error.status(), Some(400 | 404 | 405 | 416 | 422 | 501)) => Ok(None),
            other => other.map(Some),
        }
    }
}

#[derive(Default)]
struct List {
    tags: Vec<String>,
    known: HashSet<String>,
    bytes: usize,
}

impl List {
    /// Adds the tags of a page. Returns whether there were new ones.
    ///
    /// # Errors
    /// The exceeded limit.
    fn add(&mut self, tags: Vec<String>, answer: &Answer) -> Result<bool, String> {
        let before = self.tags.len();
        let crowded = tags.len() > TAGS;
        self.bytes = self.bytes.saturating_add(answer.body.len());
        for tag in tags {
            if self.known.insert(tag.clone()) {
                self.tags.push(tag);
            }
        }
        if crowded || self.tags.len() > TAGS {
            return Err(format!("the repository has more than {TAGS} tags"));
        }
        if self.bytes > BYTES {
            return Err(format!("the list of tags has more than {BYTES} bytes"));
        }
        Ok(self.tags.len() > before)
    }
}

fn too_much(session: &Session<'_>, answer: &Answer, detail: String) -> RegistryError {
    RegistryError::TooMuch {
        request: session.request(&Method::GET, answer),
        detail,
    }
}

/// Parses a page. Go reads only the first JSON value; no tags may be `null`.
fn read(session: &Session<'_>, answer: &Answer) -> Result<Vec<String>, RegistryError> {
    #[derive(serde::Deserialize)]
    struct Tags {
        #[serde(default)]
        tags: Option<Bounded>,
    }
    let mut json = serde_json::Deserializer::from_slice(&answer.body);
    let read = Tags::deserialize(&mut json).map_err(|error| {
        let detail = format!("the answer is not a list of tags: {error}");
        session.malformed(&Method::GET, answer, &detail)
    })?;
    Ok(read.tags.map(|tags| tags.0).unwrap_or_default())
}

/// The tags of a page, with at most one above the limit: a page may have millions of empty texts, which as
/// strings would take ten times its size.
struct Bounded(Vec<String>);

impl<'de> Deserialize<'de> for Bounded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Bounded;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Bounded, A::Error> {
        let mut tags = Vec::new();
        while tags.len() <= TAGS
            && let Some(tag) = items.next_element()?
        {
            tags.push(tag);
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Bounded(tags))
    }
}
