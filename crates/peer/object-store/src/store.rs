//! A bucket of any provider.

use std::vec;

use super::azure::Azure;
use super::gcs::Gcs;
use super::object::{Oversized, Page};
use super::s3::S3;
use super::{BucketError, BucketProvider, Contents, Object, ObjectError, Settings};
use bumpwright_budget::{Exceeded, Reservation};
use bumpwright_http::{Deadline, Job};

/// A bucket. Its calls block; it can be shared by threads.
#[derive(Debug)]
pub struct Bucket {
    name: String,
    kept: Provider,
}

#[derive(Debug)]
enum Provider {
    S3(S3),
    Gcs(Gcs),
    Azure(Azure),
}

impl Bucket {
    /// Validates the settings, and resolves the identity at AWS; everything else happens on demand.
    ///
    /// # Errors
    /// [`BucketError`] for unusable settings.
    pub fn open(settings: &Settings, deadline: Deadline) -> Result<Self, BucketError> {
        let kept = match settings.provider {
            BucketProvider::Gcp => Provider::Gcs(Gcs::open(settings)?),
            BucketProvider::Azure => Provider::Azure(Azure::open(settings)?),
            BucketProvider::Aws | BucketProvider::Generic => Provider::S3(S3::open(settings, deadline)?),
        };
        Ok(Self {
            name: settings.bucket.clone(),
            kept,
        })
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it exists.
    ///
    /// # Errors
    /// [`ObjectError`] when that cannot be determined.
    pub fn exists(&self, deadline: Deadline) -> Result<bool, ObjectError> {
        match &self.kept {
            Provider::S3(s3) => s3.exists(deadline),
            Provider::Gcs(gcs) => gcs.exists(deadline),
            Provider::Azure(azure) => azure.exists(deadline),
        }
    }

    /// All objects whose keys begin with `prefix`; pages are requested on demand.
    #[must_use]
    pub fn list(&self, prefix: &str, deadline: Deadline) -> Objects<'_> {
        Objects {
            bucket: self,
            prefix: prefix.to_owned(),
            deadline,
            page: Vec::new().into_iter(),
            held: Job::account().nothing(),
            next: NextPage::First,
        }
    }

    /// Opens an object's contents, `limit` bytes at most.
    ///
    /// # Errors
    /// [`ObjectError`], also when it [is missing](ObjectError::is_missing).
    pub fn get(&self, object: &Object, limit: usize, deadline: Deadline) -> Result<Contents, ObjectError> {
        match &self.kept {
            Provider::S3(s3) => s3.get(object, limit, deadline),
            Provider::Gcs(gcs) => gcs.get(object, limit, deadline),
            Provider::Azure(azure) => azure.get(object, limit, deadline),
        }
    }

    fn page(&self, prefix: &str, from: Option<&str>, deadline: Deadline) -> Result<Page, ObjectError> {
        match &self.kept {
            Provider::S3(s3) => s3.page(prefix, from, deadline),
            Provider::Gcs(gcs) => gcs.page(prefix, from, deadline),
            Provider::Azure(azure) => azure.page(prefix, from, deadline),
        }
    }
}

/// The objects of a bucket. None follow an error.
#[derive(Debug)]
pub struct Objects<'b> {
    bucket: &'b Bucket,
    prefix: String,
    deadline: Deadline,
    page: vec::IntoIter<Object>,
    /// The memory of the page.
    held: Reservation,
    next: NextPage,
}

#[derive(Debug)]
enum NextPage {
    First,
    From(String),
    Nothing,
}

/// A page of a list is not taken.
#[derive(Debug, thiserror::Error)]
enum PageError {
    #[error(transparent)]
    Object(#[from] Oversized),
    #[error("{}", no_memory(.0))]
    Memory(#[from] Exceeded),
}

impl Objects<'_> {
    /// Checks the objects of a page, and takes its memory instead of that of the page before.
    fn hold(&mut self, page: &Page) -> Result<(), PageError> {
        page.objects.iter().try_for_each(Object::checked)?;
        self.held.shrink(u64::MAX);
        let bytes = page.objects.iter().map(Object::memory).sum();
        Ok(self.held.grow(bytes)?)
    }

    fn unusable(&self, detail: &str) -> ObjectError {
        ObjectError::answer(format!("bucket {:?}", self.bucket.name), detail)
    }
}

/// Why a list is not read.
pub(super) fn no_memory(exceeded: &Exceeded) -> String {
    format!("no memory for the list of its objects: {exceeded}")
}

impl Iterator for Objects<'_> {
    type Item = Result<Object, ObjectError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(object) = self.page.next() {
                return Some(Ok(object));
            }
            let from = match std::mem::replace(&mut self.next, NextPage::Nothing) {
                NextPage::First => None,
                NextPage::From(token) => Some(token),
                NextPage::Nothing => return None,
            };
            let page = match self.bucket.page(&self.prefix, from.as_deref(), self.deadline) {
                Ok(page) => page,
                Err(error) => return Some(Err(error)),
            };
            if let Err(error) = self.hold(&page) {
                return Some(Err(self.unusable(&error.to_string())));
            }
            match page.next {
                // It would loop for ever.
                Some(token) if from.as_ref() == Some(&token) => {
                    return Some(Err(self.unusable("its next page is itself")));
                }
                Some(token) => self.next = NextPage::From(token),
                None => {}
            }
            self.page = page.objects.into_iter();
        }
    }
}
