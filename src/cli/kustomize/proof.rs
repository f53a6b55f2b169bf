//! Whether a rewritten kustomization builds what it built before; a field with which it does not stays as it was.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::cli::error::CliError;
use crate::cli::words;
use bumpwright_budget::{BUILD_MEMORY, Memory, SINGLE};
use bumpwright_build::DiskTree;
use bumpwright_kustomize::kustomization::NAMES;
use bumpwright_kustomize::tree::path::parent;
use bumpwright_kustomize::tree::{LoadRestrictions, ResolvedPath, Sealed, Tree, TreeError};
use bumpwright_kustomize::{Options, build};
use bumpwright_migrate::kustomize::{Deprecated, changes_metadata, deprecated, fix};

/// A file with its deprecated fields rewritten, as far as the builds stay the same.
pub(super) struct Fixed {
    /// The new text; none when nothing changes.
    pub(super) text: Option<String>,
    /// The fields that stay, each with its place and why.
    pub(super) kept: Vec<String>,
    /// Why it is not known whether the builds stay the same, if it is not.
    pub(super) unproven: Option<String>,
}

/// Fields that kustomize reads as what they become.
const RENAMED: [&str; 3] = ["imageTags", "bases", "env"];

/// What a folder builds to: the objects, or why it fails.
type Output = Result<Vec<(String, String)>, CliError>;

/// Rewrites a file but for some of its fields.
type Fixing<'f> = dyn Fn(&[&str]) -> Result<Option<String>, CliError> + 'f;

/// Builds folders before and after changes. Nothing is fetched, and no program runs.
pub(super) struct Prover {
    /// The folders of all kustomizations that were found.
    folders: Vec<String>,
    /// The changes so far, by the real paths of files.
    changed: BTreeMap<String, Vec<u8>>,
    /// What folders built before all changes, and the files that they read.
    before: BTreeMap<String, (Output, BTreeSet<String>)>,
}

impl Prover {
    pub(super) fn new<'p>(files: impl Iterator<Item = &'p Path>) -> Self {
        let folders = files.filter_map(|file| real(file.parent()?));
        Self {
            folders: folders.collect(),
            changed: BTreeMap::new(),
            before: BTreeMap::new(),
        }
    }

    /// Rewrites a file.
    ///
    /// # Errors
    /// It cannot be rewritten; what to add to its path.
    pub(super) fn fix(&mut self, path: &Path, text: &str) -> Result<Fixed, CliError> {
        let folder = path.parent().unwrap_or(Path::new(""));
        // What spans lines is not a path.
        let is_file = |name: &str| !name.contains('\n') && folder.join(name).is_file();
        let fixed = |kept: &[&str]| fix(text, &is_file, kept).map_err(|refused| CliError::new(format!(":{refused}")));
        let Some(whole) = fixed(&[])? else {
            return Ok(Fixed {
                text: None,
                kept: Vec::new(),
                unproven: None,
            });
        };
        let fields = deprecated(text).map_err(|refused| CliError::new(format!(":{refused}")))?;
        if fields.iter().all(|field| RENAMED.contains(&field.field)) {
            return Ok(Fixed {
                text: Some(whole),
                kept: Vec::new(),
                unproven: None,
            });
        }
        let Some(file) = real(path) else {
            return Err(CliError::new(": its name is not UTF-8"));
        };
        let users = self.users(&file);
        if users.is_empty() {
            let why = self.failure(&file);
            return unproven(text, &fields, why, &fixed);
        }
        let mut unchanged: Vec<(&Deprecated, String)> = Vec::new();
        let mut new = Some(whole);
        if let Some(difference) = self.difference(&file, new.as_deref().unwrap_or(text), &users) {
            // Each field by itself, on top of those that are rewritten already.
            let mut wanted: Vec<&Deprecated> = Vec::new();
            for field in &fields {
                wanted.push(field);
                let tried = fixed(&without(&fields, &wanted))?;
                if let Some(why) = self.difference(&file, tried.as_deref().unwrap_or(text), &users) {
                    wanted.pop();
                    unchanged.push((field, why));
                }
            }
            new = fixed(&without(&fields, &wanted))?;
            let is_same = self.difference(&file, new.as_deref().unwrap_or(text), &users).is_none();
            if !is_same {
                return Err(CliError::new(format!(": rewritten, {difference}")));
            }
        }
        if let Some(new) = &new {
            self.changed.insert(file, new.clone().into_bytes());
        }
        let unchanged = unchanged.into_iter().map(|(field, why)| told(field, &why));
        Ok(Fixed {
            text: new,
            kept: unchanged.collect(),
            unproven: None,
        })
    }

    /// The folders whose builds say whether a file may be changed: its own, or where that is not a build, such as a
    /// component, those that read it.
    fn users(&mut self, file: &str) -> Vec<String> {
        let own = parent(file).to_owned();
        // A component, and what only changes the objects of others, has no objects by itself.
        let shows = |output: &Output| output.as_ref().is_ok_and(|objects| !objects.is_empty());
        if shows(&self.built(&own).0) {
            return vec![own];
        }
        let folders = self.folders.clone();
        let is_user = |folder: &String| {
            let (output, read) = self.built(folder);
            shows(output) && read.contains(file)
        };
        folders.into_iter().filter(is_user).collect()
    }

    /// Why the folder of a file does not build.
    fn failure(&mut self, file: &str) -> String {
        let output = &self.built(parent(file)).0;
        match output {
            Ok(_) => "there are no objects in it".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    fn built(&mut self, folder: &str) -> &(Output, BTreeSet<String>) {
        self.before.entry(folder.to_owned()).or_insert_with(|| {
            let none = BTreeMap::new();
            let tree = Patched::new(&none, None);
            let output = output(&tree, folder);
            (output, tree.read.into_inner())
        })
    }

    /// What would be different with another text of a file; none when nothing is.
    fn difference(&mut self, file: &str, text: &str, users: &[String]) -> Option<String> {
        users.iter().find_map(|folder| {
            let tree = Patched::new(&self.changed, Some((file, text.as_bytes())));
            let after = output(&tree, folder);
            let before = &self.before.get(folder)?.0;
            difference(before, &after)
        })
    }
}

/// The fields that are not among those.
fn without(fields: &[Deprecated], wanted: &[&Deprecated]) -> Vec<&'static str> {
    let fields = fields.iter().filter(|field| !wanted.contains(field));
    fields.map(|field| field.field).collect()
}

