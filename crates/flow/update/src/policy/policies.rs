//! The policies of one run and their images.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use super::held::Held;
use super::known::{ImageState, Known, Open, Unresolved, any_version, downgrades, of_status};
use super::terms::{NamespaceLabels, Terms};
use bumpwright_api::{ImagePolicy, ImageRepository, ObjectName};
use bumpwright_edit::Reason;
use bumpwright_gostd::Time;
use bumpwright_nearest::{distance, nearest};
use bumpwright_policy::{
    Closed, FailedVersion, FilterSpec, InvalidImage, LatestRef, PROMOTION_ANNOTATIONS, PathPromotion, PolicyName,
    RuleSpec,
};

/// The end of the message of a skip whose policy has no image, as nobody may ask for one.
pub const OFFLINE: &str = "; offline, its registry is not asked";

/// All policies visible to a run, from manifests or a cluster, with `--set` on top.
#[derive(Clone, Debug)]
pub struct Policies {
    pub(crate) known: HashMap<PolicyName, Known>,
    /// Those of policies that have some.
    terms: HashMap<PolicyName, Terms>,
    /// Policies of a cluster that allow automations of other namespaces than their own.
    others: Option<Arc<Self>>,
    /// For those that do so by labels.
    labels: Option<Arc<dyn NamespaceLabels>>,
    repositories: BTreeMap<ObjectName, Arc<ImageRepository>>,
    /// Policies with conflicting definitions, with the message for each.
    unclear: BTreeMap<ObjectName, String>,
    /// When the run began, for holds that end.
    now: Time,
    /// Whether registries can be asked.
    online: bool,
    /// Whether the set is complete, so that manifests in the repository add none.
    all: bool,
    /// The orders of policies with a rule.
    orders: HashMap<PolicyName, Arc<Order>>,
    /// Where the images of policies have to have been.
    promotions: HashMap<PolicyName, PathPromotion>,
    /// What of the clusters could not be built, and why: policies may be there.
    unbuilt: Option<Arc<str>>,
    /// How one that is not known is given.
    way_out: &'static str,
}

/// The rule and the filter of a policy.
#[derive(Debug)]
struct Order {
    rule: RuleSpec,
    filter: Option<FilterSpec>,
}

/// A policy whose image has to be looked up in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub policy: Arc<ImagePolicy>,
    /// The repository that it refers to.
    pub repository: Arc<ImageRepository>,
    /// The image with its digest that it chose last: from its status, or as all fields in Git hold it.
    pub before: Option<LatestRef>,
}

/// Chooses images by asking registries.
pub trait Resolve: fmt::Debug + Send + Sync {
    /// The image of each policy, in their order. Implementations may cache answers.
    fn resolve(&self, wanted: &[Wanted]) -> Vec<Result<LatestRef, Unresolved>>;
}

impl Default for Policies {
    /// No policies, at the epoch, offline.
    fn default() -> Self {
        Self::new(Time::unix(0, 0), false)
    }
}

impl Policies {
    /// An empty set. `online`: registries can be asked.
    #[must_use]
    pub fn new(now: Time, online: bool) -> Self {
        Self {
            known: HashMap::new(),
            terms: HashMap::new(),
            others: None,
            labels: None,
            repositories: BTreeMap::new(),
            unclear: BTreeMap::new(),
            now,
            online,
            all: false,
            orders: HashMap::new(),
            promotions: HashMap::new(),
            unbuilt: None,
            way_out: "",
        }
    }

    /// An empty set for the policies of a cluster: manifests in a repository add nothing, and controllers have asked
    /// registries.
    #[must_use]
    pub fn of_cluster(now: Time) -> Self {
        Self {
            all: true,
            ..Self::new(now, false)
        }
    }

    /// The same set as a complete one: manifests in the repository add nothing.
    #[must_use]
    pub fn complete(self) -> Self {
        Self { all: true, ..self }
    }

    /// With what could not be built of the clusters that the policies are from, and why.
    #[must_use]
    pub fn with_unbuilt(self, unbuilt: Option<String>) -> Self {
        Self {
            unbuilt: unbuilt.map(Into::into),
            ..self
        }
    }

    /// With the way to give one that is not known: for people at a command line.
    #[must_use]
    pub fn with_way_out(self, way_out: &'static str) -> Self {
        Self { way_out, ..self }
    }

    /// With labels of namespaces, for policies that allow automations by them.
    #[must_use]
    pub fn with_labels(self, labels: Arc<dyn NamespaceLabels>) -> Self {
        let labels = Some(labels);
        Self { labels, ..self }
    }

