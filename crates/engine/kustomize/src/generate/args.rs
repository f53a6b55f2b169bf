//! An entry of `configMapGenerator` or `secretGenerator`, and the options of both.

use crate::fields::{ConfigError, Fields};
use bumpwright_yaml::{Node, Place, weight};
use compact_str::CompactString;

/// The settings of a generated ConfigMap or Secret.
#[derive(Debug, Clone, Default)]
pub struct GeneratorArgs {
    /// Its name, before prefix, suffix and hash.
    pub name: CompactString,
    /// Its namespace; empty for none.
    pub namespace: CompactString,
    /// `create`, `replace` or `merge`.
    pub behavior: CompactString,
    /// `key=value` texts.
    pub literals: Vec<CompactString>,
    /// `[key=]path` texts.
    pub files: Vec<CompactString>,
    /// Files with a variable on each line.
    pub envs: Vec<CompactString>,
    /// Labels and other options.
    pub options: Option<GeneratorOptions>,
    /// The type of a Secret; empty for `Opaque`.
    pub secret_type: CompactString,
    /// The place of the entry.
    pub place: Place,
}

/// Options of generated objects.
#[derive(Debug, Clone, Default)]
pub struct GeneratorOptions {
    pub labels: Vec<(CompactString, Node)>,
    pub annotations: Vec<(CompactString, Node)>,
    /// No hash in the name.
    pub disable_name_suffix_hash: bool,
    /// `immutable: true` on the object.
    pub immutable: bool,
}

impl GeneratorArgs {
    /// Parses an entry; `strict` rejects unknown fields, `secret` allows `type`.
    ///
    /// # Errors
    ///
    /// A field has a wrong value.
    pub fn read(entry: &Node, what: &str, secret: bool, strict: bool) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(entry, what)?.exact(strict);
        let mut args = Self {
            name: fields.string("name")?,
            namespace: fields.string("namespace")?,
            behavior: fields.string("behavior")?,
            literals: fields.strings("literals")?,
            files: fields.strings("files")?,
            envs: fields.strings("envs")?,
            options: fields
                .get("options")
                .map(|options| GeneratorOptions::read(options, strict))
                .transpose()?,
            secret_type: CompactString::default(),
            place: entry.place,
        };
        args.envs
            .extend(fields.optional_string("env")?.filter(|env| !env.is_empty()));
        if secret {
            args.secret_type = fields.string("type")?;
        }
        if strict {
            fields.finish()?;
        }
        Ok(args)
    }

    /// Parses the config of a `ConfigMapGenerator` or `SecretGenerator`: as an entry, with name and namespace from its
    /// metadata where it gives none.
    ///
    /// # Errors
    ///
    /// A field has a wrong value.
    pub fn read_config(config: &Node, what: &str, secret: bool) -> Result<Self, ConfigError> {
        let mut args = Self::read(config, what, secret, false)?;
        let meta = |key| config.text_at(&["metadata", key]);
        if args.name.is_empty() {
            args.name = meta("name").into();
        }
        if args.namespace.is_empty() {
            args.namespace = meta("namespace").into();
        }
        Ok(args)
    }
}

impl GeneratorOptions {
    /// Parses the field `options` or `generatorOptions`.
    ///
    /// # Errors
    ///
    /// A field has a wrong value.
    pub fn read(node: &Node, strict: bool) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(node, "generatorOptions")?.exact(strict);
        let options = Self {
            labels: fields.pairs("labels")?,
            annotations: fields.pairs("annotations")?,
            disable_name_suffix_hash: fields.boolean("disableNameSuffixHash")?,
            immutable: fields.boolean("immutable")?,
        };
        if strict {
            fields.finish()?;
        }
        Ok(options)
    }

    /// Their size in each object that has them, in bytes of memory.
    pub(crate) fn weight(&self) -> u64 {
        let pairs = self.labels.iter().chain(&self.annotations);
        let of_one = |(key, value): &(CompactString, Node)| 3 * (300 + key.len() as u64 + weight::of_node(value));
        pairs.map(of_one).sum()
    }

    /// The options of an entry, with those of the kustomization: its own labels and annotations take precedence, and
    /// what the kustomization turns on cannot be turned off.
    #[must_use]
    pub(crate) fn with_global(own: Option<&Self>, global: Option<&Self>) -> Option<Self> {
        let Some(global) = global else { return own.cloned() };
        let own = own.cloned().unwrap_or_default();
        Some(Self {
            labels: united(own.labels, &global.labels),
            annotations: united(own.annotations, &global.annotations),
            disable_name_suffix_hash: own.disable_name_suffix_hash || global.disable_name_suffix_hash,
            immutable: own.immutable || global.immutable,
        })
    }
}

fn united(mut own: Vec<(CompactString, Node)>, global: &[(CompactString, Node)]) -> Vec<(CompactString, Node)> {
    for (key, value) in global {
        if !own.iter().any(|(ours, _)| ours == key) {
            own.push((key.clone(), value.clone()));
        }
    }
    own.sort_by(|(a, _), (b, _)| a.cmp(b));
    own
}
