//! Parts of messages that are not always there.

use std::fmt;

/// A value between two texts; nothing without a value: `between(" (", place, ")")`.
pub fn between<'a, T: fmt::Display + 'a>(before: &'a str, value: Option<T>, behind: &'a str) -> impl fmt::Display + 'a {
    fmt::from_fn(move |f| match &value {
        Some(value) => write!(f, "{before}{value}{behind}"),
        None => Ok(()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_value_there_is_no_text() {
        assert_eq!(format!("a{}", between(" (", Some(1), ")")), "a (1)");
        assert_eq!(format!("a{}", between(" (", None::<&str>, ")")), "a");
    }
}
