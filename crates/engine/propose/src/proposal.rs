//! Objects, markers and reasons for the images of a survey, from the tags that registries have.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{LeftAlone, NoPolicy, NoSource};
use super::found::{Left, Survey, Use};
use super::listed::Listing;
use super::listing::wanted;
use super::options::{INTERVAL, Options};
use super::renovate::Terms;
use super::shape::{Shape, shape};
use bumpwright_adopt::{
    Commits, Files, Kind, Policy, Repository, automation, common, object, object_name, parent, policy, repository,
};
use bumpwright_api::tree::Node;
use bumpwright_api::{Place, RepositoryKind};
use bumpwright_edit::{Marking, OWN_FOLDER, Part, Setter, mark_at};
use bumpwright_policy::{LatestRef, PolicyName};
use bumpwright_text::Cuts;

/// The columns of comments.
const WIDTH: usize = 100;

/// A field may have a tag alone: the setter says of which image.
const MESSAGE: &str = "Update images\n\n{{ range .Changed.Changes -}}\n- {{ .OldValue }} -> {{ .NewValue }} ({{ .Setter }})\n{{ end -}}\n";

/// What is proposed, and what is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// The new objects as a YAML file; empty when there are none.
    pub manifests: String,
    /// Kind and name of each of them.
    pub objects: Vec<(&'static str, PolicyName)>,
    /// The policies that markers name, with their reasons.
    pub policies: Vec<Proposed>,
    /// Files with markers.
    pub edited: Vec<(usize, Marking)>,
    pub left: Vec<Left>,
    /// What is worth knowing about all of it.
    pub notes: Vec<String>,
    /// Whether the files have objects of Flux, or a source was named; without, no automation is proposed.
    pub has_flux: bool,
}

/// A policy that is proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposed {
    pub name: PolicyName,
    /// What it chooses a version of.
    pub listing: Listing,
    /// Whether it exists in the files.
    pub is_known: bool,
    /// The tags in use that it follows.
    pub current: BTreeSet<String>,
    /// The tag that it chooses now.
    pub chosen: String,
    /// Why it is this one.
    pub why: String,
    /// What else there is.
    pub notes: Vec<String>,
    /// Where the markers are: file, place.
    pub uses: Vec<(usize, Place)>,
}

/// Why it is not known what a registry has, as the one who asks says.
pub type Unanswered = Box<dyn std::error::Error + Send + Sync>;

/// What a registry has of an image.
pub type Answers = BTreeMap<Listing, Result<Vec<String>, Unanswered>>;

/// Objects and markers for the images of the survey.
#[must_use]
pub fn propose(files: &Files<'_>, survey: &Survey, answers: &Answers, options: &Options) -> Proposal {
    let mut draft = Draft {
        files,
        survey,
        options,
        repositories: Kind::new(taken(files, "ImageRepository", options)),
        policies: Kind::new(taken(files, "ImagePolicy", options)),
        documents: Vec::new(),
        marks: BTreeMap::new(),
        proposal: Proposal {
            left: survey.left.clone(),
            ..Proposal::default()
        },
    };
    for (listing, uses) in &survey.images {
        match answers.get(listing) {
            Some(Ok(tags)) => draft.image(listing, uses, tags),
            Some(Err(why)) => draft.leave_all(uses, &why.to_string(), true),
            None => draft.leave_all(uses, "its registry was not asked", true),
        }
    }
    draft.finish()
}

/// The names of a kind that are taken; an object without a namespace may come to be in ours.
fn taken(files: &Files<'_>, kind: &str, options: &Options) -> BTreeSet<PolicyName> {
    let names = files.names(kind).into_iter();
    names.map(|name| within(name, options)).collect()
}

fn within(mut name: PolicyName, options: &Options) -> PolicyName {
    if name.namespace.is_empty() {
        name.namespace.clone_from(&options.namespace);
    }
    name
}

/// Uses of an image that one policy is for.
struct Stream<'s> {
    shape: Shape,
    terms: Terms,
    current: BTreeSet<String>,
    uses: Vec<&'s Use>,
}

