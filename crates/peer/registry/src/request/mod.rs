//! Requests to registries: tags, manifests, blobs, referrers.

pub(crate) mod address;
pub(crate) mod age;
pub(crate) mod blob;
pub(crate) mod client;
pub(crate) mod connections;
pub(crate) mod digest;
pub(crate) mod image;
pub(crate) mod link;
pub(crate) mod manifest;
pub(crate) mod origin;
pub(crate) mod ping;
pub(crate) mod referrers;
pub(crate) mod session;
pub(crate) mod tag_list;
pub(crate) mod tag_page;
pub(crate) mod tags;
