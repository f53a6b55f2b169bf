//! SSH against a real OpenSSH server.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use bumpwright_git::{Auth, KnownHosts, Protocol, Remote, RemoteUrl, Service, Transport, TransportError, open};
use bumpwright_http::Proxy;
use bumpwright_secret::Secret;
use bumpwright_testkit::again;
use bumpwright_testkit::packets::{list, read};
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::{Change, Repo, run};
use bumpwright_testkit::sshd::{Agent, Sshd, keygen};

struct Place {
    server: Sshd,
    repo: Repo,
    line: String,
}

/// A server, and a repository whose path has a quote and a blank.
fn place() -> Option<Place> {
    let server = Sshd::start()?;
    let repo = Repo::init(server.dir.path().join("it's a repo.git"));
    let id = repo.commit("main", "first", &[Change::File("a", b"1\n")]);
    Some(Place {
        server,
        repo,
        line: format!("{id} refs/heads/main\n"),
    })
}

impl Place {
    fn remote(&self, key: &Path, known: &str) -> Remote {
        let identity = Secret::new(fs::read_to_string(key).unwrap());
        let mut remote = Remote::new(RemoteUrl::parse(&self.server.url(&self.repo.dir)).unwrap());
        // Nothing waits for it to pass.
        remote.timeout = Duration::from_secs(120);
        remote.auth = Auth::SshKey {
            identity,
            passphrase: None,
        };
        remote.ssh.known_hosts = KnownHosts::Given(known.as_bytes().to_vec());
        remote
    }

    fn list(&self, remote: &Remote) -> Result<(), TransportError> {
        let lines = list(open(remote)?.as_ref())?;
        assert_eq!(lines, std::slice::from_ref(&self.line), "{}", self.server.log());
        Ok(())
    }
}

#[test]
fn one_login_serves_several_programs() {
    let Some(place) = place() else { return };
    let key = place.server.key("k", &["-t", "ed25519"]);
    let transport = open(&place.remote(&key, &place.server.host_line("ed25519"))).unwrap();
    for _ in 0..3 {
        assert_eq!(list(transport.as_ref()).unwrap(), std::slice::from_ref(&place.line));
    }
    for service in [Service::UploadPack, Service::ReceivePack] {
        let mut connection = transport.connect(service, Protocol::V0).unwrap();
        let lines = read(connection.advertisement().unwrap()).unwrap();
        let line = place.line.trim_end();
        assert!(
            lines.iter().any(|l| l.split('\0').next().unwrap().trim_end() == line),
            "{lines:?}"
        );
        connection.request(b"0000").unwrap();
        connection.finish().unwrap();
    }
    assert_eq!(place.server.logins(), 1, "{}", place.server.log());
}

#[test]
fn many_at_once() {
    let Some(place) = place() else { return };
    let key = place.server.key("k", &["-t", "ed25519"]);
    let transport = open(&place.remote(&key, &place.server.host_line("ed25519"))).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| assert_eq!(list(transport.as_ref()).unwrap(), std::slice::from_ref(&place.line)));
        }
    });
}

#[test]
fn keys_of_all_kinds() {
    let Some(place) = place() else { return };
    let known = place.server.host_line("ed25519");
    for (name, arguments) in [
        ("ed25519", &["-t", "ed25519"][..]),
        ("rsa", &["-t", "rsa", "-b", "2048"]),
        ("rsa_pem", &["-t", "rsa", "-b", "2048", "-m", "PEM"]),
        ("rsa_pkcs8", &["-t", "rsa", "-b", "2048", "-m", "PKCS8"]),
        ("p256", &["-t", "ecdsa", "-b", "256"]),
        ("p384_pem", &["-t", "ecdsa", "-b", "384", "-m", "PEM"]),
        ("p521", &["-t", "ecdsa", "-b", "521"]),
    ] {
        let key = place.server.key(name, arguments);
        place
            .list(&place.remote(&key, &known))
            .unwrap_or_else(|e| panic!("{name}: {e}\n{}", place.server.log()));
    }
}

