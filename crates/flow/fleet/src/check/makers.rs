//! Secrets, ConfigMaps and ServiceAccounts that operators make of objects of the fleet: of which, under what name,
//! where, and with which keys.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::cluster::{Cluster, fits, name_of, select, text, title};
use super::maker_table::{MAKERS, Maker, Where};
use super::resource_sets::filled as filled_by_inputs;
use crate::build::view::FleetObject;
use bumpwright_api::{LabelSelector, ObjectName};
use bumpwright_json::TextFields as _;

/// Labels that every namespace has.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The kinds of objects that are made.
const KINDS: [&str; 3] = ["Secret", "ConfigMap", "ServiceAccount"];

/// Annotations by which operators copy an object to other namespaces: whether it is switched on, and the namespaces.
const COPIES: [(Option<&str>, &str); 2] = [
    (
        Some("reflector.v1.k8s.emberstack.com/reflection-auto-enabled"),
        "reflector.v1.k8s.emberstack.com/reflection-auto-namespaces",
    ),
    (None, "replicator.v1.mittwald.de/replicate-to"),
];

/// Where objects of Secrets and ConfigMaps, and of those who make them, have the annotations of what is made.
const ANNOTATIONS: [&str; 4] = [
    "/metadata/annotations",
    "/spec/target/template/metadata/annotations",
    "/spec/template/metadata/annotations",
    "/spec/secretTemplate/annotations",
];

/// Something that an operator makes.
#[derive(Debug)]
pub(super) struct Made {
    /// `Kind namespace/name` of the object that it is made of.
    pub(super) maker: String,
    /// Its keys; none if they are known to the operator only.
    pub(super) keys: Option<BTreeSet<String>>,
    /// With `*` for what is not known.
    name: String,
    namespaces: Namespaces,
}

/// Where something is made.
#[derive(Debug)]
enum Namespaces {
    One(String),
    /// Names, or patterns of these; none for all.
    Some(Vec<String>),
    Labelled(Vec<LabelSelector>),
}

/// What the operators of a cluster make.
pub(super) struct Makers<'c> {
    cluster: &'c Cluster<'c>,
    made: BTreeMap<&'static str, Vec<Made>>,
}

impl<'c> Makers<'c> {
    pub(super) fn of(cluster: &'c Cluster<'c>) -> Self {
        let mut by_kind: BTreeMap<&'static str, Vec<Made>> = BTreeMap::new();
        for (node, object) in cluster.objects() {
            if node.is_elsewhere() {
                continue;
            }
            let makers = of_kind(&object.value);
            for maker in &makers {
                let of = KINDS.into_iter().filter(|kind| maker.makes.contains(kind));
                of.for_each(|kind| by_kind.entry(kind).or_default().extend(by(maker, object)));
            }
            for kind in KINDS {
                let others = [
                    copies(kind, object, &makers),
                    inline(kind, object),
                    generated(cluster, kind, object),
                ];
                by_kind.entry(kind).or_default().extend(others.into_iter().flatten());
            }
            by_kind.entry("Secret").or_default().extend(connection(object));
        }
        Self { cluster, made: by_kind }
    }

    /// What makes an object of a kind and a name.
    pub(super) fn find(&self, kind: &str, name: &ObjectName) -> Option<&Made> {
        let mut named = self.named(kind, name);
        named.find(|made| self.is_in(made, &name.namespace))
    }

    /// What makes one of that name, in other namespaces only.
    pub(super) fn elsewhere(&self, kind: &str, name: &ObjectName) -> Option<&Made> {
        let mut named = self.named(kind, name);
        named.find(|made| !matches!(made.namespaces, Namespaces::One(_)))
    }

    fn named(&self, kind: &str, name: &ObjectName) -> impl Iterator<Item = &Made> {
        let makers = self.made.get(kind).map_or(&[][..], Vec::as_slice);
        makers.iter().filter(move |made| fits(&made.name, &name.name))
    }

    fn is_in(&self, made: &Made, namespace: &str) -> bool {
        match &made.namespaces {
            Namespaces::One(own) => fits(own, namespace),
            Namespaces::Some(names) => names.is_empty() || names.iter().any(|name| fits(name, namespace)),
            Namespaces::Labelled(selectors) => self.is_labelled(selectors, namespace),
        }
    }

