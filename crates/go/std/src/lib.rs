//! Text exactly as Go's standard library parses and writes it: quoting, numbers, durations, dates, URLs, base64, PEM.
//!
//! Users know these spellings from Flux' messages and from their own templates.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod base64;
mod civil;
mod duration;
mod float_format;
mod float_parse;
pub mod glob;
mod integer;
mod ip_address;
mod num_error;
mod pem;
mod quote;
mod runes;
mod time;
mod time_digits;
mod time_format;
mod time_layout;
mod time_parse;
mod time_quote;
pub mod unicode;
mod unquote;
mod url;
mod url_escape;
mod url_parse;

pub use base64::{Base64, CorruptInput, decode_base64};
pub use duration::Duration;
pub use float_format::{append_float, format_float};
pub use float_parse::parse_float;
pub use integer::{Digits, atoi, hex_pair, parse_int, parse_uint};
pub use ip_address::{IpVersion, check_ip};
pub use num_error::{NumError, Reason};
pub use pem::{Pem, decode_pem};
pub use quote::{append_quoted, append_quoted_rune, can_backquote, quote, quote_bytes};
pub use runes::{append_char, char_at, first_rune, last_rune, lossy, rune_count, runes};
pub use time::{Calendar, MONTHS, Parts, Time, WEEKDAYS, Zone};
pub use time_format::{HTTP_DATE, RFC_3339, RFC_3339_NANO};
pub use unquote::{Unquoted, unquote, unquote_char};
pub use url::{Url, UserInfo};
pub use url_escape::{path_unescape, query_escape};
