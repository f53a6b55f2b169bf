//! A trace for people: a section for each step, as `flux trace` has them.

use std::fmt::Write as _;

use anstyle::Style;

use super::subject::Subject;
use crate::cli::view::text::{BAD, BOLD, DIM, GOOD, WARN, age, of_stage, short};
use crate::cli::words;
use bumpwright_overview::{Automation, Kustomization, PutBack, Readiness, Release, Source, State, Trace, TracedImage};
use bumpwright_text::Excerpt;

/// The width of names of fields.
const NAMES: usize = 16;

/// The most automations, and the most policies, that are shown: a repository may have hundreds.
const SHOWN: usize = 8;

/// The text of all traces. Colours are always included: the output stream removes them.
pub(super) fn render(subject: &Subject, releases: &[Release], traces: &[Trace], now: i64) -> String {
    let mut text = Text {
        out: String::new(),
        now,
    };
    text.subject(subject, traces);
    releases.iter().for_each(|release| text.release(release));
    for trace in traces {
        text.kustomization(trace);
        if let Some(source) = &trace.source {
            text.source(source);
        }
        trace
            .automations
            .iter()
            .take(SHOWN)
            .for_each(|one| text.automation(one));
        text.more(trace.automations.len(), "automations");
        trace.images.iter().take(SHOWN).for_each(|one| text.image(one));
        text.more(trace.images.len(), "policies");
    }
    text.out
}

struct Text {
    out: String,
    now: i64,
}

impl Text {
    fn subject(&mut self, subject: &Subject, traces: &[Trace]) {
        let mut chain = subject.chain.iter();
        if let Some(object) = chain.next() {
            self.field("Object", object);
        }
        chain.for_each(|owner| self.field("Owned by", owner));
        for image in subject.images.iter().flatten() {
            self.field("Image", image);
        }
        let is_installed = match (subject.releases.as_slice(), subject.chain.last()) {
            ([one], Some(last)) => one.to_string() != *last,
            (releases, _) => !releases.is_empty(),
        };
        match (is_installed, traces.is_empty()) {
            (false, true) => self.styled("Status", "no Kustomization has applied it", WARN),
            (false, false) => self.field("Status", "applied by a Kustomization"),
            (true, true) => self.styled(
                "Status",
                "installed by a HelmRelease, which no Kustomization has applied",
                WARN,
            ),
            (true, false) => self.field(
                "Status",
                "installed by a HelmRelease, which a Kustomization has applied",
            ),
        }
    }

    fn release(&mut self, release: &Release) {
        self.section("HelmRelease", &release.id.name.to_string());
        if release.elsewhere {
            self.field("Cluster", "another one (spec.kubeConfig)");
        }
        self.field("Chart", format!("{} {}", release.chart, release.version).trim());
        self.field("Version range", &release.range);
        self.field("Chart source", &release.source.to_string());
        self.field("Source has", &release.available);
        self.field(
            "Helm release",
            &format!("{}/{}", release.namespace, release.release_name),
        );
        let failures = match release.failures {
            0 => String::new(),
            failures => format!(", {failures} failed"),
        };
        if !release.attempted.is_empty() {
            let (action, version) = (&release.attempted_action, &release.attempted);
            self.field("Last attempt", format!("{action} {version}{failures}").trim());
        }
        for one in release.history.iter().take(SHOWN) {
            let release = format!(
                "{} {} {} {}",
                one.revision,
                one.status,
                one.chart,
                ago(self.now, one.last)
            );
            self.field("History", release.trim_end());
        }
        self.readiness(&release.readiness);
    }

    fn kustomization(&mut self, trace: &Trace) {
        let Kustomization { id, path, applied, .. } = &trace.kustomization;
        self.section("Kustomization", &id.name.to_string());
        for owner in &trace.owners {
            self.field("Applied by", &owner.to_string());
        }
        if trace.kustomization.elsewhere {
            self.field("Cluster", "another one (spec.kubeConfig)");
        }
        self.field("Path", path);
        self.field("Revision", applied);
        if !trace.kustomization.is_up_to_date() {
            self.styled("Not yet", &trace.kustomization.available, WARN);
        }
        self.readiness(&trace.kustomization.readiness);
    }

