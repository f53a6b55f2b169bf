//! The build of a fleet: from its entry to all objects.

pub(crate) mod entry;
pub(crate) mod instance;
pub(crate) mod memo;
pub(crate) mod one;
pub(crate) mod reads;
pub(crate) mod rebuild;
pub(crate) mod references;
pub(crate) mod settings;
pub(crate) mod view;
pub(crate) mod walk;