    /// Whether a namespace has the labels of a selector. One that is not in the fleet may have any.
    fn is_labelled(&self, selectors: &[LabelSelector], namespace: &str) -> bool {
        let object = self
            .cluster
            .fleet
            .object("", "Namespace", &ObjectName::new("", namespace));
        let Some(object) = object else { return true };
        let mut labels = object.texts("labels");
        labels.insert(NAME_LABEL.to_owned(), namespace.to_owned());
        selectors
            .iter()
            .any(|selector| selector.matches(&labels).unwrap_or(true))
    }
}

/// What operators make of objects of its kind.
fn of_kind(object: &Value) -> Vec<&'static Maker> {
    let own = bumpwright_api::group_kind(object);
    MAKERS.iter().filter(|maker| (maker.group, maker.kind) == own).collect()
}

/// What a known kind makes.
fn by(maker: &Maker, object: &FleetObject) -> Vec<Made> {
    let own = name_of(&object.value).namespace;
    let keys = || keys(object);
    let namespaces = || match maker.namespace {
        Where::Own => Namespaces::One(own.clone()),
        Where::At(pointer) => match text(&object.value, pointer) {
            "" => Namespaces::One(own.clone()),
            namespace => Namespaces::One(known(namespace)),
        },
        Where::Everywhere => Namespaces::Some(Vec::new()),
        Where::Selected => selected(&object.value),
    };
    let names = maker.names.iter().flat_map(|template| filled(template, &object.value));
    let objects = names.map(|name| Made {
        maker: title(&object.value),
        keys: keys(),
        name: known(&name),
        namespaces: namespaces(),
    });
    objects.collect()
}

/// A text with `*` for the variables and templates in it.
pub(super) fn known(text: &str) -> String {
    let mut text = text.to_owned();
    for (open, close) in [("${", "}"), ("{{", "}}"), ("<<", ">>")] {
        while let Some(start) = text.find(open) {
            let Some(length) = text.get(start..).and_then(|rest| rest.find(close)) else {
                break;
            };
            text.replace_range(start..start + length + close.len(), "*");
        }
    }
    text
}

/// The texts of a template: `{/a/b|/c}` stands for what is at the first of these pointers that has something.
fn filled(template: &str, object: &Value) -> Vec<String> {
    let Some((before, rest)) = template.split_once('{') else {
        return vec![template.to_owned()];
    };
    let (pointers, after) = rest.split_once('}').unwrap_or((rest, ""));
    let found = pointers.split('|').map(|pointer| {
        let values = select(object, pointer);
        let texts = values
            .iter()
            .filter_map(|(_, value)| value.as_str())
            .filter(|text| !text.is_empty());
        texts.map(str::to_owned).collect::<Vec<String>>()
    });
    let found = found.into_iter().find(|texts| !texts.is_empty());
    let rests = filled(after, object);
    let all = found
        .iter()
        .flatten()
        .flat_map(|text| rests.iter().map(move |rest| format!("{before}{text}{rest}")));
    all.collect()
}

/// The namespaces of a ClusterExternalSecret.
fn selected(object: &Value) -> Namespaces {
    let names = select(object, "/spec/namespaces/*");
    let names: Vec<String> = names
        .iter()
        .filter_map(|(_, name)| name.as_str().map(str::to_owned))
        .collect();
    let mut selectors: Vec<&Value> = object.pointer("/spec/namespaceSelector").into_iter().collect();
    let several = select(object, "/spec/namespaceSelectors/*");
    selectors.extend(several.iter().map(|(_, selector)| *selector));
    let selectors = selectors
        .into_iter()
        .map(|selector| serde_json::from_value(selector.clone()).ok());
    match selectors.collect::<Option<Vec<LabelSelector>>>() {
        Some(selectors) if !selectors.is_empty() && names.is_empty() => Namespaces::Labelled(selectors),
        Some(selectors) if selectors.is_empty() && !names.is_empty() => Namespaces::Some(names),
        // Both, or what cannot be read: it may be anywhere.
        _ => Namespaces::Some(Vec::new()),
    }
}

