//! Changes by transformers, compared with recordings of the real kustomize (fixtures/kustomize/fields.jsonl).
//!
//! A case goes through its layers here as through a stack of kustomizations: the built-in transformers in kustomize's
//! order, then `transformers:`, then `vars:`. Building as such is tested elsewhere.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

use bumpwright_corpora::{fixture, rows};
use bumpwright_kustomize::Gvk;
use bumpwright_kustomize::fields::{FieldConfig, FieldSpec, FieldSpecs, Fields, SharedEntries};
use bumpwright_kustomize::replace::{Expansion, Replacement, Var, VarSet, replace, var_value};
use bumpwright_kustomize::transform::{
    Affix, End, Id, ImageChange, ImageTag, LabelOptions, Metadata, Namespace, Object, ReplicaCount, Subjects, ValueAdd,
    label_specs,
};
use bumpwright_yaml::{FileId, Node, ReadOptions, read_first, read_resources, write_sigs};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::error::Error;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// An object with the metadata of a build.
struct Resource {
    node: Node,
    former: Vec<Id>,
    shared: SharedEntries,
    vars: Vec<String>,
}

impl Object for Resource {
    fn node(&self) -> &Node {
        &self.node
    }

    fn tree(&mut self) -> (&mut Node, &mut SharedEntries) {
        (&mut self.node, &mut self.shared)
    }

    fn former_ids(&self) -> Vec<Id> {
        self.former.clone()
    }

    fn remember_id(&mut self) {
        let mut id = self.id();
        id.namespace = id.effective_namespace(&is_cluster_scoped);
        self.former.push(id);
    }

    fn note_affix(&mut self, _: End, _: &str) {}
}

fn is_cluster_scoped(gvk: &Gvk) -> bool {
    let kinds = [
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "APIService",
    ];
    kinds.contains(&gvk.kind.as_str()) || (gvk.kind == "Namespace" && gvk.group.is_empty())
}

/// The state of a case between layers.
struct Stack<'a> {
    objects: Vec<Resource>,
    config: FieldConfig,
    vars: VarSet,
    files: &'a BTreeMap<String, String>,
}

