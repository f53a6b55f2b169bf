//! Texts out of the small XML documents that AWS answers with.

/// How deep elements may be nested.
const DEPTH: usize = 32;

/// The text of the first element that is reached by these names from any depth, such as `["Error", "Code"]`. Prefixes
/// and attributes do not matter. `None` as well when the document is broken before that.
pub(super) fn text(document: &str, path: &[&str]) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = document;
    loop {
        let (before, after) = rest.split_once('<')?;
        if let Some(comment) = after.strip_prefix("!--") {
            rest = comment.split_once("-->")?.1;
            continue;
        }
        let (tag, following) = after.split_once('>')?;
        rest = following;
        if let Some(name) = tag.strip_prefix('/') {
            (*open.last()? == local(name)).then_some(())?;
            if open.ends_with(path) {
                return decoded(before);
            }
            open.pop();
        } else if !tag.starts_with(['?', '!']) && !tag.ends_with('/') {
            open.push(local(tag));
            (open.len() <= DEPTH).then_some(())?;
        }
    }
}

/// A tag's name without its prefix.
fn local(tag: &str) -> &str {
    let name = tag.split_ascii_whitespace().next().unwrap_or_default();
    name.rsplit(':').next().unwrap_or(name)
}

/// The five entities of XML, and characters by number.
fn decoded(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        let (entity, following) = after.split_once(';')?;
        out.push_str(before);
        out.push(character(entity)?);
        rest = following;
    }
    out.push_str(rest);
    Some(out)
}

fn character(entity: &str) -> Option<char> {
    match (entity, entity.strip_prefix("#x"), entity.strip_prefix('#')) {
        ("lt", ..) => Some('<'),
        ("gt", ..) => Some('>'),
        ("amp", ..) => Some('&'),
        ("quot", ..) => Some('"'),
        ("apos", ..) => Some('\''),
        (_, Some(hexadecimal), _) => char::from_u32(u32::from_str_radix(hexadecimal, 16).ok()?),
        (_, _, Some(decimal)) => char::from_u32(decimal.parse().ok()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_by_path() {
        let document = "<?xml version=\"1.0\"?><!-- <Error> --><r:Response xmlns:r=\"x\"><Empty/>\
            <Error>\n <Type>Sender</Type><Code>AccessDenied</Code><Message>no &lt;role&gt; &#38; no &#x2603;</Message>\
            </Error><Code>other</Code></r:Response>";
        let rows = [
            (&["Error", "Code"][..], Some("AccessDenied")),
            (&["Response", "Code"], Some("other")),
            (&["Error", "Message"], Some("no <role> & no ☃")),
            (&["Empty"], None),
            (&["Error", "Nothing"], None),
        ];
        for (path, expected) in rows {
            assert_eq!(text(document, path).as_deref(), expected, "{path:?}");
        }
    }

    #[test]
    fn broken_documents() {
        let deep = "<a>".repeat(1_000_000);
        for document in [
            "",
            "<a",
            "<a>x",
            "<a></b></a>",
            "</a>",
            "<!-- <a>x</a>",
            "<a>&bad;</a>",
            "<a>&#xD800;</a>",
            &deep,
        ] {
            assert_eq!(text(document, &["a"]), None, "{document:.20}");
        }
    }
}
