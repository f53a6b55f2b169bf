//! Texts of Go's standard library and of semver: dates, durations, URLs, quotes, versions.

use bumpwright_gostd::{
    Base64, Duration, RFC_3339_NANO, Time, Url, decode_base64, decode_pem, parse_float, parse_int, quote, quote_bytes,
    unquote,
};
use bumpwright_semver::{Constraint, Version, latest_tag};

/// Whether dates and durations are read as they were written.
fn dates(layout: &[u8], text: &[u8]) {
    for layout in [layout, RFC_3339_NANO] {
        let Ok(time) = Time::parse(layout, text) else { continue };
        drop(time.format(layout));
        if let Ok(nanoseconds) = time.rfc_3339() {
            let again = Time::parse(RFC_3339_NANO, &nanoseconds).expect("a date that is written is read");
            assert!(again.order(&time).is_eq(), "{}", String::from_utf8_lossy(&nanoseconds));
        }
        let _ = time.add_date(1, -14, 400);
        let _ = time.add(Duration(i64::MAX));
        let _ = time.round(Duration(7_000_000_000));
        let _ = time.truncate(Duration(i64::MIN));
    }
    if let Ok(duration) = Duration::parse(text) {
        let shown = duration.to_string();
        assert_eq!(Duration::parse(shown.as_bytes()), Ok(duration), "{shown}");
        let _ = duration.round(Duration(1_000_000_000));
        let _ = duration.truncate(Duration(-7));
    }
}

fn versions(range: &str, text: &str) {
    let tags: Vec<String> = text.split('\n').take(50).map(str::to_owned).collect();
    let _ = latest_tag(range, &tags);
    let constraint = Constraint::parse(range);
    for tag in &tags {
        let Ok(version) = Version::parse(tag) else { continue };
        let again = version.to_string();
        assert_eq!(Version::parse(&again).map(|again| again.to_string()), Ok(again.clone()));
        let _ = Version::parse_flux(tag);
        if let Ok(strict) = Version::parse_strict(tag) {
            assert!(strict == version);
        }
        let _ = (version.next_major(), version.next_minor(), version.next_patch());
        if let Ok(constraint) = &constraint {
            assert_eq!(
                constraint.check(&version),
                constraint.validate(&version).is_ok(),
                "{range} {tag}"
            );
        }
    }
}

/// A layout or range, and a text.
pub fn check(input: &[u8]) {
    let (layout, text) = super::halves(input);
    dates(layout, text);
    if let Ok(url) = Url::parse(layout) {
        let shown = url.text();
        // As Go writes it, a path of two slashes looks like a host.
        let is_path = url.hostname().is_empty() && shown.starts_with(b"//");
        if let Ok(again) = Url::parse(&shown)
            && !is_path
        {
            assert_eq!(again.text(), shown, "{}", String::from_utf8_lossy(layout));
        }
        let _ = url.hostname();
    }
    for encoding in [Base64::Standard, Base64::RawUrl] {
        let _ = decode_base64(layout, encoding, &mut Vec::new());
    }
    let _ = decode_pem(layout);
    let _ = quote_bytes(layout);
    if let Ok(layout) = std::str::from_utf8(layout) {
        assert_eq!(unquote(&quote(layout)).as_deref(), Some(layout.as_bytes()));
        let _ = (unquote(layout), parse_float(layout, 64), parse_int(layout, 0, 64));
        if let Ok(text) = std::str::from_utf8(text) {
            versions(layout, text);
        }
    }
}
