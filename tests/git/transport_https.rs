//! HTTPS with certificates of our own, proxies, and the user's credential helpers.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bumpwright_git::{Auth, Remote, RemoteUrl, TransportError, open};
use bumpwright_http::Proxy;
use bumpwright_secret::Secret;
use bumpwright_testkit::again;
use bumpwright_testkit::git_http::{GitHttp, Login, Options};
use bumpwright_testkit::packets::list;
use bumpwright_testkit::repo::Repo;
use bumpwright_testkit::tls::Certificates;

fn served() -> (tempfile::TempDir, String) {
    let root = tempfile::tempdir().unwrap();
    let id = Repo::init(root.path().join("r.git")).commit("main", "first", &[]);
    (root, format!("{id} refs/heads/main\n"))
}

fn remote(url: &str) -> Remote {
    Remote {
        // Nothing waits for it to pass.
        timeout: Duration::from_secs(120),
        ..Remote::new(RemoteUrl::parse(url).unwrap())
    }
}

fn list_at(remote: &Remote) -> Result<Vec<String>, TransportError> {
    list(open(remote)?.as_ref())
}

fn secret(pem: &[u8]) -> Secret {
    Secret::new(String::from_utf8(pem.to_vec()).unwrap())
}

#[test]
fn own_authority() {
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let (root, line) = served();
    let tls = Some(certificates.server_config(false));
    let server = GitHttp::with(
        root.path(),
        Options {
            tls,
            ..Options::default()
        },
    );
    let mut remote = remote(&server.url("r.git"));
    let error = list_at(&remote).unwrap_err().to_string();
    assert!(
        error.contains("UnknownIssuer") && error.contains("give its CA bundle"),
        "{error}"
    );
    remote.tls.ca = Some(certificates.ca.clone());
    let transport = open(&remote).unwrap();
    let before = server.connections();
    for _ in 0..3 {
        assert_eq!(list(transport.as_ref()).unwrap(), std::slice::from_ref(&line));
    }
    assert_eq!(server.connections() - before, 1, "kept connections are used again");
    // The bundle is for this remote only, and the name is checked.
    remote.url = RemoteUrl::parse(&server.url("r.git").replace("localhost", "127.0.0.1")).unwrap();
    let error = list_at(&remote).unwrap_err().to_string();
    assert!(
        error.contains("NotValidForName") || error.contains("not valid for name"),
        "{error}"
    );
}

#[test]
fn client_certificate() {
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let (root, line) = served();
    let tls = Some(certificates.server_config(true));
    let server = GitHttp::with(
        root.path(),
        Options {
            tls,
            ..Options::default()
        },
    );
    let mut remote = remote(&server.url("r.git"));
    remote.tls.ca = Some(certificates.ca.clone());
    let error = list_at(&remote).unwrap_err();
    assert!(matches!(error, TransportError::Connect { .. }), "{error}");
    assert!(
        error.to_string().contains("the server requires a client certificate"),
        "{error}"
    );
    remote.tls.client = Some((certificates.client.0.clone(), secret(&certificates.client.1)));
    assert_eq!(list_at(&remote).unwrap(), [line]);
    assert!(!format!("{remote:?}").contains("PRIVATE KEY"));
    let refused = |client: (&[u8], &[u8])| {
        let mut remote = remote.clone();
        remote.tls.client = Some((client.0.to_vec(), secret(client.1)));
        let Err(error) = open(&remote) else { panic!("opened") };
        assert!(matches!(error, TransportError::Config { .. }), "{error}");
        error.to_string()
    };
    assert!(refused((&certificates.client.0, &certificates.server.1)).contains("do not work together"));
    assert!(refused((&certificates.client.0, b"none")).contains("private key cannot be read"));
    assert!(refused((b"", &certificates.client.1)).contains("is not in PEM"));
}

#[test]
fn redirects_never_go_back_to_plain_http() {
    use bumpwright_testkit::git_http::Fault;
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let (root, line) = served();
    let (plain, secure) = (GitHttp::start(root.path()), {
        let tls = Some(certificates.server_config(false));
        GitHttp::with(
            root.path(),
            Options {
                tls,
                ..Options::default()
            },
        )
    });
    let to = |server: &GitHttp| {
        let url = server.url("r.git/info/refs?service=git-upload-pack");
        move |_: &bumpwright_testkit::git_http::Seen| Some(Fault::Redirect(302, url.clone()))
    };
    secure.intercept(to(&plain));
    let auth = || Auth::Basic {
        username: "me".to_owned(),
        password: Secret::new("pw"),
    };
    let mut from_secure = Remote {
        auth: auth(),
        ..remote(&secure.url("r.git"))
    };
    from_secure.tls.ca = Some(certificates.ca.clone());
    let error = list_at(&from_secure).unwrap_err().to_string();
    assert!(error.contains("refused to follow a redirect from https"), "{error}");
    assert!(plain.requests().is_empty());
    // The other way is fine, but another port is another server: it gets no password.
    secure.intercept(|_| None);
    plain.intercept(to(&secure));
    secure.clear();
    let mut from_plain = Remote {
        auth: auth(),
        ..remote(&plain.url("r.git"))
    };
    from_plain.tls.ca = Some(certificates.ca.clone());
    assert_eq!(list_at(&from_plain).unwrap(), [line]);
    assert!(
        secure
            .requests()
            .iter()
            .all(|seen| seen.header("authorization").is_none())
    );
}

