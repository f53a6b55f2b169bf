//! The creation time of an image.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde::Deserialize;
use ureq::http::Method;

use super::digest;
use super::manifest::{Descriptor, Manifest, by_digest, check, is_checkable, of_image, read, sha256};
use super::session::{Query, Session};
use crate::RegistryError;
use bumpwright_gostd::{RFC_3339, Time};
use bumpwright_http::Answer;

/// The largest configuration, in bytes.
const LARGEST_CONFIG: usize = 8 << 20;

/// The deepest nesting of indexes.
const DEPTH: usize = 3;

/// 2013-01-01, in seconds since 1970. Reproducible builds have 0001-01-01, 1970-01-01 or 1980-01-01.
const FIRST_IMAGES: i64 = 1_356_998_400;

const CREATED: &str = "org.opencontainers.image.created";

/// Limit on known ages.
const MOST: usize = 4096;

/// The ages of images by their names, with the digests of then. Docker Hub counts every manifest that is read against
/// the limit of pulls, and a guard asks for the age of one tag again and again: its digest costs nothing.
#[derive(Debug, Default)]
pub(crate) struct Ages(Mutex<HashMap<String, (String, Option<Time>)>>);

impl Ages {
    /// See [`crate::Registry::created`].
    ///
    /// # Errors
    /// When something cannot be fetched, or does not match its digest.
    pub(crate) fn of(&self, session: &mut Session<'_>) -> Result<Option<Time>, RegistryError> {
        let name = session.image.name();
        let cached = self.0.lock().get(&name).cloned();
        if let Some((then, age)) = cached
            && digest::of(session).is_ok_and(|now| now == then)
        {
            return Ok(age);
        }
        let (digest, age) = created(session)?;
        let mut ages = self.0.lock();
        if ages.len() >= MOST {
            ages.clear();
        }
        ages.insert(name, (digest, age.clone()));
        Ok(age)
    }
}

/// The digest of an image, and when it was created.
fn created(session: &mut Session<'_>) -> Result<(String, Option<Time>), RegistryError> {
    let answer = of_image(session)?;
    let digest = sha256(&answer.body);
    Ok((digest, age(session, &answer)?))
}

fn age(session: &mut Session<'_>, answer: &Answer) -> Result<Option<Time>, RegistryError> {
    #[derive(Deserialize)]
    struct Config {
        created: String,
    }
    let manifests = descend(session, answer)?;
    let config = match manifests.last() {
        Some(image) => configuration(session, image)?,
        None => None,
    };
    // None in other configurations, such as that of a chart.
    let config: Option<Config> = config.and_then(|answer| serde_json::from_slice(&answer.body).ok());
    let created = config.and_then(|config| time(&config.created));
    Ok(created.or_else(|| manifests.iter().rev().find_map(annotation)))
}

/// An index, if there is one, with those in it, down to the manifest of the chosen image.
///
/// # Errors
/// When something cannot be fetched, or does not match its digest.
pub(crate) fn descend(session: &mut Session<'_>, answer: &Answer) -> Result<Vec<Manifest>, RegistryError> {
    let mut manifests = vec![read(session, answer)?];
    for _ in 0..DEPTH {
        let images = manifests.last().and_then(|manifest| manifest.manifests.as_ref());
        let Some(image) = images.and_then(|images| chosen(images)) else {
            break;
        };
        let answer = by_digest(session, &image.digest)?;
        manifests.push(read(session, &answer)?);
    }
    Ok(manifests)
}

/// The image for linux/amd64, or else the first one. An entry without platform, or with the platform "unknown",
/// may be an attestation.
fn chosen(images: &[Descriptor]) -> Option<&Descriptor> {
    let is = |image: &&Descriptor, os: &str, architecture: &str| {
        let platform = image.platform.as_ref();
        platform.is_some_and(|platform| platform.os == os && platform.architecture == architecture)
    };
    let sound = || images.iter().filter(|image| is_checkable(&image.digest));
    let named = |image: &&Descriptor| image.platform.is_some() && !is(image, "unknown", "unknown");
    sound()
        .find(|image| is(image, "linux", "amd64"))
        .or_else(|| sound().find(named))
        .or_else(|| sound().next())
}

/// The configuration of an image; none of an index.
///
/// # Errors
/// When it cannot be fetched, or does not match its digest.
pub(crate) fn configuration(session: &mut Session<'_>, image: &Manifest) -> Result<Option<Answer>, RegistryError> {
    let config = image.config.as_ref().filter(|config| is_checkable(&config.digest));
    let Some(digest) = config.map(|config| config.digest.as_str()) else {
        return Ok(None);
    };
    let blob = Query {
        method: Method::GET,
        url: session.endpoint(&format!("blobs/{digest}"))?,
        accept: None,
        limit: LARGEST_CONFIG,
    };
    let answer = session.fetch(&blob)?;
    check("config", digest, &answer.body, session)?;
    Ok(Some(answer))
}

fn annotation(manifest: &Manifest) -> Option<Time> {
    time(manifest.annotations.0.get(CREATED)?)
}

/// Parses a plausible time in RFC 3339.
fn time(text: &str) -> Option<Time> {
    let time = Time::parse(RFC_3339, text.as_bytes()).ok()?;
    (time.unix_seconds() >= FIRST_IMAGES).then_some(time)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::request::manifest::Platform;

    #[test]
    fn times_that_say_something() {
        for (text, unix) in [
            ("2024-05-01T10:00:00.123456789Z", Some(1_714_557_600)),
            ("2024-05-01T12:00:00+02:00", Some(1_714_557_600)),
            ("0001-01-01T00:00:00Z", None),
            ("1970-01-01T00:00:01Z", None),
            ("1980-01-01T00:00:01Z", None),
            ("2024-05-01", None),
            ("", None),
        ] {
            assert_eq!(time(text).map(|time| time.unix_seconds()), unix, "{text}");
        }
    }

    #[test]
    fn the_image_of_an_index() {
        let index = |platforms: &[(&str, &str)]| {
            let descriptor = |(place, (os, architecture)): (usize, &(&str, &str))| Descriptor {
                digest: format!("sha256:{place:064x}"),
                platform: (!os.is_empty()).then(|| Platform {
                    os: (*os).to_owned(),
                    architecture: (*architecture).to_owned(),
                }),
                ..Descriptor::default()
            };
            let images: Vec<Descriptor> = platforms.iter().enumerate().map(descriptor).collect();
            chosen(&images).map(|image| u64::from_str_radix(image.digest.trim_start_matches("sha256:"), 16).unwrap())
        };
        for (platforms, expected) in [
            (
                vec![("linux", "arm64"), ("windows", "amd64"), ("linux", "amd64")],
                Some(2),
            ),
            (vec![("unknown", "unknown"), ("", ""), ("linux", "arm64")], Some(2)),
            (vec![("", ""), ("unknown", "unknown")], Some(0)),
            (vec![], None),
        ] {
            assert_eq!(index(&platforms), expected, "{platforms:?}");
        }
    }
}
