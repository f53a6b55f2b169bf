//! A request, and the JSON in its body.

use std::borrow::Cow;

use super::Rejection;
use bumpwright_text::Cuts;

/// A request with its whole body.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The method as sent.
    pub method: &'a str,
    /// The path as sent, without the query.
    pub path: &'a str,
    /// Names in any case, values without white space around them.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body. The server should stop reading beyond [`MAX_BODY`](super::MAX_BODY) bytes.
    pub body: &'a [u8],
}

impl<'a> Request<'a> {
    /// The value of a header; `None` when it is absent or empty.
    ///
    /// # Errors
    /// [`Rejection::Repeated`] when it occurs more than once, since it would be ambiguous.
    pub(crate) fn header(&self, name: &'static str) -> Result<Option<&'a str>, Rejection> {
        let mut values = self
            .headers
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let first = values
            .next()
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty());
        match values.next() {
            Some(_) => Err(Rejection::Repeated { header: name }),
            None => Ok(first),
        }
    }

    /// The JSON text in the body: the body itself, or the field `payload` of a form.
    ///
    /// # Errors
    /// [`Rejection::MediaType`] for anything but JSON and forms, and for a form without that field.
    pub(crate) fn json(&self) -> Result<Cow<'a, [u8]>, Rejection> {
        let media_type = self.header("Content-Type")?.unwrap_or("application/json");
        let media_type = media_type.before(';').trim().to_ascii_lowercase();
        if media_type == "application/json" || media_type.ends_with("+json") {
            return Ok(Cow::Borrowed(self.body));
        }
        if media_type != "application/x-www-form-urlencoded" {
            return Err(Rejection::MediaType);
        }
        // curl's default for any body.
        if self.body.trim_ascii_start().starts_with(b"{") {
            return Ok(Cow::Borrowed(self.body));
        }
        let mut fields = url::form_urlencoded::parse(self.body);
        let payload = fields.find(|(name, _)| name == "payload").ok_or(Rejection::MediaType)?;
        Ok(Cow::Owned(payload.1.into_owned().into_bytes()))
    }
}
