//! Hidden texts as the outputs of a review write them: they are looked for in what is written.

use std::collections::BTreeSet;

use bumpwright_forge::markdown::cell;

/// What is shorter without its blanks, in bytes, is like an ordinary word.
const SHORTEST: usize = 8;

/// The texts, and these as comments, pages and JUnit's XML have them.
pub(super) fn with_escapes(mut texts: BTreeSet<String>) -> BTreeSet<String> {
    let escaped = texts.iter().flat_map(|text| escapes(text));
    let escaped: Vec<String> = escaped.filter(|text| text.len() >= SHORTEST).collect();
    texts.extend(escaped);
    texts
}

fn escapes(text: &str) -> [String; 3] {
    let marks = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;")];
    let xml = marks
        .iter()
        .fold(text.to_owned(), |text, (mark, name)| text.replace(*mark, name));
    [cell(text), xml.replace('\'', "&#39;"), xml.replace('\'', "&apos;")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use bumpwright_diff::SecretMask;

    #[test]
    fn a_hidden_text_is_recognised_in_what_is_written() {
        let text = "s3cret_<'word'>|&1";
        let mask = SecretMask::new(BTreeSet::new(), with_escapes(BTreeSet::from([text.to_owned()])));
        for written in [
            text.to_owned(),
            cell(text),
            "s3cret_&lt;&#39;word&#39;&gt;|&amp;1".to_owned(),
            "s3cret_&lt;&apos;word&apos;&gt;|&amp;1".to_owned(),
        ] {
            assert_eq!(mask.hide(&format!("a {written} b")), "a ** b", "{written}");
        }
        let blank = " ".repeat(SHORTEST);
        assert_eq!(with_escapes(BTreeSet::from([blank.clone()])), BTreeSet::from([blank]));
    }
}