    /// Sets the policies that allow automations of other namespaces than their own. What each run may use of them
    /// is up to them.
    pub fn set_others(&mut self, others: Option<Arc<Self>>) {
        self.others = others;
    }

    /// The policies of [`Policies::set_others`].
    #[must_use]
    pub fn others(&self) -> Option<&Arc<Self>> {
        self.others.as_ref()
    }

    /// Adds a policy unless one of that name exists.
    pub fn add(&mut self, policy: &ImagePolicy) {
        let name = policy.policy_name();
        if !self.known.contains_key(&name) {
            let known = self.know(&name, policy);
            self.terms.extend(Terms::of(policy).map(|terms| (name.clone(), terms)));
            self.orders.extend(Order::of(policy).map(|order| (name.clone(), order)));
            let promotion = policy.guards().ok().and_then(|guards| guards.path_promotion);
            self.promotions
                .extend(promotion.map(|promotion| (name.clone(), promotion)));
            self.known.insert(name, known);
        }
    }

    /// Adds a policy of a cluster, unless one of that name exists: its status has the image chosen by its controller,
    /// which has checked the image's age and signatures, and that it is proven.
    fn add_chosen(&mut self, policy: &ImagePolicy) {
        let mut checked = policy.clone();
        let annotations = &mut checked.metadata.annotations;
        let is_checked = |key: &str| {
            key.strip_prefix("bumpwright.dev/")
                .is_some_and(|key| key == "minimum-age" || key.starts_with("verify-"))
        };
        annotations.retain(|key, _| !is_checked(key) && !PROMOTION_ANNOTATIONS.contains(&key.as_str()));
        // It belongs to what is promoted by path as well.
        if !annotations.contains_key("bumpwright.dev/promote-path") {
            annotations.remove("bumpwright.dev/soak");
        }
        let guards = policy.guards();
        let is_new = !self.known.contains_key(&policy.policy_name());
        self.add(if guards.is_ok() { &checked } else { policy });
        // What is young was passed over by the controller; that a field has it already is seen here alone.
        if let (Some(known), Ok(guards), true) = (self.known.get_mut(&policy.policy_name()), &guards, is_new) {
            known.downgrades = downgrades(policy, guards);
        }
    }

    /// Replaces a policy of a cluster. `now` is the current time, for holds that end.
    pub fn replace_chosen(&mut self, policy: &ImagePolicy, now: Time) {
        self.now = now;
        self.remove(&policy.policy_name());
        self.add_chosen(policy);
    }

    pub fn remove(&mut self, name: &PolicyName) {
        self.known.remove(name);
        self.terms.remove(name);
        self.orders.remove(name);
        self.promotions.remove(name);
    }

    /// Where the image of a policy has to have been; an image that is set by hand goes without.
    #[must_use]
    pub fn promotion(&self, name: &PolicyName) -> Option<&PathPromotion> {
        self.set_of(name)?.promotions.get(name)
    }

    /// The rule of a policy, if it has a valid one.
    #[must_use]
    pub fn rule(&self, name: &PolicyName) -> Option<bumpwright_policy::ImagePolicy> {
        let own = self.set_of(name)?.orders.get(name)?;
        let rule = bumpwright_policy::ImagePolicy::new(&own.rule, own.filter.as_ref()).ok()?;
        Some(rule.or_charts())
    }

    /// When the run began.
    #[must_use]
    pub fn now(&self) -> &Time {
        &self.now
    }

    /// The same policies, some with another image.
    pub(crate) fn with_images(&self, images: impl IntoIterator<Item = (PolicyName, LatestRef)>) -> Self {
        let mut policies = self.clone();
        for (name, image) in images {
            if let Some(known) = policies.known_mut(&name) {
                known.image = ImageState::Image(image);
            }
        }
        policies
    }

    /// A policy, whichever set it is in.
    fn known_mut(&mut self, name: &PolicyName) -> Option<&mut Known> {
        if self.known.contains_key(name) {
            return self.known.get_mut(name);
        }
        Arc::make_mut(self.others.as_mut()?).known.get_mut(name)
    }

    /// Holds an image of a policy back for this run, since it failed.
    pub fn hold(&mut self, name: &PolicyName, image: &LatestRef, failed: FailedVersion) {
        if let Some(known) = self.known_mut(name) {
            Arc::make_mut(&mut known.failed).add(image, failed);
        }
    }

    /// The set that a policy is in.
    fn set_of(&self, name: &PolicyName) -> Option<&Self> {
        Some(self.find(name)?.0)
    }

