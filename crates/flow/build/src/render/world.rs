//! The resources of a build besides its tree.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use url::Url;

use super::git_tree::GitTree;
use super::programs;
use bumpwright_git::{
    Checkout, Fetched, GitError, InvalidModules, MOST_SUBMODULES, Mirror, OpenError, address_of_submodule,
    submodules_named,
};
use bumpwright_http::{Client, Deadline, Peer, Request, RetryPolicy};
use bumpwright_kustomize::tree::{Command, PluginFile, RepoUrl, Tree, World, WorldError, public_url};

/// The most bytes of a file behind a URL.
const LARGEST: usize = 64 << 20;

/// Time limit for fetching a file.
const PATIENCE: Duration = Duration::from_secs(60);

/// Limit on nested submodules.
const DEEPEST: usize = 8;

/// Opens the mirror of a repository, with the credentials available for it.
pub trait Mirrors {
    /// The mirror of the repository at `url`; each request takes at most `timeout`.
    ///
    /// # Errors
    /// The address, the credentials or the cache folder cannot be used, in words for the user.
    fn mirror(&self, url: &str, timeout: Duration) -> Result<Arc<Mirror>, OpenError>;
}

/// Address, reference and whether submodules are wanted.
type RepositoryKey = (String, String, bool);

/// The result of one fetch, for all that need it.
type Shared<T> = Arc<OnceLock<Result<T, WorldError>>>;

/// What was fetched, each only once: for worlds of several threads.
#[derive(Default)]
pub struct Fetches {
    repositories: Mutex<HashMap<RepositoryKey, Shared<Mutex<GitTree>>>>,
    files: Mutex<HashMap<String, Shared<Vec<u8>>>>,
}

impl std::fmt::Debug for Fetches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fetches")
    }
}

fn shared<K: Eq + Hash, T>(all: &Mutex<HashMap<K, Shared<T>>>, key: K) -> Shared<T> {
    let mut entries = all.lock();
    Arc::clone(entries.entry(key).or_default())
}

/// Repositories by their mirrors, files by HTTP, programs as child processes.
pub struct RealWorld<M> {
    mirrors: M,
    client: Client,
    /// The most that a fetch takes, whatever URLs say.
    limit: Duration,
    fetches: Arc<Fetches>,
    /// The trees of this thread: one build sees one state of each repository.
    repositories: RefCell<HashMap<RepositoryKey, Arc<GitTree>>>,
}

impl<M> std::fmt::Debug for RealWorld<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RealWorld")
    }
}

impl<M: Mirrors> RealWorld<M> {
    /// A world whose repositories come from `mirrors`.
    pub fn new(mirrors: M) -> Self {
        Self::sharing(mirrors, Arc::default())
    }

    /// The same, with what worlds of other threads have fetched.
    pub fn sharing(mirrors: M, fetches: Arc<Fetches>) -> Self {
        Self {
            mirrors,
            client: Client::new(Peer::default(), RetryPolicy::default()),
            limit: Duration::MAX,
            fetches,
            repositories: RefCell::default(),
        }
    }

    /// The same with a time limit for each fetch, whatever its URL says.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    fn fetched(&self, url: &RepoUrl) -> Result<GitTree, BaseError> {
        let address = url.clone_url();
        let timeout = url.timeout.min(self.limit);
        let mirror = self.mirrors.mirror(&address, timeout)?;
        // The repository and its submodules are one job with one time limit.
        let (job, until) = (Arc::new(mirror.budget().job()), Deadline::after(timeout));
        let mirror = mirror.part_of(&job, Some(until));
        let fetched = fetch_reference(&mirror, &url.reference).map_err(|error| FetchError::new(&address, error))?;
        let mut tree = GitTree::new(fetched.objects, fetched.tip.tree);
        if url.submodules {
            let mut adding = Adding {
                mirrors: &self.mirrors,
                part: |mirror: &Mirror| mirror.part_of(&job, Some(until)),
                until,
                count: 0,
            };
            adding.add(&mut tree, &address, 0)?;
        }
        Ok(tree)
    }
}

impl<M> RealWorld<M> {
    fn downloaded(&self, url: &str) -> Result<Vec<u8>, WorldError> {
        let address = Url::parse(url).map_err(|error| WorldError::Other(error.to_string()))?;
        let request = Request::get(address).limit(LARGEST);
        let answer = self.client.send(&request, Deadline::after(PATIENCE.min(self.limit)));
        let answer = answer.map_err(|error| WorldError::Other(error.to_string()))?;
        match answer.status.as_u16() {
            200..=299 => Ok(answer.body),
            status => Err(WorldError::Status(status)),
        }
    }
}

/// The submodules being fetched.
struct Adding<'a, M, P> {
    mirrors: &'a M,
    /// Adds a mirror's fetches to the job.
    part: P,
    until: Deadline,
    /// Number of submodules so far.
    count: usize,
}

