//! Arguments with the contents of the files that they name, and conflicts between flags.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::args::Update;
use super::author;
use super::fleet;
use super::releases::ReleaseNotes;
use super::signing::Signers;
use crate::cli::access;
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::images::{Images, now};
use crate::cli::load;
use crate::cli::own_servers::OwnServers;
use crate::cli::places::Places;
use crate::cli::words;
use bumpwright_api::{ImagePolicy, ImageUpdateAutomation, ObjectName, Objects};
use bumpwright_connect::git::GitIdentities;
use bumpwright_policy::{LatestRef, PolicyName};
use bumpwright_update::{Author, Policies, Refspec, Releases, Review, Verify};

/// Where a policy that a marker names can be.
const NO_POLICY: &str = "give its manifest with -f FILE|DIR, in the files of TARGET or in .bumpwright/ at its top, or the folder of its cluster with \
    --fleet PATH";

/// As [`NO_POLICY`], where clusters say which policies there are.
const NOT_IN_FLEET: &str =
    "the clusters of --fleet do not have it: add it to one of them, or give its manifest with -f FILE|DIR";

/// Arguments with the contents of the files that they name.
pub(super) struct Typed<'a> {
    pub(super) args: &'a Update,
    pub(super) objects: Objects,
    pub(super) policies: Arc<Policies>,
    /// The policies of `--set` that are not among the manifests: only a marker shows that they exist.
    pub(super) set: BTreeSet<PolicyName>,
    /// The registries, unless offline.
    pub(super) images: Option<Arc<Images>>,
    pub(super) refspecs: Vec<Refspec>,
    pub(super) options: Vec<(String, String)>,
    pub(super) message: Option<String>,
    pub(super) author: Option<Author>,
    pub(super) signers: Signers,
    pub(super) identities: GitIdentities,
    /// Whom credentials of the user are for.
    pub(super) own_servers: OwnServers,
    /// Asks for the releases of images, for runs that want it; none without a network.
    pub(super) releases: Option<Arc<dyn Releases>>,
    /// Verifies edits against the clusters of `--fleet`.
    pub(super) verify: Option<Arc<dyn Verify>>,
    /// What is to be said about those clusters.
    pub(super) notes: Vec<String>,
}

/// That the files of `-f` have nothing to go by: without an automation, what is below the current
/// folder would be edited.
fn refuse_nothing(args: &Update, objects: &Objects) -> Result<(), CliError> {
    if args.filenames.is_empty() || !objects.is_empty() {
        return Ok(());
    }
    let files: Vec<String> = args.filenames.iter().map(|path| path.display().to_string()).collect();
    let none =
        CliError::new("no ImagePolicy, ImageRepository, ImageUpdateAutomation, GitRepository or Secret is in it");
    Err(none.at(format_args!("-f {}", files.join(", -f "))))
}

