//! Git's protocol: packet lines, listings, requests and answers.

pub(crate) mod conversation;
pub(crate) mod listing;
pub(crate) mod pktline;
pub(crate) mod report;
pub(crate) mod send;
pub(crate) mod sideband;
pub(crate) mod transfer;