    fn source(&mut self, source: &Source) {
        self.section(&source.id.kind, &source.id.name.to_string());
        self.field("URL", &source.url);
        self.field("Reference", &source.reference);
        self.field("Revision", &source.revision);
        if let Some(link) = &source.link {
            self.field("Link", link);
        }
        self.readiness(&source.readiness);
    }

    fn automation(&mut self, automation: &Automation) {
        self.section("Automation", &automation.id.name.to_string());
        self.field("Path", &automation.path);
        self.field("Last run", &ago(self.now, automation.ran));
        if let Some(pushed) = &automation.pushed {
            let text = format!("{} {}", short(&pushed.commit), ago(self.now, pushed.at));
            self.field("Last commit", &text);
            if let Some(link) = &pushed.link {
                self.field("Link", link);
            }
        }
        if let Some(PutBack { pushed, images }) = &automation.put_back {
            let text = format!("{} {}", short(&pushed.commit), ago(self.now, pushed.at));
            self.styled(
                "Put back",
                &format!("{}: took back {}", text.trim_end(), images.join(", ")),
                WARN,
            );
            if let Some(link) = &pushed.link {
                self.field("Link", link);
            }
        }
        self.readiness(&automation.readiness);
    }

    fn image(&mut self, image: &TracedImage) {
        self.section("Policy", &image.policy.name.to_string());
        self.field("Image", &image.image);
        self.styled("Stage", image.stage.words(), of_stage(image.stage));
        self.field("Why", &image.why);
        if !image.is_known {
            self.styled("Note", "whether the object has this image is not known", DIM);
        }
    }

    fn readiness(&mut self, readiness: &Readiness) {
        let colour = match readiness.state {
            State::Ready => GOOD,
            State::Stalled | State::Failed => BAD,
            State::Deleting | State::Progressing | State::Unknown => WARN,
        };
        let suspended = if readiness.suspended { "suspended, " } else { "" };
        let since = match age(self.now, readiness.since).as_str() {
            "" => String::new(),
            age => format!(" for {age}"),
        };
        self.styled(
            "Status",
            &format!("{suspended}{}{since}", readiness.state.word()),
            colour,
        );
        self.field("Message", readiness.message.first_line());
        // Fields that an automation left out, each with its place.
        let skips = readiness.message.lines().skip(1).filter(|line| !line.trim().is_empty());
        let more = skips.clone().count().saturating_sub(SHOWN);
        skips.take(SHOWN).for_each(|skip| self.field("Left out", skip));
        if more > 0 {
            self.field("Left out", &format!("and {more} more"));
        }
    }

    fn more(&mut self, all: usize, what: &str) {
        if let Some(more @ 1..) = all.checked_sub(SHOWN) {
            let _ = writeln!(self.out, "{DIM}---{DIM:#}\n{DIM}and {more} more {what}: -o json{DIM:#}");
        }
    }

    fn section(&mut self, kind: &str, name: &str) {
        let _ = writeln!(self.out, "{DIM}---{DIM:#}");
        self.styled(kind, name, BOLD);
    }

    fn field(&mut self, name: &str, value: &str) {
        self.styled(name, value, Style::new());
    }

    /// What is empty is left out.
    fn styled(&mut self, name: &str, value: &str, style: Style) {
        if !value.is_empty() {
            let (name, value) = (format!("{name}:"), words::inline(value));
            let _ = writeln!(self.out, "{name:NAMES$} {style}{value}{style:#}");
        }
    }
}

fn ago(now: i64, at: Option<i64>) -> String {
    match age(now, at).as_str() {
        "" => String::new(),
        age => format!("{age} ago"),
    }
}