impl<'a> Typed<'a> {
    /// Reads the files that the arguments name, and opens the clusters of `--fleet` in TARGET.
    pub(super) fn read(args: &'a Update, places: &mut Places) -> Result<Self, CliError> {
        let objects = load::load(&args.filenames, load::unknown_fields(args.allow_unknown_fields))?;
        refuse_nothing(args, &objects)?;
        let clusters = fleet::read(args, &objects, places)?;
        let objects = objects.overlay(clusters.objects);
        let labels: BTreeMap<_, _> = objects
            .namespace_labels()
            .map(|(name, labels)| (name.clone(), labels.clone()))
            .collect();
        let policies = Policies::new(now(), !args.offline).with_labels(Arc::new(labels));
        let mut policies = policies.with_unbuilt(clusters.unbuilt).with_way_out(NO_POLICY);
        if clusters.verify.is_some() {
            policies = policies.complete().with_way_out(NOT_IN_FLEET);
        }
        for repository in objects.image_repositories() {
            policies.add_repository(repository);
        }
        for policy in objects.image_policies() {
            policies.add(policy);
        }
        let chosen = chosen(&args.set, &objects)?;
        let known: BTreeSet<PolicyName> = objects.image_policies().map(ImagePolicy::policy_name).collect();
        let set = chosen.keys().filter(|name| !known.contains(*name)).cloned().collect();
        for (name, image) in chosen {
            policies.set(name, image);
        }
        let refspecs = args.refspecs.iter().map(|text| Refspec::parse(text));
        let message = args.message.as_deref().map(message).transpose()?;
        let images = (!args.offline).then(|| Arc::new(Images::new(&objects)));
        let releases = images.clone().map(|images| ReleaseNotes::new(&objects, images, args));
        Ok(Self {
            args,
            releases: releases.map(|releases| Arc::new(releases) as Arc<dyn Releases>),
            images,
            objects,
            policies: Arc::new(policies),
            set,
            refspecs: refspecs.collect::<Result<_, _>>()?,
            options: args
                .push_options
                .iter()
                .map(|text| option(text))
                .collect::<Result<_, _>>()?,
            message,
            author: args.author.as_deref().map(author::parse).transpose()?,
            signers: Signers::read(args)?,
            identities: GitIdentities::default(),
            own_servers: OwnServers::of(&args.access.git_server, args.target.as_deref())?,
            verify: clusters.verify,
            notes: clusters.notes,
        })
    }

    /// Those policies of `--set` that the run has to find a marker for. Of several automations each has markers
    /// of its own: what is left is reported at the end.
    pub(super) fn asked(&self) -> BTreeSet<PolicyName> {
        if self.objects.automations().nth(1).is_some() {
            BTreeSet::new()
        } else {
            self.set.clone()
        }
    }

    /// The first given flag about fetches or pushes, if any.
    pub(super) fn push_flag(&self) -> Option<&'static str> {
        let args = self.args;
        let given = [
            ("--branch", args.branch.is_some()),
            ("--push-branch", args.push_branch.is_some()),
            ("--refspec", !args.refspecs.is_empty()),
            ("--gerrit", args.gerrit.is_some()),
            ("--push-option", !args.push_options.is_empty()),
        ];
        let mut all = given.into_iter().chain(args.request.given());
        all.find_map(|(flag, given)| given.then_some(flag))
    }

    /// A change for review takes the place of a branch.
    pub(super) fn refuse_both(&self) -> Result<(), CliError> {
        let args = self.args;
        if args.gerrit.is_none() {
            return Ok(());
        }
        if args.push_branch.is_some() {
            return Err(CliError::new(
                "--gerrit pushes a change in the place of a branch: leave out --push-branch, or give the branch that the change is for as \
                 --gerrit=BRANCH",
            ));
        }
        let of_request = args.request.given().into_iter().find(|(_, given)| *given);
        match of_request.filter(|_| args.refspecs.is_empty()) {
            Some((flag, _)) => Err(
                CliError::new(format!("{flag} is for a pull request, and --gerrit pushes a change")).hint(
                    "leave it out; reviewers, topics and hashtags are push options: --push-option r=NAME, --push-option topic=NAME, \
                     --push-option hashtag=NAME",
                ),
            ),
            None => Ok(()),
        }
    }

    /// `--gerrit[=BRANCH]`.
    pub(super) fn review(&self) -> Option<Review> {
        let short = |name: &String| {
            let short = name
                .strip_prefix("refs/heads/")
                .or_else(|| name.strip_prefix("refs/for/"));
            short.unwrap_or(name).to_owned()
        };
        let branch = self.args.gerrit.as_ref()?.as_ref().map(short);
        Some(Review { branch })
    }

    /// Flags that need a remote.
    pub(super) fn refuse_in_folder(&self) -> Result<(), CliError> {
        let args = self.args;
        if let Some(flag) = self.push_flag() {
            return Err(CliError::new(format!(
                "{flag} needs a remote: a folder is edited in place and never pushed"
            ))
            .hint("give the URL of the repository in its place"));
        }
        let given = [
            ("--author", args.author.is_some() && args.respect_reverts.is_none()),
            ("--message", args.message.is_some()),
            ("--sign-key", args.sign_key.is_some()),
            ("--no-sign", args.no_sign),
        ];
        match given.iter().find(|(_, given)| *given && !args.commit) {
            Some((flag, _)) => Err(CliError::new(format!(
                "{flag} needs --commit when a folder is edited in place"
            ))),
            None => Ok(()),
        }
    }

    /// Rule 6: flags about one push cannot be used for several automations.
    pub(super) fn refuse_many(&self, automations: &[&ImageUpdateAutomation]) -> Result<(), CliError> {
        match self.push_flag() {
            Some(flag) if automations.len() > 1 => Err(CliError::new(format!(
                "{flag} cannot be used with {} automations: give one, or set it in their manifests",
                automations.len()
            ))),
            _ => Ok(()),
        }
    }

    /// Credentials from flags or the environment are for one host only.
    pub(super) fn refuse_spread(&self, automations: &[&ImageUpdateAutomation]) -> Result<(), CliError> {
        self.refuse_spread_token(automations)?;
        let urls = automations
            .iter()
            .filter(|a| !a.spec.suspend)
            .filter_map(|a| self.objects.git_repository(&a.source_name()));
        let mut hosts: Vec<String> = urls.filter_map(|r| access::host(&r.spec.url)).collect();
        hosts.sort();
        hosts.dedup();
        if hosts.len() > 1 && access::holds_secret(&self.args.access) {
            return Err(CliError::new(format!(
                "credentials from flags or the environment would go to several hosts ({}): run them one by one, or give Secrets",
                words::some(&hosts)
            )));
        }
        Ok(())
    }
}

