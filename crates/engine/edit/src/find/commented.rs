//! Fields that are commented out together with their markers, and are not edited.

use granit_parser::{Event, Parser, StructureStyle};

use super::marker;
use super::parser::options;
use crate::file::{almost_keys, keys};
use bumpwright_text::Parts;

/// Whether a marker's comment, alone on its line, is a field that is commented out, `# image: x # {…}`, or is the
/// marker of such a field directly above it.
pub(crate) fn is_commented_out(comment: &str, above: Option<&str>) -> bool {
    let bytes = comment.as_bytes();
    let key = keys(bytes, b"\"'").next().or_else(|| almost_keys(bytes).next());
    let before = key.and_then(|key| comment.part(..key).rsplit_once('#'));
    let field = before.map_or("", |(field, _)| field);
    if uncommented(field).is_empty() {
        return marker::parse(comment).is_ok() && above.is_some_and(is_field);
    }
    // Without the blank it is not a comment but part of the value.
    field.ends_with([' ', '\t']) && is_field(field)
}

/// Whether a comment is a line of YAML that may have an image: a field or an item with a value. Keys and values must be
/// single words, since prose such as `note: see below` is YAML too.
fn is_field(comment: &str) -> bool {
    let mut is_block = false;
    for next in Parser::new_from_str_with_options(uncommented(comment), options()) {
        let Ok((event, span)) = next else { return false };
        match event {
            Event::MappingStart(StructureStyle::Block, ..) | Event::SequenceStart(StructureStyle::Block, ..) => {
                is_block = true;
            }
            Event::Scalar(text, ..) => {
                // A missing value reads as `~`.
                let is_there = !text.is_empty() && span.start.byte_offset() != span.end.byte_offset();
                if !is_block || !is_there || text.contains(char::is_whitespace) {
                    return false;
                }
            }
            _ => {}
        }
    }
    is_block
}

fn uncommented(comment: &str) -> &str {
    comment.trim_start_matches(['#', ' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKER: &str = r##"# {"$imagepolicy": "fs:app"}"##;

    #[test]
    fn a_field_is_a_line_of_yaml_with_a_value() {
        for field in [
            "# image: ghcr.io/o/app:1.0.0",
            "#image: x",
            "##   - x",
            "# # tag: \"1.10\"",
            "# - image: x",
            "# - - x",
            "# image: &image x",
            "# image: {repository: o/app, tag: v1}",
            "#\ttag: 1 # old",
            "# a.b/c: ${TAG}",
        ] {
            assert!(is_field(field), "{field}");
            assert!(is_commented_out(&format!("{field} {MARKER}"), None), "{field}");
            assert!(is_commented_out(MARKER, Some(field)), "{field}");
        }
    }

    #[test]
    fn prose_keys_without_a_value_and_what_is_no_yaml_are_none() {
        for comment in [
            "#",
            "# see",
            "# see there",
            "# note: see below",
            "# set by hand: x",
            "# - see there",
            "# image:",
            "# image: \"\"",
            "# image: |",
            "# -",
            "# example: image: x",
            "# [x, y]",
            "# {image: x}",
            "# image: 'x",
            "# ---",
        ] {
            assert!(!is_field(comment), "{comment}");
            assert!(!is_commented_out(&format!("{comment} {MARKER}"), None), "{comment}");
            assert!(!is_commented_out(MARKER, Some(comment)), "{comment}");
        }
    }

    #[test]
    fn a_marker_alone_is_one_only_below_a_field() {
        assert!(!is_commented_out(MARKER, None));
        let joined = MARKER.replace("# {", "# image: x# {");
        assert!(!is_commented_out(&joined, None), "{joined}");
        let within = MARKER.replace("# {", "# note: {");
        assert!(!is_commented_out(&within, Some("# image: x")), "{within}");
    }
}