impl<M: Mirrors, P: Fn(&Mirror) -> Mirror> Adding<'_, M, P> {
    /// Fetches the submodules of a tree, recursively.
    fn add(&mut self, tree: &mut GitTree, parent: &str, depth: usize) -> Result<(), FetchError> {
        let Ok(text) = tree.read("/.gitmodules").map(std::borrow::Cow::into_owned) else {
            return Ok(());
        };
        if depth >= DEEPEST {
            return Err(FetchError::new(parent, FetchCause::Deep));
        }
        for module in submodules_named(&text).map_err(|error| FetchError::new(parent, error))? {
            let Some(commit) = tree.module_at(&module.path) else {
                continue;
            };
            let address = address_of_submodule(parent, &module.url);
            let fetched = self.fetched(&address, commit.to_string());
            let fetched = fetched.map_err(|cause| {
                let (path, error) = (module.path.clone(), Box::new(FetchError::new(&address, cause)));
                FetchError::new(parent, FetchCause::Submodule { path, error })
            })?;
            let mut inner = GitTree::new(fetched.objects, fetched.tip.tree);
            self.add(&mut inner, &address, depth + 1)?;
            tree.mount(&module.path, inner);
        }
        Ok(())
    }

    /// The commit of a submodule.
    fn fetched(&mut self, address: &str, id: String) -> Result<Fetched, FetchCause> {
        self.count += 1;
        if self.count > MOST_SUBMODULES {
            return Err(FetchCause::TooMany);
        }
        if self.until.passed() {
            return Err(FetchCause::Late);
        }
        let mirror = self.mirrors.mirror(address, self.until.limit())?;
        Ok((self.part)(&mirror).fetch(&Checkout::Commit { id, branch: None }, &[])?)
    }
}

/// Why a remote base cannot be had.
#[derive(Debug, thiserror::Error)]
enum BaseError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Fetch(#[from] FetchError),
}

/// A failure at an address.
#[derive(Debug, thiserror::Error)]
#[error("{}", told(.address, &.cause.to_string()))]
struct FetchError {
    address: String,
    cause: FetchCause,
}

/// What failed at an address.
#[derive(Debug, thiserror::Error)]
enum FetchCause {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Modules(#[from] InvalidModules),
    #[error("submodule {path}: {error}")]
    Submodule { path: String, error: Box<FetchError> },
    #[error("submodules more than {DEEPEST} deep")]
    Deep,
    #[error("more than {MOST_SUBMODULES} submodules")]
    TooMany,
    #[error("context deadline exceeded")]
    Late,
}

impl FetchError {
    fn new(address: &str, cause: impl Into<FetchCause>) -> Self {
        Self {
            address: address.to_owned(),
            cause: cause.into(),
        }
    }
}

/// An error at an address. Errors of servers begin with the address already.
fn told(address: &str, error: &str) -> String {
    let address = public_url(address);
    if error.strip_prefix(&*address).is_some_and(|rest| rest.starts_with(": ")) {
        error.to_owned()
    } else {
        format!("{address}: {error}")
    }
}

/// Fetches a reference as `git fetch origin REF` does: a branch, a tag, a full reference name, or a commit; empty
/// for the default branch.
///
/// # Errors
/// The reference does not exist, or cannot be fetched.
pub fn fetch_reference(mirror: &Mirror, reference: &str) -> Result<Fetched, GitError> {
    let is_id = matches!(reference.len(), 40 | 64) && reference.bytes().all(|byte| byte.is_ascii_hexdigit());
    let reference = reference.to_owned();
    if reference.is_empty() || reference == "HEAD" {
        return mirror.fetch(&Checkout::Default, &[]);
    }
    if is_id {
        let checkout = Checkout::Commit {
            id: reference,
            branch: None,
        };
        return mirror.fetch(&checkout, &[]);
    }
    if reference.starts_with("refs/") {
        return mirror.fetch(&Checkout::Name(reference), &[]);
    }
    // `git rev-parse` prefers tags, and so does `git fetch`.
    match mirror.fetch(&Checkout::Tag(reference.clone()), &[]) {
        Err(GitError::RefNotFound { .. }) => mirror.fetch(&Checkout::Branch(reference), &[]),
        other => other,
    }
}

impl<M: Mirrors> World for RealWorld<M> {
    fn repository(&self, url: &RepoUrl) -> Result<Arc<dyn Tree>, WorldError> {
        let key = (url.clone_url(), url.reference.clone(), url.submodules);
        if let Some(tree) = self.repositories.borrow().get(&key) {
            let tree: Arc<GitTree> = Arc::clone(tree);
            return Ok(tree);
        }
        let slot = shared(&self.fetches.repositories, key.clone());
        let fetched = slot.get_or_init(|| {
            let fetched = self.fetched(url).map(Mutex::new);
            fetched.map_err(|error| WorldError::Other(error.to_string()))
        });
        let fetched = fetched.as_ref().map_err(Clone::clone)?;
        let fetched = fetched.lock();
        // Objects of a mirror are cached per thread; a build has one thread.
        #[allow(clippy::arc_with_non_send_sync)]
        let tree = Arc::new(fetched.for_thread());
        self.repositories.borrow_mut().insert(key, Arc::clone(&tree));
        Ok(tree)
    }

    fn fetch(&self, url: &str) -> Result<Vec<u8>, WorldError> {
        let slot = shared(&self.fetches.files, url.to_owned());
        slot.get_or_init(|| self.downloaded(url)).clone()
    }

    fn plugin(&self, group: &str, version: &str, kind: &str) -> PluginFile {
        programs::plugin(group, version, kind)
    }

    fn run(&self, command: &Command<'_>) -> Result<Vec<u8>, WorldError> {
        programs::run(command)
    }
}
