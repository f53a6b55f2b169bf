//! `bumpwright update` against registries of four makers, which page, link and name digests each in its own way; and
//! against caches of a registry ("pull-through").

use std::any::Any;

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::registries::{InMemory, Repository};
use bumpwright_testkit::registry::{Access, Options, Registry, Release};

const APP: &str = "team/app";

/// It fills pages of a thousand to the last place: where no link leads on, that looks like the end.
const TAGS: usize = 2000;

/// A registry of any maker, with [`TAGS`] tags.
struct Served {
    name: &'static str,
    host: String,
    digest: String,
    _server: Box<dyn Any>,
}

fn tags() -> Vec<String> {
    (0..TAGS).map(|number| format!("1.0.{number}")).collect()
}

fn distribution(name: &'static str, release: Release) -> Option<Served> {
    let registry = Registry::with(&Options {
        release,
        ..Options::default()
    })?;
    let host = registry.host();
    let digest = registry.images().tags(APP, &tags());
    Some(Served {
        name,
        host,
        digest,
        _server: Box::new(registry),
    })
}

fn in_memory(name: &'static str, registry: Option<InMemory>) -> Option<Served> {
    let registry = registry?;
    let host = registry.host();
    let digest = Repository::new(&host, APP).tags(&tags());
    Some(Served {
        name,
        host,
        digest,
        _server: Box::new(registry),
    })
}

fn manifests(image: &str) -> String {
    format!(
        "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\nmetadata: {{name: app, namespace: fs}}\n\
         spec:\n  interval: 1h\n  image: {image}\n\
         ---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\nmetadata: {{name: app, namespace: fs}}\n\
         spec: {{imageRepositoryRef: {{name: app}}, policy: {{semver: {{range: '*'}}}}, digestReflectionPolicy: Always, interval: 1h}}\n"
    )
}

/// What `update` makes of the oldest tag.
fn updated(image: &str) -> String {
    let bench = Bench::new();
    let marker = "# {\"$imagepolicy\": \"fs:app\"}";
    bench.write("apps/a.yaml", format!("image: {image}:1.0.0 {marker}\n"));
    let file = bench.write("policies.yaml", manifests(image));
    bench.ok(&["update", "apps", "--strict", "-f", file.to_str().unwrap()]);
    let text = bench.read("apps/a.yaml");
    let value = text.strip_prefix("image: ").unwrap().split(' ').next().unwrap();
    value.to_owned()
}

#[test]
fn the_newest_of_all_tags_is_found_in_every_registry() {
    let all = [
        distribution("distribution 3", Release::Three),
        distribution("distribution 2, which sends all tags at once", Release::Two),
        in_memory("go-containerregistry, which links no pages", InMemory::crane()),
        in_memory("CUE", InMemory::cue(&[])),
        in_memory("CUE, pages without links", InMemory::cue(&["-omit-link"])),
        in_memory("CUE, tags without digests", InMemory::cue(&["-omit-digest"])),
        in_memory("CUE, no more than Amazon's pages", InMemory::cue(&["-max-page=1000"])),
    ];
    for served in all.into_iter().flatten() {
        let image = format!("{}/{APP}", served.host);
        let expected = format!("{image}:1.0.{}@{}", TAGS - 1, served.digest);
        assert_eq!(updated(&image), expected, "{}", served.name);
    }
}

#[test]
fn distribution_2_with_a_password() {
    let options = Options {
        release: Release::Two,
        access: Access::Password("ann", "hunter2"),
        ..Options::default()
    };
    let Some(registry) = Registry::with(&options) else {
        return;
    };
    registry.images().tags(APP, &["1.0.0", "1.1.0"]);
    let image = format!("{}/{APP}", registry.host());
    let bench = Bench::new();
    let login = serde_json::json!({"auths": {registry.host(): {"username": "ann", "password": "hunter2"}}});
    bench.write("../.docker/config.json", login.to_string());
    let choose = ["policy", "--image", &image, "--semver", "*"];
    assert!(bench.ok(&choose).out.contains("1.1.0"));
    // The registry's own words.
    bench.write("../.docker/config.json", "{}");
    let refused = bench.run(&choose);
    let said = refused.out + &refused.err;
    assert!(refused.code != 0 && said.contains("authentication required"), "{said}");
}

/// Where the nodes' container runtime pulls through a cache, policies may read tags from the same
/// cache: `spec.image` names it.
#[test]
fn a_cache_of_a_registry_has_all_its_tags() {
    let Some(origin) = Registry::start() else { return };
    let address = origin.url("");
    let cache = |release| {
        Registry::with(&Options {
            release,
            cache_of: Some(address.trim_end_matches('/')),
            ..Options::default()
        })
    };
    let caches: Vec<Registry> = [Release::Three, Release::Two].into_iter().filter_map(cache).collect();
    for tags in [&["1.0.0", "1.1.0"][..], &["1.2.0"]] {
        let digest = origin.images().tags(APP, tags);
        for cache in &caches {
            let image = format!("{}/{APP}", cache.host());
            let expected = format!("{image}:{}@{digest}", tags.last().unwrap());
            assert_eq!(updated(&image), expected);
        }
    }
}
