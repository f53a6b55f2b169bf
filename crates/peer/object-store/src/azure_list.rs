//! Pages of a list of blobs (Blob service REST API, *List Blobs*).

use super::object::{Object, PAGE_OBJECTS, Page};
use bumpwright_cloud::xml::{Event, Events};
use bumpwright_http::unescaped;

pub(super) fn page(document: &str) -> Result<Page, &'static str> {
    const ROOT: &str = "EnumerationResults";
    let mut events = Events::new(document);
    let (mut objects, mut object) = (Vec::new(), Object::default());
    let (mut next, mut escaped, mut complete) = (None, false, false);
    while let Some(event) = events.next() {
        match (event, events.path()) {
            (Event::Begin, [ROOT, "Blobs", "Blob"]) => object = Object::default(),
            // Names with characters that XML does not have.
            (Event::Begin, [ROOT, "Blobs", "Blob", "Name"]) => escaped = events.tag().contains("Encoded=\"true\""),
            (Event::End(text), [ROOT, "Blobs", "Blob", "Name"]) => {
                object.key = if escaped { unescaped(&text) } else { text };
            }
            (Event::End(text), [ROOT, "Blobs", "Blob", "Properties", "Etag"]) => object.etag = quoted(text),
            (Event::End(text), [ROOT, "Blobs", "Blob", "Properties", "Content-Length"]) => {
                object.size = Some(text.trim().parse().map_err(|_| "a Content-Length is not a number")?);
            }
            (Event::End(_), [ROOT, "Blobs", "Blob"]) if objects.len() >= PAGE_OBJECTS => {
                return Err("it has too many blobs for one page");
            }
            (Event::End(_), [ROOT, "Blobs", "Blob"]) => objects.push(std::mem::take(&mut object)),
            (Event::End(text), [ROOT, "NextMarker"]) => next = Some(text).filter(|text| !text.is_empty()),
            (Event::End(_), [ROOT]) => complete = true,
            _ => {}
        }
    }
    if complete {
        Ok(Page { objects, next })
    } else {
        Err("it is not a complete list of blobs")
    }
}

/// The form of the `ETag` header, as in source-controller's revisions: it uses the list's own form
/// first, and the header's after the fetch.
fn quoted(etag: String) -> String {
    if etag.starts_with('"') {
        etag
    } else {
        format!("\"{etag}\"")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pages() {
        let document = "\u{feff}<?xml version=\"1.0\"?><EnumerationResults ServiceEndpoint=\"x\"><Blobs>\
            <Blob><Name>a &amp; b</Name><Properties><Etag>0x8D</Etag><Content-Length>3</Content-Length></Properties></Blob>\
            <Blob><Name Encoded=\"true\">c%EF%BF%BEd%2Fe</Name><Properties><Etag>\"0x8E\"</Etag></Properties></Blob>\
            </Blobs><NextMarker>2!x</NextMarker></EnumerationResults>";
        let found = page(document).unwrap();
        let objects: Vec<_> = found
            .objects
            .iter()
            .map(|o| (o.key.as_str(), o.etag.as_str(), o.size))
            .collect();
        assert_eq!(
            objects,
            [("a & b", "\"0x8D\"", Some(3)), ("c\u{fffe}d/e", "\"0x8E\"", None)]
        );
        assert_eq!(found.next.as_deref(), Some("2!x"));
        for broken in ["", "<EnumerationResults><Blobs/>", "<html></html>"] {
            assert!(page(broken).is_err(), "{broken}");
        }
    }
}
