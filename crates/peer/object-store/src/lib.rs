//! Objects of S3, Google Cloud Storage and Azure Blob Storage, for Bucket sources (source-controller,
//! `internal/bucket/{minio,gcp,azure}`).
//!
//! A [`Bucket`] checks its existence, lists its objects page by page, and returns one as a stream. No SDK is used:
//! each step is one request. [`Index`] has the keys and etags of a bucket, whose digest is the revision; [`fetch`] gets
//! all of its objects. The caller stores them and decides which are ignored.
//!
//! ```text
//! Settings ─▶ Bucket ─▶ s3 ─ s3_address, s3_login, s3_refusal │ gcs │ azure ─ azure_login, shared_key
//!               └─ exists, list ─▶ Index ─▶ fetch ─▶ the caller's store
//! ```
//!
//! Redirects are not followed: a bucket is only at its own address, and signatures would be for
//! the wrong host.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod azure;
mod azure_list;
mod azure_login;
mod error;
mod fetch;
mod gcs;
mod index;
mod object;
mod place;
mod s3;
mod s3_address;
mod s3_list;
mod s3_login;
mod s3_refusal;
mod settings;
mod shared_key;
mod store;

pub use error::{AccountError, BucketError, EndpointError, ObjectError};
pub use fetch::{Store, fetch};
pub use index::{Index, Limits};
pub use object::{Contents, Object};
pub use place::Misplaced;
pub use settings::{BucketProvider, Keys, Settings, Sts, StsProvider};
pub use store::{Bucket, Objects};
