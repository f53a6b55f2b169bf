//! Bodies of HTML forms, the format of all token endpoints.

use bumpwright_gostd::query_escape;
use bumpwright_secret::Secret;

/// The media type of [`form`].
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// Encodes `a=b&c=d`, escaped as by Go's `url.QueryEscape`. The values may be secrets.
pub(super) fn form(fields: &[(&str, &str)]) -> Secret {
    // Escaping at most triples a byte: the buffer never grows, so no copy is left behind.
    let size: usize = fields
        .iter()
        .map(|(name, value)| 3 * (name.len() + value.len()) + 2)
        .sum();
    let mut out = String::with_capacity(size);
    for (name, value) in fields {
        if !out.is_empty() {
            out.push('&');
        }
        out.push_str(escaped(name).expose());
        out.push('=');
        out.push_str(escaped(value).expose());
    }
    Secret::new(out)
}

/// Escapes one name or value of a form.
pub(super) fn escaped(text: &str) -> Secret {
    Secret::new(query_escape(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped() {
        let fields = [("scope", "https://x/.default a"), ("t", "a+b/c=~é&")];
        assert_eq!(
            form(&fields).expose(),
            "scope=https%3A%2F%2Fx%2F.default+a&t=a%2Bb%2Fc%3D~%C3%A9%26"
        );
        assert_eq!(form(&[]).expose(), "");
    }
}