struct Draft<'a> {
    files: &'a Files<'a>,
    survey: &'a Survey,
    options: &'a Options,
    repositories: Kind<Repository>,
    policies: Kind<Policy>,
    documents: Vec<String>,
    marks: BTreeMap<usize, BTreeMap<usize, Setter>>,
    proposal: Proposal,
}

impl Draft<'_> {
    fn leave(&mut self, one: &Use, why: &str, is_error: bool) {
        let file = self.files.parsed.get(one.file).map(|file| file.source.name.clone());
        self.proposal.left.push(Left {
            file: file.unwrap_or_default(),
            place: one.place,
            image: one.listing.image.clone(),
            why: why.to_owned(),
            is_error,
        });
    }

    fn leave_all(&mut self, uses: &[Use], why: &str, is_error: bool) {
        let more = match uses.len() {
            0 | 1 => String::new(),
            count => format!(" ({} places more)", count - 1),
        };
        if let Some(first) = uses.first() {
            self.leave(first, &format!("{why}{more}"), is_error);
        }
    }

    fn image(&mut self, listing: &Listing, uses: &[Use], tags: &[String]) {
        self.proposal.notes.extend(self.survey.known.faults(listing));
        let mut streams: Vec<Stream<'_>> = Vec::new();
        let mut by_tag: BTreeMap<(&str, bool, Terms), Vec<&Use>> = BTreeMap::new();
        for one in uses {
            match self.terms(one) {
                Ok(terms) => by_tag.entry((&one.tag, one.is_pinned(), terms)).or_default().push(one),
                Err(why) => self.leave(one, &why.to_string(), false),
            }
        }
        for ((tag, is_pinned, terms), uses) in by_tag {
            if let Some(known) = self.survey.known.policy(listing, tags, tag, is_pinned) {
                let (name, chosen) = (within(known.0, self.options), known.1);
                self.mark(&name, &uses);
                self.tell_known(listing, name, tag, chosen, &uses);
                continue;
            }
            match self.shaped(tags, tag, is_pinned, &terms) {
                Err(why) => uses.iter().for_each(|one| self.leave(one, &why.to_string(), false)),
                Ok(mut shape) => {
                    let fit = self.fitting(&shape, uses);
                    shape.choice.digest |= is_pinned;
                    if !fit.is_empty() {
                        join(&mut streams, (shape, terms), tag, fit);
                    }
                }
            }
        }
        if streams.is_empty() {
            return;
        }
        let repository = self.repository(listing);
        let is_alone = streams.len() == 1;
        for stream in streams {
            self.stream(listing, &repository, stream, is_alone);
        }
    }

    /// Renovate's settings for a use.
    fn terms(&self, one: &Use) -> Result<Terms, LeftAlone> {
        let Some(renovate) = &self.options.renovate else {
            return Ok(Terms::default());
        };
        let path = self
            .files
            .parsed
            .get(one.file)
            .map_or("", |file| file.source.path.as_str());
        renovate.terms(&one.listing, path)
    }

    /// The policy for a tag, within Renovate's settings.
    fn shaped(&self, tags: &[String], tag: &str, is_pinned: bool, terms: &Terms) -> Result<Shape, NoPolicy> {
        let mut shape = shape(tags, tag)?;
        if self.options.renovate.is_some() && shape.choice.digest && !is_pinned && !terms.pins() {
            return Err(NoPolicy::NoPins(tag.to_owned()));
        }
        terms.bound(&mut shape.choice, tag)?;
        shape.choice.digest |= terms.pins();
        if self.options.renovate.is_some() {
            shape.why = terms.why(tag);
        }
        let chosen = shape.choice.policy()?.latest(tags).map(str::to_owned);
        shape.chosen = chosen.map_err(NoPolicy::OutOfBound)?;
        Ok(shape)
    }

    /// The uses where what is chosen can be written; the others are left.
    fn fitting<'s>(&mut self, shape: &Shape, uses: Vec<&'s Use>) -> Vec<&'s Use> {
        let is_fit = |one: &&Use| !shape.choice.digest || one.takes_digest();
        let (fit, unfit): (Vec<&Use>, Vec<&Use>) = uses.into_iter().partition(is_fit);
        for one in unfit {
            let way_out = "but only a tag is written there: write the whole image, or a digest beside it";
            self.leave(one, &format!("{}; {way_out}", shape.why), false);
        }
        fit
    }

    /// The repository of an image: the existing one, or a new one.
    fn repository(&mut self, listing: &Listing) -> PolicyName {
        if let Some(known) = self.survey.known.repository(listing, &self.options.namespace) {
            return PolicyName::new(self.options.namespace.clone(), known.metadata.name.clone());
        }
        let object = wanted(listing, self.survey, self.options);
        let count = self.repositories.made.len();
        let name = self
            .repositories
            .put(&self.options.namespace, &names(listing, None), object);
        if let Some((_, object)) = self.repositories.made.get(count) {
            self.documents.push(repository(&name, object, INTERVAL));
            self.proposal.objects.push(("ImageRepository", name.clone()));
        }
        name
    }

    fn stream(&mut self, listing: &Listing, repository: &PolicyName, stream: Stream<'_>, is_alone: bool) {
        let Stream {
            shape,
            terms,
            current,
            uses,
        } = stream;
        let hint = (!is_alone).then_some(shape.hint.as_str());
        let object = Policy {
            repository: repository.name.clone(),
            filter: shape.choice.filter.clone(),
            extract: shape.choice.extract.clone(),
            rule: shape.choice.rule.clone(),
            digest: shape.choice.digest,
            annotations: terms.annotations(),
            labels: BTreeMap::new(),
        };
        let name = self
            .policies
            .put(&repository.namespace, &names(listing, hint), object.clone());
        // Without answers of registries nobody knows.
        let chooses = self
            .options
            .renovate
            .is_none()
            .then(|| format!("it chooses {} now", shape.chosen));
        let lines = [shape.why.as_str()]
            .into_iter()
            .chain(chooses.as_deref())
            .chain(shape.notes.iter().map(String::as_str));
        self.documents.push(comment(lines) + &policy(&name, &object, INTERVAL));
        self.proposal.objects.push(("ImagePolicy", name.clone()));
        self.mark(&name, &uses);
        self.proposal.policies.push(Proposed {
            name,
            listing: listing.clone(),
            is_known: false,
            current,
            chosen: shape.chosen,
            why: shape.why,
            notes: shape.notes,
            uses: places(&uses),
        });
    }

    fn tell_known(&mut self, listing: &Listing, name: PolicyName, tag: &str, chosen: String, uses: &[&Use]) {
        let why = format!("the policy is there already, and chooses among tags like {tag}");
        let same = self
            .proposal
            .policies
            .iter_mut()
            .find(|known| known.is_known && known.name == name);
        match same {
            Some(known) => {
                known.current.insert(tag.to_owned());
                known.uses.extend(places(uses));
            }
            None => self.proposal.policies.push(Proposed {
                name,
                listing: listing.clone(),
                is_known: true,
                current: BTreeSet::from([tag.to_owned()]),
                chosen,
                why,
                notes: Vec::new(),
                uses: places(uses),
            }),
        }
    }

    fn mark(&mut self, policy: &PolicyName, uses: &[&Use]) {
        for one in uses {
            let fields = one.fields.iter().map(|(start, part)| {
                let policy = policy.clone();
                (*start, Setter { policy, part: *part })
            });
            self.marks.entry(one.file).or_default().extend(fields);
        }
    }

    fn finish(mut self) -> Proposal {
        let mut folders = BTreeSet::new();
        for (n, marks) in std::mem::take(&mut self.marks) {
            let Some(file) = self.files.parsed.get(n) else { continue };
            match mark_at(file.text, &marks) {
                Ok(marking) => {
                    folders.insert(parent(&file.source.path));
                    self.proposal.edited.push((n, marking));
                }
                Err(why) => self
                    .proposal
                    .notes
                    .push(format!("{}: no markers: {why}", file.source.name)),
            }
        }
        self.proposal.has_flux = self.has_flux();
        if !folders.is_empty() && !self.options.without_automation {
            self.automation(&common(folders));
        }
        if !self.documents.is_empty() {
            let by = match self.options.renovate {
                Some(_) => "Made by bumpwright migrate --from renovate",
                None => "Proposed by bumpwright init",
            };
            self.proposal.manifests = format!("# {by}.\n{}", self.documents.join("---\n"));
        }
        self.proposal
    }

    /// Whether the files are for a cluster with Flux's objects. Those of a folder for commands alone do not count.
    fn has_flux(&self) -> bool {
        let path = |n: usize| self.files.parsed.get(n).map_or("", |file| file.source.path.as_str());
        let is_own = |path: &str| path.split('/').any(|part| part == OWN_FOLDER);
        let objects = self.files.objects();
        let mut objects = objects.iter().filter(|(n, node)| is_of_flux(node) && !is_own(path(*n)));
        self.options.source.is_some() || objects.next().is_some()
    }

    /// The automation: the existing one, or a new one if it is known what it commits to.
    fn automation(&mut self, path: &str) {
        let objects = self.files.objects();
        let automations: Vec<&Node> = of_kind(&objects, "ImageUpdateAutomation").collect();
        if !automations.is_empty() {
            let notes: Vec<String> = automations.into_iter().map(|node| told(node, path)).collect();
            self.proposal.notes.extend(notes);
            return;
        }
        let source = match source(&objects, self.options) {
            Ok(source) => source,
            Err(_) if !self.proposal.has_flux => return,
            Err(why) => {
                return self
                    .proposal
                    .notes
                    .push(format!("no ImageUpdateAutomation is proposed: {why}"));
            }
        };
        let namespace = self.options.namespace.as_str();
        let (author, email) = &self.options.author;
        let commits = Commits {
            suspended: None,
            annotations: &BTreeMap::new(),
            source: (
                (source.namespace != namespace).then_some(&source.namespace),
                &source.name,
            ),
            branch: None,
            author: (author, email),
            push: None,
            message: Some(MESSAGE),
            selector: &BTreeMap::new(),
            path,
        };
        let name = PolicyName::new(namespace, source.name.clone());
        let why = format!("commits to the branch of GitRepository {source}, which is where these files come from");
        let scope = "every marked field is below this path";
        self.documents
            .push(comment([why.as_str(), scope].into_iter()) + &automation(&name, &commits, INTERVAL));
        self.proposal.objects.push(("ImageUpdateAutomation", name));
    }
}