    /// How a policy orders tags; by version if it has no valid rule.
    #[must_use]
    pub fn order(&self, name: &PolicyName) -> Option<bumpwright_policy::ImagePolicy> {
        self.rule(name)
            .or_else(|| bumpwright_policy::ImagePolicy::new(&any_version(), None).ok())
    }

    /// Adds a policy with conflicting definitions or unknown fields, unless one of that name exists: it is not known
    /// what is meant, so no registry is asked. Offline its status counts.
    pub(crate) fn add_unclear(&mut self, policy: &ImagePolicy, why: &str) {
        if !self.online {
            return self.add(policy);
        }
        self.known.entry(policy.policy_name()).or_insert_with(|| Known {
            image: ImageState::Nothing(Reason::PolicyNotReady, why.to_owned()),
            invalid: None,
            labels: policy.metadata.labels.clone(),
            downgrades: None,
            failed: Arc::default(),
        });
    }

    /// Records why an image repository of that name is missing, unless it exists.
    pub(crate) fn add_unclear_repository(&mut self, name: ObjectName, why: &str) {
        self.unclear.entry(name).or_insert_with(|| why.to_owned());
    }

    /// Adds an image repository unless one of that name exists.
    pub fn add_repository(&mut self, repository: &ImageRepository) {
        let kept = self.repositories.entry(repository.name());
        kept.or_insert_with(|| Arc::new(repository.clone()));
    }

    fn know(&self, name: &PolicyName, policy: &ImagePolicy) -> Known {
        let labels = policy.metadata.labels.clone();
        let closed = |reason, message| Known {
            image: ImageState::Closed(reason, message),
            invalid: None,
            labels: labels.clone(),
            downgrades: None,
            failed: Arc::default(),
        };
        let guards = match policy.guards() {
            Ok(guards) => guards,
            Err(e) => return closed(Reason::PolicyNotReady, format!("ImagePolicy {name}: {e}")),
        };
        if let Err(refusal) = guards.check_hold(&self.now) {
            return closed(Reason::Held, format!("ImagePolicy {name} is {refusal}"));
        }
        let suspended = policy.spec.as_ref().is_some_and(|spec| spec.suspend);
        let mut status = Known {
            downgrades: downgrades(policy, &guards),
            failed: Arc::new(guards.failed.clone()),
            ..of_status(name, policy, &guards, &self.now)
        };
        if let ImageState::Nothing(reason, why) = &mut status.image
            && matches!(policy.latest_ref(), Ok(None))
        {
            why.push_str(self.not_asked(suspended));
            if suspended {
                *reason = Reason::Suspended;
            }
        }
        match policy.repository().filter(|_| self.online && !suspended) {
            None => status,
            Some(repository) => Known {
                labels: status.labels.clone(),
                downgrades: status.downgrades.clone(),
                failed: Arc::clone(&status.failed),
                invalid: None,
                image: ImageState::Open(Arc::new(Open {
                    policy: Arc::new(policy.clone()),
                    repository,
                    status,
                })),
            },
        }
    }