#[test]
fn passphrases() {
    let Some(place) = place() else { return };
    let known = place.server.host_line("ed25519");
    for (name, format) in [("openssh", "RFC4716"), ("pkcs8", "PKCS8")] {
        let key = place.server.key(name, &["-t", "rsa", "-b", "2048", "-m", format]);
        run(Command::new("ssh-keygen")
            .args(["-q", "-p", "-P", "", "-N", "hunter2", "-m", format, "-f"])
            .arg(&key));
        let with = |phrase: Option<&str>| {
            let mut remote = place.remote(&key, &known);
            if let Auth::SshKey { passphrase, .. } = &mut remote.auth {
                *passphrase = phrase.map(Secret::new);
            }
            place.list(&remote)
        };
        with(Some("hunter2")).unwrap_or_else(|e| panic!("{name}: {e}"));
        let error = with(None).unwrap_err().to_string();
        assert!(error.contains("is encrypted; give its passphrase"), "{name}: {error}");
        let error = with(Some("wrong1")).unwrap_err().to_string();
        assert!(
            error.contains("passphrase") && !error.contains("wrong1"),
            "{name}: {error}"
        );
    }
    let open_key = place.server.key("open", &["-t", "ed25519"]);
    let mut remote = place.remote(&open_key, &known);
    if let Auth::SshKey { passphrase, .. } = &mut remote.auth {
        *passphrase = Some(Secret::new("not needed"));
    }
    place.list(&remote).unwrap();
}

#[test]
fn a_key_that_may_not_log_in() {
    let Some(place) = place() else { return };
    let key = keygen(&place.server.dir.path().join("stranger"), &["-t", "ed25519"]);
    let error = place
        .list(&place.remote(&key, &place.server.host_line("ed25519")))
        .unwrap_err();
    let TransportError::Unauthorized { detail, .. } = &error else {
        panic!("{error}")
    };
    assert!(detail.contains("tried ssh-ed25519 SHA256:"), "{detail}");
}

#[test]
fn host_keys_are_checked() {
    let Some(place) = place() else { return };
    let key = place.server.key("k", &["-t", "ed25519"]);
    let own = |kind: &str| place.server.host_line(kind);
    // Whichever of its two keys is known, the server is asked for that one.
    for known in [own("ed25519"), own("rsa"), own("rsa") + &own("ed25519")] {
        place.list(&place.remote(&key, &known)).unwrap();
    }
    let hashed = place.server.dir.path().join("hashed");
    fs::write(&hashed, own("rsa")).unwrap();
    run(Command::new("ssh-keygen").args(["-q", "-H", "-f"]).arg(&hashed));
    let hashed = fs::read_to_string(hashed).unwrap();
    assert!(hashed.starts_with("|1|"), "{hashed}");
    place.list(&place.remote(&key, &hashed)).unwrap();

    let refused = |known: &str| match place.list(&place.remote(&key, known)) {
        Err(TransportError::HostKey { detail, .. }) => detail,
        other => panic!("{other:?}"),
    };
    let missing = refused("");
    assert!(
        missing.contains("not in known_hosts") && missing.contains("SHA256:"),
        "{missing}"
    );
    assert!(
        missing.contains(&format!("`ssh-keyscan -p {} 127.0.0.1`", place.server.port)),
        "{missing}"
    );
    let stranger = keygen(&place.server.dir.path().join("stranger"), &["-t", "ed25519"]);
    let public = fs::read_to_string(stranger.with_extension("pub")).unwrap();
    let wrong = refused(&format!("[127.0.0.1]:{} {public}", place.server.port));
    assert!(wrong.contains("not the one in known_hosts"), "{wrong}");
    let revoked = refused(&format!("{}@revoked {}", own("ed25519"), own("ed25519")));
    assert!(revoked.contains("revoked"), "{revoked}");
}

#[test]
fn algorithms_as_given() {
    let Some(place) = place() else { return };
    let key = place.server.key("k", &["-t", "ed25519"]);
    let both = place.server.host_line("ed25519") + &place.server.host_line("rsa");
    let with = |kex: &[&str], host_keys: &[&str], known: &str| {
        let mut remote = place.remote(&key, known);
        let list = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        remote.ssh.kex = Some(list(kex)).filter(|l| !l.is_empty());
        remote.ssh.host_keys = Some(list(host_keys)).filter(|l| !l.is_empty());
        place.list(&remote)
    };
    with(&["ecdh-sha2-nistp256"], &["rsa-sha2-256"], &both).unwrap();
    // The list given is the list used, even where it leads to a key that is not known.
    let error = with(&[], &["rsa-sha2-512"], &place.server.host_line("ed25519")).unwrap_err();
    assert!(matches!(error, TransportError::HostKey { .. }), "{error}");
    for (kex, host_keys) in [(&["rot13"][..], &[][..]), (&["none"], &[]), (&[], &["ssh-dss"])] {
        let error = with(kex, host_keys, &both).unwrap_err();
        assert!(matches!(error, TransportError::Config { .. }), "{error}");
    }
}