impl Use {
    /// Whether the field has a digest besides the tag.
    fn is_pinned(&self) -> bool {
        self.has_digest && self.takes_digest()
    }

    /// Whether a digest could be written.
    fn takes_digest(&self) -> bool {
        self.fields
            .values()
            .any(|part| matches!(part, Part::Reference | Part::Digest | Part::TagDigest))
    }
}

/// Adds uses to the stream of their series, if one policy fits all; it begins at the lowest of them.
fn join<'s>(streams: &mut Vec<Stream<'s>>, (shape, terms): (Shape, Terms), tag: &str, uses: Vec<&'s Use>) {
    let fits = |shape: &Shape, tag: &str| {
        let taken = shape
            .choice
            .policy()
            .is_ok_and(|policy| policy.latest(&[tag.to_owned()]).is_ok());
        taken
            && shape.choice.policy().is_ok_and(|policy| {
                policy
                    .compare(&shape.chosen, tag)
                    .is_some_and(std::cmp::Ordering::is_ge)
            })
    };
    let same = streams
        .iter_mut()
        .filter(|stream| stream.shape.series == shape.series && stream.shape.choice.digest == shape.choice.digest)
        .filter(|stream| stream.terms == terms);
    for stream in same {
        if !fits(&stream.shape, tag) {
            if stream.current.iter().all(|tag| fits(&shape, tag)) {
                stream.shape = shape
            } else {
                continue;
            }
        }
        stream.current.insert(tag.to_owned());
        stream.uses.extend(uses);
        return;
    }
    let current = BTreeSet::from([tag.to_owned()]);
    streams.push(Stream {
        shape,
        terms,
        current,
        uses,
    });
}

