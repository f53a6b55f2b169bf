//! Text exactly as Go's standard library parses and writes it: quoting, numbers, durations, dates, URLs, base64, PEM.
//!
//! Users know these spellings from Flux' messages and from their own templates.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod base64;
pub mod glob;
mod ip_address;
mod number;
mod pem;
mod quote;
mod runes;
mod time;
pub mod unicode;
mod unquote;
mod url;

pub use base64::{Base64, CorruptInput, decode_base64};
pub use ip_address::{AddressError, IpVersion, check_ip};
pub use number::float_format::{append_float, format_float};
pub use number::float_parse::parse_float;
pub use number::integer::{Digits, atoi, hex_pair, parse_int, parse_uint};
pub use number::num_error::{NumError, Reason};
pub use pem::{Pem, decode_pem};
pub use quote::{append_quoted, append_quoted_rune, can_backquote, quote, quote_bytes};
pub use runes::{append_char, char_at, first_rune, last_rune, lossy, rune_count, runes};
pub use time::duration::{Duration, DurationError};
pub use time::format::{HTTP_DATE, RFC_3339, RFC_3339_NANO};
pub use time::instant::{Calendar, MONTHS, Parts, Time, WEEKDAYS, Zone};
pub use time::parse::TimeError;
pub use unquote::{Unquoted, unquote, unquote_char};
pub use url::escape::{EscapeError, path_unescape, query_escape};
pub use url::parse::{UrlError, UrlProblem};
pub use url::parts::{Url, UserInfo};
