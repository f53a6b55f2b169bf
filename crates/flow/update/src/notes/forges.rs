//! The forges that may be asked for releases.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use url::Url;

use super::api::{Kind, ReleasesApi, is_web};
use bumpwright_forge::{ForgeApi, ForgeError, Login, Release, ReviewServer};
use bumpwright_http::{Deadline, NetError, Peer, Tls, host_of};
use bumpwright_overview::Forge as Links;

/// Forges that everybody knows.
const PUBLIC: [(&str, Kind); 4] = [
    ("github.com", Kind::Forge(ForgeApi::GitHub)),
    ("gitlab.com", Kind::GitLab),
    ("codeberg.org", Kind::Forge(ForgeApi::Gitea)),
    ("gitea.com", Kind::Forge(ForgeApi::Gitea)),
];

/// The time limit of a request.
const LIMIT: Duration = Duration::from_secs(10);

/// The most releases that are kept.
const KEPT: usize = 500;

/// How often one of those who share answers may ask a public forge before these are renewed, for tags that nobody has
/// asked about: GitHub takes 60 requests an hour of an address without a login, whoever sends them.
const SHARE: usize = 15;

/// How much of a release's text is kept, in bytes.
const TEXT: usize = 8 << 10;

/// The forges of a run; the same release is asked for once.
#[derive(Debug)]
pub struct ReleaseForges {
    /// Forges beside the public ones, and how they are reached.
    named: Vec<(ReleasesApi, Peer)>,
    of_named: Answers,
    /// The login at github.com.
    github: Login,
    of_public: Arc<Answers>,
    /// On whose account the public forges are asked, where answers are shared.
    account: Option<String>,
}

/// What forges have answered. Those who ask in the same way may share it.
#[derive(Debug, Default)]
pub struct Answers {
    releases: Mutex<Known>,
    /// The answers of before: a description is not to lose its releases whenever a forge has no more requests for us.
    older: Mutex<Known>,
    /// Why hosts are not asked again.
    failed: Mutex<BTreeMap<String, ForgeError>>,
    /// How often each account has asked.
    spent: Mutex<BTreeMap<String, usize>>,
}

/// Releases by source and tag; none where there is no such release.
type Known = BTreeMap<(String, String), Option<Release>>;

impl ReleaseForges {
    /// The public forges. `github` is the login at github.com; nothing else gets one.
    #[must_use]
    pub fn new(github: Login) -> Self {
        Self {
            named: Vec::new(),
            of_named: Answers::default(),
            github,
            of_public: Arc::default(),
            account: None,
        }
    }

    /// The public forges without a login, with what they have answered others. `account` is who asks, such as a
    /// namespace: it has a share of the requests.
    #[must_use]
    pub fn sharing(answers: Arc<Answers>, account: &str) -> Self {
        Self {
            of_public: answers,
            account: Some(account.to_owned()),
            ..Self::new(Login::Nobody)
        }
    }

    /// With other forges, reached as the environment says.
    #[must_use]
    pub fn and(mut self, apis: &[ReleasesApi]) -> Self {
        self.named.extend(apis.iter().map(|api| (api.clone(), peer())));
        self
    }

    /// With a forge that is reached by these settings. A public one that is reached as by everybody says the same to
    /// everybody: it stays one of those whose answers are shared.
    #[must_use]
    pub fn and_by(mut self, api: ReleasesApi, reached: Peer) -> Self {
        let is_plain = reached.proxy.is_none() && reached.tls == Tls::default();
        if is_plain && PUBLIC.iter().any(|(host, _)| api.is_at(host)) {
            return self;
        }
        let timeout = reached.timeout.min(LIMIT);
        self.named.push((api, Peer { timeout, ..reached }));
        self
    }

    /// The release of one of these tags of a source; none at a forge that may not be asked. A forge that does not
    /// answer, or has no more requests for us, is not asked again.
    ///
    /// # Errors
    /// [`ForgeError`] when the forge does not answer, or refuses.
    pub(super) fn release(&self, source: &Url, tags: &[String]) -> Result<Option<Release>, ForgeError> {
        let Some((server, answers)) = self.server(source) else {
            return Ok(None);
        };
        let is_shared = std::ptr::eq(answers, &*self.of_public);
        let account = self.account.as_deref().filter(|_| is_shared);
        for tag in tags {
            let release = answers.release(&server, source, tag, account)?;
            if release.is_some() {
                return Ok(release);
            }
        }
        Ok(None)
    }

    /// Whether pages of a source may be linked to: labels of images name any host, and only those that everybody knows
    /// or that the user has named are forges for sure.
    pub(super) fn knows(&self, source: &Url) -> bool {
        let is_named = self.named.iter().any(|(api, _)| api.serves(source));
        is_named || public(source).is_some() || host_of(source) == "bitbucket.org"
    }

