//! Renovate's settings, as far as they say something about images, charts and Git
//! tags (docs.renovatebot.com, *Configuration options*).
//!
//! ```text
//! renovate.json ─▶ plain (comments blanked) ─▶ settings (packageRules, ignorePaths, presets) ─▶ terms of one use
//! # renovate: datasource=… depName=…  ─▶ comments ─▶ a use with the name that the field itself does not have
//! ```
//!
//! A rule that depends on something that is not known here applies to nothing, and is reported.

mod comments;
mod matching;
mod plain;
mod settings;
mod terms;

pub(crate) use comments::of_comments;
pub use settings::{Renovate, SETTINGS_FILES};
pub(crate) use terms::Terms;
