//! The policy that the flags of `bumpwright policy --image` make, on a repository of their own.

use super::args::{Order, Policy};
use bumpwright_api::{
    AlphabeticalPolicy, FilterTags, ImagePolicy, ImagePolicyChoice, ImagePolicySpec, ImageRepository,
    ImageRepositorySpec, Metadata, NumericalPolicy, SemverPolicy,
};
use bumpwright_scan::repository_reference;

/// The policy and its repository, neither of which has a name.
///
/// # Errors
/// An image, a range or a pattern that cannot be used, in words for the user.
pub fn made_of(args: &Policy, image: &str) -> Result<(ImagePolicy, ImageRepository), String> {
    repository_reference(image).map_err(|error| format!("--image: {error}"))?;
    let policy = ImagePolicy {
        metadata: Metadata::default(),
        spec: Some(spec(args)),
        status: None,
    };
    // Better now than after the registry was asked.
    policy.chooser().map_err(|error| error.to_string())?;
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

/// A repository that says nothing but its image, so that all defaults hold.
fn repository(image: &str) -> ImageRepository {
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
    }
}