/// All `--set` values. As in manifests, two that differ are an error (docs/cli.md, *TARGET*, rule 5).
fn chosen(texts: &[String], objects: &Objects) -> Result<BTreeMap<PolicyName, LatestRef>, CliError> {
    let mut all = BTreeMap::new();
    for text in texts {
        let (name, image) = set(text, objects)?;
        if let Some(other) = all.insert(name, image.clone())
            && other != image
        {
            return Err(
                CliError::new(format!("--set {text:?}: the policy was set to {other} before"))
                    .hint("give it one image"),
            );
        }
    }
    Ok(all)
}

/// `NS:POLICY=IMAGE[:TAG][@DIGEST]`.
fn set(text: &str, objects: &Objects) -> Result<(PolicyName, LatestRef), CliError> {
    const FORM: &str = "NS:POLICY=IMAGE[:TAG][@DIGEST], as in flux-system:app=ghcr.io/acme/app:1.2.3";
    let usage = || CliError::new(format!("--set {text:?}: expected {FORM}"));
    let (policy, image) = text.split_once('=').ok_or_else(usage)?;
    let policy = PolicyName::of_marker(policy).ok_or_else(usage)?;
    let found = image_reference(image).or_else(|why| match version(&policy, image, objects) {
        Some(version) => Ok(version),
        None => Err(why.at(format_args!("--set {text:?}")).hint(format!("expected {FORM}"))),
    });
    Ok((policy, found?))
}

/// The version of a chart or a Git repository, if that is what the policy is about. Of a policy whose repository is not
/// known yet it is one that could be no slip in a tag: with build metadata, a path or a package.
fn version(policy: &PolicyName, text: &str, objects: &Objects) -> Option<LatestRef> {
    let version = LatestRef::of_version(text)?;
    let name = ObjectName::new(policy.namespace.as_str(), policy.name.as_str());
    let repository = objects.image_policy(&name).and_then(|policy| policy.repository());
    match repository.and_then(|repository| objects.image_repository(&repository)) {
        Some(repository) => repository.check(&version).is_ok().then_some(version),
        None => version.is_clear().then_some(version),
    }
}

