//! Versions of charts and of Flux's sources, and how their hosts are reached.

use bumpwright_adopt::Files;
use bumpwright_propose::repositories;

use super::{SOURCE, file, listing, new, options, proposed, surveyed, whys};

const RELEASES: &str = "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: podinfo, namespace: apps}
spec:
  chart:
    spec:
      chart: podinfo
      version: 6.5.0
      sourceRef: {kind: HelmRepository, name: podinfo, namespace: flux-system}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: apps}
spec:
  chart:
    spec:
      chart: web
      version: '1.2.0'
      sourceRef: {kind: HelmRepository, name: acme}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: podinfo, namespace: flux-system}
spec: {url: https://stefanprodan.github.io/podinfo, interval: 1h}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: acme}
spec: {type: oci, url: oci://ghcr.io/acme/charts/, interval: 1h}
";

#[test]
fn charts_of_releases_come_from_their_helm_repositories() {
    let sources = [file("apps/releases.yaml", RELEASES), file("source.yaml", SOURCE)];
    let registry = [
        ("helm:stefanprodan.github.io/podinfo/podinfo", "6.5.0 6.5.4 6.7.1 7.0.0"),
        ("ghcr.io/acme/charts/web", "1.2.0 1.3.1 1.4.0-rc.1"),
    ];
    let (_, proposal) = proposed(&sources, &registry, &options());
    assert_eq!(whys(&proposal), Vec::<String>::new());
    assert_eq!(
        new(&sources, &proposal, 0),
        RELEASES
            .replace(
                "version: 6.5.0\n",
                "version: 6.5.0 # {\"$imagepolicy\": \"flux-system:podinfo-chart:tag\"}\n"
            )
            .replace("'1.2.0'\n", "'1.2.0' # {\"$imagepolicy\": \"flux-system:web:tag\"}\n")
    );
    let chosen: Vec<&str> = proposal.policies.iter().map(|policy| policy.chosen.as_str()).collect();
    assert_eq!(chosen, ["1.3.1", "6.7.1"]);
    let repository = "metadata:\n  name: podinfo-chart\n  namespace: flux-system\n  annotations:\n    bumpwright.dev/kind: helm\n\
                      spec:\n  image: stefanprodan.github.io/podinfo/podinfo\n";
    assert!(proposal.manifests.contains(repository), "{}", proposal.manifests);
    // Asked again, the objects that are there now are taken.
    let marked = new(&sources, &proposal, 0).replace("# {\"$imagepolicy\": \"flux-system:podinfo-chart:tag\"}", "");
    let sources = [
        file("apps/releases.yaml", &marked),
        file("objects.yaml", &proposal.manifests),
    ];
    let (_, again) = proposed(&sources, &registry, &options());
    assert_eq!((again.policies.len(), again.policies[0].is_known), (1, true));
    assert_eq!(again.manifests, "");
}

#[test]
fn charts_of_charts_and_of_kustomizations_and_of_argo_cd() {
    let chart = "apiVersion: v2\nname: site\nversion: 0.1.0\ndependencies:\n- name: redis\n  version: 18.1.0\n  repository: https://charts.example.com/stable\n\
                 - name: common\n  version: 0.1.0\n  repository: file://../common\n";
    let kustomization = "helmCharts:\n- name: minio\n  repo: oci://registry.example.com/charts\n  version: v5.0.1\n";
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  sources:\n  - repoURL: ghcr.io/acme/charts\n    \
                       chart: web\n    targetRevision: 1.2.0\n  - repoURL: https://git.example.com/fleet.git\n    targetRevision: main\n";
    let sources = [
        file("site/Chart.yaml", chart),
        file("kustomization.yaml", kustomization),
        file("application.yaml", application),
        file("source.yaml", SOURCE),
    ];
    let registry = [
        ("helm:charts.example.com/stable/redis", "18.1.0 18.4.0"),
        ("registry.example.com/charts/minio", "v5.0.1 v5.0.15"),
        ("ghcr.io/acme/charts/web", "1.2.0 1.2.1"),
    ];
    let (_, proposal) = proposed(&sources, &registry, &options());
    assert_eq!(whys(&proposal), Vec::<String>::new());
    for (n, line) in [
        (
            0,
            "  version: 18.1.0 # {\"$imagepolicy\": \"flux-system:redis-chart:tag\"}\n",
        ),
        (1, "  version: v5.0.1 # {\"$imagepolicy\": \"flux-system:minio:tag\"}\n"),
        (
            2,
            "    targetRevision: 1.2.0 # {\"$imagepolicy\": \"flux-system:web:tag\"}\n",
        ),
    ] {
        let text = new(&sources, &proposal, n);
        assert!(text.contains(line), "{text}");
        assert_eq!(text.matches("$imagepolicy").count(), 1, "{text}");
    }
}

#[test]
fn tags_of_sources_with_the_digest_beside_them() {
    let text = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: app, namespace: flux-system}\nspec:\n  \
                url: oci://ghcr.io/acme/manifests\n  secretRef: {name: ghcr}\n  ref:\n    tag: 1.0.0\n    digest: sha256:aa\n---\n\
                apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: module, namespace: flux-system}\nspec:\n  \
                url: https://git.example.com/acme/module.git\n  ref:\n    tag: v1.2.0\n";
    let sources = [file("sources.yaml", text)];
    let registry = [
        ("ghcr.io/acme/manifests", "1.0.0 1.1.0"),
        ("git-tags:git.example.com/acme/module.git", "v1.2.0 v1.9.0 v2.0.0"),
    ];
    let (_, proposal) = proposed(&sources, &registry, &options());
    let text = new(&sources, &proposal, 0);
    for line in [
        "    tag: 1.0.0 # {\"$imagepolicy\": \"flux-system:manifests:tag\"}\n",
        "    digest: sha256:aa # {\"$imagepolicy\": \"flux-system:manifests:digest\"}\n",
        "    tag: v1.2.0 # {\"$imagepolicy\": \"flux-system:module:tag\"}\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    // It logs in as the source does.
    let repository = "  image: ghcr.io/acme/manifests\n  interval: 10m\n  secretRef:\n    name: ghcr\n";
    assert!(proposal.manifests.contains(repository), "{}", proposal.manifests);
    let elsewhere = super::Options {
        namespace: "images".to_owned(),
        ..options()
    };
    let (_, proposal) = proposed(&sources, &registry, &elsewhere);
    assert!(
        !proposal.manifests.contains("secretRef"),
        "a Secret of another namespace"
    );
}

#[test]
fn a_digest_behind_a_tag_is_marked_with_it() {
    let sources = [
        file(
            "values.yaml",
            "image:\n  repository: acme/web\n  tag: 1.0.0@sha256:0a\n",
        ),
        file(
            "kustomization.yaml",
            "images:\n- name: acme/web\n  newTag: 1.0.0@sha256:0a\n",
        ),
    ];
    let (_, proposal) = proposed(&sources, &[("acme/web", "1.0.0 1.1.0")], &options());
    for n in 0..2 {
        let text = new(&sources, &proposal, n);
        assert!(
            text.contains("1.0.0@sha256:0a # {\"$imagepolicy\": \"flux-system:web:tag@digest\"}\n"),
            "{text}"
        );
    }
    assert!(
        proposal.manifests.contains("digestReflectionPolicy: "),
        "{}",
        proposal.manifests
    );
}

#[test]
fn what_is_no_version_is_left_with_the_reason() {
    let release = |name: &str, chart: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}}}\nspec: {{chart: {{spec: {chart}}}}}\n"
        )
    };
    let reference = "sourceRef: {kind: HelmRepository, name: acme}";
    let repository = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: acme}\nspec: {url: oci://ghcr.io/acme}\n";
    for (text, why) in [
        ("image: a:1.0.0\n".to_owned(), "a: it names no image: "),
        (
            "image: {repository: acme/web, tag: '1.0.0@latest'}\n".to_owned(),
            "what is behind the @ of its tag is no digest",
        ),
        ("image: Acme/Web:1.0.0\n".to_owned(), "Acme/Web: it names no image: "),
        (release("a", &format!("{{chart: web, version: 1.x, {reference}}}")), "it is a range"),
        (release("a", &format!("{{chart: web, version: '1.2', {reference}}}")), "it is a range"),
        (release("a", &format!("{{chart: web, {reference}}}")), "no version is written"),
        (release("a", &format!("{{chart: web, version: 1.0.0+up1, {reference}}}")), "registries write + as _"),
        (release("a", "{version: 1.2.0}"), "does not say which chart"),
        (
            release("a", "{chart: web, version: 1.0.0, sourceRef: {kind: HelmRepository, name: gone}}"),
            "HelmRepository gone, which its chart comes from, is not among the files",
        ),
        ("helmCharts: [{name: x, repo: '@stable', version: 1.0.0}]\n".to_owned(), "only one machine's helm knows"),
        ("helmCharts: [{name: x, repo: 's3://charts', version: 1.0.0}]\n".to_owned(), "none that versions can be asked of"),
        ("helmCharts: [{name: x, repo: 'https://u:p@h.example.com', version: 1.0.0}]\n".to_owned(), "a.yaml:1 x: the address of its repository has a login in it"),
        (
            "helmCharts: [{name: x, repo: 'https://h.example.com/A', version: 1.0.0}]\n".to_owned(),
            "versions cannot be asked of h.example.com/A/x: ",
        ),
        ("image: '{{.Values.image}}:{{.Values.tag}}'\n".to_owned(), "it has a variable"),
        (
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nspec: {url: oci://ghcr.io/a/b, ref: {semver: 1.x, tag: 1.0.0}}\n".to_owned(),
            "the OCIRepository itself takes the newest",
        ),
        (
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nspec: {url: oci://ghcr.io/a/b}\n".to_owned(),
            "no tag is written",
        ),
        (
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nspec: {url: ssh://git@h/a, ref: {tag: 1.0.0}}\n".to_owned(),
            "tags are asked for by HTTPS",
        ),
    ] {
        let sources = [file("a.yaml", &text), file("b.yaml", repository)];
        let (_, proposal) = proposed(&sources, &[], &options());
        let whys = whys(&proposal);
        assert!(whys.len() == 1 && whys[0].contains(why), "{text}\n{whys:?}");
    }
    // The version of a chart in Git does not count, and what takes precedence over a tag does.
    for text in [
        release("a", "{chart: ./charts/web, version: 1.0.0, sourceRef: {kind: GitRepository, name: fleet}}"),
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nspec: {url: https://h/a, ref: {tag: 1.0.0, commit: abc}}\n".to_owned(),
        "helmCharts: [{name: x, version: 1.0.0}]\n".to_owned(),
    ] {
        let sources = [file("a.yaml", &text)];
        let files = Files::read(&sources);
        let survey = surveyed(&files, &[]);
        assert!(survey.images.is_empty() && survey.left.is_empty(), "{text}\n{survey:?}");
    }
}

#[test]
fn new_repositories_are_reached_as_those_of_the_same_host() {
    let there = |name: &str, image: &str, secret: &str| {
        format!(
            "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\nmetadata: {{name: {name}, namespace: flux-system}}\n\
             spec: {{image: {image}, interval: 1m, secretRef: {{name: {secret}}}, certSecretRef: {{name: ca}}}}\n---\n"
        )
    };
    let use_of_both = "image: registry.example.com/acme/web:1.0.0\n---\nimage: ghcr.io/acme/api:1.0.0\n";
    let asked = |repositories_there: &str, secret: Option<&str>| -> Vec<String> {
        let sources = [file("a.yaml", use_of_both), file("r.yaml", repositories_there)];
        let files = Files::read(&sources);
        let survey = surveyed(&files, &[]);
        let mut options = options();
        options.secret = secret.map(str::to_owned);
        let mut asked = repositories(&survey, &options);
        let image = |image: &str| listing(image);
        ["registry.example.com/acme/web", "ghcr.io/acme/api"]
            .into_iter()
            .map(|name| {
                let spec = asked.remove(&image(name)).unwrap().spec;
                let name =
                    |reference: Option<bumpwright_api::LocalRef>| reference.map_or("-".to_owned(), |one| one.name);
                format!("{} {}", name(spec.secret_ref), name(spec.cert_secret_ref))
            })
            .collect()
    };
    let one = there("tool", "registry.example.com/acme/tool", "login");
    assert_eq!(asked(&one, None), ["login ca", "- -"]);
    assert_eq!(asked(&one, Some("mine")), ["mine ca", "mine -"]);
    let two = one + &there("other", "registry.example.com/acme/other", "another");
    assert_eq!(asked(&two, None), ["- -", "- -"], "they do not agree");
    let same = two + &there("web", "registry.example.com/acme/web", "own");
    assert_eq!(
        asked(&same, Some("mine")),
        ["own ca", "mine -"],
        "the one that is there"
    );
}