/// The keys that an object of some kind of operator names.
fn keys(object: &FleetObject) -> Option<BTreeSet<String>> {
    let spec = object.value.get("spec")?;
    match bumpwright_api::group_kind(&object.value) {
        ("external-secrets.io", "ExternalSecret") => external(spec),
        ("external-secrets.io", "ClusterExternalSecret") => external(spec.get("externalSecretSpec")?),
        ("bitnami.com", "SealedSecret") => {
            let encrypted = spec.get("encryptedData")?.as_object()?;
            let template = spec.pointer("/template/data").and_then(Value::as_object);
            let keys = encrypted
                .keys()
                .chain(template.into_iter().flat_map(|data| data.keys()));
            Some(keys.cloned().collect())
        }
        _ => None,
    }
}

/// The keys of the Secret of an ExternalSecret; none if what it takes from the vault is not known.
fn external(spec: &Value) -> Option<BTreeSet<String>> {
    let has = |pointer: &str| match spec.pointer(pointer) {
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(fields)) => !fields.is_empty(),
        _ => false,
    };
    let is_merged = text(spec, "/target/template/mergePolicy") == "Merge";
    // A template stands in the place of what was fetched, unless they are merged.
    let is_open = has("/target/template/templateFrom")
        || (has("/dataFrom") && (is_merged || !has("/target/template/data")))
        || text(spec, "/target/creationPolicy") == "Merge";
    if is_open {
        return None;
    }
    let fetched = select(spec, "/data/*/secretKey");
    let fetched = fetched.iter().filter_map(|(_, key)| key.as_str().map(str::to_owned));
    let template = spec.pointer("/target/template/data").and_then(Value::as_object);
    Some(
        fetched
            .chain(template.into_iter().flat_map(|data| data.keys().cloned()))
            .collect(),
    )
}

/// Copies of an object, or of what is made of it, in other namespaces.
fn copies(kind: &str, object: &FleetObject, makers: &[&Maker]) -> Vec<Made> {
    let value = &object.value;
    let is_itself = bumpwright_api::group_kind(value) == ("", kind);
    let names = makers.iter().filter(|maker| maker.makes.contains(&kind));
    let mut names: Vec<String> = names
        .flat_map(|maker| maker.names.iter().flat_map(|name| filled(name, value)))
        .collect();
    let mut own_keys = keys(object);
    if is_itself {
        names.push(name_of(value).name);
        let fields = ["data", "stringData"]
            .into_iter()
            .filter_map(|field| value.get(field)?.as_object());
        own_keys = Some(fields.flat_map(|data| data.keys().cloned()).collect());
    }
    if names.is_empty() {
        return Vec::new();
    }
    let annotations = ANNOTATIONS
        .iter()
        .filter_map(|pointer| value.pointer(pointer)?.as_object());
    let namespaces = annotations.flat_map(|annotations| {
        COPIES.iter().filter_map(|(switch, to)| {
            let is_on = |switch: &&str| annotations.get(*switch).and_then(Value::as_str) == Some("true");
            match switch {
                // Without a list the copies are in all namespaces.
                Some(switch) => is_on(switch).then(|| annotations.text_of(to)),
                None => annotations.get(*to)?.as_str(),
            }
        })
    });
    let lists = namespaces.map(|list| {
        let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
        // Operators that copy objects take regular expressions.
        names
            .map(|name| known(&name.replace(".*", "*")))
            .collect::<Vec<String>>()
    });
    let lists: Vec<Vec<String>> = lists.collect();
    let made = lists
        .into_iter()
        .flat_map(|list| names.iter().map(move |name| (name.clone(), list.clone())));
    let made = made.map(|(name, namespaces)| Made {
        maker: title(value),
        keys: own_keys.clone(),
        name: known(&name),
        namespaces: Namespaces::Some(namespaces),
    });
    made.collect()
}

/// The objects that a ResourceSet has in it.
fn inline(kind: &str, object: &FleetObject) -> Vec<Made> {
    if bumpwright_api::group_kind(&object.value) != ("fluxcd.controlplane.io", "ResourceSet") {
        return Vec::new();
    }
    let own = name_of(&object.value).namespace;
    let resources = select(&object.value, "/spec/resources/*");
    let resources = resources.iter().filter(|(_, resource)| text(resource, "/kind") == kind);
    let objects = resources.flat_map(|(_, resource)| {
        let [names, namespaces] = ["/metadata/name", "/metadata/namespace"]
            .map(|pointer| filled_by_inputs(&object.value, text(resource, pointer)));
        names.into_iter().zip(namespaces)
    });
    let made = objects.map(|(name, namespace)| Made {
        maker: title(&object.value),
        keys: None,
        name: known(&name),
        namespaces: Namespaces::One(match namespace.as_str() {
            "" => own.clone(),
            namespace => known(namespace),
        }),
    });
    made.collect()
}

