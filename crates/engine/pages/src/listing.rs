//! Which part of a list is asked for.

use url::form_urlencoded;

/// The rows of a page of a list: with long texts it stays below 150 kB.
pub const ROWS: usize = 100;

/// The most boxes of a graph beside rows, and alone on its page.
const BOXES: usize = 100;
const ALL_BOXES: usize = 500;

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
    /// Whether all of the graph is asked for, without rows: `graph=all`.
    pub whole_graph: bool,
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
                "graph" => found.whole_graph = value == "all",
                _ => {}
            }
        }
        found
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
fn cut(text: &str) -> &str {
    let end = text.floor_char_boundary(WORDS);
    text.get(..end).unwrap_or_default()
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
