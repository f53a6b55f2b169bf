//! What is new in charts and images, for the page of a request.

use std::collections::BTreeSet;

use super::images::step;
use super::words::cut;
use super::{ChartChange, Review};
use bumpwright_api::ObjectName;
use bumpwright_pages::request::News;
use bumpwright_update::{ChangedWorkload, ImageRelease};

/// The most charts and images with what is new in them.
pub(super) const NEWS: usize = 60;

/// Charts come first: what is known of images was asked for.
pub(super) fn news(review: &Review) -> Vec<News> {
    let charts = review.charts.iter().map(of_chart);
    let releases = review.releases.releases.iter();
    let images = releases.map(|release| of_image(release, &review.impact.workloads));
    charts.chain(images).take(NEWS).collect()
}

fn of_chart(chart: &ChartChange) -> News {
    let name = |title: &String| {
        let (namespace, name) = title.strip_prefix("HelmRelease ")?.split_once('/')?;
        Some(ObjectName::new(namespace, name))
    };
    News {
        title: cut(&format!("chart {}", chart.title())),
        kind: "HelmRelease",
        names: chart.releases.iter().filter_map(name).collect(),
        links: Vec::new(),
        lines: chart.lines().iter().map(|line| cut(line)).collect(),
    }
}

fn of_image(release: &ImageRelease, workloads: &[ChangedWorkload]) -> News {
    let has_image = |workload: &&ChangedWorkload| {
        let steps = workload.images.iter().filter_map(|image| step(&image.old, &image.new));
        let mut steps = steps.map(|step| step.unknown());
        steps.any(|one| {
            (one.image, one.old, one.new) == (release.image.clone(), release.old.clone(), release.new.clone())
        })
    };
    let of = workloads
        .iter()
        .filter(has_image)
        .map(|workload| &workload.kustomization);
    let of = of.filter(|name| !name.namespace.is_empty());
    let names: BTreeSet<ObjectName> = of
        .map(|name| ObjectName::new(name.namespace.as_str(), name.name.as_str()))
        .collect();
    let title = if release.title.is_empty() {
        "release"
    } else {
        release.title.as_str()
    };
    let links = [(title, &release.release), ("changes", &release.compare)];
    let links = links
        .into_iter()
        .filter_map(|(words, url)| Some((words.to_owned(), url.clone()?)));
    News {
        title: cut(&format!("image {}", release.step())),
        kind: "Kustomization",
        names: names.into_iter().collect(),
        links: links.collect(),
        lines: release.text.clone(),
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;
    use bumpwright_update::{ContainerImage, KustomizationName};

    #[test]
    fn an_image_is_of_the_kustomizations_whose_workloads_have_it() {
        let workload = |namespace: &str, new: &str| ChangedWorkload {
            kustomization: KustomizationName {
                namespace: namespace.to_owned(),
                name: "apps".to_owned(),
                ..KustomizationName::default()
            },
            images: vec![ContainerImage {
                container: "web".to_owned(),
                old: "ghcr.io/acme/web:1.0.0".to_owned(),
                new: new.to_owned(),
            }],
            ..ChangedWorkload::default()
        };
        let release = ImageRelease {
            image: "ghcr.io/acme/web".to_owned(),
            old: Some("1.0.0".to_owned()),
            new: "1.1.0".to_owned(),
            ..ImageRelease::default()
        };
        let release = release.released(
            "https://github.com/acme/web/releases/tag/1.1.0",
            "Faster",
            "- quicker\n",
        );
        let workloads = [
            workload("a", "ghcr.io/acme/web:1.1.0"),
            workload("a", "ghcr.io/acme/web:1.1.0"),
            workload("b", "ghcr.io/acme/web:1.2.0"),
            workload("", "ghcr.io/acme/web:1.1.0"),
        ];
        let news = of_image(&release, &workloads);
        assert_eq!(news.names, [ObjectName::new("a", "apps")]);
        assert_eq!(news.title, "image ghcr.io/acme/web: 1.0.0 → 1.1.0");
        assert_eq!(news.links[0].0, "Faster");
        assert_eq!(news.lines, ["- quicker"]);
    }
}