    /// The reason why no registry is asked for an image that the status does not have.
    fn not_asked(&self, suspended: bool) -> &'static str {
        match (suspended, self.online) {
            (true, _) => "; it is suspended, so its registry is not asked",
            (false, false) if !self.all => OFFLINE,
            (false, _) => "",
        }
    }

    /// Sets the image of a policy, overriding its status and registries; its labels and windows stay, and so does a
    /// hold, or an unparsable annotation.
    pub fn set(&mut self, name: PolicyName, image: LatestRef) {
        self.promotions.remove(&name);
        let known = self.known.remove(&name);
        if let Some(closed) = known.as_ref().filter(|known| known.is_closed()) {
            self.known.insert(name, closed.clone());
            return;
        }
        self.known.insert(
            name,
            Known {
                image: ImageState::Image(image),
                invalid: None,
                labels: known.map(|known| known.labels).unwrap_or_default(),
                downgrades: None,
                failed: Arc::default(),
            },
        );
    }

    /// Checks that a policy may be written at a time.
    pub(crate) fn check_window(&self, name: &PolicyName, now: &Time) -> Result<(), Closed> {
        let terms = self.find(name).and_then(|(set, _)| set.terms.get(name));
        terms.map_or(Ok(()), |terms| terms.check_window(now))
    }

    /// Whether a run sees a policy: an automation sees those of its own namespace (IUA-002), and those
    /// that allow it to.
    pub(crate) fn is_open_to(&self, namespace: Option<&str>, name: &PolicyName) -> bool {
        self.closed_to(namespace, name).is_none()
    }

    /// The namespace of an automation that may not use this policy; none if it may.
    pub(crate) fn closed_to<'n>(&self, namespace: Option<&'n str>, name: &PolicyName) -> Option<&'n str> {
        let own = namespace.filter(|own| *own != name.namespace)?;
        let terms = self.find(name).and_then(|(set, _)| set.terms.get(name));
        let is_allowed = terms.is_some_and(|terms| terms.allows(own, self.labels.as_deref()));
        (!is_allowed).then_some(own)
    }

    /// A policy and the set that it is in.
    pub(crate) fn find(&self, name: &PolicyName) -> Option<(&Self, &Known)> {
        let within = |set: &'_ Self| set.known.contains_key(name);
        let set = if within(self) { self } else { self.others.as_deref()? };
        Some((set, set.known.get(name)?))
    }

    /// Whether there is a policy of that name.
    #[must_use]
    pub fn knows(&self, name: &PolicyName) -> bool {
        self.find(name).is_some()
    }

    /// The image of a policy, if it has one.
    #[must_use]
    pub fn image(&self, name: &PolicyName) -> Option<&LatestRef> {
        match &self.find(name)?.1.image {
            ImageState::Image(image) => Some(image),
            _ => None,
        }
    }

    /// Returns whether everything needed to find the policy's image is known: the policy, and its repository if a
    /// registry is to be asked.
    #[must_use]
    pub fn is_complete(&self, name: &PolicyName) -> bool {
        match self.known.get(name).map(|known| &known.image) {
            None => self.all,
            Some(ImageState::Open(open)) => self.all || self.repositories.contains_key(&open.repository),
            Some(_) => true,
        }
    }

    /// Returns whether some policy's image is still to be looked up.
    #[must_use]
    pub(crate) fn any_open(&self) -> bool {
        self.known
            .values()
            .any(|known| matches!(known.image, ImageState::Open(_)))
    }

    /// Looks up the images of those policies of `names` that are unresolved and whose labels match.
    #[must_use]
    pub fn resolved(
        self: Arc<Self>,
        names: &BTreeSet<&PolicyName>,
        wants: impl Fn(&BTreeMap<String, String>) -> bool,
        held: &Held<'_>,
        resolver: Option<&dyn Resolve>,
    ) -> Arc<Self> {
        let mut closed: Vec<(PolicyName, Known)> = Vec::new();
        let (mut asked, mut wanted) = (Vec::new(), Vec::new());
        for name in names {
            let Some(known) = self.known.get(*name).filter(|known| wants(&known.labels)) else {
                continue;
            };
            let ImageState::Open(open) = &known.image else { continue };
            match self.repositories.get(&open.repository) {
                Some(repository) if !repository.spec.suspend && resolver.is_some() => {
                    asked.push((*name, known, repository));
                    let status = open.policy.latest_ref().ok().flatten();
                    wanted.push(Wanted {
                        before: status.or_else(|| held.image(name, &repository.spec.image)),
                        policy: Arc::clone(&open.policy),
                        repository: Arc::clone(repository),
                    });
                }
                _ => closed.push(((*name).clone(), self.fallen_back(name, open))),
            }
        }
        if let Some(resolver) = resolver {
            for ((name, known, repository), answer) in asked.into_iter().zip(resolver.resolve(&wanted)) {
                closed.push((name.clone(), known.answered(name, repository, answer)));
            }
        }
        if closed.is_empty() {
            return self;
        }
        let mut policies = (*self).clone();
        policies.known.extend(closed);
        Arc::new(policies)
    }

    /// The status of an unresolved policy, when no registry can be asked.
    fn fallen_back(&self, name: &PolicyName, open: &Open) -> Known {
        let repository = &open.repository;
        let mut known = open.status.clone();
        if let ImageState::Nothing(reason @ Reason::PolicyNotReady, why) = &mut known.image
            && open.policy.status.is_none()
        {
            let unclear = self.unclear.get(repository);
            if self.repositories.contains_key(repository) {
                *reason = Reason::Suspended;
            }
            let because = match (self.repositories.contains_key(repository), unclear) {
                (true, _) => format!("its ImageRepository {repository} is suspended"),
                (false, Some(unclear)) => unclear.clone(),
                (false, None) => format!(
                    "its ImageRepository {repository} is not among the manifests{}, and it has no status.latestRef",
                    self.meant_repository(repository)
                ),
            };
            *why = format!("ImagePolicy {name} has no image: {because}");
        }
        known
    }

    /// The repository that was probably meant by one that is not known.
    fn meant_repository(&self, repository: &ObjectName) -> String {
        let known: Vec<String> = self.repositories.keys().map(ToString::to_string).collect();
        let near = nearest(&repository.to_string(), known.iter().map(String::as_str));
        near.map_or_else(String::new, |near| format!(" (did you mean {near}?)"))
    }

    /// Why no run with this policy may write anything: an error of its image, or of the image in its status when
    /// registries cannot be asked for a newer one.
    pub(crate) fn invalid<'a>(&'a self, known: &'a Known) -> Option<&'a InvalidImage> {
        match &known.image {
            ImageState::Open(open) if !self.repositories.contains_key(&open.repository) => open.status.invalid.as_ref(),
            _ => known.invalid.as_ref(),
        }
    }

    /// What could not be built, in which a policy that is not known may be.
    pub(crate) fn unbuilt(&self) -> Option<&str> {
        self.unbuilt.as_deref()
    }

    /// How one that is not known is given, after a semicolon.
    pub(crate) fn way_out(&self) -> String {
        match self.way_out {
            "" => String::new(),
            way_out => format!("; {way_out}"),
        }
    }

    /// The known name nearest to `name`, if one is near enough to be a suggestion.
    pub(crate) fn meant(&self, name: &PolicyName) -> Option<&PolicyName> {
        let wanted = name.to_string();
        let near = |known: &&PolicyName| distance(&known.to_string(), &wanted);
        // The first by name of equally near ones, so that the suggestion is deterministic.
        let best = self.known.keys().min_by_key(|known| (near(known), *known))?;
        (near(&best) <= 2 || (best.name == name.name && best.namespace != name.namespace)).then_some(best)
    }
}

