//! Which part of a list is asked for.

use url::form_urlencoded;

/// The rows of a page of a list.
pub const ROWS: usize = 200;

/// The longest filter that is used, in bytes.
const WORDS: usize = 200;

/// Which part of a list is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The text that rows contain, or what is searched for: `q`.
    pub words: String,
    /// The state or stage of the rows, as on the page: `only`. Empty for all.
    pub only: String,
    /// The page, from 0; from 1 in `page`.
    pub page: usize,
}

impl Listing {
    /// What a query says. Whatever it does not know or understand is left out.
    #[must_use]
    pub fn parse(query: &str) -> Self {
        let mut found = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*key {
                "q" => found.words = cut(value.trim()).to_owned(),
                "only" => found.only = cut(&value).to_owned(),
                "page" => found.page = value.parse::<usize>().unwrap_or(1).clamp(1, 1_000_000) - 1,
                _ => {}
            }
        }
        found
    }
}

/// At most so many bytes.
fn cut(text: &str) -> &str {
    let end = text.floor_char_boundary(WORDS);
    text.get(..end).unwrap_or_default()
}
