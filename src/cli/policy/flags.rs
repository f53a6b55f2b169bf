//! A policy from the flags of `bumpwright policy --image`, with a repository.

use super::args::{Order, Policy};
use crate::cli::error::{Attempt as _, CliError};
use bumpwright_api::{
    AlphabeticalPolicy, FieldPlaces, FilterTags, ImagePolicy, ImagePolicyChoice, ImagePolicySpec, ImageRepository,
    ImageRepositorySpec, Metadata, NumericalPolicy, SemverPolicy,
};
use bumpwright_scan::repository_reference;

/// The policy and its repository; both are nameless.
///
/// # Errors
/// An invalid image, range or pattern, in words for the user.
pub fn made_of(args: &Policy, image: &str) -> Result<(ImagePolicy, ImageRepository), CliError> {
    repository_reference(image).at("--image")?;
    let policy = ImagePolicy {
        metadata: Metadata::default(),
        spec: Some(spec(args)),
        status: None,
        places: FieldPlaces::default(),
    };
    // Checked before the registry is asked.
    policy.chooser()?;
    Ok((policy, repository(image)))
}

fn spec(args: &Policy) -> ImagePolicySpec {
    let order = |order: Order| match order {
        Order::Asc => "asc".to_owned(),
        Order::Desc => "desc".to_owned(),
    };
    ImagePolicySpec {
        image_repository_ref: None,
        policy: Some(ImagePolicyChoice {
            semver: args.semver.clone().map(|range| SemverPolicy { range }),
            alphabetical: args.alphabetical.map(|given| AlphabeticalPolicy {
                order: Some(order(given)),
            }),
            numerical: args.numerical.map(|given| NumericalPolicy {
                order: Some(order(given)),
            }),
        }),
        filter_tags: args.filter.clone().map(|pattern| FilterTags {
            pattern,
            extract: args.extract.clone().unwrap_or_default(),
        }),
        digest_reflection_policy: None,
        interval: None,
        suspend: false,
    }
}

/// A repository with an image only, so that all defaults apply.
#[must_use]
pub fn repository(image: &str) -> ImageRepository {
    ImageRepository {
        metadata: Metadata::default(),
        spec: ImageRepositorySpec {
            image: image.to_owned(),
            interval: None,
            timeout: None,
            secret_ref: None,
            proxy_secret_ref: None,
            service_account_name: String::new(),
            cert_secret_ref: None,
            suspend: false,
            access_from: None,
            exclusion_list: Vec::new(),
            provider: String::new(),
            insecure: false,
        },
        places: FieldPlaces::default(),
    }
}