impl Stack<'_> {
    /// Applies the fields of a kustomization that the cases use.
    fn layer(&mut self, text: &str) -> Outcome<()> {
        let layer = read(text)?;
        let mut fields = Fields::of(&layer, "kustomization")?.exact(true);
        for name in fields.strings("configurations")? {
            let config = FieldConfig::read(&read(&self.files[name.as_str()])?)?;
            self.config.merge(&config)?;
        }
        self.names(&mut fields)?;
        self.metadata(&mut fields)?;
        for entry in fields.list("replicas")? {
            ReplicaCount::read_entry(entry, self.config.replicas.clone(), true)?.apply(self.all())?;
        }
        for entry in fields.list("images")? {
            let images = ImageTag::new(ImageChange::read(entry, true)?, self.config.images.clone());
            self.objects
                .iter_mut()
                .try_for_each(|object| images.apply(&mut object.node))?;
        }
        self.replace(fields.list("replacements")?, true)?;
        for text in fields.strings("transformers")? {
            self.plugin(&read(&text)?)?;
        }
        let vars = fields.list("vars")?.iter().map(|entry| Var::read(entry, true));
        self.collect(vars.collect::<Result<_, _>>()?)?;
        Ok(fields.finish()?)
    }

    fn names(&mut self, fields: &mut Fields<'_>) -> Outcome<()> {
        let namespace = Namespace {
            namespace: fields.string("namespace")?,
            fields: self.config.namespace.clone(),
            unset_only: false,
            subjects: Subjects::default(),
            place: fields.place(),
        };
        self.namespace(&namespace)?;
        let ends = [
            (End::Prefix, "namePrefix", self.config.name_prefix.clone()),
            (End::Suffix, "nameSuffix", self.config.name_suffix.clone()),
        ];
        for (end, field, specs) in ends {
            let text = fields.string(field)?;
            if !text.is_empty() {
                self.affix(&Affix {
                    end,
                    text,
                    fields: specs,
                })?;
            }
        }
        Ok(())
    }

    fn affix(&mut self, affix: &Affix) -> Outcome<()> {
        Ok(self.objects.iter_mut().try_for_each(|object| affix.apply(object))?)
    }

    fn namespace(&mut self, namespace: &Namespace) -> Outcome<()> {
        if namespace.namespace.is_empty() {
            return Ok(());
        }
        for object in &mut self.objects {
            namespace.apply(object, &is_cluster_scoped)?;
        }
        let objects = self.objects.iter().map(|object| object as &dyn Object);
        Ok(Namespace::check(objects, &is_cluster_scoped)?)
    }

    fn metadata(&mut self, fields: &mut Fields<'_>) -> Outcome<()> {
        let mut steps = Vec::new();
        for entry in fields.list("labels")? {
            let mut label = Fields::of(entry, "label")?.exact(true);
            let own = label.list("fields")?.iter().map(|item| FieldSpec::read(item, true));
            let own = own.collect::<Result<FieldSpecs, _>>()?;
            let options = LabelOptions {
                selectors: label.boolean("includeSelectors")?,
                templates: label.boolean("includeTemplates")?,
                volume_claim_templates: label.boolean("includeVolumeClaimTemplates")?,
            };
            steps.push((
                "labels",
                label.pairs("pairs")?,
                label_specs(&own, options, &self.config)?,
            ));
        }
        let labels = self.config.common_labels.clone();
        steps.push(("commonLabels", fields.pairs("commonLabels")?, labels));
        let annotations = self.config.common_annotations.clone();
        steps.push(("commonAnnotations", fields.pairs("commonAnnotations")?, annotations));
        let mut steps = steps.into_iter();
        steps.try_for_each(|(what, pairs, fields)| self.add(&Metadata { what, pairs, fields }))
    }

    fn add(&mut self, metadata: &Metadata) -> Outcome<()> {
        for object in &mut self.objects {
            metadata.apply(&mut object.node, &mut object.shared)?;
        }
        Ok(())
    }

    fn replace(&mut self, entries: &[Node], strict: bool) -> Outcome<()> {
        let mut replacements = Vec::new();
        for entry in entries {
            match Replacement::file_of(entry)? {
                Some(file) => replacements.extend(Replacement::read_file(&read(&self.files[file.as_str()])?)?),
                None => replacements.push(Replacement::read(entry, strict)?),
            }
        }
        Ok(replace(&mut self.all().collect::<Vec<_>>(), &replacements)?)
    }

    fn plugin(&mut self, config: &Node) -> Outcome<()> {
        match config.get("kind").and_then(Node::as_str).unwrap() {
            "PrefixTransformer" => self.affix(&Affix::read(config, End::Prefix)?),
            "SuffixTransformer" => self.affix(&Affix::read(config, End::Suffix)?),
            "NamespaceTransformer" => self.namespace(&Namespace::read(config)?),
            "LabelTransformer" => self.add(&Metadata::read_labels(config)?),
            "AnnotationsTransformer" => self.add(&Metadata::read_annotations(config)?),
            "ReplicaCountTransformer" => Ok(ReplicaCount::read(config)?.apply(self.all())?),
            "ImageTagTransformer" => {
                let images = ImageTag::read(config)?;
                Ok(self
                    .objects
                    .iter_mut()
                    .try_for_each(|object| images.apply(&mut object.node))?)
            }
            "ReplacementTransformer" => {
                let entries = config.get("replacements").and_then(Node::as_items).unwrap_or_default();
                self.replace(entries, false)
            }
            "ValueAddTransformer" => {
                let add = ValueAdd::read(config, "l0")?;
                add.check(config.place)?;
                Ok(add.apply(&mut self.all().collect::<Vec<_>>(), &is_cluster_scoped)?)
            }
            other => panic!("no such transformer: {other}"),
        }
    }

    fn collect(&mut self, vars: Vec<Var>) -> Outcome<()> {
        for var in &vars {
            for object in &mut self.objects {
                let mut ids = object.former.clone();
                ids.push(object.id());
                if ids.iter().any(|id| var.matches(id, &is_cluster_scoped)) {
                    object.vars.push(var.name.to_string());
                }
            }
        }
        Ok(self.vars.add(vars)?)
    }

    fn expand(&mut self) -> Outcome<()> {
        let mut values = Vec::new();
        for var in self.vars.iter() {
            let mut objects = self.objects.iter();
            let object = objects.find(|object| object.vars.iter().any(|name| *name == *var.name));
            let object = object.ok_or("var cannot be mapped to a field")?;
            values.push((var.name.clone(), var_value(var, &object.node)?));
        }
        let mut expansion = Expansion::new(values);
        for object in &mut self.objects {
            expansion.apply(&mut object.node, &mut object.shared, &self.config.var_reference)?;
        }
        Ok(())
    }

    fn all(&mut self) -> impl Iterator<Item = &mut dyn Object> {
        self.objects.iter_mut().map(|object| object as &mut dyn Object)
    }
}

fn read(text: &str) -> Outcome<Node> {
    let node = read_first(text.as_bytes(), &ReadOptions::sigs_strict(FileId::NONE))?;
    Ok(node.unwrap_or_else(Node::null))
}

