//! What was typed, with everything read that it names, and the flags that do not go together.

use std::path::PathBuf;
use std::sync::Arc;

use super::args::Update;
use super::{access, author, load};
use crate::api::{ImageUpdateAutomation, Objects, parse_latest_image};
use crate::automation::{Author, Policies, Refspec};
use crate::policy::PolicyName;

/// What was typed, with everything read that it names.
pub(super) struct Typed<'a> {
    pub(super) args: &'a Update,
    pub(super) objects: Objects,
    pub(super) policies: Arc<Policies>,
    pub(super) refspecs: Vec<Refspec>,
    pub(super) options: Vec<(String, String)>,
    pub(super) message: Option<String>,
    pub(super) author: Option<Author>,
}

impl<'a> Typed<'a> {
    pub(super) fn read(args: &'a Update) -> Result<Self, String> {
        let objects = load::load(&args.filenames)?;
        let mut policies = Policies::default();
        for policy in objects.image_policies() {
            policies.add(policy);
        }
        for text in &args.set {
            let (name, image) = set(text)?;
            policies.set(name, image);
        }
        let refspecs = args
            .refspecs
            .iter()
            .map(|text| Refspec::parse(text))
            .collect::<Result<_, _>>();
        let message = args.message.as_deref().map(message).transpose()?;
        if let Some(text) = message.as_deref().filter(|text| text.contains("{{")) {
            return Err(format!(
                "--message {text:?}: templates are not supported yet; give literal text"
            ));
        }
        Ok(Self {
            args,
            objects,
            policies: Arc::new(policies),
            refspecs: refspecs.map_err(|e| e.to_string())?,
            options: args
                .push_options
                .iter()
                .map(|text| option(text))
                .collect::<Result<_, _>>()?,
            message,
            author: args.author.as_deref().map(author::parse).transpose()?,
        })
    }

    /// A flag about what is fetched or pushed, if one was given.
    pub(super) fn push_flag(&self) -> Option<&'static str> {
        let args = self.args;
        let given = [
            ("--branch", args.branch.is_some()),
            ("--push-branch", args.push_branch.is_some()),
            ("--refspec", !args.refspecs.is_empty()),
            ("--push-option", !args.push_options.is_empty()),
        ];
        given.into_iter().find_map(|(flag, given)| given.then_some(flag))
    }

    /// Flags that only a remote can follow.
    pub(super) fn refuse_in_folder(&self) -> Result<(), String> {
        let args = self.args;
        if let Some(flag) = self.push_flag() {
            return Err(format!(
                "{flag} needs a remote: a folder is edited in place and never pushed"
            ));
        }
        let given = [
            ("--author", args.author.is_some()),
            ("--message", args.message.is_some()),
        ];
        match given.iter().find(|(_, given)| *given && !args.commit) {
            Some((flag, _)) => Err(format!("{flag} needs --commit when a folder is edited in place")),
            None => Ok(()),
        }
    }

    /// Rule 6: flags about one push cannot serve several automations.
    pub(super) fn refuse_many(&self, automations: &[&ImageUpdateAutomation]) -> Result<(), String> {
        match self.push_flag() {
            Some(flag) if automations.len() > 1 => Err(format!(
                "{flag} cannot be used with {} automations: give one, or set it in their manifests",
                automations.len()
            )),
            _ => Ok(()),
        }
    }

    /// Credentials from flags or the environment are for one host: they are never sent to another.
    pub(super) fn refuse_spread(&self, automations: &[&ImageUpdateAutomation]) -> Result<(), String> {
        let urls = automations
            .iter()
            .filter_map(|a| self.objects.git_repository(&a.source_name()));
        let mut hosts: Vec<String> = urls.filter_map(|r| access::host(&r.spec.url)).collect();
        hosts.sort();
        hosts.dedup();
        if hosts.len() > 1 && access::holds_secret(&self.args.access) {
            return Err(format!(
                "credentials from flags or the environment would go to several hosts ({}): run them one by one, or give Secrets",
                hosts.join(", ")
            ));
        }
        Ok(())
    }
}

/// `NS:POLICY=IMAGE[:TAG][@DIGEST]`.
fn set(text: &str) -> Result<(PolicyName, crate::policy::LatestRef), String> {
    let usage = || format!("--set {text:?}: expected NS:POLICY=IMAGE[:TAG][@DIGEST]");
    let (policy, image) = text.split_once('=').ok_or_else(usage)?;
    let (namespace, name) = policy
        .split_once(':')
        .filter(|(ns, name)| !ns.is_empty() && !name.is_empty())
        .ok_or_else(usage)?;
    if name.contains(':') {
        return Err(usage());
    }
    let image = parse_latest_image(image).map_err(|e| format!("--set {text:?}: {e}"))?;
    Ok((PolicyName::new(namespace, name), image))
}

/// `K=V`; the value may be empty, and so may be the `=` (IUA-085).
fn option(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    if key.is_empty() || text.contains(['\n', '\0']) {
        return Err(format!("--push-option {text:?}: expected KEY=VALUE on one line"));
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// The text, or the content of `@FILE`.
fn message(text: &str) -> Result<String, String> {
    match text.strip_prefix('@') {
        None => Ok(text.to_owned()),
        Some(file) => std::fs::read_to_string(PathBuf::from(file)).map_err(|e| format!("--message {text}: {e}")),
    }
}
