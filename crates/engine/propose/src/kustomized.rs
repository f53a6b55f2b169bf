//! Which kustomizations build a file, and whose `images` set what it holds.

use std::collections::{BTreeMap, BTreeSet};

use bumpwright_adopt::{Files, join, parent};
use bumpwright_api::tree::Node;

/// The names of a kustomization's file.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// How many builders are above a file at most, so that their chains end; of real files there are a hundred.
const MOST_BUILDERS: usize = 1000;

/// What builds others: a kustomization, or a Kustomization of Flux.
#[derive(Debug, Default)]
struct Builder {
    /// Its file, as it was named.
    name: String,
    /// The images whose tag or digest it sets.
    sets: BTreeSet<String>,
    /// The images that it gives another name, and no tag.
    renames: BTreeMap<String, String>,
    /// What it is built by: numbers of builders.
    by: Vec<usize>,
    /// Its components, which count for all that it builds.
    components: Vec<usize>,
}

/// The builders of the files.
#[derive(Debug, Default)]
pub(crate) struct Builders {
    all: Vec<Builder>,
    /// By file: the builders that read it.
    of_file: BTreeMap<usize, Vec<usize>>,
    /// By file of a kustomization: its builder.
    own: BTreeMap<usize, usize>,
}

impl Builders {
    pub(crate) fn of(files: &Files<'_>) -> Self {
        let mut builders = Self::default();
        let paths: BTreeMap<(usize, &str), usize> = files
            .parsed
            .iter()
            .enumerate()
            .map(|(n, file)| ((file.source.root, file.source.path.as_str()), n))
            .collect();
        for (n, file) in files.parsed.iter().enumerate() {
            let is_one = file
                .source
                .path
                .rsplit('/')
                .next()
                .is_some_and(|name| NAMES.contains(&name));
            if let Some(root) = file.documents.first().filter(|_| is_one) {
                builders.all.push(Builder::of(&file.source.name, Some(root)));
                builders.own.insert(n, builders.all.len() - 1);
            }
        }
        builders.connect(files, &paths);
        builders.connect_flux(files, &paths);
        builders
    }

    /// What each kustomization reads.
    fn connect(&mut self, files: &Files<'_>, paths: &BTreeMap<(usize, &str), usize>) {
        let own: Vec<(usize, usize)> = self.own.iter().map(|(file, builder)| (*file, *builder)).collect();
        for (n, builder) in own {
            let Some(file) = files.parsed.get(n) else { continue };
            let Some(root) = file.documents.first() else { continue };
            let folder = parent(&file.source.path);
            for key in ["resources", "bases", "components"] {
                for entry in root.items_of(key) {
                    let Some(text) = entry.text() else { continue };
                    let path = join(folder, text);
                    let found = paths.get(&(file.source.root, path.as_str())).copied();
                    let found = found.or_else(|| kustomization(paths, file.source.root, &path));
                    let Some(found) = found else { continue };
                    self.read(found, builder);
                    let component = self.own.get(&found).copied().filter(|_| key == "components");
                    if let Some(one) = self.all.get_mut(builder) {
                        one.components.extend(component);
                    }
                }
            }
        }
    }

    /// Kustomizations of Flux, with the images that they set, and what is at their path.
    fn connect_flux(&mut self, files: &Files<'_>, paths: &BTreeMap<(usize, &str), usize>) {
        for (n, node) in files.objects() {
            let version = node.text_of("apiVersion");
            let is_one =
                version.starts_with("kustomize.toolkit.fluxcd.io/") && node.field_text("kind") == Some("Kustomization");
            let (Some(file), Some(spec)) = (files.parsed.get(n), node.field("spec").filter(|_| is_one)) else {
                continue;
            };
            let Some(path) = spec.field_text("path").map(|path| join("", path)) else {
                continue;
            };
            let root = file.source.root;
            let read: Vec<usize> = match kustomization(paths, root, &path) {
                Some(found) => vec![found],
                // All of the folder, but what is in kustomizations.
                None => paths
                    .iter()
                    .filter(|((own, name), n)| *own == root && is_within(name, &path) && !self.of_file.contains_key(n))
                    .map(|(_, n)| *n)
                    .collect(),
            };
            if !read.is_empty() {
                self.all.push(Builder::of(&file.source.name, Some(spec)));
                let builder = self.all.len() - 1;
                read.into_iter().for_each(|found| self.read(found, builder));
            }
        }
    }

    fn read(&mut self, file: usize, builder: usize) {
        match self.own.get(&file).copied() {
            Some(base) if base == builder => {}
            Some(base) => {
                if let Some(base) = self.all.get_mut(base) {
                    base.by.push(builder);
                }
            }
            None => self.of_file.entry(file).or_default().push(builder),
        }
    }

    /// Who sets the image of a file, if whatever builds the file does so; else its own field counts for somebody.
    pub(crate) fn set_by(&self, file: usize, image: &str) -> Option<BTreeSet<&str>> {
        let own = self.own.get(&file).copied();
        let by = match own {
            Some(own) => &self.all.get(own)?.by,
            None => self.of_file.get(&file)?,
        };
        let (mut names, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let all_set = self.set_above((own, by), image, &mut seen, &mut names);
        (all_set && !names.is_empty()).then_some(names)
    }

    /// Whether all of these set the image, or what builds them does; `from` is what they build. Each is read once.
    fn set_above<'b>(
        &'b self,
        (from, by): (Option<usize>, &'b [usize]),
        image: &str,
        seen: &mut BTreeSet<(usize, String)>,
        names: &mut BTreeSet<&'b str>,
    ) -> bool {
        !by.is_empty()
            && seen.len() <= MOST_BUILDERS
            && by.iter().all(|n| {
                if !seen.insert((*n, image.to_owned())) {
                    return true;
                }
                let Some(builder) = self.all.get(*n) else { return false };
                if let Some(name) = self.setter(*n, image, from) {
                    names.insert(name);
                    return true;
                }
                let image = builder.renames.get(image).map_or(image, String::as_str);
                self.set_above((Some(*n), &builder.by), image, seen, names)
            })
    }

    /// Whether it sets the image, or a component of it, but the one that the image comes from.
    fn setter(&self, n: usize, image: &str, from: Option<usize>) -> Option<&str> {
        let (mut open, mut seen) = (vec![n], BTreeSet::new());
        while let Some(n) = open.pop() {
            let Some(builder) = self.all.get(n).filter(|_| seen.insert(n)) else {
                continue;
            };
            if builder.sets.contains(image) {
                return Some(&builder.name);
            }
            open.extend(builder.components.iter().filter(|component| Some(**component) != from));
        }
        None
    }
}

impl Builder {
    fn of(name: &str, root: Option<&Node>) -> Self {
        let mut builder = Self {
            name: name.to_owned(),
            ..Self::default()
        };
        for entry in root.into_iter().flat_map(|root| root.items_of("images")) {
            let text = |key: &str| entry.field_text(key).filter(|text| !text.is_empty());
            let Some(name) = text("name") else { continue };
            match (text("newTag").or(text("digest")), text("newName")) {
                (Some(_), _) => {
                    builder.sets.insert(name.to_owned());
                }
                (None, Some(new)) => {
                    builder.renames.insert(name.to_owned(), new.to_owned());
                }
                (None, None) => {}
            }
        }
        builder
    }
}

fn kustomization(paths: &BTreeMap<(usize, &str), usize>, root: usize, folder: &str) -> Option<usize> {
    NAMES
        .iter()
        .find_map(|name| paths.get(&(root, join(folder, name).as_str())).copied())
}

fn is_within(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
