//! Which part of a list is asked for.

use bumpwright_text::Parts;
use url::form_urlencoded;

/// The rows of a page of a list: with long texts it stays below 150 kB.
pub const ROWS: usize = 100;

/// The most boxes of a graph beside rows, and alone on its page.
const BOXES: usize = 100;
const ALL_BOXES: usize = 500;

/// The longest filter that is used, in bytes.
const WORDS: usize = 200;

/// The longest kind with namespace and name, in bytes.
const NAME: usize = 400;

/// Which part of a list is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The text that rows contain, or what is searched for: `q`.
    pub words: String,
    /// The state or stage of the rows, as on the page: `only`. Empty for all.
    pub only: String,
    /// The page, from 0; from 1 in `page`.
    pub page: usize,
    /// Whether all of the graph is asked for, without rows: `graph=all`.
    pub whole_graph: bool,
    /// The owner whose differences are asked for, as on the page of a review: `owner`. Empty for all.
    pub owner: String,
    /// The rule whose findings are asked for, and what they are about: `rule`. Empty for all.
    pub rule: String,
    /// Whether old and new values are beside each other: `view=split`.
    pub is_split: bool,
}

impl Listing {
    /// What a query says. Whatever it does not know or understand is left out.
    #[must_use]
    pub fn parse(query: &str) -> Self {
        let mut listing = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*key {
                "q" => listing.words = cut(value.trim(), WORDS).to_owned(),
                "only" => listing.only = cut(&value, WORDS).to_owned(),
                "page" => listing.page = value.parse::<usize>().unwrap_or(1).clamp(1, 1_000_000) - 1,
                "owner" => listing.owner = cut(&value, NAME).to_owned(),
                "rule" => listing.rule = cut(&value, NAME).to_owned(),
                "view" => listing.is_split = value == "split",
                "graph" => listing.whole_graph = value == "all",
                _ => {}
            }
        }
        listing
    }

    /// Whether no rows are asked for in particular.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.words.is_empty() && self.only.is_empty() && self.page == 0
    }

    /// The most Kustomizations of the graph.
    #[must_use]
    pub fn boxes(&self) -> usize {
        if self.whole_graph { ALL_BOXES } else { BOXES }
    }
}

/// At most so many bytes.
fn cut(text: &str, most: usize) -> &str {
    let end = text.floor_char_boundary(most);
    text.part(..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_as_far_as_they_make_sense() {
        let listing = Listing::parse("q=+a%20b+&only=on+its+way&page=3&x=1");
        assert_eq!(
            (listing.words.as_str(), listing.only.as_str(), listing.page),
            ("a b", "on its way", 2)
        );
        assert!(Listing::parse("graph=all").whole_graph && !Listing::parse("graph=x").whole_graph);
        for (query, page) in [
            ("page=0", 0),
            ("page=-1", 0),
            ("page=x", 0),
            ("page=99999999999999999999", 0),
            ("page=9999999", 999_999),
        ] {
            assert_eq!(Listing::parse(query).page, page, "{query}");
        }
        assert_eq!(
            Listing::parse(&format!("q={}", "ü".repeat(300))).words.chars().count(),
            100
        );
    }
}
