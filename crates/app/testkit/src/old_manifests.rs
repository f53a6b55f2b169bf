//! Manifests of older API versions as trees, converted to v1 by the documents' tables alone.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, dead_code)]

use serde_json::{Map, Value, json};

/// Converts the object, or list of objects, to v1.
pub fn to_v1(mut object: Value) -> Value {
    let text = |object: &Value, key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text(&object, "apiVersion"), text(&object, "kind"));
    if kind.ends_with("List")
        && let Some(items) = object["items"].as_array_mut()
    {
        *items = items.drain(..).map(to_v1).collect();
    }
    let Some((group, version)) = api_version.split_once(".toolkit.fluxcd.io/") else {
        return object;
    };
    if !["image", "source", "kustomize"].contains(&group) || version == "v1" || kind.is_empty() {
        return patches_read(object);
    }
    object["apiVersion"] = json!(format!("{group}.toolkit.fluxcd.io/v1"));
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        match (kind.as_str(), version) {
            ("ImageUpdateAutomation", "v1alpha1") => automation(spec),
            ("Kustomization", _) => kustomization(spec),
            ("GitRepository", _) => ["gitImplementation", "accessFrom"]
                .iter()
                .for_each(|field| drop(spec.remove(*field))),
            ("Bucket" | "HelmChart", _) => drop(spec.remove("accessFrom")),
            _ => {}
        }
    }
    patches_read(object)
}

/// ImageUpdateAutomation v1beta1, *Moves and changes*.
fn automation(spec: &mut Map<String, Value>) {
    let mut git = Map::new();
    if let Some(mut checkout) = spec.remove("checkout") {
        let checkout = checkout.as_object_mut().unwrap();
        if let Some(mut source) = checkout.remove("gitRepositoryRef") {
            source["kind"] = json!("GitRepository");
            spec.insert("sourceRef".into(), source);
        }
        if let Some(branch) = checkout.remove("branch") {
            git.insert("checkout".into(), json!({"ref": {"branch": branch}}));
        }
    }
    if let Some(Value::Object(mut commit)) = spec.remove("commit") {
        let mut author = Map::new();
        for (from, to) in [("authorName", "name"), ("authorEmail", "email")] {
            author.extend(commit.remove(from).map(|value| (to.to_owned(), value)));
        }
        if !author.is_empty() {
            commit.insert("author".into(), Value::Object(author));
        }
        git.insert("commit".into(), Value::Object(commit));
    }
    git.extend(spec.remove("push").map(|push| ("push".to_owned(), push)));
    if !git.is_empty() {
        spec.insert("git".into(), Value::Object(git));
    }
}

/// Kustomization v1beta1 against v1.
fn kustomization(spec: &mut Map<String, Value>) {
    spec.remove("validation");
    let mut list = |field: &str| match spec.remove(field) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    let merges = list("patchesStrategicMerge")
        .into_iter()
        .map(|object| json!({"patch": object}));
    let mut patches: Vec<Value> = merges.collect();
    patches.extend(list("patches"));
    patches.extend(list("patchesJson6902"));
    if !patches.is_empty() {
        spec.insert("patches".into(), Value::Array(patches));
    }
}

/// The object with its patches parsed, so that their content is compared.
pub fn patches_read(mut object: Value) -> Value {
    if let Some(patches) = object.pointer_mut("/spec/patches").and_then(Value::as_array_mut) {
        for patch in patches {
            if let Some(text) = patch["patch"].as_str() {
                patch["patch"] = serde_saphyr::from_str(text).unwrap();
            }
        }
    }
    object
}

/// Consumes choices; shrinking them shrinks the document.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or_default()) % limit
    }

    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts.get(self.below(texts.len())).copied().unwrap_or_default()
    }
}

