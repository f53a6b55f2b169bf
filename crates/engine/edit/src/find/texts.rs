//! Markers in texts: a block scalar or a quoted one is one value, and comments in it are a part of that.

use super::marker;

/// The markers in a text, or what is almost one, by their offset, with what is wrong.
pub(crate) fn markers(text: &str) -> Vec<(usize, String)> {
    let mut markers = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        markers.extend(of_line(line).map(|(at, what)| (start + at, what)));
        start += line.len();
    }
    markers
}

fn of_line(line: &str) -> Option<(usize, String)> {
    // A marker on a line that is commented out is not reported.
    let is_dormant = line.trim_start().starts_with('#') && line.matches('#').count() > 1;
    if is_dormant || !marker::mentions(line) {
        return None;
    }
    line.match_indices('#').find_map(|(at, _)| {
        let before = line.get(..at)?;
        let comment = line.get(at..)?.trim_end();
        let is_one = ['{', '}'].iter().all(|brace| comment.matches(*brace).count() == 1) && comment.ends_with('}');
        let is_comment = before.is_empty() || before.ends_with([' ', '\t']);
        if !is_comment || !is_one || !marker::mentions(comment) {
            return None;
        }
        let what = match marker::parse(comment) {
            Ok(setter) => format!("the marker {setter}"),
            Err(_) => "what looks like a marker".to_owned(),
        };
        let way = "name the place by a pattern in .bumpwright.yaml (docs/guides/rules.md), or have a field of its own";
        Some((at, format!("{what} is inside of a text, which is one value; {way}")))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn lines_with_a_marker_behind_them_are_found() {
        let text = "a: 1\n  image: x # {\"$imagepolicy\": \"fs:app\"}\r\n# {\"$imagepolicy\": \"fs:app:tag\"}\nimage: y # {\"$imagePolicy\": \"fs:app\"}\n";
        let found = markers(text);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(&text[found[0].0..][..4], "# {\"");
        assert!(found[0].1.contains("the marker fs:app is inside"), "{found:?}");
    }

    #[test]
    fn programs_and_prose_are_none() {
        for text in [
            "grep -r '# {\"$imagepolicy\": \"fs:app\"}' apps/\n",
            "# image: x # {\"$imagepolicy\": \"fs:app\"}\n",
            "mark a field with {\"$imagepolicy\": \"fs:app\"}\n",
            "{\"a\": \"image: x # {\\\"$imagepolicy\\\": \\\"fs:app\\\"}\"}\n",
            "kind: ImagePolicy\n",
        ] {
            assert_eq!(markers(text), [], "{text}");
        }
    }
}
