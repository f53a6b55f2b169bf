//! Lists: which rows are shown, and how one gets to the others.

use serde::Serialize;
use url::form_urlencoded::Serializer;

use super::super::listing::{Listing, ROWS};

/// The rows of a page, and the way to the others.
#[derive(Clone, Debug, Serialize)]
pub struct List<T> {
    rows: Vec<T>,
    /// The number of rows that fit.
    found: usize,
    /// The number of all rows.
    all: usize,
    /// The number of the first row of this page, from 1.
    from: usize,
    /// And of the last one.
    to: usize,
    /// The path of the list.
    at: String,
    /// What is looked for.
    words: String,
    only: String,
    /// The choices of `only`.
    choices: Vec<Choice>,
    before: Option<String>,
    after: Option<String>,
}

/// A choice of rows.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    word: String,
    href: String,
    is_current: bool,
    count: usize,
}

impl<T> List<T> {
    /// The rows of all that `fits`, as `listing` asks. `state` is what `only` is compared with.
    pub fn new<R>(
        at: &str,
        all: &[R],
        listing: &Listing,
        states: &[&str],
        state: impl Fn(&R, &str) -> bool,
        fits: impl Fn(&R, &str) -> bool,
        row: impl Fn(&R) -> T,
    ) -> Self {
        let words = listing.words.to_lowercase();
        let named: Vec<&R> = all.iter().filter(|one| words.is_empty() || fits(one, &words)).collect();
        let choice = |word: &str| Choice {
            word: word.to_owned(),
            href: href(at, &listing.words, word, 0),
            is_current: listing.only == word,
            count: named.iter().filter(|one| state(one, word)).count(),
        };
        let choices = states.iter().map(|word| choice(word));
        let choices: Vec<Choice> = choices.filter(|one| one.count > 0 || one.is_current).collect();
        let is_asked = |one: &&&R| listing.only.is_empty() || state(one, &listing.only);
        let matching: Vec<&R> = named.iter().filter(is_asked).copied().collect();
        let last = matching.len().saturating_sub(1) / ROWS;
        let page = listing.page.min(last);
        let link = |page: usize| href(at, &listing.words, &listing.only, page);
        let rows: Vec<T> = matching
            .iter()
            .skip(page * ROWS)
            .take(ROWS)
            .map(|one| row(one))
            .collect();
        Self {
            from: page * ROWS + usize::from(!rows.is_empty()),
            to: page * ROWS + rows.len(),
            rows,
            found: matching.len(),
            all: all.len(),
            at: at.to_owned(),
            words: listing.words.clone(),
            only: listing.only.clone(),
            choices,
            before: page.checked_sub(1).map(link),
            after: (page < last).then(|| link(page + 1)),
        }
    }
}

impl<T> List<T> {
    /// The rows of this page.
    pub(crate) fn rows_mut(&mut self) -> &mut [T] {
        &mut self.rows
    }
}

/// The path of a list with a query.
pub fn href(at: &str, words: &str, only: &str, page: usize) -> String {
    let mut query = Serializer::new(String::new());
    for (key, value) in [("q", words), ("only", only)] {
        if !value.is_empty() {
            query.append_pair(key, value);
        }
    }
    if page > 0 {
        query.append_pair("page", &(page + 1).to_string());
    }
    match query.finish().as_str() {
        "" => at.to_owned(),
        query => format!("{at}?{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_pages() {
        let all: Vec<usize> = (0..450).collect();
        let list = |listing: &Listing| {
            List::new(
                "/x",
                &all,
                listing,
                &["odd", "none"],
                |one, word| word == "odd" && one % 2 == 1,
                |one, words| one.to_string().contains(words),
                |one| *one,
            )
        };
        let first = list(&Listing::default());
        assert_eq!((first.found, first.from, first.to), (450, 1, 100));
        assert_eq!(first.before, None);
        assert_eq!(first.after.as_deref(), Some("/x?page=2"));
        assert_eq!(first.choices.len(), 1);
        let last = list(&Listing::parse("page=99&q=+&x=y"));
        assert_eq!((last.from, last.to, last.rows.len()), (401, 450, 50));
        assert_eq!(last.before.as_deref(), Some("/x?page=4"));
        let odd = list(&Listing::parse("q=44&only=odd"));
        assert_eq!(
            odd.rows,
            [144, 244, 344, 440, 441, 442, 443, 444, 445, 446, 447, 448, 449]
                .into_iter()
                .filter(|one| one % 2 == 1)
                .collect::<Vec<_>>()
        );
        let none = list(&Listing::parse("q=%3Cimg%3E"));
        assert_eq!((none.found, none.from, none.to), (0, 0, 0));
    }
}
