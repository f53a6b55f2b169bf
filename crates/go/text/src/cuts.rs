//! Cuts at separators and line breaks, with parts that always exist.

use std::borrow::Cow;

/// Cuts at a separator: characters, texts and lists of characters in texts, bytes in bytes.
pub trait Cuts<S> {
    /// The part before the first separator; all of it if it has none.
    fn before(&self, separator: S) -> &Self;

    /// The part behind the last separator; all of it if it has none.
    fn behind_last(&self, separator: S) -> &Self;
}

macro_rules! cuts_of_texts {
    ($($separator:ty $(, $n:ident)?);+) => {
        $(impl$(<const $n: usize>)? Cuts<$separator> for str {
            fn before(&self, separator: $separator) -> &Self {
                self.split_once(separator).map_or(self, |(before, _)| before)
            }

            fn behind_last(&self, separator: $separator) -> &Self {
                self.rsplit_once(separator).map_or(self, |(_, behind)| behind)
            }
        })+
    };
}

cuts_of_texts!(char; &str; [char; N], N);

impl Cuts<u8> for [u8] {
    fn before(&self, separator: u8) -> &Self {
        let mut parts = self.splitn(2, |byte| *byte == separator);
        parts.next().unwrap_or(self)
    }

    fn behind_last(&self, separator: u8) -> &Self {
        let mut parts = self.rsplitn(2, |byte| *byte == separator);
        parts.next().unwrap_or(self)
    }
}

/// Texts that are shown in short.
pub trait Excerpt {
    /// The first line, without its break.
    fn first_line(&self) -> &str;

    /// The first characters of a text that has more.
    fn cut_to(&self, characters: usize) -> Option<&str>;

    /// The text; of one with more characters the first ones, and `…` after them.
    fn excerpt(&self, characters: usize) -> Cow<'_, str>;

    /// The text; of one with more characters so many in all, the last of which is `…`.
    fn fitted(&self, characters: usize) -> Cow<'_, str>;
}

impl Excerpt for str {
    fn first_line(&self) -> &str {
        match self.split_once('\n') {
            Some((line, _)) => line.strip_suffix('\r').unwrap_or(line),
            None => self,
        }
    }

    fn cut_to(&self, characters: usize) -> Option<&str> {
        let (end, _) = self.char_indices().nth(characters)?;
        self.get(..end)
    }

    fn excerpt(&self, characters: usize) -> Cow<'_, str> {
        match self.cut_to(characters) {
            Some(first) => format!("{first}…").into(),
            None => self.into(),
        }
    }

    fn fitted(&self, characters: usize) -> Cow<'_, str> {
        match self.cut_to(characters) {
            Some(_) => self.excerpt(characters.saturating_sub(1)),
            None => self.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With and without the separator, both are the same as the first and the last part of a split.
    #[test]
    fn cuts_are_the_outer_parts_of_a_split() {
        for text in ["", "@", "a", "a@b", "a@b@c", "@a", "a@"] {
            let (first, last) = (text.split('@').next(), text.split('@').next_back());
            assert_eq!(
                (Some(text.before('@')), Some(text.behind_last('@'))),
                (first, last),
                "{text:?}"
            );
            assert_eq!(
                (text.before("@"), text.behind_last("@")),
                (text.before('@'), text.behind_last('@'))
            );
            assert_eq!(
                (text.before(['@', '/']), text.behind_last(['@', '/'])),
                (text.before('@'), text.behind_last('@'))
            );
            let (before, behind) = (text.as_bytes().before(b'@'), text.as_bytes().behind_last(b'@'));
            assert_eq!(
                (before, behind),
                (text.before('@').as_bytes(), text.behind_last('@').as_bytes())
            );
        }
    }

    #[test]
    fn the_first_line_is_the_first_of_all_lines() {
        for text in ["", "a", "a\n", "a\nb", "a\r\nb", "a\r", "\r\nb", "a\rb\nc"] {
            assert_eq!(text.first_line(), text.lines().next().unwrap_or_default(), "{text:?}");
        }
    }

    #[test]
    fn a_text_is_cut_only_if_it_is_longer() {
        for (characters, expected) in [(0, Some("")), (1, Some("é")), (2, None), (3, None)] {
            assert_eq!("éa".cut_to(characters), expected);
        }
    }

    #[test]
    fn what_is_left_out_of_a_text_shows() {
        for (text, characters, excerpt, fitted) in [
            ("", 0, "", ""),
            ("é", 0, "…", "…"),
            ("éa", 1, "é…", "…"),
            ("éa", 2, "éa", "éa"),
            ("éab", 2, "éa…", "é…"),
        ] {
            assert_eq!(text.excerpt(characters), excerpt, "{text} {characters}");
            assert_eq!(text.fitted(characters), fitted, "{text} {characters}");
        }
    }
}
