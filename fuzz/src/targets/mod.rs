//! The targets, and what they share.

pub mod adopt;
pub mod artifact;
pub mod cel;
pub mod edit;
pub mod formats;
pub mod git;
pub mod helm;
pub mod http_head;
pub mod kube;
pub mod kustomize;
pub mod manifests;
pub mod pack;
pub mod peer;
pub mod policy;
pub mod propose;
pub mod re2;
pub mod registry;
pub mod signatures;
pub mod sops;
pub mod stub;
pub mod substitute;
pub mod template;
pub mod text;
pub mod webhook;
pub mod yaml;

/// A target: it returns, whatever the bytes are.
pub type Target = fn(&[u8]);

/// All targets by their names, which those of the programs and of the folders of inputs are too.
pub const TARGETS: &[(&str, Target)] = &[
    ("adopt", adopt::check),
    ("armour", signatures::armour),
    ("cel", cel::check),
    ("edit", edit::check),
    ("formats", formats::formats),
    ("git_fetch", git::fetch),
    ("git_push", git::push),
    ("git_text", git::text),
    ("helm", helm::check),
    ("http_head", http_head::check),
    ("ignore", artifact::ignore),
    ("kube_answer", kube::answer),
    ("kubeconfig", kube::kubeconfig),
    ("kustomize", kustomize::check),
    ("login", registry::login),
    ("manifests", manifests::check),
    ("migrate", manifests::migrate),
    ("pack", pack::check),
    ("peer_regex", peer::regex),
    ("peer_template", peer::template),
    ("peer_text", peer::text),
    ("peer_yaml", peer::yaml),
    ("policy", policy::check),
    ("propose", propose::check),
    ("regex", re2::check),
    ("registry", registry::answer),
    ("rules", formats::rules),
    ("schemas", manifests::schemas),
    ("signatures", signatures::check),
    ("sops", sops::check),
    ("substitute", substitute::check),
    ("tar", artifact::tar),
    ("template", template::check),
    ("text", text::check),
    ("webhook", webhook::check),
    ("yaml", yaml::check),
];

/// What separates the parts of an input that has several.
const BETWEEN: &[u8] = b"\n%%\n";

/// The parts of an input.
pub fn parts(input: &[u8]) -> Vec<&[u8]> {
    let (mut parts, mut rest) = (Vec::new(), input);
    while let Some(at) = rest.windows(BETWEEN.len()).position(|window| window == BETWEEN) {
        parts.push(&rest[..at]);
        rest = &rest[at + BETWEEN.len()..];
    }
    parts.push(rest);
    parts
}

/// The first part, and the rest as it is.
pub fn halves(input: &[u8]) -> (&[u8], &[u8]) {
    match input.windows(BETWEEN.len()).position(|window| window == BETWEEN) {
        Some(at) => (&input[..at], &input[at + BETWEEN.len()..]),
        None => (input, b""),
    }
}
