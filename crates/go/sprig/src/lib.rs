//! Sprig v3.3.0: the functions of Flux' templates besides Go's own.
//!
//! [`TABLES`] is `HermeticTxtFuncMap`: without the functions that read the clock, the environment or the network by
//! name, though a few that use random numbers are left. Each file is one of Sprig's families and has a table of its
//! functions. [`CHANCE`] has the others, as Helm offers them: none reads the environment, and no host is looked up.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod cast;
mod certificates;
mod clock;
mod conversion;
mod crypto;
mod dates;
mod decimal;
mod deep_copy;
mod deep_equal;
mod defaults;
mod derive_password;
mod dicts;
mod durations;
mod encoding;
mod flow;
mod json;
mod json_decode;
mod json_encode;
mod json_fields;
mod lists;
mod merging;
mod numbers;
mod paths;
mod pem;
mod private_keys;
mod random;
mod random_text;
mod reflection;
mod regex;
mod semver;
mod string_case;
mod string_slices;
mod strings;
mod strval;
#[cfg(test)]
mod testing;
mod time_methods;
mod time_values;
mod urls;
mod words;
mod wrapping;
mod x509;

pub use durations::{DURATION, duration_value};
pub use json_decode::decode as decode_json;
pub use json_encode::encode as encode_json;

use bumpwright_template::Function;

/// The functions of `TxtFuncMap` that are not in `HermeticTxtFuncMap`, all but `env` and `expandenv`.
pub static CHANCE: &[&[Function]] = &[clock::FUNCTIONS, random_text::FUNCTIONS];

/// The tables of all families.
pub static TABLES: &[&[Function]] = &[
    certificates::FUNCTIONS,
    conversion::FUNCTIONS,
    crypto::FUNCTIONS,
    dates::FUNCTIONS,
    deep_copy::FUNCTIONS,
    defaults::FUNCTIONS,
    dicts::FUNCTIONS,
    encoding::FUNCTIONS,
    flow::FUNCTIONS,
    json::FUNCTIONS,
    lists::FUNCTIONS,
    merging::FUNCTIONS,
    numbers::FUNCTIONS,
    paths::FUNCTIONS,
    reflection::FUNCTIONS,
    regex::FUNCTIONS,
    semver::FUNCTIONS,
    string_case::FUNCTIONS,
    string_slices::FUNCTIONS,
    strings::FUNCTIONS,
    urls::FUNCTIONS,
    wrapping::FUNCTIONS,
];
