//! What Go's standard library does with text: quoting, numbers, durations, dates, URLs, to the letter.
//!
//! Users know these spellings from Flux' messages and from their own templates.

mod quote;
mod runes;
pub mod unicode;

pub use quote::quote;
pub use runes::{first_rune, last_rune, runes};