fn build(objects: &str, layers: &[String], files: &BTreeMap<String, String>) -> Outcome<Vec<String>> {
    let objects = read_resources(objects.as_bytes(), FileId::NONE)?;
    if objects.iter().any(|object| Id::of(object).name.is_empty()) {
        return Err("missing metadata.name in object".into());
    }
    let resource = |node| Resource {
        node,
        former: Vec::new(),
        shared: SharedEntries::default(),
        vars: Vec::new(),
    };
    let mut stack = Stack {
        objects: objects.into_iter().map(resource).collect(),
        config: FieldConfig::builtin(),
        vars: VarSet::default(),
        files,
    };
    layers.iter().try_for_each(|layer| stack.layer(layer))?;
    stack.expand()?;
    stack
        .objects
        .iter_mut()
        .for_each(|object| rewrite_annotations(&mut object.node));
    // The order of kustomize's command line.
    stack.objects.sort_by_cached_key(|object| object.id().name.to_string());
    stack
        .objects
        .sort_by(|a, b| Gvk::of(&a.node).legacy_cmp(&Gvk::of(&b.node)));
    let written = stack.objects.iter().map(|object| {
        let mut text = String::new();
        write_sigs(&object.node, &mut text)?;
        Ok(text)
    });
    written.collect()
}

/// kustomize removes its own annotations at the end of a build, which makes the others strings.
fn rewrite_annotations(object: &mut Node) {
    let Some(metadata) = object.get_mut("metadata").and_then(Node::as_mapping_mut) else {
        return;
    };
    let annotations = metadata.get_mut("annotations").and_then(Node::as_mapping_mut);
    let entries = annotations.map(|annotations| std::mem::take(&mut annotations.entries));
    metadata.remove("annotations");
    let mut strings = Node::mapping();
    for entry in entries.unwrap_or_default() {
        let text = entry
            .value
            .as_scalar()
            .map(|scalar| scalar.text.clone())
            .unwrap_or_default();
        strings
            .as_mapping_mut()
            .unwrap()
            .set(&entry.key.text, Node::string(text));
    }
    if !strings.as_mapping().unwrap().entries.is_empty() {
        metadata.set("annotations", strings);
    }
}

#[test]
fn fields_change_as_in_the_real_kustomize() {
    let mut lines = rows(fixture("kustomize/fields.jsonl")).into_iter();
    let head = lines.next().unwrap();
    let wanted = std::env::var("BUMPWRIGHT_CASE").ok();
    let (mut passed, mut total) = (0, 0);
    for case in lines {
        let id = case["id"].as_str().unwrap();
        if wanted.as_ref().is_some_and(|wanted| !id.contains(wanted)) {
            continue;
        }
        total += 1;
        match check(&head, &case) {
            Ok(()) => passed += 1,
            Err(difference) => println!("--- {id}: {}\n{difference}", case["layers"]),
        }
    }
    println!("kustomize fields: {passed} of {total}");
    assert!(total > 0 && passed == total, "{} cases differ", total - passed);
}

fn check(head: &Json, case: &Json) -> Result<(), String> {
    let strings = |value: &Json| -> Vec<String> { serde_json::from_value(value.clone()).unwrap() };
    let named = |name: String, table: &str| head[table][&name].as_str().map_or(name.clone(), str::to_owned);
    let objects: Vec<_> = strings(&case["objects"])
        .into_iter()
        .map(|name| named(name, "texts"))
        .collect();
    let files = serde_json::from_value(case["files"].clone()).unwrap_or_default();
    let ours = build(&objects.join("---\n"), &strings(&case["layers"]), &files);
    match (case["expected"].as_array(), ours) {
        (None, Err(_)) => Ok(()),
        (None, Ok(ours)) => Err(format!(
            "built:\n{}\nwanted error: {}",
            ours.join("---\n"),
            case["error"]
        )),
        (Some(expected), Err(error)) => Err(format!("error: {error}\nwanted: {expected:?}")),
        (Some(expected), Ok(ours)) => {
            let theirs = expected.iter().map(|text| {
                let text = text.as_str().unwrap();
                text.strip_prefix('=')
                    .map_or(text.to_owned(), |name| named(name.to_owned(), "plain"))
            });
            let (theirs, ours) = (theirs.collect::<Vec<_>>().join("---\n"), ours.join("---\n"));
            if theirs == ours {
                Ok(())
            } else {
                Err(difference(&ours, &theirs))
            }
        }
    }
}

/// The lines that only one of two texts has.
fn difference(ours: &str, theirs: &str) -> String {
    let only = |a: &str, b: &str, sign: char| -> Vec<String> {
        let other: Vec<_> = b.lines().collect();
        let lines = a.lines().filter(|line| !other.contains(line));
        lines.map(|line| format!("{sign} {line}")).collect()
    };
    let mut lines = only(ours, theirs, '+');
    lines.extend(only(theirs, ours, '-'));
    lines.truncate(20);
    if lines.is_empty() {
        format!("order:\n{ours}\nwanted:\n{theirs}")
    } else {
        lines.join("\n")
    }
}
