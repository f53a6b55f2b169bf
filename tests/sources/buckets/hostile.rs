//! Buckets with a hostile owner or server.

use super::*;

/// A server with a list of keys, etags and sizes, whose objects are what `object` gives.
fn server(objects: Vec<(&'static str, u64)>, object: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> StubHttp {
    StubHttp::start(move |request| {
        if request.parameter("list-type").is_some() {
            Reply::bytes(200, "application/xml", list(&objects, ""))
        } else {
            object(request)
        }
    })
}

fn list(objects: &[(&'static str, u64)], end: &str) -> String {
    let entries: String = objects
        .iter()
        .map(|(key, size)| format!("<Contents><Key>{key}</Key><ETag>\"e\"</ETag><Size>{size}</Size></Contents>"))
        .collect();
    format!("<ListBucketResult>{entries}{end}</ListBucketResult>")
}

fn bucket(server: &StubHttp) -> Bucket {
    open(&settings(BucketProvider::Generic, &server.host()))
}

fn body(text: &str) -> Reply {
    Reply::bytes(200, "text/plain", text).header("ETag", "\"e\"")
}

fn failure(server: &StubHttp, limits: Limits) -> String {
    let bucket = bucket(server);
    let mut index = index(&bucket).unwrap();
    fetched(&bucket, &mut index, limits).unwrap_err().to_string()
}

#[test]
fn keys_that_are_no_paths_are_refused_before_anything_is_fetched() {
    for (keys, text) in [
        (vec![("../../etc/cron.d/x", 1)], "it has a part \"..\""),
        (vec![("a", 1), ("a/b", 1)], "it is a file, and a folder of \"a/b\""),
        (vec![("a/b", 1), ("a//b", 1)], "it has the same path as \"a//b\""),
    ] {
        let server = server(keys, |_| body("x"));
        let said = failure(&server, Limits::default());
        assert!(said.contains(text) && said.contains("spec.ignore"), "{said}");
        assert_eq!(server.count(), 1, "the list alone");
    }
}

/// As of a file that somebody puts below a gateway (versitygw) without it: a change of it would never be seen.
#[test]
fn an_object_without_an_etag_is_refused() {
    let server = server(vec![("a", 1)], |_| Reply::text(200, "x"));
    let said = failure(&server, Limits::default());
    assert!(
        said.ends_with("failed to get 'a' object: ETag cannot be empty."),
        "{said}"
    );
}

#[test]
fn an_ignored_key_harms_nobody() {
    let server = server(vec![("../x", 1), ("good", 1), ("/abs\\o\u{7f}", 1)], |_| body("x"));
    let bucket = bucket(&server);
    let mut index = Index::of(&bucket, "", |key| key.starts_with(".."), Limits::default(), soon()).unwrap();
    let (files, _) = fetched(&bucket, &mut index, Limits::default()).unwrap();
    assert_eq!(files.into_keys().collect::<Vec<_>>(), ["abs\\o\u{7f}", "good"]);
    let targets: Vec<String> = server.requests().into_iter().map(|request| request.target).collect();
    assert!(targets.contains(&"/podinfo//abs%5Co%7F".to_owned()), "{targets:?}");
}

#[test]
fn other_bytes_than_were_listed() {
    for (reply, text) in [
        (body("12345"), "the body has 5 bytes or more instead of 3"),
        (body("12"), "the body has 2 bytes instead of 3"),
        (body("123").cut(1), "the connection failed"),
        (
            Reply::status(302).header("location", "http://127.0.0.1:1/x"),
            "302 Found",
        ),
        (Reply::status(403), "Access Denied."),
    ] {
        let server = server(vec![("k", 3)], move |_| reply.clone());
        let said = failure(&server, Limits::default());
        assert!(
            said.starts_with("fetch from bucket 'podinfo' failed: failed to get 'k' object: "),
            "{said}"
        );
        assert!(said.contains(text), "{said}");
    }
}

#[test]
fn changes_between_the_list_and_the_fetch() {
    let server = server(
        vec![("changed", 1), ("gone", 1), ("same", 1)],
        |request| match request.path.as_str() {
            "/podinfo/changed" => Reply::bytes(200, "text/plain", "longer").header("ETag", "\"f\""),
            "/podinfo/gone" => Reply::status(404),
            _ => body("x"),
        },
    );
    let bucket = bucket(&server);
    let mut index = index(&bucket).unwrap();
    let before = index.revision();
    let (files, gone) = fetched(&bucket, &mut index, Limits::default()).unwrap();
    assert_eq!((files.len(), gone), (2, vec!["gone".to_owned()]));
    let expected = [("changed", "f"), ("same", "e")].map(|(key, etag)| (key.to_owned(), etag.to_owned()));
    assert_eq!(etags(&index), expected);
    assert_ne!(index.revision(), before);
}

#[test]
fn more_than_is_taken() {
    let small = Limits {
        objects: 2,
        listed: 3,
        bytes: 10,
    };
    // Sizes of the list are trusted before the fetch; a wrong list is detected while reading.
    let honest = server(vec![("a", 6), ("b", 6)], |_| body("123456"));
    let said = failure(&honest, small);
    assert!(said.contains("the objects have more than 10 bytes"), "{said}");
    assert_eq!(honest.count(), 1);
    let lying = server(vec![("a", 1), ("b", 1)], |_| {
        Reply::bytes(200, "text/plain", "123456").header("ETag", "\"other\"")
    });
    let said = failure(&lying, small);
    assert!(said.contains("the objects have more than 10 bytes"), "{said}");
    let endless = server(vec![("a", 1)], |_| body(&"x".repeat(4096)).endless());
    let said = failure(&endless, small);
    assert!(said.contains("more than 10 bytes"), "{said}");

    let many = server(vec![("a", 1), ("b", 1), ("c", 1), ("d", 1)], |_| body("x"));
    let of = |ignored: fn(&str) -> bool| {
        let result = Index::of(&bucket(&many), "", ignored, small, soon());
        result.unwrap_err().to_string()
    };
    assert!(of(|_| false).contains("more than 2 objects are to be fetched"));
    assert!(of(|_| true).contains("it has more than 3 objects"));
}

#[test]
fn a_list_that_goes_on_for_ever() {
    let end = "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>";
    let server = StubHttp::start(move |_| Reply::bytes(200, "application/xml", list(&[("a", 1)], end)));
    let said = index(&bucket(&server)).unwrap_err().to_string();
    assert!(said.contains("its next page is itself"), "{said}");
    assert_eq!(server.count(), 2);
}

#[test]
fn the_file_of_rules_has_its_limit() {
    let server = StubHttp::start(|request| match request.method.as_str() {
        "HEAD" => Reply::status(200),
        _ => body(&"#".repeat(4096)).filled(8 << 20),
    });
    let said = Index::ignore_file(&bucket(&server), soon()).unwrap_err().to_string();
    assert!(
        said.starts_with("failed to get Etag for '.sourceignore' object: ") && said.contains("1048576 bytes"),
        "{said}"
    );
}
