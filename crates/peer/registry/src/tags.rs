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

/// The size for registries that refuse that one.
const FEW: usize = 100;

/// The largest page, in bytes. Some registries return all tags at once.
const LARGEST_PAGE: usize = 64 << 20;

/// The most pages, tags, and bytes of a list.
const PAGES: usize = 5_000;
const TAGS: usize = 1_000_000;
const BYTES: usize = 256 << 20;

/// All tags, each once, in their order.
///
/// The next page is the one of `Link`. A full page without a `Link` may be that of a registry that supports only `n` and
/// `last`, so the tags after the last one are requested, until there are no new ones. A page is never requested twice: one that
/// links to itself, or back, says nothing about what is missing.
///
/// # Errors
/// When a page cannot be fetched, links to another host or to a page that has been read, or there are too many.
pub(super) fn list(session: &mut Session<'_>) -> Result<Vec<String>, RegistryError> {
    let first = session.endpoint("tags/list")?;
    let mut list = List::default();
    let mut listed = HashSet::new();
    let (mut page, mut answer) = first_page(session, &first)?;
    loop {
        listed.insert(page.url.to_string());
        let tags = read(session, &answer)?;
        let (count, last) = (tags.len(), tags.last().cloned());
        let grown = list
            .add(tags, &answer)
            .map_err(|what| too_much(session, &answer, what))?;
        page = match link::next(session, &answer)? {
            Some(url) if listed.contains(url.as_str()) => return Err(link::circular(session, &answer, &url)),
            Some(url) => Page {
                url,
                size: page.size,
                guessed: false,
            },
            None if page.size == Some(count) && grown => Page::after(&first, page.size, last),
            None => return Ok(list.tags),
        };
        if listed.len() >= PAGES {
            let what = format!("the list of tags has more than {PAGES} pages");
            return Err(too_much(session, &answer, what));
        }
        // A guess that was made before says that there are no more.
        let next = match listed.contains(page.url.as_str()) {
            true => None,
            false => page.fetch(session)?,
        };
        answer = match next {
            Some(answer) => answer,
            None => return Ok(list.tags),
        };
    }
}

/// The first page, of a size that the registry accepts: some refuse to return so many tags at once.
///
/// # Errors
/// When it cannot be fetched in any size: what was said to the first request.
fn first_page(session: &mut Session<'_>, first: &Url) -> Result<(Page, Answer), RegistryError> {
    let mut refusal = None;
    for size in [Some(PAGE), Some(FEW), None] {
        let page = Page::after(first, size, None);
        match page.fetch(session) {
            Ok(Some(answer)) => return Ok((page, answer)),
            Ok(None) => break,
            Err(error) if is_about_size(&error) => {
                refusal.get_or_insert(error);
            }
            // The first refusal was about the size, and now the registry says what else is wrong.
            Err(error) => return Err(error),
        }
    }
    Err(refusal.unwrap_or_else(|| RegistryError::Address(first.to_string())))
}

/// Whether a registry may refuse a page for its size: there is no agreed code for it. Quay has `TOO_MANY_TAGS_REQUESTED`, Amazon
/// `UNSUPPORTED`, GitLab and distribution `PAGINATION_NUMBER_INVALID`.
fn is_about_size(error: &RegistryError) -> bool {
    const OTHER: [&str; 4] = ["NAME_UNKNOWN", "NAME_INVALID", "UNAUTHORIZED", "DENIED"];
    let RegistryError::Refused(refusal) = error else {
        return false;
    };
    let is_other = refusal.codes.iter().any(|code| OTHER.contains(&code.as_str()));
    matches!(refusal.status, 400 | 405 | 413 | 414 | 416 | 422 | 501) && !is_other
}

/// A page to request.
struct Page {
    url: Url,
    /// The requested number of tags; none when the registry may choose it.
    size: Option<usize>,
    /// Whether the page may not exist.
    guessed: bool,
}

impl Page {
    fn after(first: &Url, size: Option<usize>, last: Option<String>) -> Self {
        let mut url = first.clone();
        let guessed = last.is_some();
        let mut pairs: Vec<(String, String)> = size.map(|n| ("n".to_owned(), n.to_string())).into_iter().collect();
        pairs.extend(last.map(|last| ("last".to_owned(), last)));
        url.set_query(query(pairs).as_deref());
        Self { url, size, guessed }
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
