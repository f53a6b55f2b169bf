//! Pages of a list of objects at S3 (S3 API Reference, *ListObjectsV2*, *ListObjects*).

use super::object::{Object, PAGE_OBJECTS, Page};
use bumpwright_cloud::xml::{Event, Events};

/// The version of the list request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListVersion {
    /// With the token of the page before.
    V2,
    /// With the last key of the page before, as required by Google's S3 interface.
    V1,
}

/// The parameters of a page, ordered by name.
pub(super) fn query<'q>(version: ListVersion, prefix: &'q str, from: Option<&'q str>) -> Vec<(&'static str, &'q str)> {
    let token = |name| from.map(|from| (name, from));
    let mut query: Vec<(&str, &str)> = Vec::new();
    match version {
        ListVersion::V2 => {
            query.extend(token("continuation-token"));
            query.extend([
                ("delimiter", ""),
                ("encoding-type", "url"),
                ("fetch-owner", "true"),
                ("list-type", "2"),
            ]);
        }
        ListVersion::V1 => {
            query.extend([("delimiter", ""), ("encoding-type", "url")]);
            query.extend(token("marker"));
        }
    }
    query.push(("prefix", prefix));
    query
}

#[derive(Default)]
struct ListParser {
    objects: Vec<Object>,
    object: Object,
    truncated: bool,
    escaped: bool,
    token: String,
    marker: String,
    /// Whether the document is complete.
    complete: bool,
}

pub(super) fn page(version: ListVersion, document: &str) -> Result<Page, &'static str> {
    let mut events = Events::new(document);
    let mut parser = ListParser::default();
    while let Some(event) = events.next() {
        match (event, events.path()) {
            (Event::Begin, ["ListBucketResult", "Contents"]) => parser.object = Object::default(),
            (Event::End(text), ["ListBucketResult", path @ ..]) => take(&mut parser, path, text)?,
            _ => {}
        }
    }
    if !parser.complete {
        return Err("it is not a complete list of objects");
    }
    let ListParser {
        mut objects,
        truncated,
        escaped,
        token,
        marker,
        ..
    } = parser;
    if escaped {
        for object in &mut objects {
            object.key = unescaped(&object.key);
        }
    }
    let next = match (version, truncated) {
        (_, false) => None,
        (ListVersion::V2, true) if token.is_empty() => {
            return Err("Truncated response should have continuation token set");
        }
        (ListVersion::V2, true) => Some(token),
        (ListVersion::V1, true) if !marker.is_empty() => Some(if escaped { unescaped(&marker) } else { marker }),
        (ListVersion::V1, true) => Some(objects.last().ok_or("it is an empty page before others")?.key.clone()),
    };
    Ok(Page { objects, next })
}

fn take(found: &mut ListParser, path: &[&str], text: String) -> Result<(), &'static str> {
    match path {
        ["Contents", "Key"] => found.object.key = text,
        ["Contents", "ETag"] => unquoted(&text).clone_into(&mut found.object.etag),
        ["Contents", "Size"] => found.object.size = Some(text.trim().parse().map_err(|_| "a Size is not a number")?),
        ["Contents"] if found.objects.len() >= PAGE_OBJECTS => return Err("it has too many objects for one page"),
        ["Contents"] => found.objects.push(std::mem::take(&mut found.object)),
        ["IsTruncated"] => found.truncated = text.trim() == "true",
        ["EncodingType"] => found.escaped = text.trim() == "url",
        ["NextContinuationToken"] => found.token = text,
        ["NextMarker"] => found.marker = text,
        [] => found.complete = true,
        _ => {}
    }
    Ok(())
}

/// As Go's `url.QueryUnescape`: a plus sign is a blank.
fn unescaped(key: &str) -> String {
    bumpwright_http::unescaped(&key.replace('+', " "))
}

/// Removes the quotes of an etag, which belong to HTTP.
pub(super) fn unquoted(etag: &str) -> &str {
    let etag = etag.strip_prefix('"').unwrap_or(etag);
    etag.strip_suffix('"').unwrap_or(etag)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_cannot_be_used() {
        let entities: String = (0..20)
            .map(|n| format!("<!ENTITY a{n} \"&a{};&a{};\">", n + 1, n + 1))
            .collect();
        let bomb = format!(
            "<!DOCTYPE x [{entities}]><ListBucketResult><Contents><Key>&a0;</Key></Contents></ListBucketResult>"
        );
        for document in [
            "",
            "<html></html>",
            "<ListBucketResult><Contents><Key>a</Key></Contents>",
            "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
            "<ListBucketResult><Contents><Size>many</Size></Contents></ListBucketResult>",
            "<Error><Code>x</Code></Error>",
            &bomb,
        ] {
            assert!(page(ListVersion::V2, document).is_err(), "{document:.60}");
        }
    }

    #[test]
    fn keys_are_unescaped_when_the_page_says_so() {
        let list = |encoding: &str| {
            let document = format!(
                "<ListBucketResult xmlns=\"x\"><Name>b</Name><EncodingType>{encoding}</EncodingType>\
                 <Contents><Key>a%2Bb+c%0A&amp;</Key><ETag>&quot;e&quot;</ETag><Size>3</Size></Contents>\
                 </ListBucketResult>"
            );
            page(ListVersion::V2, &document).unwrap().objects.remove(0)
        };
        assert_eq!(list("url").key, "a+b c\n&");
        assert_eq!(list("").key, "a%2Bb+c%0A&");
        assert_eq!((list("").etag.as_str(), list("").size), ("e", Some(3)));
    }
}
