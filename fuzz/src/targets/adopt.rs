//! Files of argocd-image-updater and of Flux v1, as they are translated.

use bumpwright_adopt::{Adoption, Options, SourceFile, argocd_image_updater, flux_v1};
use bumpwright_api::{UnknownFields, read, tree};
use bumpwright_edit::{FileKind, scan};

const PATHS: [&str; 4] = [
    "app.yaml",
    "web/values.yaml",
    "web/kustomization.yaml",
    "web/deploy.yaml",
];

/// Up to four files.
pub fn check(input: &[u8]) {
    let parts = super::parts(input);
    let files: Vec<SourceFile> = PATHS
        .into_iter()
        .zip(&parts)
        .map(|(path, bytes)| SourceFile {
            name: path.to_owned(),
            root: 0,
            path: path.to_owned(),
            bytes: bytes.to_vec(),
        })
        .collect();
    for adopt in [argocd_image_updater, flux_v1] {
        sound(&files, &adopt(&files, &Options::default()));
    }
}

/// The objects can be read, the files parse, and have the markers that are told.
fn sound(files: &[SourceFile], adoption: &Adoption) {
    if !adoption.manifests.is_empty() {
        let documents = read("new.yaml", adoption.manifests.as_bytes(), UnknownFields::Refuse);
        let documents = documents.unwrap_or_else(|error| panic!("{error}\n{}", adoption.manifests));
        assert_eq!(documents.len(), adoption.objects);
    }
    for edited in &adoption.edited {
        let (old, new) = (&files[edited.file].bytes, &edited.new);
        let text = std::str::from_utf8(new).expect("it was UTF-8");
        assert!(
            tree::parse_as_written(text).is_ok(),
            "it does not parse any more:\n{text}"
        );
        let count = |bytes: &[u8]| scan(FileKind::Yaml, bytes).sites.len();
        assert_eq!(count(new), count(old) + edited.marked.len(), "markers:\n{text}");
    }
}
