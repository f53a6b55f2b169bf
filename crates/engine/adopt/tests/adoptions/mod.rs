//! What the suites share.

use bumpwright_adopt::{Adoption, SourceFile};
use bumpwright_api::UnknownFields;

/// A file of the only repository.
pub(crate) fn file(path: &str, text: &str) -> SourceFile {
    SourceFile {
        name: path.to_owned(),
        root: 0,
        path: path.to_owned(),
        bytes: text.as_bytes().to_vec(),
    }
}

/// The same adoption; its objects fit their schemas.
pub(crate) fn fitting(adoption: Adoption) -> Adoption {
    if !adoption.manifests.is_empty() {
        let read = bumpwright_api::read("new.yaml", adoption.manifests.as_bytes(), UnknownFields::Refuse);
        let documents = read.unwrap_or_else(|error| panic!("{error}\n{}", adoption.manifests));
        assert_eq!(documents.len(), adoption.objects);
    }
    adoption
}
