//! The stylesheet and the script. Their paths have a hash of their bytes, so they may be kept for ever.

use std::sync::LazyLock;

pub const STYLE: &str = include_str!("../../../../templates/ui/style.css");

pub const SCRIPT: &str = include_str!("../../../../templates/ui/script.js");

/// The path of the stylesheet.
#[must_use]
pub fn style_path() -> &'static str {
    static PATH: LazyLock<String> = LazyLock::new(|| format!("/assets/style-{:016x}.css", hash(STYLE)));
    &PATH
}

/// The path of the script.
#[must_use]
pub fn script_path() -> &'static str {
    static PATH: LazyLock<String> = LazyLock::new(|| format!("/assets/script-{:016x}.js", hash(SCRIPT)));
    &PATH
}

/// FNV-1a: tells versions of our own files from each other, nothing more.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
