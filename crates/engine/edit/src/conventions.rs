//! Mappings whose keys say that they hold an image: entries of `images` of kustomizations, and `repository` and `tag` in values of charts.
//! Markers are put there, and rules without markers find them there.

use super::model::Part;

/// A field that holds a part of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageField {
    /// Its number, as the mapping gives it.
    pub number: usize,
    /// The part.
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

/// The fields of an entry of `images` of a kustomization that has a tag or a digest. It is of the image that it results in: of `newName` if
/// it has one. A mapping is what gives text and number of a scalar that is not empty.
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
        let (_, number) = scalar(key)?;
        let image = image.to_owned();
        Some(ImageField { number, part, image })
    });
    fields.collect()
}

/// The fields of a mapping of a chart's values that has a repository and a tag.
#[must_use]
pub fn of_values_mapping<'v>(keys: &ImageKeys, scalar: impl Fn(&str) -> Option<(&'v str, usize)>) -> Vec<ImageField> {
    let (Some((repository, name)), Some((_, tag))) = (scalar(&keys.repository), scalar(&keys.tag)) else {
        return Vec::new();
    };
    let registry = scalar(&keys.registry).map(|(registry, _)| registry);
    let image = match registry {
        Some(registry) => format!("{registry}/{repository}"),
        None => repository.to_owned(),
    };
    let name = registry.is_none().then_some((name, Part::Name));
    let digest = scalar(&keys.digest).map(|(_, number)| (number, Part::Digest));
    let parts = [name, Some((tag, Part::Tag)), digest].into_iter().flatten();
    let fields = parts.map(|(number, part)| ImageField {
        number,
        part,
        image: image.clone(),
    });
    fields.collect()
}
