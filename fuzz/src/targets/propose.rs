//! Files and tags, as `init` makes policies and markers of them.

use std::collections::BTreeMap;
use std::ops::Range;

use bumpwright_adopt::{Files, SourceFile};
use bumpwright_api::{ImagePolicy, Object, UnknownFields, read, tree};
use bumpwright_edit::{FileKind, scan};
use bumpwright_propose::{Answers, Options, Proposal, Rendered, propose, survey};

const PATHS: [&str; 3] = ["app.yaml", "web/Chart.yaml", "web/kustomization.yaml"];

/// The tags of every image, then up to three files.
pub fn check(input: &[u8]) {
    let (tags, files) = super::halves(input);
    let Ok(tags) = std::str::from_utf8(tags) else { return };
    let files: Vec<SourceFile> = PATHS
        .into_iter()
        .zip(super::parts(files))
        .map(|(path, bytes)| source(path, bytes.to_vec()))
        .collect();
    let proposal = proposed(&files, tags);
    sound(&files, &proposal);
    // What was proposed is there: nothing more is to be.
    let mut after = files.clone();
    for (file, marking) in &proposal.edited {
        after[*file].bytes = marking.new.clone().expect("it has markers");
    }
    after.push(source("new.yaml", proposal.manifests.clone().into_bytes()));
    let again = proposed(&after, tags);
    assert!(
        again.objects.is_empty() || again.edited.is_empty(),
        "twice:\n{}",
        again.manifests
    );
}

fn source(path: &str, bytes: Vec<u8>) -> SourceFile {
    SourceFile {
        name: path.to_owned(),
        root: 0,
        path: path.to_owned(),
        bytes,
    }
}

fn sites(text: &[u8]) -> Vec<Range<usize>> {
    let sites = scan(FileKind::Yaml, text).sites;
    sites.into_iter().map(|site| site.span).collect()
}

/// A proposal; the policies in it choose what they are said to.
fn proposed(sources: &[SourceFile], tags: &str) -> Proposal {
    let files = Files::read(sources);
    let marked: Vec<Vec<Range<usize>>> = sources.iter().map(|source| sites(&source.bytes)).collect();
    let survey = survey(&files, &marked, &[], &Rendered::default());
    let answers = survey.images.iter().map(|(listing, uses)| {
        let own = uses.iter().map(|one| one.tag.as_str());
        let mut tags: Vec<String> = tags.split_whitespace().chain(own).map(str::to_owned).collect();
        tags.sort_unstable_by(|one, other| other.cmp(one));
        tags.dedup();
        (listing.clone(), Ok(tags))
    });
    let answers: Answers = answers.collect();
    let options = Options {
        namespace: "flux-system".to_owned(),
        author: ("Bot".to_owned(), "bot@example.com".to_owned()),
        ..Options::default()
    };
    let proposal = propose(&files, &survey, &answers, &options);
    let policies = policies(&proposal);
    for told in proposal.policies.iter().filter(|told| !told.is_known) {
        let policy = policies.get(&told.name.name).expect("it is among the objects");
        let chooser = policy.chooser().expect("it is valid");
        let tags = answers[&told.listing].as_ref().expect("there was an answer");
        assert_eq!(
            chooser.latest(tags).expect("it chooses"),
            told.chosen,
            "{}",
            proposal.manifests
        );
        for current in &told.current {
            let order = chooser.compare(&told.chosen, current);
            assert!(
                order.is_some_and(|order| order.is_ge()),
                "older than {current}: {}",
                told.chosen
            );
        }
    }
    proposal
}

/// The policies that are made, by their names.
fn policies(proposal: &Proposal) -> BTreeMap<String, ImagePolicy> {
    if proposal.manifests.is_empty() {
        return BTreeMap::new();
    }
    let documents = read("new.yaml", proposal.manifests.as_bytes(), UnknownFields::Refuse);
    let documents = documents.unwrap_or_else(|error| panic!("{error}\n{}", proposal.manifests));
    assert_eq!(documents.len(), proposal.objects.len());
    let policies = documents.into_iter().filter_map(|document| match document.object {
        Object::ImagePolicy(policy) => Some((policy.metadata.name.clone(), policy)),
        _ => None,
    });
    policies.collect()
}

/// The files parse, and have the markers that are told and nothing else that is new.
fn sound(files: &[SourceFile], proposal: &Proposal) {
    for (file, marking) in &proposal.edited {
        let old = &files[*file].bytes;
        let new = marking.new.as_ref().expect("it has markers");
        let text = std::str::from_utf8(new).expect("it was UTF-8");
        assert!(
            tree::parse_as_written(text).is_ok(),
            "it does not parse any more:\n{text}"
        );
        assert_eq!(
            sites(new).len(),
            sites(old).len() + marking.changed.len(),
            "markers:\n{text}"
        );
    }
}