#[test]
fn a_repository_that_is_not_there() {
    let Some(place) = place() else { return };
    let key = place.server.key("k", &["-t", "ed25519"]);
    let mut remote = place.remote(&key, &place.server.host_line("ed25519"));
    remote.url = RemoteUrl::parse(&place.server.url(Path::new("/nowhere/r.git"))).unwrap();
    let error = place.list(&remote).unwrap_err();
    assert!(
        matches!(&error, TransportError::NotFound { detail, .. } if detail.contains("/nowhere/r.git")),
        "{error}"
    );
}

#[test]
fn programs_that_fail() {
    let Some(place) = place() else { return };
    let failing = |name: &str, script: &str| {
        let key = place.server.forced_key(name, script);
        let transport = open(&place.remote(&key, &place.server.host_line("ed25519"))).unwrap();
        let mut connection = transport.connect(Service::UploadPack, Protocol::V2).unwrap();
        let mut all = Vec::new();
        let error = connection.advertisement().unwrap().read_to_end(&mut all).unwrap_err();
        let error = TransportError::from_stream("test", error);
        assert_eq!(connection.finish().unwrap_err().to_string(), error.to_string());
        (String::from_utf8(all).unwrap(), error)
    };
    let (_, error) = failing("hub", "echo 'ERROR: Repository not found.' >&2; exit 1");
    assert!(
        matches!(&error, TransportError::NotFound { detail, .. } if detail == "ERROR: Repository not found."),
        "{error}"
    );
    let (_, error) = failing("loud", "yes 'no room' | head -n 100000 >&2; exit 3");
    assert!(
        matches!(&error, TransportError::Remote { detail, .. } if detail.len() <= 16 * 1024),
        "{error}"
    );
    let (text, error) = failing("quiet", "printf 0010some; exit 3");
    assert!(
        matches!(&error, TransportError::Remote { detail, .. } if detail.ends_with("status 3")),
        "{error}"
    );
    assert_eq!(text, "0010some");
    // The connection breaks in the middle: never a bare end.
    let (_, error) = failing("gone", "printf 0010some; sleep 0.2; kill -9 $PPID");
    assert!(matches!(error, TransportError::Connect { .. }), "{error}");
}

#[test]
fn servers_that_are_silent_or_absent() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut remote = Remote::new(RemoteUrl::parse(&format!("ssh://git@127.0.0.1:{port}/r")).unwrap());
    remote.timeout = Duration::from_millis(300);
    remote.ssh.known_hosts = KnownHosts::Given(Vec::new());
    let failing = |remote: &Remote| {
        open(remote)
            .unwrap()
            .connect(Service::UploadPack, Protocol::V2)
            .err()
            .unwrap()
    };
    let start = Instant::now();
    let error = failing(&remote);
    assert!(matches!(error, TransportError::Timeout { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5));
    remote.url = RemoteUrl::parse(&format!("ssh://git@127.0.0.1:{}/r", free_port())).unwrap();
    let error = failing(&remote);
    assert!(matches!(error, TransportError::Connect { .. }), "{error}");
}

#[test]
fn the_deadline_holds_while_reading() {
    let Some(place) = place() else { return };
    let key = place.server.key("k", &["-t", "ed25519"]);
    let mut remote = place.remote(&key, &place.server.host_line("ed25519"));
    remote.timeout = Duration::from_secs(1);
    // The login has to come within it, which it may not on a busy machine.
    let (_transport, mut connection) = loop {
        let transport = open(&remote).unwrap();
        match transport.connect(Service::UploadPack, Protocol::V2) {
            Ok(connection) => break (transport, connection),
            Err(TransportError::Timeout { .. }) if remote.timeout < Duration::from_secs(60) => remote.timeout *= 2,
            Err(error) => panic!("{error}"),
        }
    };
    // Nothing is asked, so git waits for ever after its greeting.
    let error = connection
        .advertisement()
        .unwrap()
        .read_to_end(&mut Vec::new())
        .unwrap_err();
    let error = TransportError::from_stream("test", error);
    assert!(matches!(error, TransportError::Timeout { .. }), "{error}");
}

