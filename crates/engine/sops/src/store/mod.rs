//! The formats of SOPS' files.

pub(crate) mod dotenv;
pub(crate) mod flatten;
pub(crate) mod format;
pub(crate) mod ini_read;
pub(crate) mod ini_write;
pub(crate) mod json_read;
pub(crate) mod json_write;
pub(crate) mod plain_text;
pub(crate) mod yaml;
