//! The tags of a repository, page by page.

use std::collections::HashSet;
use ureq::http::Method;
use url::Url;

use super::address::query;
use super::link;
use super::session::{Query, Session};
use super::tag_list::{GrowingList, TagList};
use super::tag_page::{End, TagPage};
use crate::RegistryError;
use bumpwright_http::{Answer, Job};

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

/// All tags, each once, in their order. Pages and list are on the account of the job.
///
/// The next page is the one of `Link`. A full page without a `Link` may be that of a registry that supports only `n`
/// and `last`, so the tags after the last one are requested, until no new ones come. A page is never requested
/// twice: one that links to itself, or back, says nothing about what is missing.
///
/// # Errors
/// When a page cannot be fetched, links to another host or to a page that has been read, or there are too many.
pub(crate) fn list(session: &mut Session<'_>) -> Result<TagList, RegistryError> {
    let first = session.endpoint("tags/list")?;
    let mut list = List::new();
    let mut listed = HashSet::new();
    let (mut page, mut answer) = first_page(session, &first)?;
    loop {
        list.note(session, &page, &mut listed)?;
        let count = list.add(session, &answer)?;
        // The next page needs the memory.
        (answer.body, answer.held) = (Vec::new(), None);
        page = match link::next(session, &answer)? {
            Some(url) if listed.contains(url.as_str()) => return Err(link::circular(session, &answer, &url)),
            Some(url) => Page {
                url,
                size: page.size,
                guessed: false,
            },
            None if page.size == Some(count.tags) && count.has_new => Page::after(&first, page.size, count.last),
            None => return Ok(list.growing.list),
        };
        if listed.len() >= PAGES {
            let what = format!("the list of tags has more than {PAGES} pages");
            return Err(too_much(session, &answer, what));
        }
        // A guess that was made before means that the list has ended.
        let next = if listed.contains(page.url.as_str()) {
            None
        } else {
            page.fetch(session)?
        };
        answer = match next {
            Some(answer) => answer,
            None => return Ok(list.growing.list),
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

/// Whether a registry may refuse a page for its size: no code for it is agreed on. Quay has
/// `TOO_MANY_TAGS_REQUESTED`, Amazon `UNSUPPORTED`, GitLab and distribution `PAGINATION_NUMBER_INVALID`.
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

/// The list so far.
struct List {
    growing: GrowingList,
    /// The bytes of the pages.
    bytes: usize,
}

/// What a page has.
struct Count {
    /// Its tags, known ones and too long ones among them.
    tags: usize,
    /// The last of them.
    last: Option<String>,
    /// Whether there are new ones.
    has_new: bool,
}

impl List {
    fn new() -> Self {
        Self {
            growing: GrowingList::new(&Job::account()),
            bytes: 0,
        }
    }

    /// Remembers the address of a page.
    fn note(&mut self, session: &Session<'_>, page: &Page, listed: &mut HashSet<String>) -> Result<(), RegistryError> {
        let address = page.url.to_string();
        let taken = self.growing.list.take(address.len() + 64);
        listed.insert(address);
        taken.map_err(|exceeded| session.no_memory(&page.url, exceeded))
    }

    /// Adds the tags of a page.
    fn add(&mut self, session: &Session<'_>, answer: &Answer) -> Result<Count, RegistryError> {
        let before = self.growing.list.len();
        self.bytes = self.bytes.saturating_add(answer.body.len());
        let mut page = TagPage::new(&mut self.growing, TAGS);
        let result = page.read(&answer.body);
        let TagPage { count, last, ended, .. } = page;
        match (ended, result) {
            (Some(End::NoMemory(exceeded)), _) => return Err(session.no_memory(&answer.url, exceeded)),
            (Some(End::TooMany), _) => {
                return Err(too_much(
                    session,
                    answer,
                    format!("the repository has more than {TAGS} tags"),
                ));
            }
            (None, Err(error)) => {
                let detail = format!("the answer is not a list of tags: {error}");
                return Err(session.malformed(&Method::GET, answer, &detail));
            }
            (None, Ok(())) => {}
        }
        if self.bytes > BYTES {
            let what = format!("the list of tags has more than {BYTES} bytes");
            return Err(too_much(session, answer, what));
        }
        Ok(Count {
            tags: count,
            last: (count > 0).then_some(last),
            has_new: self.growing.list.len() > before,
        })
    }
}

fn too_much(session: &Session<'_>, answer: &Answer, detail: String) -> RegistryError {
    RegistryError::TooMuch {
        request: session.request(&Method::GET, answer),
        detail,
    }
}