#[test]
fn large_answers_and_requests_pass() {
    let Some(place) = place() else { return };
    // Larger than any window, on the wire too.
    let noise = bumpwright_testkit::packets::noise(8 << 20);
    let id = place.repo.commit("main", "noise", &[Change::File("noise", &noise)]);
    let key = place.server.key("k", &["-t", "ed25519"]);
    let transport: Box<dyn Transport> = open(&place.remote(&key, &place.server.host_line("ed25519"))).unwrap();
    let mut connection = transport.connect(Service::UploadPack, Protocol::V2).unwrap();
    read(connection.advertisement().unwrap()).unwrap();
    // Many lines that say nothing new make a request that is larger than a window, too.
    let have = "0032have 0000000000000000000000000000000000000000\n".repeat(60_000);
    let body = format!("0012command=fetch\n00010032want {id}\n{have}0009done\n0000");
    let mut answer = connection.request(body.as_bytes()).unwrap();
    let mut length = 0;
    while let Some(packet) = bumpwright_testkit::packets::packet(&mut answer) {
        length += packet.len();
    }
    assert!(length > noise.len(), "{length}");
    drop(answer);
    drop(connection);
    let source = Repo::init(place.server.dir.path().join("source.git"));
    let new = source.commit("main", "noise", &[Change::File("other", &noise)]);
    let report = bumpwright_testkit::packets::push(transport.as_ref(), &source, &new, "refs/heads/pushed").unwrap();
    assert_eq!(report, ["unpack ok\n", "ok refs/heads/pushed\n"]);
    assert_eq!(place.repo.rev("pushed"), Some(new));
}

#[test]
fn through_proxies() {
    let Some(place) = place() else { return };
    let key = place.server.key("k", &["-t", "ed25519"]);
    for scheme in ["http", "socks5"] {
        for login in [None, Some(("me", "p@ss:w"))] {
            let proxy = bumpwright_testkit::proxy::Proxy::start(login);
            let with = |login: Option<(&str, &str)>| {
                let mut remote = place.remote(&key, &place.server.host_line("ed25519"));
                let (username, password) = (login.map(|l| l.0.to_owned()), login.map(|l| Secret::new(l.1)));
                remote.proxy = Some(Proxy {
                    address: format!("{scheme}://{}", proxy.address),
                    username,
                    password,
                });
                place.list(&remote)
            };
            with(login).unwrap_or_else(|e| panic!("{scheme} {login:?}: {e}"));
            assert_eq!(proxy.targets(), [format!("127.0.0.1:{}", place.server.port)]);
            if login.is_some() {
                for wrong in [None, Some(("me", "hunter2"))] {
                    let error = with(wrong).unwrap_err();
                    assert!(matches!(error, TransportError::Connect { .. }), "{error}");
                    assert!(error.to_string().contains("the proxy"), "{error}");
                }
            }
        }
    }
}

/// Its own process, because the user's files and agent are found by the environment.
#[test]
fn keys_of_the_user() {
    if std::env::var_os("BUMPWRIGHT_TEST_SSH_URL").is_some() {
        let remote = Remote {
            auth: Auth::User,
            timeout: Duration::from_secs(120),
            ..Remote::new(RemoteUrl::parse(&std::env::var("BUMPWRIGHT_TEST_SSH_URL").unwrap()).unwrap())
        };
        list(open(&remote).unwrap().as_ref()).unwrap();
        return;
    }
    let Some(place) = place() else { return };
    let home = tempfile::tempdir().unwrap();
    let ssh = home.path().join(".ssh");
    fs::create_dir(&ssh).unwrap();
    fs::write(ssh.join("known_hosts"), place.server.host_line("ed25519")).unwrap();
    let url = place.server.url(&place.repo.dir);
    let child = |url: &str, agent: Option<&Path>| {
        let mut command = again(keys_of_the_user);
        command.env("HOME", home.path()).env("BUMPWRIGHT_TEST_SSH_URL", url);
        match agent {
            Some(socket) => command.env("SSH_AUTH_SOCK", socket),
            None => command.env_remove("SSH_AUTH_SOCK"),
        };
        let output = command.output().unwrap();
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    };
    let (ok, text) = child(&url, None);
    assert!(!ok && text.contains("no key was there to offer"), "{text}");

    let agent = Agent::start(home.path());
    agent.add(&place.server.key("held", &["-t", "rsa", "-b", "2048"]));
    let (ok, text) = child(&url, Some(&agent.socket));
    assert!(ok, "{text}");

    let key = place.server.key("file", &["-t", "ed25519"]);
    fs::copy(&key, ssh.join("id_ed25519")).unwrap();
    let (ok, text) = child(&url, None);
    assert!(ok, "{text}");

    fs::rename(ssh.join("id_ed25519"), ssh.join("special")).unwrap();
    let (user, rest) = url.trim_start_matches("ssh://").split_once('@').unwrap();
    let path = &rest[rest.find('/').unwrap()..];
    let config = format!(
        "Host fleet\n  HostName 127.0.0.1\n  Port {}\n  User {user}\n  IdentityFile ~/.ssh/special\n  IdentitiesOnly yes\n",
        place.server.port
    );
    fs::write(ssh.join("config"), config).unwrap();
    let (ok, text) = child(&format!("ssh://fleet{path}"), Some(&agent.socket));
    assert!(ok, "{text}");
    assert!(place.server.logins() == 3, "{}", place.server.log());
}