fn places(uses: &[&Use]) -> Vec<(usize, Place)> {
    uses.iter().map(|one| (one.file, one.place)).collect()
}

/// Names for the objects of an image, the best first.
fn names(listing: &Listing, hint: Option<&str>) -> Vec<String> {
    let (name, ..) = LatestRef::split(&listing.image);
    let name = name.strip_suffix(".git").unwrap_or(name);
    let path = name.split_once('/').map_or(name, |(host, path)| {
        if host.contains(['.', ':']) || host == "localhost" {
            path
        } else {
            name
        }
    });
    let short = name.behind_last('/');
    // A chart is often called as its image is.
    let what = if listing.kind == RepositoryKind::Helm {
        "-chart"
    } else {
        ""
    };
    let named = |text: &str| match hint {
        Some(hint) => object_name(&format!("{text}{what}-{hint}")),
        None => object_name(&format!("{text}{what}")),
    };
    let mut names: Vec<String> = [short, path, name].into_iter().map(named).collect();
    names.dedup();
    names
}

/// Lines as comments of YAML; none has a character that ends a line.
fn comment<'t>(lines: impl Iterator<Item = &'t str>) -> String {
    let mut out = String::new();
    for line in lines {
        let mut row = "#".to_owned();
        for word in line.split_whitespace() {
            if row.len() + word.len() > WIDTH {
                out.push_str(&row);
                out.push('\n');
                row = "# ".to_owned();
            }
            row.push(' ');
            row.extend(word.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }));
        }
        out.push_str(&row);
        out.push('\n');
    }
    out
}

