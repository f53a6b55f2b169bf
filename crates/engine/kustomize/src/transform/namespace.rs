//! Sets the namespace of objects, and the fields that refer to it.

use super::error::TransformError;
use super::object::{Id, IsClusterScoped, Object};
use crate::Gvk;
use crate::fields::{
    ConfigError, Fault, FieldError, FieldSpec, FieldSpecs, Fields, NewNode, read_specs, set_scalar,
    set_scalar_if_empty, walk, walk_all,
};
use bumpwright_yaml::{Node, Place, Tag};
use compact_str::CompactString;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Which subjects of a `RoleBinding` or `ClusterRoleBinding` get the namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subjects {
    /// Those of the name `default` (`defaultOnly`).
    #[default]
    NamedDefault,
    /// Every `ServiceAccount` (`allServiceAccounts`).
    ServiceAccounts,
    None,
}

/// Sets the namespace of objects (`namespace`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// The namespace; nothing is done where it is empty.
    pub namespace: CompactString,
    /// The fields that hold it, besides `metadata.namespace` and the subjects of bindings.
    pub fields: FieldSpecs,
    /// Whether to keep fields that have a text.
    pub unset_only: bool,
    /// Which subjects of bindings get it.
    pub subjects: Subjects,
    /// The place of the setting.
    pub place: Place,
}

/// The node created at the end of a missing path.
const NEW: NewNode = NewNode::Scalar(Tag::Str);

static METADATA_NAMESPACE: LazyLock<FieldSpec> = LazyLock::new(|| FieldSpec::of_any("metadata/namespace", true));

impl Namespace {
    /// Reads the config of a `NamespaceTransformer`.
    ///
    /// # Errors
    /// A field is of the wrong type, or `setRoleBindingSubjects` has an unknown value.
    pub fn read(config: &Node) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(config, "NamespaceTransformer")?;
        let metadata = fields.get("metadata");
        let namespace = match metadata {
            Some(metadata) => Fields::of(metadata, "metadata")?.string("namespace")?,
            None => CompactString::default(),
        };
        Ok(Self {
            namespace,
            place: metadata
                .and_then(|metadata| metadata.get("namespace"))
                .map_or(Place::NONE, |node| node.place),
            fields: read_specs(&mut fields, "fieldSpecs", false)?,
            unset_only: fields.boolean("unsetOnly")?,
            subjects: Subjects::read(&mut fields)?,
        })
    }

    /// Sets the namespace of one object; its former id is kept.
    ///
    /// # Errors
    /// A field is not a scalar, or its path leads through one.
    pub fn apply(&self, object: &mut dyn Object, is_cluster_scoped: IsClusterScoped<'_>) -> Result<(), TransformError> {
        if self.namespace.is_empty() || object.is_from_helm() {
            return Ok(());
        }
        object.remember_id();
        self.apply_to_node(object.node_mut(), is_cluster_scoped)
    }

    /// As [`Self::apply`], on the tree alone.
    pub(crate) fn apply_to_node(
        &self,
        node: &mut Node,
        is_cluster_scoped: IsClusterScoped<'_>,
    ) -> Result<(), TransformError> {
        self.change(node, is_cluster_scoped)
            .map_err(TransformError::of("namespace"))
    }

    /// Checks that ids are unique: the namespace may have made two equal.
    ///
    /// # Errors
    /// Two are equal.
    pub fn check<'a>(
        objects: impl IntoIterator<Item = &'a (dyn Object + 'a)>,
        is_cluster_scoped: IsClusterScoped<'_>,
    ) -> Result<(), TransformError> {
        let mut counts: HashMap<Id, (usize, Place)> = HashMap::new();
        for object in objects {
            let mut id = object.id();
            id.namespace = id.effective_namespace(is_cluster_scoped);
            let (count, _) = counts.entry(id).or_insert((0, object.node().place));
            *count += 1;
        }
        let conflicts = counts.into_iter().filter(|(_, (count, _))| *count > 1);
        let first = conflicts.min_by(|(_, (_, a)), (_, (_, b))| a.cmp(b));
        first.map_or(Ok(()), |(id, (count, place))| {
            Err(TransformError::Conflict {
                id: id.to_string(),
                count,
                place,
            })
        })
    }

    fn change(&self, node: &mut Node, is_cluster_scoped: IsClusterScoped<'_>) -> Result<(), FieldError> {
        let gvk = Gvk::of(node);
        if !is_cluster_scoped(&gvk) {
            walk(&METADATA_NAMESPACE, node, Some(&NEW), &mut |field| self.set(field))?;
        }
        let is_binding = is_binding(&gvk.kind);
        if is_binding {
            self.change_subjects(node)?;
        }
        let names_namespaces = node.get("apiVersion").and_then(Node::as_str) == Some("v1");
        let ours = self.fields.as_slice().iter().filter(|spec| match spec.path.as_str() {
            "metadata/namespace" => false,
            "metadata/name" => names_namespaces,
            "subjects/namespace" => !(is_binding && self::is_binding(&spec.gvk.kind)),
            _ => true,
        });
        for spec in ours {
            walk_all(std::slice::from_ref(spec), node, Some(&NEW), &mut |field| {
                self.set(field)
            })?;
        }
        Ok(())
    }

    fn set(&self, field: &mut Node) -> Result<(), Fault> {
        if !self.unset_only {
            return set_scalar(field, &self.namespace, Some(Tag::Str));
        }
        set_scalar_if_empty(field, &self.namespace, Some(Tag::Str))
    }

    fn change_subjects(&self, node: &mut Node) -> Result<(), FieldError> {
        let (key, wanted) = match self.subjects {
            Subjects::None => return Ok(()),
            Subjects::NamedDefault => ("name", "default"),
            Subjects::ServiceAccounts => ("kind", "ServiceAccount"),
        };
        let outcome = match node.get_mut("subjects") {
            Some(subjects) if !subjects.is_null() => self.change_listed(subjects, key, wanted),
            _ => Ok(()),
        };
        outcome.map_err(|fault| FieldError::new("subjects", node, fault))
    }

    fn change_listed(&self, subjects: &mut Node, key: &str, wanted: &str) -> Result<(), Fault> {
        let wrong = Fault::wrong_kind(subjects, "SequenceNode");
        for subject in subjects.as_items_mut().ok_or(wrong)? {
            if subject.is_null() {
                continue;
            }
            let wrong = Fault::wrong_kind(subject, "MappingNode");
            let mapping = subject.as_mapping_mut().ok_or(wrong)?;
            if mapping.get(key).and_then(Node::as_str) == Some(wanted) {
                let field = mapping.get_or_insert_with("namespace", || Node::string("").at(self.place));
                self.set(field)?;
            }
        }
        Ok(())
    }
}

impl Subjects {
    fn read(fields: &mut Fields<'_>) -> Result<Self, ConfigError> {
        const NAME: &str = "setRoleBindingSubjects";
        match fields.string(NAME)?.as_str() {
            "" | "defaultOnly" => Ok(Self::NamedDefault),
            "allServiceAccounts" => Ok(Self::ServiceAccounts),
            "none" => Ok(Self::None),
            other => Err(ConfigError::Field {
                place: fields.get(NAME).map_or(Place::NONE, |node| node.place),
                what: "NamespaceTransformer".to_owned(),
                problem: format!(
                    "invalid value {other:?} for {NAME}: must be one of \"defaultOnly\", \"none\" or \
                     \"allServiceAccounts\""
                ),
            }),
        }
    }
}

fn is_binding(kind: &str) -> bool {
    matches!(kind, "RoleBinding" | "ClusterRoleBinding")
}
