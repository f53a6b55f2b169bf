//! Buckets: lists of all three providers, contents of objects, and the logins of one.

use std::io::Write as _;

use serde_json::json;

use super::{ENDLESS, Place, Row, Specs, TIMEOUT};
use bumpwright_testkit::hostile::Pour;
use bumpwright_testkit::world::BUCKET;

/// Nearly the largest pages.
const PAGE: u64 = 15 << 20;
const AZURE_PAGE: u64 = 47 << 20;

pub const ROWS: &[Row] = &[
    Row::new("keys", BUCKET, keys),
    Row::new("long-keys", BUCKET, long_keys),
    Row::new("google-names", BUCKET, google_names),
    Row::new("google-parts", BUCKET, google_parts),
    Row::new("azure-names", BUCKET, azure_names),
    Row::new("objects", BUCKET, objects),
    Row::new("ldap", BUCKET, ldap),
];

fn s3(place: &Place) -> Specs {
    let host = place.hostile.host();
    Box::new(
        move |number| json!({"interval": "1h", "timeout": TIMEOUT, "endpoint": host, "insecure": true, "bucketName": format!("bucket-{number}")}),
    )
}

/// There is no file with rules for what is left out.
fn without_rules(place: &Place) {
    let none = Pour::json("", |_, _| {}).status(404);
    for number in 0..8 {
        let path = format!("/bucket-{number}/.sourceignore");
        place.hostile.answer(&path, none.clone());
    }
}

fn listed(place: &Place, part: fn(u64, &mut Vec<u8>)) -> Specs {
    let first = "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>true</IsTruncated>\
        <NextContinuationToken>x</NextContinuationToken>";
    let page = Pour::new("application/xml", first, part).sized(PAGE, "</ListBucketResult>");
    place.hostile.answer("/bucket-", page);
    without_rules(place);
    s3(place)
}

fn entry(key: &str, out: &mut Vec<u8>) {
    write!(
        out,
        "<Contents><Key>{key}</Key><ETag>\"1\"</ETag><Size>1</Size></Contents>"
    )
    .unwrap();
}

/// As long as a key may be.
fn keys(place: &Place) -> Specs {
    listed(place, |number, out| entry(&format!("{number:0>1000}"), out))
}

fn long_keys(place: &Place) -> Specs {
    listed(place, |number, out| entry(&format!("{number:0>60000}"), out))
}

/// The controller's environment names the server of Google's buckets.
fn google(place: &Place, row: &'static str, first: &str, part: fn(u64, &mut Vec<u8>)) -> Specs {
    let server = &place.clouds;
    server.whole(&format!("/storage/v1/b/{row}-"), "application/json", "{}");
    for number in 0..8 {
        let bucket = format!("/storage/v1/b/{row}-{number}");
        let page = Pour::json(first, part).sized(PAGE, r#"{"name":""}]}"#);
        server.answer(&format!("{bucket}/o?"), page);
        let none = Pour::json("{}", |_, _| {}).sized(2, "").status(404);
        server.answer(&format!("{bucket}/o/"), none);
    }
    Box::new(move |number| {
        json!({"interval": "1h", "timeout": TIMEOUT, "provider": "gcp", "endpoint": "storage.googleapis.com",
            "bucketName": format!("{row}-{number}")})
    })
}

fn google_names(place: &Place) -> Specs {
    google(place, "names", r#"{"nextPageToken":"x","items":["#, |number, out| {
        write!(out, r#"{{"name":"{number:0>1000}","etag":"1"}},"#).unwrap();
    })
}

/// As many entries as fit.
fn google_parts(place: &Place) -> Specs {
    google(place, "parts", r#"{"nextPageToken":"x","items":["#, |number, out| {
        write!(out, r#"{{"name":"{number:x}"}},"#).unwrap();
    })
}

fn azure_names(place: &Place) -> Specs {
    place.secret("azure", &[("accountKey", "aHVudGVyMmh1bnRlcjI=")]);
    let first = "<?xml version=\"1.0\"?><EnumerationResults><NextMarker>x</NextMarker><Blobs>";
    let page = Pour::new("application/xml", first, |number, out| {
        write!(
            out,
            "<Blob><Name>{number:0>1000}</Name><Properties><Etag>1</Etag></Properties></Blob>"
        )
        .unwrap();
    });
    place
        .hostile
        .answer("/azure-", page.sized(AZURE_PAGE, "</Blobs></EnumerationResults>"));
    let url = place.hostile.url("");
    let url = url.replace("localhost", "127.0.0.1");
    Box::new(move |number| {
        json!({"interval": "1h", "timeout": TIMEOUT, "provider": "azure", "endpoint": url, "insecure": true,
            "bucketName": format!("azure-{number}"), "secretRef": {"name": "azure"}})
    })
}

/// Contents without an end.
fn objects(place: &Place) -> Specs {
    let list = "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>\
        <Contents><Key>k</Key><ETag>\"1\"</ETag></Contents></ListBucketResult>";
    for number in 0..8 {
        place
            .hostile
            .whole(&format!("/bucket-{number}/"), "application/xml", list);
        let contents = Pour::repeated("application/octet-stream", "", "0123456789abcdef").header("ETag", "\"1\"");
        place
            .hostile
            .answer(&format!("/bucket-{number}/k"), contents.sized(ENDLESS, ""));
    }
    without_rules(place);
    s3(place)
}

/// The answer of a login.
fn ldap(place: &Place) -> Specs {
    let answer = Pour::repeated("application/xml", "<AssumeRoleWithLDAPIdentityResponse>", "<a>");
    place.hostile.answer("/sts", answer.sized(1 << 20, ""));
    let (host, sts) = (place.hostile.host(), place.url("sts"));
    place.secret("ldap", &[("username", "u"), ("password", "p")]);
    Box::new(move |number| {
        json!({"interval": "1h", "timeout": TIMEOUT, "endpoint": host, "insecure": true, "bucketName": format!("login-{number}"),
            "sts": {"provider": "ldap", "endpoint": sts, "secretRef": {"name": "ldap"}}})
    })
}