    /// The repository of a source, if its forge may be asked, and what that has answered.
    fn server(&self, source: &Url) -> Option<(ReviewServer, &Answers)> {
        if let Some((api, peer)) = self.named.iter().find(|(api, _)| api.serves(source)) {
            return Some((api.repository(source, peer.clone())?, &self.of_named));
        }
        let kind = public(source)?;
        let login = match kind {
            Kind::Forge(ForgeApi::GitHub) => self.github.clone(),
            _ => Login::Nobody,
        };
        Some((kind.repository(source, None, login, peer())?, &*self.of_public))
    }
}

impl Answers {
    /// Has forges asked again. What they have answered counts where they do not answer any more.
    pub fn renew(&self) {
        let known = std::mem::take(&mut *self.releases.lock());
        let mut older = self.older.lock();
        if older.len() >= KEPT {
            older.clear();
        }
        older.extend(known);
        self.failed.lock().clear();
        self.spent.lock().clear();
    }

    fn release(
        &self,
        server: &ReviewServer,
        source: &Url,
        tag: &str,
        account: Option<&str>,
    ) -> Result<Option<Release>, ForgeError> {
        let key = (source.to_string(), tag.to_owned());
        let known = self.releases.lock().get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let asked = self
            .spend(source, tag, account)
            .and_then(|()| self.asked(server, source, tag));
        let error = match asked {
            Ok(release) => {
                let mut releases = self.releases.lock();
                if releases.len() >= KEPT {
                    releases.clear();
                }
                releases.insert(key, release.clone());
                return Ok(release);
            }
            Err(error) => error,
        };
        let older = self.older.lock().get(&key).cloned();
        older.ok_or(error)
    }

    /// Takes a request from the share of an account.
    ///
    /// # Errors
    /// [`ForgeError::Limited`] when nothing is left of it.
    fn spend(&self, source: &Url, tag: &str, account: Option<&str>) -> Result<(), ForgeError> {
        let Some(account) = account else { return Ok(()) };
        let mut spent = self.spent.lock();
        let count = spent.entry(account.to_owned()).or_default();
        if *count >= SHARE {
            return Err(ForgeError::Limited {
                attempt: format!("look at the release {tag}"),
                url: host_of(source).to_owned(),
                until: format!(", of which {account} has {SHARE} requests in half an hour"),
                again: None,
                said: String::new(),
            });
        }
        *count += 1;
        Ok(())
    }

    fn asked(&self, server: &ReviewServer, source: &Url, tag: &str) -> Result<Option<Release>, ForgeError> {
        let host = host_of(source);
        let failed = self.failed.lock().get(host).cloned();
        if let Some(error) = failed {
            return Err(error);
        }
        let release = server.release(tag).inspect_err(|error| {
            if is_down(error, Deadline::after(LIMIT)) {
                self.failed.lock().insert(host.to_owned(), error.clone());
            }
        })?;
        Ok(release.map(|mut release| {
            release.text.truncate(release.text.floor_char_boundary(TEXT));
            release
        }))
    }
}

/// Whether a forge answers nobody: it is silent, or has no more requests for us. Others share that: an answer that is
/// too large for one tenant, or that leads elsewhere, says nothing about the forge, nor does a job whose time is over.
fn is_down(error: &ForgeError, left: Deadline) -> bool {
    match error {
        ForgeError::Net { source, .. } => {
            matches!(source, NetError::Broken { .. } | NetError::Timeout { .. }) && !left.passed()
        }
        ForgeError::Limited { .. } => true,
        _ => false,
    }
}

/// How a source is asked for that is at a public forge.
fn public(source: &Url) -> Option<Kind> {
    let is_plain = source.scheme() == "https" && source.port().is_none();
    let host = source.host_str().filter(|_| is_plain)?;
    let forge = PUBLIC.into_iter().find(|(public, _)| *public == host);
    forge.map(|(_, kind)| kind)
}

/// The pages of a source, by the patterns of its host.
pub(super) fn links(source: &Url) -> Option<Links> {
    let root = public(source).and_then(|kind| kind.root(source));
    Links::of(root.as_ref().unwrap_or(source).as_str())
}

/// The address of a source on the web, without login.
pub(super) fn web(source: &str) -> Option<Url> {
    let url = Url::parse(source.strip_suffix(".git").unwrap_or(source)).ok()?;
    is_web(&url).then_some(url)
}