fn of_kind<'n>(objects: &'n [(usize, &'n Node)], kind: &'n str) -> impl Iterator<Item = &'n Node> {
    let nodes = objects.iter().map(|(_, node)| *node);
    nodes.filter(move |node| node.field_text("kind") == Some(kind))
}

/// What an existing automation does with the markers.
fn told(node: &Node, path: &str) -> String {
    let name = object(node).map(|name| name.name).unwrap_or_default();
    let update = node.field("spec").and_then(|spec| spec.field("update"));
    let field = |key: &str| update.and_then(|update| update.field(key));
    let own = update.map_or("", |update| update.text_of("path"));
    let own = own.trim_start_matches(['.', '/']).trim_end_matches('/');
    let is_below = own.is_empty() || path == own || path.strip_prefix(own).is_some_and(|rest| rest.starts_with('/'));
    let selector = match field("policySelector") {
        Some(_) => ", for policies that its policySelector takes",
        None => "",
    };
    if is_below {
        format!("ImageUpdateAutomation {name} is there already and looks at the marked files{selector}")
    } else {
        format!("ImageUpdateAutomation {name} looks at ./{own} only: widen its update.path to ./{path}{selector}")
    }
}

/// Whether one of Flux's controllers, or bumpwright's, is for an object.
fn is_of_flux(node: &Node) -> bool {
    let version = node.text_of("apiVersion");
    version
        .split('/')
        .next()
        .is_some_and(|group| group.ends_with(".toolkit.fluxcd.io"))
}

/// The GitRepository that automations commit to: the one that was named, the only one, or the one that
/// Flux reconciles itself from.
pub(crate) fn source(objects: &[(usize, &Node)], options: &Options) -> Result<PolicyName, NoSource> {
    if let Some(source) = &options.source {
        return Ok(within(source.clone(), options));
    }
    let repositories: BTreeSet<PolicyName> = of_kind(objects, "GitRepository")
        .filter_map(object)
        .map(|name| within(name, options))
        .collect();
    let of_flux = of_kind(objects, "Kustomization").filter_map(|node| {
        let name = object(node).filter(|name| name.name == "flux-system")?;
        let reference = node.field("spec")?.field("sourceRef")?;
        let namespace = reference.field_text("namespace").unwrap_or(&name.namespace);
        Some(within(
            PolicyName::new(namespace, reference.field_text("name")?),
            options,
        ))
    });
    let of_flux: BTreeSet<PolicyName> = of_flux.filter(|name| repositories.contains(name)).collect();
    match (of_flux.first(), repositories.first(), repositories.len()) {
        (Some(only), ..) if of_flux.len() == 1 => Ok(only.clone()),
        (_, Some(only), 1) => Ok(only.clone()),
        (_, None, _) => Err(NoSource::Missing),
        _ => Err(NoSource::Several(repositories.into_iter().take(5).collect())),
    }
}