/// What a policy of Kyverno generates or clones.
fn generated(cluster: &Cluster<'_>, kind: &str, object: &FleetObject) -> Vec<Made> {
    let ("kyverno.io", "ClusterPolicy" | "Policy") = bumpwright_api::group_kind(&object.value) else {
        return Vec::new();
    };
    let made_object = |name: &str, namespace: &str| Made {
        maker: title(&object.value),
        keys: None,
        name: known(name),
        namespaces: match namespace {
            "" => Namespaces::Some(Vec::new()),
            namespace => Namespaces::One(known(namespace)),
        },
    };
    let mut objects = Vec::new();
    for (_, rule) in select(&object.value, "/spec/rules/*/generate") {
        let namespace = text(rule, "/namespace");
        if text(rule, "/kind") == kind {
            objects.push(made_object(text(rule, "/name"), namespace));
        }
        let kinds = select(rule, "/cloneList/kinds/*");
        let is_listed = |(_, of): &(String, &Value)| of.as_str().is_some_and(|of| of.rsplit('/').next() == Some(kind));
        if kinds.iter().any(is_listed) {
            let from = text(rule, "/cloneList/namespace");
            let sources = cluster.of_kind("", kind).map(|(_, one)| name_of(&one.value));
            let sources = sources.filter(|name| name.namespace == from);
            objects.extend(sources.map(|name| made_object(&name.name, namespace)));
        }
    }
    objects
}

/// The Secret that an object of a cloud's operator writes its connection to.
fn connection(object: &FleetObject) -> Option<Made> {
    let reference = object.value.get("spec")?.get("writeConnectionSecretToRef")?;
    let name = text(reference, "/name");
    let namespace = match text(reference, "/namespace") {
        "" => name_of(&object.value).namespace,
        namespace => known(namespace),
    };
    (!name.is_empty()).then(|| Made {
        maker: title(&object.value),
        keys: None,
        name: known(name),
        namespaces: Namespaces::One(namespace),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_with_stars_fit() {
        for (pattern, name, wanted) in [
            ("web", "web", true),
            ("web", "wed", false),
            ("web-*", "web-app", true),
            ("*.web.credentials*", "app.web.credentials.acid.zalan.do", true),
            ("*", "any", true),
            ("app-*", "app-one", true),
            ("app-*", "other", false),
        ] {
            assert_eq!(fits(pattern, name), wanted, "{pattern} {name}");
        }
    }

    #[test]
    fn templates_take_the_first_pointer_that_has_something() {
        let object =
            json!({"metadata": {"name": "web"}, "spec": {"target": {"name": ""}, "all": [{"n": "a"}, {"n": "b"}]}});
        let all = |template: &str| filled(template, &object);
        assert_eq!(all("{/spec/target/name|/metadata/name}"), ["web"]);
        assert_eq!(all("{/metadata/name}-app"), ["web-app"]);
        assert_eq!(all("{/spec/all/*/n}-{/metadata/name}"), ["a-web", "b-web"]);
        assert_eq!(all("{/spec/none}"), [""; 0]);
    }

    #[test]
    fn the_keys_of_an_external_secret_are_known_unless_the_vault_has_them() {
        let keys = |spec: Value| external(&spec).map(|keys| keys.into_iter().collect::<Vec<_>>().join(" "));
        let data = json!([{"secretKey": "a"}, {"secretKey": "b"}]);
        assert_eq!(keys(json!({"data": data})).as_deref(), Some("a b"));
        assert_eq!(
            keys(json!({"data": data, "dataFrom": [{"extract": {"key": "k"}}]})),
            None
        );
        let template = json!({"template": {"data": {"c": "{{ .a }}"}}});
        assert_eq!(
            keys(json!({"dataFrom": [{"extract": {"key": "k"}}], "target": template})).as_deref(),
            Some("c")
        );
        let merged = json!({"template": {"mergePolicy": "Merge", "data": {"c": "{{ .a }}"}}});
        assert_eq!(
            keys(json!({"dataFrom": [{"extract": {"key": "k"}}], "target": merged})),
            None
        );
    }
}
