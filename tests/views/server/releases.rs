//! The pages of HelmReleases: chart, history and objects, for who may see them.

use bumpwright_testkit::waiting::wait_for;
use serde_json::json;

use super::seeded::{account_in, by_token, seeded};
use crate::seed::{installed, release};

#[test]
fn a_release_has_a_page_with_chart_history_and_objects() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    if cluster.define_helm().is_none() {
        return;
    }
    let world = crate::seed::seeded(cluster, "pages-helm");
    release(&world);
    installed(&world, "shop", &json!({}));
    let page = |path: &str, words: &str| {
        let get = || pages.page(path, cluster.token());
        wait_for(|| Some(get()).filter(|text| text.contains(words)), get)
    };
    let text = page("/releases", "/releases/pages-helm/shop");
    assert!(text.contains("<bdi class=\"revision\">1.2.0</bdi>"), "{text}");
    // Its objects are looked at as those of a Kustomization.
    let text = page("/releases/pages-helm/shop", "1 NotFound");
    for words in [
        "<bdi class=\"tag\">1.2.0</bdi>",
        "/sources/OCIRepository/pages-helm/charts",
        "/kustomizations/pages-helm/apps",
        "/objects/apps/Deployment/pages-helm/shop",
        "shop@1.1.0",
        "superseded</span>",
        "Helm upgrade succeeded",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let text = page("/objects/apps/Deployment/pages-helm/shop", "Installed by");
    for words in [
        "/releases/pages-helm/shop",
        "/kustomizations/pages-helm/apps",
        "/sources/GitRepository/pages-helm/fleet",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let text = page("/kustomizations/pages-helm/apps", "/releases/pages-helm/shop");
    assert!(text.contains("/objects/apps/Deployment/pages-helm/shop"), "{text}");
    page("/", "href=\"/releases\"");
    page("/search?q=HelmRelease%2Fpages-helm", "/releases/pages-helm/shop");
    // Who may not list releases there sees none.
    let other = account_in(cluster, "okapi", "okapi", "no-releases", "ui-view");
    let answer = pages.get(
        "/releases/pages-helm/shop",
        &[("Authorization", &format!("Bearer {other}"))],
    );
    assert_eq!(answer.status, 404, "{}", answer.text());
}
