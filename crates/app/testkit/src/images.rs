//! Images for a registry, written into distribution's folder (its `registry/storage/paths.go`).
//!
//! That works with any login of the registry, while it runs, and quickly for thousands of tags.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::digests::sha256;

/// The family of media types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    Oci,
    Docker,
}

impl Media {
    pub fn manifest(self) -> &'static str {
        match self {
            Self::Oci => "application/vnd.oci.image.manifest.v1+json",
            Self::Docker => "application/vnd.docker.distribution.manifest.v2+json",
        }
    }

    pub fn index(self) -> &'static str {
        match self {
            Self::Oci => "application/vnd.oci.image.index.v1+json",
            Self::Docker => "application/vnd.docker.distribution.manifest.list.v2+json",
        }
    }

    fn config(self) -> &'static str {
        match self {
            Self::Oci => "application/vnd.oci.image.config.v1+json",
            Self::Docker => "application/vnd.docker.container.image.v1+json",
        }
    }
}

/// A registry's folder.
pub struct Images {
    root: PathBuf,
}

impl Images {
    /// `root` is the registry's `rootdirectory`.
    pub fn below(root: &Path) -> Self {
        Self {
            root: root.join("docker/registry/v2"),
        }
    }

    /// Writes a layer or a config; returns its digest.
    pub fn blob(&self, repository: &str, bytes: &[u8]) -> String {
        let digest = self.store(bytes);
        self.link(&format!("{repository}/_layers/{}", as_path(&digest)), &digest);
        digest
    }

    /// Writes any manifest; returns its digest.
    pub fn manifest(&self, repository: &str, manifest: &Json) -> String {
        let digest = self.store(manifest.to_string().as_bytes());
        let revision = format!("{repository}/_manifests/revisions/{}", as_path(&digest));
        self.link(&revision, &digest);
        digest
    }

    /// An image of one platform, such as `linux/amd64` or `linux/arm/v7`, without layers. Without `created`, a time as
    /// RFC 3339 has it, its age is unknown.
    pub fn image(&self, repository: &str, media: Media, platform: &str, created: Option<&str>) -> String {
        let mut config = platform_fields(platform);
        config["rootfs"] = json!({"type": "layers", "diff_ids": []});
        if let Some(created) = created {
            config["created"] = json!(created);
        }
        let config = config.to_string();
        let digest = self.blob(repository, config.as_bytes());
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": media.manifest(),
            "config": {"mediaType": media.config(), "digest": digest, "size": config.len()},
            "layers": [],
        });
        self.manifest(repository, &manifest)
    }

    /// Writes an index of existing images, with their platforms.
    pub fn index(&self, repository: &str, media: Media, images: &[(&str, &str)]) -> String {
        let entries: Vec<Json> = images
            .iter()
            .map(|(digest, platform)| {
                let size = fs::metadata(self.data(digest)).unwrap().len();
                let platform = platform_fields(platform);
                json!({"mediaType": media.manifest(), "digest": digest, "size": size, "platform": platform})
            })
            .collect();
        let index = json!({"schemaVersion": 2, "mediaType": media.index(), "manifests": entries});
        self.manifest(repository, &index)
    }

    /// Sets a tag to a manifest. The index beside it, which only deletions read, is left out.
    pub fn tag(&self, repository: &str, tag: &str, digest: &str) {
        self.link(&format!("{repository}/_manifests/tags/{tag}/current"), digest);
    }

    /// Writes many tags for one small image; returns its digest.
    pub fn tags<T: AsRef<str>>(&self, repository: &str, tags: &[T]) -> String {
        let digest = self.image(repository, Media::Oci, "linux/amd64", Some("2024-01-02T03:04:05Z"));
        for tag in tags {
            self.tag(repository, tag.as_ref(), &digest);
        }
        digest
    }

    /// Removes a tag.
    pub fn untag(&self, repository: &str, tag: &str) {
        fs::remove_dir_all(
            self.root
                .join(format!("repositories/{repository}/_manifests/tags/{tag}")),
        )
        .unwrap();
    }

    /// Removes a manifest, as the collection of garbage does, while an index may still have it.
    pub fn forget(&self, repository: &str, digest: &str) {
        let revision = format!("repositories/{repository}/_manifests/revisions/{}", as_path(digest));
        fs::remove_dir_all(self.root.join(revision)).unwrap();
        fs::remove_file(self.data(digest)).unwrap();
    }

    fn store(&self, bytes: &[u8]) -> String {
        let digest = sha256(bytes);
        let path = self.data(&digest);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        digest
    }

    fn data(&self, digest: &str) -> PathBuf {
        let (_, hex) = digest.split_once(':').unwrap();
        self.root.join(format!("blobs/sha256/{}/{hex}/data", &hex[..2]))
    }

    /// Replaces a link atomically, since the registry may read it concurrently.
    fn link(&self, folder: &str, digest: &str) {
        let folder = self.root.join("repositories").join(folder);
        fs::create_dir_all(&folder).unwrap();
        let new = folder.join("new");
        fs::write(&new, digest).unwrap();
        fs::rename(new, folder.join("link")).unwrap();
    }
}

fn platform_fields(platform: &str) -> Json {
    let mut words = platform.split('/');
    let mut fields = json!({"os": words.next(), "architecture": words.next()});
    if let Some(variant) = words.next() {
        fields["variant"] = json!(variant);
    }
    fields
}

fn as_path(digest: &str) -> String {
    digest.replace(':', "/")
}
