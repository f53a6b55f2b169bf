//! The indexes of the chart repositories, and their servers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tls::Certificates;
use parking_lot::Mutex;

/// Servers of chart repositories.
pub struct World {
    pub plain: StubHttp,
    /// For who has a certificate of the authority.
    pub tls: StubHttp,
    pub slow: StubHttp,
    pub certificates: Certificates,
    /// `host:port` where no server is.
    pub nowhere: String,
    moved: Arc<AtomicBool>,
    answers: Arc<Mutex<Vec<(String, u16)>>>,
    folder: tempfile::TempDir,
}

impl World {
    /// None when a program is missing.
    pub fn build() -> Option<Self> {
        let certificates = Certificates::make()?;
        let (moved, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (now, told) = (Arc::clone(&moved), Arc::clone(&answers));
        let plain = StubHttp::start(move |request| {
            let reply = answer(request, now.load(Ordering::SeqCst));
            told.lock().push((request.path.clone(), reply.status));
            reply
        });
        Some(Self {
            plain,
            tls: StubHttp::with(Some(certificates.server_config(true)), |request| answer(request, false)),
            slow: StubHttp::start(|_| Reply::status(200).after(Duration::from_secs(5))),
            certificates,
            nowhere: format!("127.0.0.1:{}", free_port()),
            moved,
            answers,
            folder: tempfile::tempdir().unwrap(),
        })
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What changes between the rounds.
    pub fn go_on(&self) {
        self.moved.store(true, Ordering::SeqCst);
    }

    /// How often an index was answered so.
    pub fn answered(&self, path: &str, status: u16) -> usize {
        let answers = self.answers.lock();
        answers
            .iter()
            .filter(|(asked, was)| asked == path && *was == status)
            .count()
    }
}

/// With the words of real servers, which are quoted.
fn refused(status: u16) -> Reply {
    let words = match status {
        401 => "Unauthorized",
        404 => "Not Found",
        500 => "Internal Server Error",
        _ => "Not Implemented",
    };
    let head = format!("HTTP/1.1 {status} {words}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
    Reply::raw(head)
}

const CLOSED: &str = "Basic YW5uOnB3";

fn answer(request: &Request, moved: bool) -> Reply {
    let yaml = |text: &str| Reply::bytes(200, "text/yaml", text);
    let kind = request.path.trim_start_matches('/').trim_end_matches("/index.yaml");
    match kind {
        "etag" if request.header("if-none-match") == Some("\"1\"") => Reply::status(304),
        "etag" => yaml(INDEX).header("ETag", "\"1\""),
        "dated" if request.header("if-modified-since").is_some() => Reply::status(304),
        "dated" => yaml(INDEX).header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"),
        "changing" => {
            if moved {
                yaml(&INDEX.replace("1.10.0", "1.11.0")).header("ETag", "\"2\"")
            } else {
                yaml(INDEX).header("ETag", "\"1\"")
            }
        }
        "then-broken" if moved => yaml("apiVersion: v1\nentries: ["),
        "then-gone" if moved => refused(500),
        "closed" if request.header("authorization") != Some(CLOSED) => refused(401),
        "moved" => Reply::status(302).header("Location", "/plain/index.yaml"),
        "json" => yaml(JSON),
        "empty" => yaml(""),
        "no-version" => yaml("entries: {}\n"),
        "no-entries" => yaml("apiVersion: v1\n"),
        "no-charts" => yaml("apiVersion: v1\nentries: {}\ngenerated: 2026-01-01T00:00:00Z\n"),
        "page" => Reply::bytes(200, "text/html", "<html></html>"),
        "unknown-field" => yaml("apiVersion: v1\nother: 1\nentries: {}\n"),
        "unknown-in-entry" => yaml("apiVersion: v1\nentries:\n  a:\n  - {name: a, version: 1.0.0, other: 1}\n"),
        "odd-time" => yaml("apiVersion: v1\ngenerated: today\nentries: {}\n"),
        "list" => yaml("- a\n"),
        "not-yaml" => yaml("apiVersion: v1\nentries: [\n"),
        "rich" => yaml(RICH),
        "numbers" => yaml("apiVersion: v1\nentries: {a: [{name: a, version: 1.0.0, appVersion: 1.10}]}\n"),
        "many" => yaml(&many()),
        "large" => Reply::bytes(200, "text/yaml", vec![b' '; (50 << 20) + 1]),
        "gone" => refused(404),
        "failing" => refused(501),
        _ => yaml(INDEX),
    }
}

const INDEX: &str = "\
apiVersion: v1
entries:
  web:
  - apiVersion: v2
    created: \"2026-01-01T10:20:30.123456789+02:00\"
    digest: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    name: web
    type: application
    urls:
    - web-1.9.0.tgz
    version: 1.9.0
  - apiVersion: v2
    created: \"2026-01-02T00:00:00Z\"
    name: web
    urls:
    - https://charts.example/web-1.10.0.tgz
    version: 1.10.0
  db:
  - {name: db, version: 0.1.0, urls: []}
generated: \"2026-01-03T00:00:00Z\"
";

const JSON: &str = r#"{"apiVersion":"v1","more":1,"entries":{"a":[{"name":"a","version":"1.0.0","urls":["a.tgz"],"more":2}]},
"generated":"2026-01-03T00:00:00Z"}"#;

const RICH: &str = "\
# An index with all that there is
serverInfo: {contextPath: /a, zones: [1, 2.5, true, null], big: 1e30, small: 0.0000001}
apiVersion: v1
generated: 2026-01-03T00:00:00.100Z
publicKeys: [a, b]
annotations: {z: a, a: '1'}
entries:
  all:
  # A comment between
  - name: all
    home: https://example.com/?a=1&b=<c>
    sources: [https://git.example/all, \"\"]
    version: v1.2.3+build.1
    description: |
      Several
        lines\twith \"quotes\", ümlauts and \\ backslashes

    keywords: [one, 'two']
    maintainers:
    - {name: Ann, email: ann@example.com, url: https://ann.example}
    - name: Bob
    icon: https://example.com/icon.svg
    apiVersion: v2
    condition: a.enabled
    tags: x,y
    appVersion: '1.10'
    deprecated: true
    annotations:
      example.com/z: \"true\"
      example.com/a: text
    kubeVersion: '>=1.20.0-0'
    dependencies:
    - name: sub
      version: 1.x
      repository: https://charts.example
      condition: sub.enabled
      tags: [front]
      enabled: true
      import-values: [data, {child: a, parent: b}]
      alias: one
    - {name: other, version: '2', repository: ''}
    type: library
    urls: [all.tgz, https://mirror.example/all.tgz]
    created: 2026-01-01T00:00:00+00:00
    removed: true
    digest: sha256:00
    checksum: '01'
    engine: gotpl
    tillerVersion: '>=2'
    url: all.tgz
  - name: all
    version: 1.2.3
    description: \"bell \\u0007 and \\u2028 and nbsp\\u00a0 here\"
  - {name: all, version: '1.2'}
  - {name: all, version: none}
  - {name: all}
  - {version: 9.0.0}
  - {name: a/b, version: 8.0.0}
  - {name: all, version: 7.0.0, type: other}
  - {name: all, version: 6.0.0, dependencies: [{name: d}, {name: d}]}
  - {name: all, version: 5.0.0, maintainers: [null]}
  - {name: all, version: 4.0.0, urls: null}
  none: []
  nothing: null
  Zed:
    - version: 0.1.0-rc.1
      name: Zed
      urls:
        - >-
          folded/
          zed.tgz
    - name: Zed
      version: 0.1.0
";

fn many() -> String {
    let mut text = "apiVersion: v1\nentries:\n".to_owned();
    for chart in 0..40 {
        text.push_str(&format!("  chart-{chart}:\n"));
        for version in 0..30 {
            text.push_str(&format!(
                "  - {{name: chart-{chart}, version: {}.{version}.0, urls: [c.tgz], digest: {version}a}}\n",
                version % 7
            ));
        }
    }
    text
}