impl Order {
    fn of(policy: &ImagePolicy) -> Option<Arc<Self>> {
        let spec = policy.spec.as_ref()?;
        Some(Arc::new(Self {
            rule: spec.policy.as_ref()?.into(),
            filter: spec.filter_tags.as_ref().map(FilterSpec::from),
        }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::policy::view::View;
    use bumpwright_edit::{Images, Verdict};

    fn image(tag: &str) -> LatestRef {
        LatestRef {
            name: "ghcr.io/o/app".into(),
            tag: tag.into(),
            digest: None,
        }
    }

    fn policy(annotations: &str, spec: &str) -> ImagePolicy {
        let text = format!(
            "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\n\
             metadata: {{name: app, namespace: fs, annotations: {{{annotations}}}}}\n\
             spec: {{imageRepositoryRef: {{name: app}}, policy: {{semver: {{range: '*'}}}}{spec}}}\n"
        );
        let mut objects = bumpwright_api::Objects::default();
        objects
            .insert_all(bumpwright_api::read("p.yaml", text.as_bytes(), bumpwright_api::UnknownFields::Refuse).unwrap())
            .unwrap();
        objects.image_policies().next().unwrap().clone()
    }

    /// What a run without a registry says of the policy `fs/app`.
    fn closed(annotations: &str, spec: &str, online: bool, set: bool) -> Option<(Reason, String)> {
        let mut policies = Policies::new(Time::unix(0, 0), online);
        policies.add(&policy(annotations, spec));
        if set {
            policies.set(PolicyName::new("fs", "app"), image("1.0.0"));
        }
        let view = View {
            policies: &policies,
            namespace: None,
            selector: None,
        };
        match view.verdict(&PolicyName::new("fs", "app")) {
            Verdict::Skip(reason, message) => Some((reason, message)),
            Verdict::Image(_) => None,
        }
    }

    #[test]
    fn what_may_be_a_hold_stays_when_an_image_is_set() {
        let reason = |annotations| closed(annotations, "", true, true).map(|(reason, _)| reason);
        assert_eq!(reason("bumpwright.dev/hold: freeze"), Some(Reason::Held));
        assert_eq!(
            reason("bumpwright.dev/hold-until: friday"),
            Some(Reason::PolicyNotReady)
        );
        assert_eq!(reason("bumpwright.dev/minimum-age: 3d"), Some(Reason::PolicyNotReady));
        assert_eq!(reason("bumpwright.dev/minimum-age: 72h"), None);
        assert_eq!(reason("bumpwright.dev/promote-from: Kustomization/fs/staging"), None);
        assert_eq!(
            reason("bumpwright.dev/promote-from: staging"),
            Some(Reason::PolicyNotReady)
        );
        assert_eq!(reason(""), None);
    }

    #[test]
    fn a_policy_without_image_says_why_nobody_is_asked() {
        let message = |spec, online| closed("", spec, online, false).unwrap().1;
        assert!(message(", suspend: true", true).ends_with("; it is suspended, so its registry is not asked"));
        assert!(message("", false).ends_with("; offline, its registry is not asked"));
    }
}