fn peer() -> Peer {
    Peer {
        timeout: LIMIT,
        environment: true,
        ..Peer::default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_http::Proxy;

    #[test]
    fn answers_of_a_public_forge_are_shared_unless_it_is_reached_by_a_proxy_of_ones_own() {
        let own = Peer {
            proxy: Some(Proxy::at("http://proxy.example:3128")),
            ..Peer::default()
        };
        let source = web("https://github.com/acme/web").unwrap();
        for (reached, is_shared) in [(Peer::default(), true), (own, false)] {
            let api = "github=https://api.github.com".parse::<ReleasesApi>().unwrap();
            let shared = Arc::<Answers>::default();
            let forges = ReleaseForges::sharing(Arc::clone(&shared), "apps").and_by(api, reached);
            let (_, answers) = forges.server(&source).unwrap();
            assert_eq!(std::ptr::eq(answers, &*shared), is_shared);
        }
    }

    #[test]
    fn only_known_hosts_are_asked() {
        let apis: [ReleasesApi; 2] = [
            "gitea=http://git.example.com:3000/api/v1".parse().unwrap(),
            "gitlab=https://gitlab.example.com/api/v4".parse().unwrap(),
        ];
        let forges = ReleaseForges::new(Login::Nobody).and(&apis);
        let asks = |source: &str| web(source).and_then(|url| forges.server(&url)).is_some();
        for (source, is_asked) in [
            ("https://github.com/acme/web", true),
            ("https://github.com/acme/web/tree/main/app", true),
            ("https://gitlab.com/acme/team/web/-/tree/main", true),
            ("https://codeberg.org/acme/web.git", true),
            ("http://github.com/acme/web", false),
            ("https://github.com:8443/acme/web", false),
            ("https://github.com", false),
            ("https://gitlab.com/acme", false),
            ("https://github.com.example.org/acme/web", false),
            ("https://gitlab.example.org/acme/web", false),
            ("https://user:secret@github.com/acme/web", false),
            ("http://git.example.com:3000/acme/web", true),
            ("http://git.example.com/acme/web", false),
            ("https://gitlab.example.com/acme/team/web", true),
            ("http://169.254.169.254/acme/web", false),
            ("http://[::1]/acme/web", false),
            ("file:///etc/passwd", false),
        ] {
            assert_eq!(asks(source), is_asked, "{source}");
        }
    }

    #[test]
    fn what_was_known_counts_where_a_forge_does_not_answer() {
        let source = web("http://127.0.0.1:1/acme/web").unwrap();
        let direct = Peer {
            environment: false,
            ..peer()
        };
        let server = Kind::Forge(ForgeApi::Gitea).repository(&source, None, Login::Nobody, direct);
        let (server, answers) = (server.unwrap(), Answers::default());
        let known = Release {
            title: "Faster".to_owned(),
            url: String::new(),
            text: String::new(),
        };
        for (tag, release) in [("1", None), ("v1", Some(known.clone()))] {
            let key = (source.to_string(), tag.to_owned());
            answers.releases.lock().insert(key, release);
        }
        // Also after a time in which nothing was answered.
        for _ in 0..2 {
            answers.renew();
            let release = |tag: &str| answers.release(&server, &source, tag, None);
            assert!(release("2").is_err());
            assert_eq!(release("1").unwrap(), None);
            assert_eq!(release("v1").unwrap(), Some(known.clone()));
        }
    }

    /// Whoever has no requests left still has what is known.
    #[test]
    fn an_account_has_a_share_of_the_requests() {
        let source = web("http://127.0.0.1:1/acme/web").unwrap();
        let direct = Peer {
            environment: false,
            ..peer()
        };
        let server = Kind::Forge(ForgeApi::Gitea).repository(&source, None, Login::Nobody, direct);
        let (server, answers) = (server.unwrap(), Answers::default());
        answers
            .releases
            .lock()
            .insert((source.to_string(), "known".to_owned()), None);
        let is_limited = |tag: &str, account: &str| {
            let release = answers.release(&server, &source, tag, Some(account));
            matches!(release, Err(ForgeError::Limited { .. }))
        };
        for n in 0..SHARE {
            assert!(!is_limited(&n.to_string(), "a"), "{n}");
        }
        assert!(is_limited("one-more", "a"));
        assert!(!is_limited("known", "a"));
        assert!(!is_limited("one-more", "b"));
        answers.renew();
        assert!(!is_limited("one-more", "a"));
    }

    #[test]
    fn what_one_answer_is_too_large_for_keeps_nobody_from_a_forge() {
        let url = || "https://api.github.com/repos/acme/web/releases/tags/1".to_owned();
        let timeout = || NetError::Timeout {
            url: url(),
            limit: LIMIT,
        };
        let large = NetError::TooLarge { url: url(), limit: 1 };
        let elsewhere = NetError::Redirect {
            url: url(),
            detail: "more than 10 redirects".to_owned(),
        };
        for (source, left, expected) in [
            (timeout(), LIMIT, true),
            (timeout(), Duration::ZERO, false),
            (large, LIMIT, false),
            (elsewhere, LIMIT, false),
        ] {
            let attempt = "look at the release 1".to_owned();
            let error = ForgeError::Net { attempt, source };
            assert_eq!(is_down(&error, Deadline::after(left)), expected, "{error}");
        }
    }

    #[test]
    fn folders_of_a_source_are_not_in_links() {
        let compare = |source: &str| links(&web(source).unwrap()).unwrap().compare("a", "b").unwrap();
        for (source, expected) in [
            (
                "https://github.com/acme/web/issues/1",
                "https://github.com/acme/web/compare/a...b",
            ),
            (
                "https://gitlab.com/acme/team/web/-/tree/main",
                "https://gitlab.com/acme/team/web/-/compare/a...b",
            ),
        ] {
            assert_eq!(compare(source), expected);
        }
    }
}
