//! Splits a line into words as a shell does.

/// The words of a line: quotes and backslashes are undone, `#` outside of quotes begins a comment. `None` if a quote
/// is not closed.
pub(super) fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut escaped = false;
    for char in line.chars() {
        match (char, quote) {
            _ if escaped => {
                word.push(char);
                escaped = false;
            }
            ('\\', None | Some('"')) => escaped = true,
            ('\'' | '"', None) => quote = Some(char),
            (_, Some(open)) if open == char => quote = None,
            ('#', None) => break,
            (_, None) if char.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(char),
        }
    }
    if quote.is_some() {
        return None;
    }
    if !word.is_empty() {
        words.push(word);
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        assert_eq!(
            words(r#"a 'b c' "d \" e" f\ g '\' # no"#).unwrap(),
            ["a", "b c", "d \" e", "f g", "\\"]
        );
        assert_eq!(words("a#b c").unwrap(), ["a"]);
        assert!(words("").unwrap().is_empty());
        assert!(words("'a").is_none());
    }
}