#[test]
fn proxies() {
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let (root, line) = served();
    let tls = Some(certificates.server_config(false));
    let secure = GitHttp::with(
        root.path(),
        Options {
            tls,
            ..Options::default()
        },
    );
    let plain = GitHttp::start(root.path());
    for scheme in ["http", "socks5"] {
        for login in [None, Some(("me", "p@ss:w"))] {
            let proxy = bumpwright_testkit::proxy::Proxy::start(login);
            let address = format!("{scheme}://{}", proxy.address);
            let with = |url: &str, login: Option<(&str, &str)>| {
                let (username, password) = (login.map(|l| l.0.to_owned()), login.map(|l| Secret::new(l.1)));
                let mut remote = remote(url);
                remote.proxy = Some(Proxy {
                    address: address.clone(),
                    username,
                    password,
                });
                remote.tls.ca = Some(certificates.ca.clone());
                list_at(&remote)
            };
            for server in [&secure, &plain] {
                assert_eq!(
                    with(&server.url("r.git"), login).unwrap(),
                    std::slice::from_ref(&line),
                    "{scheme} {login:?}"
                );
                assert_eq!(proxy.targets().last(), Some(&server.host()), "{scheme}");
            }
            if login.is_some() {
                let error = with(&secure.url("r.git"), Some(("me", "hunter2"))).unwrap_err();
                assert!(matches!(error, TransportError::Connect { .. }), "{error}");
                assert!(!error.to_string().contains("hunter2"), "{error}");
                assert_eq!(proxy.targets().len(), 2);
            }
        }
    }
}

/// A child process of this test binary: helpers, proxies and roots are found by the environment.
fn as_user(test: impl Fn(), url: &str, environment: &[(&str, &Path)]) -> (bool, String) {
    let mut command = again(test);
    for name in [
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "GIT_ASKPASS",
    ] {
        command.env_remove(name);
    }
    command
        .arg("--nocapture")
        .env("BUMPWRIGHT_TEST_URL", url)
        .env("GIT_CONFIG_SYSTEM", "/dev/null");
    command.envs(environment.iter().copied());
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// True in the child, after it has done its work.
fn is_child() -> bool {
    let Ok(url) = std::env::var("BUMPWRIGHT_TEST_URL") else {
        return false;
    };
    let transport = open(&Remote {
        auth: Auth::User,
        ..remote(&url)
    })
    .unwrap();
    list(transport.as_ref()).unwrap();
    list(transport.as_ref()).unwrap();
    true
}

#[test]
fn credential_helpers_are_asked_after_a_challenge() {
    if is_child() {
        return;
    }
    let (root, _) = served();
    let login = Login::Basic("me".to_owned(), "s3cret".to_owned());
    let server = GitHttp::with(
        root.path(),
        Options {
            login,
            ..Options::default()
        },
    );
    let log = root.path().join("log");
    let config = root.path().join("gitconfig");
    let helper = |password: &str| {
        let script = format!(
            "!f() {{ echo $1 >> {log}; cat >> {log}; test $1 != get || printf 'username=me\\\\npassword={password}\\\\n'; }}; f",
            log = log.display()
        );
        fs::write(
            &config,
            format!("[credential]\n\tuseHttpPath = true\n\thelper = \"{script}\"\n"),
        )
        .unwrap();
    };
    let child = || {
        let text = as_user(
            credential_helpers_are_asked_after_a_challenge,
            &server.url("r.git"),
            &[("GIT_CONFIG_GLOBAL", &config)],
        );
        let asked = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        (text.0, text.1, asked)
    };
    helper("s3cret");
    let (ok, text, asked) = child();
    assert!(ok, "{text}");
    assert_eq!(asked.matches("get\n").count(), 1, "{asked}");
    assert_eq!(asked.matches("store\n").count(), 1, "{asked}");
    assert!(asked.contains(&format!("host={}\n", server.host())), "{asked}");
    assert!(
        asked
            .lines()
            .filter(|line| line.starts_with("path="))
            .all(|line| line == "path=r.git"),
        "{asked}"
    );
    let with_header = server
        .requests()
        .iter()
        .filter(|seen| seen.header("authorization").is_some())
        .count();
    assert_eq!(
        (server.requests().len(), with_header),
        (5, 4),
        "only the first request is challenged"
    );

    helper("0ther");
    let (ok, text, asked) = child();
    assert!(
        !ok && text.contains("Unauthorized") && !text.contains("0ther"),
        "{text}"
    );
    assert_eq!(asked.matches("erase\n").count(), 1, "{asked}");

    fs::write(&config, "").unwrap();
    let (ok, text, _) = child();
    assert!(!ok && text.contains("Unauthorized"), "{text}");
}

#[test]
fn the_user_s_proxy_and_roots_are_honoured() {
    if is_child() {
        return;
    }
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let (root, _) = served();
    let tls = Some(certificates.server_config(false));
    let server = GitHttp::with(
        root.path(),
        Options {
            tls,
            ..Options::default()
        },
    );
    let bundle = root.path().join("ca.pem");
    fs::write(&bundle, &certificates.ca).unwrap();
    let proxy = bumpwright_testkit::proxy::Proxy::start(Some(("me", "pw")));
    let address = format!("http://me:pw@{}", proxy.address);
    let child = |more: &[(&str, &Path)]| {
        let mut environment = vec![
            ("SSL_CERT_FILE", bundle.as_path()),
            ("GIT_CONFIG_GLOBAL", Path::new("/dev/null")),
        ];
        environment.extend(more);
        let (ok, text) = as_user(
            the_user_s_proxy_and_roots_are_honoured,
            &server.url("r.git"),
            &environment,
        );
        assert!(ok, "{text}");
        proxy.targets().len()
    };
    assert_eq!(child(&[]), 0);
    let address = Path::new(&address);
    assert_eq!(
        child(&[("https_proxy", address), ("no_proxy", Path::new("other,localhost"))]),
        0
    );
    assert_eq!(child(&[("http_proxy", address)]), 0);
    assert_eq!(child(&[("https_proxy", address)]), 1);
}
