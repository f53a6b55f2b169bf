//! Paths of operations (RFC 6901), resolved in a tree.

use bumpwright_text::pointer::unescaped;
use bumpwright_yaml::{Node, Value};
use std::borrow::Cow;

/// The parent of a path's target, a mapping or list, and the last part of the path. `None` where the parent is missing.
///
/// What stands before the first `/` does not count.
pub(super) fn container<'n, 'p>(root: &'n mut Node, path: &'p str) -> Option<(&'n mut Node, Cow<'p, str>)> {
    let (_, path) = path.split_once('/')?;
    let (way, last) = match path.rsplit_once('/') {
        Some((way, last)) => (Some(way), last),
        None => (None, path),
    };
    let mut node = root;
    for part in way.into_iter().flat_map(|way| way.split('/')) {
        node = step(node, &unescaped(part))?;
    }
    let holds = matches!(&node.value, Value::Mapping(_) | Value::Sequence(_));
    holds.then(|| (node, unescaped(last)))
}

/// Whether a path leads to the field at `keys`, to something in it or to something around it.
pub(super) fn touches(path: &str, way: &[&str]) -> bool {
    let Some((_, path)) = path.split_once('/') else {
        return true;
    };
    path.split('/').zip(way).all(|(part, key)| unescaped(part) == *key)
}

fn step<'n>(node: &'n mut Node, key: &str) -> Option<&'n mut Node> {
    match &mut node.value {
        Value::Mapping(mapping) => mapping.get_mut(key),
        Value::Sequence(sequence) => {
            let at = index(key, sequence.items.len())?;
            sequence.items.get_mut(at)
        }
        Value::Scalar(_) => None,
    }
}

/// An index into a list of `length`. Negative numbers count from the end.
pub(super) fn index(key: &str, length: usize) -> Option<usize> {
    let number = bumpwright_gostd::atoi(key).ok()?;
    let length = i64::try_from(length).ok()?;
    let at = if number < 0 { number + length } else { number };
    usize::try_from(at).ok().filter(|_| at < length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_meet_what_is_on_their_way_or_below_it() {
        for path in ["", "x", "/a", "/a/b~1c", "/a/b~1c/d", "x/a"] {
            assert!(touches(path, &["a", "b/c"]), "{path}");
        }
        for path in ["/", "/b", "/a/c", "/a/b/c", "/a/"] {
            assert!(!touches(path, &["a", "b/c"]), "{path}");
        }
    }

    #[test]
    fn indices_are_those_of_go() {
        let numbers = [
            ("0", Some(0)),
            ("+2", Some(2)),
            ("-1", Some(2)),
            ("-3", Some(0)),
            ("01", Some(1)),
        ];
        for (key, expected) in numbers {
            assert_eq!(index(key, 3), expected, "{key}");
        }
        for key in ["3", "-4", "", "-", "x", "1.0", "99999999999999999999"] {
            assert_eq!(index(key, 3), None, "{key}");
        }
    }
}