/// A v1alpha1 automation in the style of the choices: order, indentation, comments, quotes, braces,
/// block scalars, line ends.
pub fn automation_text(choices: &[u8]) -> String {
    let mut choices = Choices(choices.iter());
    let unit = 2 + choices.below(3);
    let mut out = String::from(choices.pick(&["", "\u{feff}", "# head\n---\n", "a: 1\n---\n", "\n\n"]));
    out.push_str("apiVersion: image.toolkit.fluxcd.io/v1alpha1\nkind: ImageUpdateAutomation\nspec:");
    out.push_str(choices.pick(&["\n", " # spec\n"]));
    let mut fields = vec!["checkout", "commit", "push", "interval", "update"];
    for _ in 0..choices.below(3) {
        let gone = choices.below(fields.len());
        fields.remove(gone);
    }
    while !fields.is_empty() {
        let field = fields.remove(choices.below(fields.len()));
        remark(&mut choices, &mut out, unit);
        let pad = " ".repeat(unit);
        out.push_str(&format!("{pad}{field}:"));
        match field {
            "interval" => ended(&mut choices, &mut out, " 5m"),
            "update" => ended(&mut choices, &mut out, " {strategy: Setters, path: ./app}"),
            _ => mapping(&mut choices, &mut out, field, unit),
        }
    }
    remark(&mut choices, &mut out, unit);
    out.push_str(choices.pick(&["", "status: {}\n", "---\nb: c\n", "# end\n"]));
    if choices.below(6) == 5 {
        out.truncate(out.trim_end().len());
    }
    match choices.below(4) {
        3 => out.replace('\n', "\r\n"),
        _ => out,
    }
}

fn mapping(choices: &mut Choices<'_>, out: &mut String, field: &str, unit: usize) {
    let mut children = match field {
        "checkout" => vec!["gitRepositoryRef", "branch"],
        "commit" => vec!["authorName", "authorEmail", "messageTemplate", "signingKey"],
        _ => vec!["branch"],
    };
    if children.len() > 1 && choices.below(4) == 3 {
        children.remove(choices.below(children.len()));
    }
    if choices.below(5) == 4 {
        let pairs: Vec<String> = children
            .iter()
            .map(|child| format!("{child}: {}", short(choices, child)))
            .collect();
        return ended(choices, out, &format!(" {{{}}}", pairs.join(", ")));
    }
    ended(choices, out, "");
    while !children.is_empty() {
        let child = children.remove(choices.below(children.len()));
        remark(choices, out, 2 * unit);
        out.push_str(&format!("{}{child}:", " ".repeat(2 * unit)));
        let pad = " ".repeat(3 * unit);
        let long = match child {
            "gitRepositoryRef" | "signingKey" => format!("\n{pad}{}", nested(child, &pad)),
            "messageTemplate" => {
                let header = choices.pick(&["|", "|-", "|+", ">", ">+", "|2"]);
                let pad = if header == "|2" { " ".repeat(2 * unit + 2) } else { pad };
                let tail = choices.pick(&["", "\n\n", "\n      \n\n"]);
                format!(" {header}\n{pad}Automated\n\n{pad}  # no comment\n{pad}[ci skip]  {tail}")
            }
            _ => format!("\n{pad}{}", short(choices, child)),
        };
        match choices.below(2) {
            0 => {
                let value = format!(" {}", short(choices, child));
                ended(choices, out, &value);
            }
            _ => out.push_str(&format!("{long}\n")),
        }
    }
}

fn nested(child: &str, pad: &str) -> String {
    match child {
        "signingKey" => format!("secretRef:\n{pad}  name: pgp # k"),
        _ => "name: auto-repo".to_owned(),
    }
}

fn short(choices: &mut Choices<'_>, child: &str) -> &'static str {
    match child {
        "gitRepositoryRef" => "{ name: auto-repo }",
        "signingKey" => "{secretRef: {name: pgp}}",
        "messageTemplate" => choices.pick(&["'{{ .Updated }}'", "\"a: # b\""]),
        _ => choices.pick(&["main", "'it''s'", "\"a\\tb\"", "\"12\"", "x y"]),
    }
}

fn ended(choices: &mut Choices<'_>, out: &mut String, value: &str) {
    out.push_str(value);
    out.push_str(choices.pick(&["\n", "\n", " # {\"$imagepolicy\": \"a:b\"}\n", "  # end  \n"]));
}

fn remark(choices: &mut Choices<'_>, out: &mut String, indent: usize) {
    let column = [0, indent, indent, indent + 1, indent + 4][choices.below(5)];
    match choices.below(4) {
        2 => out.push_str(&format!("{}# remark {column}\n", " ".repeat(column))),
        3 => out.push_str(&format!(
            "\n{}# one\n{}# two\n\n",
            " ".repeat(column),
            " ".repeat(indent)
        )),
        _ => {}
    }
}
