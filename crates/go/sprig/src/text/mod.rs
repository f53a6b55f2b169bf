//! Texts: cases, pieces, words, patterns, addresses.

pub(crate) mod case;
pub(crate) mod encoding;
pub(crate) mod paths;
pub(crate) mod regex;
pub(crate) mod slices;
pub(crate) mod strings;
pub(crate) mod strval;
pub(crate) mod urls;
pub(crate) mod words;
pub(crate) mod wrapping;
