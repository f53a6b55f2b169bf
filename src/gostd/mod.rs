//! What Go's standard library does with text: quoting, numbers, durations, dates, URLs, to the letter.
//!
//! Users know these spellings from Flux' messages and from their own templates.

mod quote;

pub use quote::quote;