/// `:1:1: patchesJson6902 stays as it is: …`.
fn told(field: &Deprecated, why: &str) -> String {
    let place = field.place;
    format!(
        "{}:{}: {} stays as it is: rewritten, {why}",
        place.line, place.column, field.field
    )
}

/// A file that nothing here builds: only what may change nothing is rewritten.
fn unproven(text: &str, fields: &[Deprecated], why: String, fixed: &Fixing<'_>) -> Result<Fixed, CliError> {
    let is_risky = changes_metadata(text).map_err(|refused| CliError::new(format!(":{refused}")))?;
    let json_patches: Vec<&Deprecated> = fields
        .iter()
        .filter(|field| is_risky && field.field == "patchesJson6902")
        .collect();
    let names: Vec<&str> = json_patches.iter().map(|field| field.field).collect();
    let reason = "it would be applied before names, namespaces and labels are set, and not after, and no build here shows whether \
                  that matters";
    let describe = |field: &&Deprecated| {
        let place = field.place;
        format!(
            "{}:{}: {} stays as it is: {reason}",
            place.line, place.column, field.field
        )
    };
    Ok(Fixed {
        text: fixed(&names)?,
        kept: json_patches.iter().map(describe).collect(),
        unproven: Some(why),
    })
}

/// The first difference between two builds, in words that follow "rewritten, ".
fn difference(before: &Output, after: &Output) -> Option<String> {
    let (before, after) = match (before, after) {
        (Ok(before), Ok(after)) => (before, after),
        (Ok(_), Err(error)) => return Some(format!("the build would fail: {error}")),
        (Err(_), _) => return None,
    };
    let pairs = before.iter().zip(after);
    let first = pairs.into_iter().find(|(before, after)| before != after);
    match first {
        Some(((before, _), (after, _))) if before == after => Some(format!("{before} would be another one")),
        Some(((before, _), (after, _))) => Some(format!("the build would have {after} in the place of {before}")),
        None if before.len() == after.len() => None,
        None => Some(format!(
            "the build would have {} and not {} objects",
            after.len(),
            before.len()
        )),
    }
}

fn output(tree: &Patched<'_>, folder: &str) -> Output {
    let options = Options {
        restrictions: LoadRestrictions::None,
        shown_from: std::env::current_dir().ok().and_then(|here| real(&here)),
        memory: Some(Memory::single(SINGLE, BUILD_MEMORY).of("")),
        ..Options::default()
    };
    let built = build(tree, folder, &options, &Sealed)?;
    let objects = built.objects.iter().map(|object| {
        let mut text = String::new();
        built.write(object, &mut text)?;
        let name = [object.namespace(), object.name()].join("/");
        let title = format!("{} {}", object.id().gvk.kind, name.trim_start_matches('/'));
        Ok((words::inline(&title).into_owned(), text))
    });
    objects.collect()
}

/// The path of a file or folder without links.
fn real(path: &Path) -> Option<String> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let path: PathBuf = std::fs::canonicalize(path).ok()?;
    path.into_os_string().into_string().ok()
}

/// The disk with other texts in some files, and a list of the kustomizations that were read.
struct Patched<'p> {
    changed: &'p BTreeMap<String, Vec<u8>>,
    file: Option<(&'p str, &'p [u8])>,
    read: RefCell<BTreeSet<String>>,
}

impl<'p> Patched<'p> {
    const fn new(changed: &'p BTreeMap<String, Vec<u8>>, file: Option<(&'p str, &'p [u8])>) -> Self {
        Self {
            changed,
            file,
            read: RefCell::new(BTreeSet::new()),
        }
    }
}

impl Tree for Patched<'_> {
    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        let is_kustomization = NAMES.iter().any(|name| path.ends_with(name));
        if !is_kustomization {
            return DiskTree.read(path);
        }
        let canonical = DiskTree.canonical(path)?.path;
        let other = match self.file {
            Some((file, bytes)) if file == canonical => Some(bytes),
            _ => self.changed.get(&canonical).map(Vec::as_slice),
        };
        self.read.borrow_mut().insert(canonical);
        match other {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => DiskTree.read(path).map(|bytes| Cow::Owned(bytes.into_owned())),
        }
    }

    fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError> {
        DiskTree.canonical(path)
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, TreeError> {
        DiskTree.list(directory)
    }
}
