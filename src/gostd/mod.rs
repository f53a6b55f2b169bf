//! What Go's standard library does with text: quoting, numbers, durations, dates, URLs, to the letter.
//!
//! Users know these spellings from Flux' messages and from their own templates.

mod civil;
mod digits;
mod duration;
mod ip_address;
mod quote;
mod time;
mod time_format;
mod time_layout;
mod time_parse;
mod time_quote;
mod url;
mod url_escape;
mod url_parse;

pub use duration::Duration;
pub use quote::quote;
pub use time::{Calendar, MONTHS, Parts, Time, WEEKDAYS, Zone};
pub use url::{Url, UserInfo};
pub use url_escape::query_escape;