/// Typed images are validated more strictly than those of a registry, since they are written to manifests as they are.
/// The grammar is that of the OCI distribution specification, *Pulling manifests*, as far as it catches mistakes.
fn image_reference(text: &str) -> Result<LatestRef, CliError> {
    let (name, tag, digest) = LatestRef::split(text);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if name.is_empty() || name.ends_with('/') || !name.chars().all(|c| plain(c) || matches!(c, '/' | ':' | '[' | ']')) {
        return Err(CliError::new(format!("{name:?} is not the name of an image")));
    }
    let fits = |tag: &str| tag.len() <= 128 && !tag.starts_with(['.', '-']) && tag.chars().all(plain);
    if let Some(tag) = tag.filter(|tag| tag.is_empty() || !fits(tag)) {
        return Err(CliError::new(format!("{tag:?} is not a tag")));
    }
    let hex = |hex: &str| !hex.is_empty() && hex.chars().all(|c| c.is_ascii_hexdigit());
    if let Some(digest) = digest.filter(|digest| {
        !digest
            .split_once(':')
            .is_some_and(|(kind, rest)| !kind.is_empty() && hex(rest))
    }) {
        return Err(CliError::new(format!(
            "{digest:?} is not a digest, which is ALGORITHM:HEX"
        )));
    }
    if tag.is_none() && digest.is_none() {
        let is_version = name.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit()) && !name.contains('/');
        return Err(if is_version {
            CliError::new(format!("{name} is taken for the name of an image: write IMAGE:{name}"))
        } else {
            CliError::new("which one? give a tag, a digest or both")
        });
    }
    let image = LatestRef {
        name: name.to_owned(),
        tag: tag.unwrap_or("").to_owned(),
        digest: digest.map(str::to_owned),
    };
    match image.check() {
        Ok(()) => Ok(image),
        Err(_) => Err(CliError::new(format!(
            "{text:?} is not an image: {}",
            flaw(name, digest)
        ))),
    }
}

/// What is wrong with the parts of an image reference that looks like one.
fn flaw(name: &str, digest: Option<&str>) -> &'static str {
    // The first part is a registry if it looks like a host.
    let is_host = |(first, _): &(&str, &str)| first.contains(['.', ':']);
    let repository = name.split_once('/').filter(is_host).map_or(name, |(_, rest)| rest);
    if digest.is_some_and(|digest| digest.len() != "sha256:".len() + 64 || !digest.starts_with("sha256:")) {
        "a digest is sha256: and 64 hexadecimal digits"
    } else if repository.contains(|c: char| c.is_ascii_uppercase()) {
        "a repository has no upper case letters"
    } else if !(2..=255).contains(&repository.len()) {
        "a repository has 2 to 255 characters"
    } else {
        "the registry is HOST or HOST:PORT, the repository lower case letters, digits and _ - . /"
    }
}

