//! How a value is written in its field: in the style that stood there.

pub(crate) mod block;
pub(crate) mod content;
pub(crate) mod plain;
pub(crate) mod spell;
pub(crate) mod versions;
