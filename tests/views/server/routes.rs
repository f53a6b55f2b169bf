//! Each path, and what all answers have in their heads.

use bumpwright_pages::{script_path, style_path};
use bumpwright_testkit::apiserver::Cluster;

use super::seeded::{Pages, by_token, seeded};

const PATHS: [(&str, &str); 14] = [
    ("/", "okapi-base"),
    ("/attention", "okapi-base"),
    ("/images", "okapi-web"),
    ("/images/okapi/okapi-web", "2.0.0"),
    ("/automations", "okapi-all"),
    ("/automations/okapi/okapi-all", "okapi-all"),
    ("/kustomizations", "okapi-apps"),
    ("/kustomizations/okapi/okapi-apps", "okapi-map"),
    ("/sources", "okapi-fleet"),
    ("/sources/GitRepository/okapi/okapi-fleet", "okapi-fleet"),
    ("/timeline", "okapi event"),
    (
        "/objects/image.toolkit.fluxcd.io/ImageRepository/okapi/okapi-web",
        "ghcr.io",
    ),
    ("/objects/core/ConfigMap/okapi/okapi-map", "okapi-map"),
    ("/search?q=okapi-fleet", "okapi-fleet"),
];

fn admin(cluster: &Cluster) -> (&'static str, String) {
    ("Authorization", format!("Bearer {}", cluster.token()))
}

#[test]
fn each_path_has_its_page() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    for (path, word) in PATHS {
        let text = pages.page(path, cluster.token());
        assert!(text.contains(word), "{path}: {text}");
        assert!(
            !text.contains("hunter2") && !text.contains("aHVudGVyMg"),
            "{path}: {text}"
        );
        assert!(!text.contains("<img"), "{path}: {text}");
    }
    let secret = pages.page("/objects/core/Secret/okapi/okapi-secret", cluster.token());
    assert!(
        secret.contains("okapi-secret") && !secret.contains("password"),
        "{secret}"
    );
}

#[test]
fn what_is_not_there_is_not_found() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let (name, value) = admin(cluster);
    for path in [
        "/nowhere",
        "/images/okapi/none",
        "/kustomizations/okapi/none",
        "/sources/Secret/okapi/okapi-secret",
        "/objects/core/Secret/kube-system/none",
        "/objects/core/ConfigMap/kube-system/extension-apiserver-authentication",
        "/objects/core/ConfigMap/okapi/..%2f..%2fzebra%2fconfigmaps%2fzebra-map",
        "/images/%3Cscript%3E/%3Cscript%3E",
        &format!("/images/okapi/{}", "a".repeat(4000)),
        "/healthz",
        "/metrics",
    ] {
        let answer = pages.get(path, &[(name, &value)]);
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
        assert!(!answer.text().contains("<script>"), "{}", answer.text());
    }
    for (method, path, allowed) in [
        ("POST", "/images", "GET, HEAD"),
        ("DELETE", "/", "GET, HEAD"),
        ("GET", "/act", "POST"),
        ("GET", "/sign-out", "POST"),
        ("PUT", "/sign-in", "GET, HEAD, POST"),
    ] {
        let answer = pages.send(method, path, &[(name, &value)], "");
        assert_eq!(
            (answer.status, answer.header("Allow")),
            (405, allowed),
            "{method} {path}"
        );
    }
}

#[test]
fn heads_keep_pages_to_their_reader() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let (name, value) = admin(cluster);
    let plain = pages.get("/kustomizations", &[(name, &value)]);
    let packed = pages.get("/kustomizations", &[(name, &value), ("Accept-Encoding", "gzip")]);
    assert_eq!(packed.header("Content-Encoding"), "gzip");
    assert!(packed.body.len() < plain.body.len());
    let head = pages.send("HEAD", "/kustomizations", &[(name, &value)], "");
    assert_eq!((head.status, head.body.len()), (200, 0));
    for answer in [
        &plain,
        &packed,
        &head,
        &pages.get("/nowhere", &[]),
        &pages.get("/sign-in", &[]),
    ] {
        assert_eq!(answer.header("Cache-Control"), "no-store", "{}", answer.head);
        let policy = answer.header("Content-Security-Policy");
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "form-action 'self'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(part), "{part}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("X-Content-Type-Options"), "nosniff");
        assert_eq!(answer.header("Referrer-Policy"), "same-origin");
        assert_eq!(answer.header("Cross-Origin-Opener-Policy"), "same-origin");
    }
    for (path, media) in [
        (style_path(), "text/css; charset=utf-8"),
        (script_path(), "text/javascript; charset=utf-8"),
    ] {
        let asset = pages.get(path, &[]);
        assert_eq!((asset.status, asset.header("Content-Type")), (200, media));
        assert!(asset.header("Cache-Control").contains("immutable"));
        let again = pages.get(path, &[("If-None-Match", asset.header("ETag"))]);
        assert_eq!((again.status, again.body.len()), (304, 0));
    }
}

/// Without anybody being asked who it is: on this machine alone, and not by the name of somebody else.
#[test]
fn on_this_machine_nobody_signs_in_and_no_other_name_leads_there() {
    let Some(cluster) = seeded() else { return };
    let pages = Pages::start(cluster, &[]);
    for host in ["localhost", "127.0.0.1:1", "[::1]:9393"] {
        let answer = pages.get("/images", &[("Host", host)]);
        assert_eq!(answer.status, 200, "{host}");
        assert!(answer.text().contains("okapi-web") && answer.text().contains("zebra-web"));
    }
    for host in ["evil.io", "localhost.evil.io", "127.0.0.1.evil.io:80", ""] {
        for path in ["/images", "/events", style_path()] {
            let answer = pages.get(path, &[("Host", host)]);
            assert_eq!(answer.status, 421, "{host} {path}: {}", answer.text());
            assert!(!answer.text().contains("okapi"));
        }
    }
    let refused = pages.post(
        "/act",
        &[],
        &[
            ("action", "suspend"),
            ("kind", "ImagePolicy"),
            ("namespace", "okapi"),
            ("name", "okapi-web"),
        ],
    );
    assert_eq!(refused.status, 403, "{}", refused.text());
}
