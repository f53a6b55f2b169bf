//! JSON5 as flow collections of YAML: comments are blanked, so that every place stays what it is.

/// The text without comments. Tabs between tokens become spaces.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut quote = None;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(_), '\\') => {
                out.push(c);
                out.extend(characters.next());
            }
            (Some(open), _) => {
                quote = Some(open).filter(|open| *open != c);
                out.push(c);
            }
            (None, '"' | '\'') => {
                quote = Some(c);
                out.push(c);
            }
            (None, '/') if characters.peek() == Some(&'/') => {
                out.push(' ');
                while let Some(next) = characters.next_if(|next| *next != '\n') {
                    blank(&mut out, next);
                }
            }
            (None, '/') if characters.peek() == Some(&'*') => {
                out.push(' ');
                let mut last = ' ';
                for next in characters.by_ref() {
                    blank(&mut out, next);
                    if last == '*' && next == '/' {
                        break;
                    }
                    last = next;
                }
            }
            (None, '\t') => out.push(' '),
            (None, _) => out.push(c),
        }
    }
    out
}

fn blank(out: &mut String, c: char) {
    out.push(if c == '\n' { '\n' } else { ' ' });
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn comments_are_blank_and_texts_stay() {
        let text = "{\n\t// all of them\n  a: 'https://x/*', /* b\n c */ \"d\": \"\\\"//\", }\n";
        let wanted = "{\n               \n  a: 'https://x/*',     \n      \"d\": \"\\\"//\", }\n";
        assert_eq!(plain(text), wanted);
    }
}