/// `K=V`; the value may be empty, and so may be the `=` (IUA-085).
fn option(text: &str) -> Result<(String, String), CliError> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    if key.is_empty() || text.contains(['\n', '\0']) {
        return Err(CliError::new(format!(
            "--push-option {text:?}: expected KEY=VALUE on one line"
        )));
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// The text, or the content of `@FILE`.
fn message(text: &str) -> Result<String, CliError> {
    match text.strip_prefix('@') {
        None => Ok(text.to_owned()),
        Some(file) => std::fs::read_to_string(PathBuf::from(file)).at(format_args!("--message {text}")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn images_that_can_be_set() {
        let digest = format!("sha256:{}", "0".repeat(64));
        for text in [
            "app:1".to_owned(),
            "localhost:5000/o/app:1.2.3".to_owned(),
            "[::1]:5000/app:1".to_owned(),
            format!("o/app@{digest}"),
            format!("localhost:5000/app@{digest}"),
            format!("ghcr.io/o/app:v1_2-rc.1@{digest}"),
        ] {
            assert_eq!(image_reference(&text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn mistakes_in_an_image_are_told_apart() {
        for (text, why) in [
            ("o/app", "give a tag, a digest or both"),
            ("localhost:5000/o/app", "give a tag, a digest or both"),
            ("", "not the name"),
            (":1", "not the name"),
            ("o/:1", "not the name"),
            ("o/app name:1", "not the name"),
            ("o/app:", "\"\" is not a tag"),
            ("o/app: 1", "\" 1\" is not a tag"),
            ("o/app:1\n", "is not a tag"),
            ("o/app:-1", "is not a tag"),
            ("o/app:1@", "not a digest"),
            ("o/app:1@sha256:", "not a digest"),
            ("o/app:1@sha256:xyz", "not a digest"),
            ("o/app:1@abc", "not a digest"),
        ] {
            let error = image_reference(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn an_image_that_is_refused_is_shown_with_the_flaw_and_the_form() {
        for (text, why) in [
            ("y:2", "\"y:2\" is not an image: a repository has 2 to 255 characters"),
            ("o/App:1", "a repository has no upper case letters"),
            ("ghcr.io/O/app:1", "a repository has no upper case letters"),
            ("o/app:1@sha256:0a", "a digest is sha256: and 64 hexadecimal digits"),
            ("o/app:1@md5:0a", "a digest is sha256: and 64 hexadecimal digits"),
            ("ghcr.io:x/o/app:1", "the registry is HOST or HOST:PORT"),
        ] {
            let error = set(&format!("fs:a={text}"), &Objects::default())
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with(&format!("--set \"fs:a={text}\": ")) && error.contains(why),
                "{error}"
            );
            assert!(
                error
                    .ends_with("expected NS:POLICY=IMAGE[:TAG][@DIGEST], as in flux-system:app=ghcr.io/acme/app:1.2.3"),
                "{error}"
            );
        }
    }

    #[test]
    fn versions_of_charts_and_git_repositories_can_be_set() {
        let objects = |kind: &str| {
            let text = format!(
                "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\n\
                 metadata: {{name: a, namespace: fs, annotations: {{bumpwright.dev/kind: {kind}}}}}\n\
                 spec: {{image: h.example.com/x, interval: 1h}}\n---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\n\
                 metadata: {{name: a, namespace: fs}}\nspec: {{imageRepositoryRef: {{name: a}}, policy: {{semver: {{range: '*'}}}}}}\n"
            );
            let mut objects = Objects::default();
            let read = bumpwright_api::read("p.yaml", text.as_bytes(), bumpwright_api::UnknownFields::Refuse);
            objects.insert_all(read.unwrap()).unwrap();
            objects
        };
        let (none, git, oci) = (Objects::default(), objects("git-tags"), objects("oci"));
        for (image, unknown, of_git) in [
            ("h.example.com/x:1.0.1+up2.0.1", true, true),
            ("h.example.com:3000/Acme/x.git:app/v1.1.0", true, true),
            ("h.example.com/x:app@1.1.0", true, true),
            ("h.example.com/x:app@next", false, true),
            ("h.example.com/Acme/x:1.0.0", false, true),
            ("h.example.com/x:1.0.0 ", false, false),
            ("h.example.com/x:", false, false),
            ("x:1.0.0+a", false, false),
        ] {
            let set = |objects| set(&format!("fs:a={image}"), objects);
            assert_eq!(set(&none).is_ok(), unknown, "{image}");
            assert_eq!(set(&git).is_ok(), of_git, "{image}");
            assert!(set(&oci).is_err(), "{image}");
            if let Ok((_, found)) = set(&git) {
                assert_eq!(found.to_string(), image);
            }
        }
    }

    #[test]
    fn one_policy_gets_one_image() {
        let none = Objects::default();
        let all = |texts: &[&str]| chosen(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), &none);
        assert_eq!(all(&["fs:a=o/x:1", "fs:a=o/x:1", "fs:b=o/y:1"]).unwrap().len(), 2);
        assert!(
            all(&["fs:a=o/x:1", "fs:a=o/x:2"])
                .unwrap_err()
                .to_string()
                .contains("set to o/x:1 before")
        );
    }
}
