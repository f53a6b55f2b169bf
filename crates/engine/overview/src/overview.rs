//! All of it at once.

use serde::Serialize;

use super::attention::Attention;
use super::automations::Automation;
use super::changes::Change;
use super::image::images::{Image, Stage};
use super::kustomizations::Kustomization;
use super::readiness::{Readiness, State};
use super::releases::Release;
use super::sources::Source;
use super::world::{AUTOMATION, KUSTOMIZATION, POLICY, RELEASE, REPOSITORY, World};

/// What both views show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// How many there are of each.
    pub counts: Counts,
    /// What needs attention, the most urgent first.
    pub attention: Vec<Attention>,
    /// The images, by policy.
    pub images: Vec<Image>,
    pub automations: Vec<Automation>,
    pub kustomizations: Vec<Kustomization>,
    pub releases: Vec<Release>,
    pub sources: Vec<Source>,
    /// What changed, the latest first.
    pub changes: Vec<Change>,
}

/// How many there are of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub sources: Tally,
    pub repositories: Tally,
    pub policies: Tally,
    pub automations: Tally,
    pub kustomizations: Tally,
    pub releases: Tally,
    /// Images that are behind.
    pub behind: usize,
    /// Images on their way.
    pub on_the_way: usize,
    /// Images that are held.
    pub held: usize,
    /// Images that run.
    pub current: usize,
}

/// Objects of one sort by how they stand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    pub all: usize,
    /// Those that are ready.
    pub ready: usize,
    /// Those that failed or are stalled.
    pub failed: usize,
    /// Those that are suspended.
    pub suspended: usize,
}

impl Tally {
    fn add(&mut self, readiness: &Readiness) {
        self.all += 1;
        self.ready += usize::from(readiness.state == State::Ready);
        self.failed += usize::from(readiness.state.is_broken());
        self.suspended += usize::from(readiness.suspended);
    }
}

impl World {
    /// What both views show.
    #[must_use]
    pub fn overview(&self) -> Overview {
        let (images, automations) = (self.images(), self.automations());
        Overview {
            counts: self.counts(&images, |_| true),
            attention: self.attention_with(&automations),
            automations,
            kustomizations: self.kustomizations(),
            releases: self.helm_releases(),
            sources: self.sources(),
            changes: self.changes(),
            images,
        }
    }

    /// How many there are of each in the namespaces that count.
    #[must_use]
    pub fn counts(&self, images: &[Image], counts_in: impl Fn(&str) -> bool) -> Counts {
        let mut counts = Counts::default();
        for (id, readiness) in self.all().filter(|(id, _)| counts_in(&id.name.namespace)) {
            let tally = match id.kind.as_str() {
                REPOSITORY => &mut counts.repositories,
                POLICY => &mut counts.policies,
                AUTOMATION => &mut counts.automations,
                KUSTOMIZATION => &mut counts.kustomizations,
                RELEASE => &mut counts.releases,
                _ => &mut counts.sources,
            };
            tally.add(&readiness);
        }
        for image in images {
            match image.stage {
                Stage::Behind => counts.behind += 1,
                Stage::OnTheWay => counts.on_the_way += 1,
                Stage::Held => counts.held += 1,
                Stage::Current => counts.current += 1,
                Stage::Unused | Stage::Unknown => {}
            }
        }
        counts
    }
}
