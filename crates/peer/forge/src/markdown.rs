//! Escapes for foreign text in Markdown.

use bumpwright_text::Parts;

/// Text on one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Escapes text inside backquotes in a table: a backquote or a bar would end it.
#[must_use]
pub fn code(text: &str) -> String {
    one_line(text).replace('`', "'").replace('|', "\\|")
}

/// Escapes text in a fenced block: it stays on its line and does not end the block. A bar and a
/// backslash are themselves there.
#[must_use]
pub fn fenced(text: &str) -> String {
    one_line(text).replace("```", "'''")
}

/// What stands invisibly inside of a reference: escapes of Markdown and HTML do not keep a forge from finding one.
const NO_LINK: &str = "&#8203;";

/// Escapes text in a table from Markdown and HTML. It mentions nobody, and links to nothing.
#[must_use]
pub fn cell(text: &str) -> String {
    escaped(text, true)
}

/// Escapes text in an element of HTML on one line, such as a `summary`, which is not read as Markdown. It mentions
/// nobody, and links to nothing.
#[must_use]
pub fn html(text: &str) -> String {
    escaped(text, false)
}

fn escaped(text: &str, is_markdown: bool) -> String {
    let line = one_line(text);
    let mut out = String::with_capacity(line.len());
    for (at, c) in line.char_indices() {
        let (before, after) = (line.part(..at), line.tail(at + c.len_utf8()));
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' if is_markdown => out.extend(['\\', c]),
            _ => out.push(c),
        }
        if begins_link(before, c, after) {
            out.push_str(NO_LINK);
        }
    }
    out
}

/// Whether a forge makes a link of what is around a character: a person, an issue, a request, a commit, an address.
fn begins_link(before: &str, c: char, after: &str) -> bool {
    let follows = |is: fn(char) -> bool| after.chars().next().is_some_and(is);
    let is_in_word = before.ends_with(|c: char| c.is_ascii_alphanumeric());
    match c {
        // In a word it is a digest or an address of mail, and links only to a commit.
        '@' => !is_in_word || is_commit(after),
        // `#12`, `o/app#12`, and at GitLab `!12`, `$12`, `%"9.5"`, `&12`, `~label`, `^alert#12`.
        '#' | '!' | '$' | '%' | '&' | '~' | '^' => follows(|next| next.is_alphanumeric() || next == '"'),
        // `GH-12` in any case, and keys of other trackers.
        '-' => follows(|next| next.is_ascii_digit()) && ends_as_key(before),
        ':' => after.starts_with("//"),
        '.' => ends_as_www(before),
        // At GitLab `[vulnerability:12]` and the like.
        '[' => follows(|next| next.is_ascii_lowercase()),
        _ => false,
    }
}

/// Whether a text begins with the name of a commit, in full or short.
fn is_commit(text: &str) -> bool {
    text.chars().take_while(char::is_ascii_hexdigit).count() >= 7
}

fn ends_as_www(text: &str) -> bool {
    let end = text.len().checked_sub(3).and_then(|at| text.get(at..));
    end.is_some_and(|end| end.eq_ignore_ascii_case("www"))
}

/// Whether a text ends as the keys of trackers do before their dash.
fn ends_as_key(text: &str) -> bool {
    let word = text.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or(text);
    let is_upper =
        word.starts_with(|c: char| c.is_ascii_uppercase()) && !word.contains(|c: char| c.is_ascii_lowercase());
    is_upper || word.eq_ignore_ascii_case("gh")
}

/// A fence for a block of code that nothing in `text` ends.
#[must_use]
pub fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).fold(2, usize::max);
    "`".repeat(longest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_in_its_cell() {
        assert_eq!(cell("a|b <img>\nc"), "a\\|b &lt;img&gt; c");
        assert_eq!(code("a`|b"), "a'\\|b");
    }

    #[test]
    fn nothing_is_mentioned_or_linked() {
        for (text, expected) in [
            ("tag @org/team", "tag @_org/team"),
            ("@org/team: \"@me\"", "@_org/team: \"@_me\""),
            ("x_@org", "x\\_@_org"),
            ("o/app:1@sha256:0 a@b.c", "o/app:1@sha256:0 a@b.c"),
            ("acme/repo@0123abc", "acme/repo@_0123abc"),
            ("Fixes #123, (#4)", "Fixes #_123, (#_4)"),
            ("acme/repo#1 acme/repo!2 !3", "acme/repo#_1 acme/repo!_2 !_3"),
            ("GH-12 gh-3 PROJ-45", "GH-_12 gh-_3 PROJ-_45"),
            ("web-12 1.2.3-4 2026-01-02 A-b", "web-12 1.2.3-4 2026-01-02 A-b"),
            (
                "https://github.com/acme/repo/issues/2",
                "https:_//github.com/acme/repo/issues/2",
            ),
            ("www.example.com a.b", "www._example.com a.b"),
            (
                "&12 $3 %\"9.5\" ~bug ^alert#1",
                "&amp;_12 $_3 %_\"9.5\" ~_bug ^_alert#_1",
            ),
            ("[vulnerability:1]", "\\[_vulnerability:1\\]"),
            ("50 %, a # b, wow! ${x}", "50 %, a # b, wow! ${x}"),
        ] {
            assert_eq!(cell(text).replace(NO_LINK, "_"), expected, "{text}");
        }
    }

    #[test]
    fn text_in_html_has_no_escapes_of_markdown() {
        assert_eq!(html("a_b|<c> #1"), "a_b|&lt;c&gt; #&#8203;1");
    }

    #[test]
    fn text_in_a_fence_is_as_it_is() {
        assert_eq!(fenced("a|b `c` \\d\n```"), "a|b `c` \\d '''");
    }

    #[test]
    fn a_fence_is_longer_than_any_inside() {
        assert_eq!(fence("no ticks"), "```");
        assert_eq!(fence("a ```` b `c`"), "`````");
    }
}
