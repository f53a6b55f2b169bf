//! Sprig v3.3.0: the functions of Flux' templates besides Go's own.
//!
//! [`TABLES`] is `HermeticTxtFuncMap`: without the functions that read the clock, the environment or the network by
//! name, though a few that use random numbers are left. Each file is one of Sprig's families and has a table of its
//! functions. [`CHANCE`] has the others, as Helm offers them: none reads the environment, and no host is looked up.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod crypto;
mod data;
mod json;
mod number;
#[cfg(test)]
mod testing;
mod text;
mod time;

pub use json::decode::decode as decode_json;
pub use json::encode::encode as encode_json;
pub use time::durations::{DURATION, duration_value};

use bumpwright_template::Function;

/// The functions of `TxtFuncMap` that are not in `HermeticTxtFuncMap`, all but `env` and `expandenv`.
pub static CHANCE: &[&[Function]] = &[time::clock::FUNCTIONS, crypto::random_text::FUNCTIONS];

/// The tables of all families.
pub static TABLES: &[&[Function]] = &[
    crypto::certificates::FUNCTIONS,
    number::conversion::FUNCTIONS,
    crypto::hashes::FUNCTIONS,
    time::dates::FUNCTIONS,
    data::deep_copy::FUNCTIONS,
    data::defaults::FUNCTIONS,
    data::dicts::FUNCTIONS,
    text::encoding::FUNCTIONS,
    data::flow::FUNCTIONS,
    json::functions::FUNCTIONS,
    data::lists::FUNCTIONS,
    data::merging::FUNCTIONS,
    number::arithmetic::FUNCTIONS,
    text::paths::FUNCTIONS,
    data::reflection::FUNCTIONS,
    text::regex::FUNCTIONS,
    number::semver::FUNCTIONS,
    text::case::FUNCTIONS,
    text::slices::FUNCTIONS,
    text::strings::FUNCTIONS,
    text::urls::FUNCTIONS,
    text::wrapping::FUNCTIONS,
];
