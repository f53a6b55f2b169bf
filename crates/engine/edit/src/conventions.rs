//! Mappings whose keys say that they hold an image: entries of `images` of kustomizations, and `repository` and `tag`
//! in values of charts. Markers are put there, and rules without markers find them there.

use super::model::Part;

/// A field that holds a part of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageField {
    /// Its number, as the mapping gives it.
    pub number: usize,
    pub part: Part,
    /// The image, without tag.
    pub image: String,
}

/// The names of keys beside each other that hold the parts of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageKeys {
    /// That of the registry, if it is apart.
    pub registry: String,
    /// That of the name, without the registry if that is apart.
    pub repository: String,
    /// That of the tag.
    pub tag: String,
    /// That of the digest.
    pub digest: String,
}

impl Default for ImageKeys {
    fn default() -> Self {
        let [registry, repository, tag, digest] = ["registry", "repository", "tag", "digest"].map(str::to_owned);
        Self {
            registry,
            repository,
            tag,
            digest,
        }
    }
}

/// The fields of an entry of `images` of a kustomization that has a tag or a digest. It is of the image that it results
/// in: of `newName` if it has one. A mapping is what gives text and number of a scalar that is not empty.
#[must_use]
pub fn of_images_entry<'v>(scalar: impl Fn(&str) -> Option<(&'v str, usize)>) -> Vec<ImageField> {
    let Some((image, _)) = scalar("newName").or_else(|| scalar("name")) else {
        return Vec::new();
    };
    if scalar("newTag").or_else(|| scalar("digest")).is_none() {
        return Vec::new();
    }
    let parts = [("newName", Part::Name), ("newTag", Part::Tag), ("digest", Part::Digest)];
    let fields = parts.into_iter().filter_map(|(key, part)| {
        let (text, number) = scalar(key)?;
        let part = if part == Part::Tag { Part::of_tag(text) } else { part };
        let image = image.to_owned();
        Some(ImageField { number, part, image })
    });
    fields.collect()
}

/// The fields of a mapping of a chart's values that has a repository and a tag.
#[must_use]
pub fn of_values_mapping<'v>(keys: &ImageKeys, scalar: impl Fn(&str) -> Option<(&'v str, usize)>) -> Vec<ImageField> {
    let (Some((repository, name)), Some((text, tag))) = (scalar(&keys.repository), scalar(&keys.tag)) else {
        return Vec::new();
    };
    let registry = scalar(&keys.registry).map(|(registry, _)| registry);
    let image = match registry {
        Some(registry) => format!("{}/{repository}", registry.trim_end_matches('/')),
        None => repository.to_owned(),
    };
    let name = registry.is_none().then_some((name, Part::Name));
    let digest = scalar(&keys.digest).map(|(_, number)| (number, Part::Digest));
    let parts = [name, Some((tag, Part::of_tag(text))), digest].into_iter().flatten();
    let fields = parts.map(|(number, part)| ImageField {
        number,
        part,
        image: image.clone(),
    });
    fields.collect()
}

/// Whether a key is one of an image: `image`, `imageName`, `sidecarImage`, …
#[must_use]
pub fn is_image_key(key: &str) -> bool {
    matches!(key, "image" | "imageName" | "imageRepository") || key.ends_with("Image")
}

/// Whether the name of an image has the host of a registry in front.
#[must_use]
pub fn has_host(name: &str) -> bool {
    let host = name.split_once('/').map(|(host, _)| host);
    host.is_some_and(|host| host.contains(['.', ':']) || host == "localhost") && !name.contains("://")
}

/// The keys of a mapping that may hold the parts of an image, those that are used most first: `repository` and `tag`,
/// `image` and `tag` with the registry in `registry` or `hub`, `imageName` and `imageTag`, `name` and `version` where
/// they can be nothing else. `key` is that of the mapping itself, `names` are its own, and `text` gives the texts
/// that are not empty.
#[must_use]
pub fn image_keys<'v>(key: &str, names: &[&str], text: impl Fn(&str) -> Option<&'v str>) -> Vec<ImageKeys> {
    let has = |name: &str| names.contains(&name);
    let with = |repository: &str, tag: &str| ImageKeys {
        repository: repository.to_owned(),
        tag: tag.to_owned(),
        ..ImageKeys::default()
    };
    let mut conventions = Vec::new();
    if text("repository").is_some() {
        conventions.push(ImageKeys::default());
    } else {
        // Some charts have the whole name in `image`, or all of it but the registry, which some call the hub.
        let is_hub = text("hub").is_some() && text("registry").is_none();
        let registry = if is_hub { "hub" } else { "registry" };
        conventions.push(ImageKeys {
            registry: registry.to_owned(),
            ..with("image", "tag")
        });
    }
    let of_image = is_image_key(key);
    if of_image && has("tag") && text("repository").is_none() {
        conventions.push(with("name", "tag"));
    }
    if !has("tag") {
        let may_be = |name: &&str| of_image || text(name).is_some_and(has_host);
        let named = ["repository", "name"].into_iter().filter(may_be);
        conventions.extend(named.map(|name| with(name, "version")));
    }
    for name in names.iter().filter(|name| is_image_key(name)) {
        let stem = ["Name", "Repository"].iter().find_map(|end| name.strip_suffix(end));
        let stem = stem.unwrap_or(name);
        conventions.push(ImageKeys {
            registry: format!("{stem}Registry"),
            repository: (*name).to_owned(),
            tag: format!("{stem}Tag"),
            digest: format!("{stem}Digest"),
        });
    }
    conventions
}
