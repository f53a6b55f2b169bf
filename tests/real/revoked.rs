//! Pages for browsers: a token that is revoked ends its session and its live page within a minute, and so does a right
//! what it showed. Nothing else is real here that is not in `make test`, but the minute.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use bumpwright_testkit::waiting::{until, until_within};

use crate::pages::{Pages, account, by_token, home, seeded};

/// The minute, and what a busy machine needs.
const MINUTE: Duration = Duration::from_secs(65);

/// A live page: a stream of events for a cookie.
struct Live(TcpStream, String);

impl Live {
    fn open(pages: &Pages, cookie: &str) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", pages.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let request = format!("GET /events HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut live = Self(stream, String::new());
        until("the stream begins", || {
            assert!(!live.is_over(), "{}", live.1);
            live.1.contains("retry: ")
        });
        live
    }

    /// Whether it has ended; reads what has come.
    fn is_over(&mut self) -> bool {
        let mut bytes = [0; 4096];
        match self.0.read(&mut bytes) {
            Ok(0) => true,
            Ok(count) => {
                self.1.push_str(&String::from_utf8_lossy(&bytes[..count]));
                self.1.ends_with("\r\n0\r\n\r\n")
            }
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }
}

/// The cookie of somebody who signs in with a token.
fn sign_in(pages: &Pages, token: &str) -> String {
    let answer = pages.post("/sign-in", &[], &[("token", token)]);
    assert_eq!(answer.status, 303, "{}", answer.text());
    answer.header("Set-Cookie").split(';').next().unwrap().to_owned()
}

#[test]
fn what_is_revoked_ends_within_a_minute() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let token = |name: &str| account(cluster, "okapi", name, "ui-view");
    let tokens = ["leaver", "mover", "stayer"].map(token);
    let cookies = tokens.each_ref().map(|token| sign_in(pages, token));
    let page = |who: usize| pages.get("/images", &[("Cookie", &cookies[who])]);
    let mut lives = cookies.each_ref().map(|cookie| Live::open(pages, cookie));
    for who in 0..3 {
        assert!(page(who).text().contains("okapi-web"), "{}", page(who).text());
    }
    let delete = |path: &str| assert_eq!(cluster.request("DELETE", path, "", "").status, 200, "{path}");
    delete(&format!("/api/v1/namespaces/{}/serviceaccounts/leaver", home("leaver")));
    delete("/apis/rbac.authorization.k8s.io/v1/namespaces/okapi/rolebindings/mover");
    let began = Instant::now();
    until_within(MINUTE, "the live page ends", || lives[0].is_over());
    println!(
        "revoked tokens: a live page ended after {} seconds",
        began.elapsed().as_secs()
    );
    let left = MINUTE.saturating_sub(began.elapsed());
    // Whatever was asked meanwhile: the page counts as a look, too.
    until_within(left, "the session ends", || page(0).status == 303);
    assert!(page(0).header("Location").starts_with("/sign-in"), "{}", page(0).head);
    let bearer = format!("Bearer {}", tokens[0]);
    assert_eq!(pages.get("/images", &[("Authorization", &bearer)]).status, 401);
    until_within(MINUTE, "what may not be seen any more is gone", || {
        !page(1).text().contains("okapi-web")
    });
    assert_eq!(page(1).status, 200, "a right is gone, and not the session");
    // For others nothing has changed.
    assert!(page(2).text().contains("okapi-web"));
    assert!(!lives[2].is_over() && !lives[1].is_over());
}
