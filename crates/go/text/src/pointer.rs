//! The steps of JSON pointers (RFC 6901): a name in them has `~1` for a slash and `~0` for a tilde.

use std::borrow::Cow;

/// A name as a step of a pointer.
#[must_use]
pub fn escaped(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) {
        Cow::Owned(name.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(name)
    }
}

/// The name that a step of a pointer is about. A tilde that begins no escape stays as it is.
#[must_use]
pub fn unescaped(step: &str) -> Cow<'_, str> {
    if step.contains('~') {
        Cow::Owned(step.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_names_with_escapes() {
        for (step, name) in [
            ("", ""),
            ("a", "a"),
            ("a~1b", "a/b"),
            ("~01", "~1"),
            ("~0~1", "~/"),
            ("~1~0", "/~"),
            ("~00", "~0"),
        ] {
            assert_eq!(unescaped(step), name);
            assert_eq!(escaped(name), step);
        }
    }

    #[test]
    fn a_tilde_that_begins_no_escape_stays() {
        for (step, name) in [("~", "~"), ("a~b", "a~b"), ("~~1", "~/"), ("~2", "~2")] {
            assert_eq!(unescaped(step), name);
        }
    }
}
