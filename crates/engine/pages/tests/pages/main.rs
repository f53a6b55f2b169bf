//! Each page over a seeded world: it is HTML that any browser reads the same way, hostile texts stay text, and large
//! clusters make small pages. With `PAGES=DIR` the pages are written to a folder, to look at.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::print_stdout)]

mod html;
mod requests;
mod world;

use std::collections::BTreeMap;

use bumpwright_api::ObjectName;
use bumpwright_overview::{Change, Differences, Entry, Id, Image, World};
use bumpwright_pages::{
    Found, Frame, Health, Inventory, Listing, ObjectPage, Page, Route, Run, TagRow, render, search,
};
use serde_json::{Value, json};
use world::{HOSTILE, NOW};

/// What a page of a large cluster may have, in bytes.
const MOST: usize = 150_000;

fn explained(reason: &str) -> Option<String> {
    (reason == "HealthCheckFailed").then(|| {
        "look at the objects that the message names.\n\n    kubectl -n NAMESPACE describe KIND NAME".to_owned()
    })
}

fn frame<'a>(path: &'a str) -> Frame<'a> {
    Frame {
        person: Some("jane@acme.io"),
        can_sign_out: true,
        now: NOW,
        version: "0.1.0",
        cluster: "production",
        csrf: Some("token"),
        has_actions: true,
        has_reviews: true,
        live: Some("0a1b"),
        path,
        attention: 3,
        notice: None,
        is_partial: false,
        explain: &explained,
    }
}

fn rendered(path: &str, page: &Page<'_>) -> String {
    render(&frame(path), page).unwrap()
}

type Made = Vec<(&'static str, String)>;

/// Every page of a world, by name.
fn pages(world: &World, name: &ObjectName, tags: &[TagRow], diff: &str) -> Made {
    let mut pages = lists(world);
    pages.extend(of_images(world, name, tags, diff));
    pages.extend(of_objects(world, name, diff));
    pages
}

fn shown(name: &'static str, page: &Page<'_>) -> (&'static str, String) {
    (name, rendered(&format!("/x?q={HOSTILE}"), page))
}

fn lists(world: &World) -> Made {
    let all = world.overview();
    let (listing, asked) = (Listing::default(), Listing::parse("q=a&only=ready"));
    let searched = Listing {
        words: HOSTILE.to_owned(),
        ..Listing::default()
    };
    let whole = Listing::parse("graph=all");
    let (graph, whole_graph) = (world.graph(listing.boxes()), world.graph(whole.boxes()));
    vec![
        shown("overview", &Page::Overview(&all)),
        shown("attention", &Page::Attention(&all.attention, &listing)),
        shown("images", &Page::Images(&all.images, &listing)),
        shown("images-filtered", &Page::Images(&all.images, &Listing::parse("q=a"))),
        shown("automations", &Page::Automations(&all.automations, &listing)),
        shown(
            "kustomizations",
            &Page::Kustomizations(&all.kustomizations, &graph, &listing),
        ),
        shown(
            "kustomizations-filtered",
            &Page::Kustomizations(&all.kustomizations, &graph, &asked),
        ),
        shown(
            "kustomizations-graph",
            &Page::Kustomizations(&all.kustomizations, &whole_graph, &whole),
        ),
        shown("releases", &Page::Releases(&all.releases, &listing)),
        shown("sources", &Page::Sources(&all.sources, &listing)),
        shown("timeline", &Page::Timeline(&all.changes, &listing)),
        shown("search", &Page::Search(&search(world, "a"), &searched)),
        shown(
            "sign-in",
            &Page::SignIn {
                error: Some("the token is not valid"),
                back: "/images?q=%22",
            },
        ),
        shown(
            "error",
            &Page::Error {
                status: 404,
                message: HOSTILE,
            },
        ),
    ]
}

fn of_images(world: &World, name: &ObjectName, tags: &[TagRow], diff: &str) -> Made {
    let all = world.overview();
    let image = all.images.iter().find(|one| one.policy.name == *name);
    let automation = &all.automations[0];
    let own = all.changes.iter().filter(|change| change.id == automation.id);
    let run = |change: &Change| Run {
        change: change.clone(),
        diff: Some(diff.to_owned()),
        why: String::new(),
    };
    let runs: Vec<Run> = own.map(run).collect();
    let images = all.images.iter();
    let images: Vec<&Image> = images.filter(|one| one.automations.contains(&automation.id)).collect();
    let policy = Page::Policy {
        image: image.unwrap_or(&all.images[0]),
        rule: "semver >=1.0.0 <2.0.0",
        tags,
        listing: &Listing::default(),
    };
    let automation = Page::Automation {
        automation,
        runs: &runs,
        note: "",
        images: &images,
    };
    vec![shown("policy", &policy), shown("automation", &automation)]
}

fn of_objects(world: &World, name: &ObjectName, diff: &str) -> Made {
    let all = world.overview();
    let kustomization = all.kustomizations.iter().find(|one| one.id.name == *name);
    let kustomization = kustomization.unwrap_or(&all.kustomizations[0]);
    let tree = world.tree(&kustomization.id).unwrap();
    let entry = tree.children[0].object.clone();
    let sick = Health {
        status: "Failed".to_owned(),
        message: format!("Progress deadline exceeded {HOSTILE}"),
    };
    let trace = world.trace(&entry, None);
    let object = ObjectPage {
        object: &entry,
        readiness: Some(&kustomization.readiness),
        elsewhere: false,
        health: Some(&sick),
        conditions: &world.kustomizations.values().next().unwrap().status.conditions,
        events: &all.changes[..3.min(all.changes.len())],
        releases: &all.releases.iter().map(|one| one.id.clone()).collect::<Vec<_>>(),
        trace: &trace,
        yaml: Some(diff),
    };
    let source = Page::Source {
        source: &all.sources[0],
        automations: &all.automations.iter().collect::<Vec<_>>(),
        changes: &all.changes.iter().take(5).collect::<Vec<_>>(),
    };
    let inventory = Inventory {
        health: BTreeMap::from([(entry.clone(), sick.clone())]),
        at: Some(world.now - 7),
        note: String::new(),
    };
    let change = |message: String| Change {
        message,
        ..all.changes[0].clone()
    };
    let differences = Differences {
        applied: Some(change(format!("Deployment/apps/web created\n{HOSTILE}"))),
        drift: Some(change(format!(
            "1 object differs from revision {HOSTILE}\n~ Deployment apps/web\n{diff}"
        ))),
    };
    let kustomization = Page::Kustomization {
        kustomization,
        tree: &tree,
        inventory: &inventory,
        differences: &differences,
        listing: &Listing::default(),
    };
    let release = &all.releases[0];
    let release = Page::Release {
        release,
        tree: &world.tree(&release.id).unwrap(),
        inventory: &inventory,
        changes: &all.changes.iter().take(5).collect::<Vec<_>>(),
        listing: &Listing::default(),
    };
    vec![
        shown("kustomization", &kustomization),
        shown("release", &release),
        shown("source", &source),
        shown("object", &Page::Object(&object)),
    ]
}

const DIFF: &str = "--- a/apps/web.yaml\n+++ b/apps/web.yaml\n@@ -1 +1 @@\n-image: ghcr.io/acme/web:1.0.0\n+image: ghcr.io/acme/web:1.1.0\n";

fn tags(count: usize) -> Vec<TagRow> {
    let tag = |n: usize| TagRow {
        tag: format!("1.{}.{}", (count - n) / 100, (count - n) % 100),
        is_chosen: n == 1,
        why: if n == 0 {
            "held: failed in Kustomization apps"
        } else if n.is_multiple_of(3) {
            "a prerelease, which the range leaves out"
        } else {
            ""
        }
        .to_owned(),
        made: Some(NOW - 7000 * i64::try_from(n).unwrap()),
        signature: if n.is_multiple_of(2) { "verified by cosign" } else { "" }.to_owned(),
        failed: (n == 0).then(|| "Kustomization flux-system/apps: health check failed".to_owned()),
    };
    (0..count).map(tag).collect()
}

/// Where somebody looks.
fn write(name: &str, page: &str) {
    if let Some(folder) = std::env::var_os("PAGES").map(std::path::PathBuf::from) {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.html")), page).unwrap();
    }
}

#[test]
fn every_page_is_well_formed() {
    let world = world::world(60, 12, 24);
    let pages = pages(&world, &ObjectName::new("flux-system", "infra"), &tags(12), DIFF);
    let empty = World {
        now: NOW,
        ..World::default()
    }
    .overview();
    let nothing = rendered("/", &Page::Overview(&empty));
    for (name, page) in pages
        .iter()
        .map(|(name, page)| (*name, page))
        .chain([("empty", &nothing)])
    {
        write(name, page);
        assert_eq!(html::faults(page), Vec::<String>::new(), "{name}");
    }
    assert!(nothing.contains("Nothing: all that is watched works."));
    assert!(nothing.contains("<h1 class=\"verdict good\">Nothing needs attention</h1>"));
    let some = Frame {
        is_partial: true,
        ..frame("/")
    };
    let some = render(&some, &Page::Overview(&empty)).unwrap();
    assert!(some.contains("Nothing among what you may list") && !some.contains("all that is watched works"));
}

#[test]
fn one_of_a_kind_is_one_and_a_suspended_one_is_not_green() {
    let mut world = world::world(1, 1, 4);
    for one in world.kustomizations.values_mut() {
        one.spec.suspend = true;
    }
    let pages = pages(&world, &ObjectName::new("flux-system", "infra"), &tags(1), DIFF);
    for (name, page) in &pages {
        for wrong in [">1 policies", " 1 policies", " 1 tags", " 1 Kustomizations"] {
            assert!(!page.contains(wrong), "{name} says{wrong}");
        }
    }
    let (_, graph) = pages.iter().find(|(name, _)| *name == "kustomizations-graph").unwrap();
    let boxes: Vec<&str> = graph.split("<a href=\"/kustomizations/").skip(1).collect();
    let drawn = boxes.iter().filter(|text| text.contains("· suspended</text>")).count();
    assert!(drawn > 0, "{graph}");
    assert!(
        boxes
            .iter()
            .all(|text| !text.split("</a>").next().unwrap().contains("class=\"good\"")),
        "{graph}"
    );
}

#[test]
fn pages_say_what_is_going_on() {
    let world = world::world(60, 12, 24);
    let pages: BTreeMap<&str, String> = pages(&world, &ObjectName::new("flux-system", "infra"), &tags(12), DIFF)
        .into_iter()
        .collect();
    for (page, wanted) in [
        (
            "overview",
            &[
                "Needs attention",
                "HealthCheckFailed",
                "look at the objects that the message names",
                "Blocks ",
                "/images?only=behind",
            ][..],
        ),
        (
            "images",
            &["release freeze until Monday", "1.1.0", "on its way", "All 4 held"][..3],
        ),
        (
            "policy",
            &[
                "https://github.com/acme/fleet/blob/",
                "#L24",
                "verified by cosign",
                ">chosen<",
                "health check failed",
            ],
        ),
        (
            "automation",
            &[
                "class=\"add\"",
                "https://github.com/acme/fleet/commit/",
                "value=\"suspend\"",
            ],
        ),
        (
            "kustomizations",
            &[
                "<svg",
                "href=\"/kustomizations/flux-system/apps\"",
                "DependencyNotReady",
            ],
        ),
        (
            "kustomization",
            &[
                "Progress deadline exceeded",
                "Not healthy <span class=\"count\">",
                "1 Failed",
                "not looked at</span>",
                "7 s ago",
                "class=\"add\">Deployment/apps/web created",
                "1 object differs from revision",
                "/objects/rbac.authorization.k8s.io/ClusterRole/-/",
                "level 2: ",
            ],
        ),
        ("sources", &["UNAUTHORIZED", "main@"]),
        ("timeline", &["11:55", "pushed commit"]),
        ("object", &["Where it comes from", "image: ghcr.io/acme/web:1.1.0"]),
        ("search", &["found"]),
        (
            "sign-in",
            &["the token is not valid", "/images?q=%22", "--clusterrole=view"],
        ),
    ] {
        for text in wanted {
            assert!(pages[page].contains(text), "{page} lacks {text}:\n{}", pages[page]);
        }
    }
}

#[test]
fn hostile_texts_are_text() {
    let world = world::hostile();
    let tags = [TagRow {
        tag: HOSTILE.to_owned(),
        why: HOSTILE.to_owned(),
        signature: HOSTILE.to_owned(),
        made: Some(i64::MAX / 2),
        failed: Some(HOSTILE.to_owned()),
        ..TagRow::default()
    }];
    for (name, page) in pages(&world, &ObjectName::new(HOSTILE, HOSTILE), &tags, HOSTILE) {
        assert_eq!(html::faults(&page), Vec::<String>::new(), "{name}");
        assert!(!page.contains("<img") && !page.contains('\u{202e}'), "{name}");
        assert!(!page.contains("javascript:"), "{name}");
        write(&format!("hostile-{name}"), &page);
    }
}

/// A link may hold what a name holds.
#[test]
fn links_to_hostile_names_lead_back() {
    let entry = Entry {
        group: "<b>".to_owned(),
        version: String::new(),
        kind: HOSTILE.to_owned(),
        namespace: "a/b".to_owned(),
        name: HOSTILE.to_owned(),
    };
    let route = Route::of_entry(&entry);
    assert_eq!(Route::parse(&route.to_string()), Some(Route::Object(entry)));
}

#[test]
fn large_clusters_make_small_pages() {
    let world = world::world(500, 200, 500);
    let all = world.overview();
    for (name, page) in pages(&world, &ObjectName::new("flux-system", "infra"), &tags(10_000), DIFF) {
        println!("{name}: {} bytes", page.len());
        assert!(page.len() <= MOST, "{name} has {} bytes", page.len());
        assert_eq!(html::faults(&page), Vec::<String>::new(), "{name}");
    }
    // Every page of a list has the way to the next one, and keeps what is asked for.
    let listing = Listing::parse("q=app&page=2");
    let page = rendered("/automations", &Page::Automations(&all.automations, &listing));
    for link in ["101–200 of 200", "href=\"/automations?q=app\" rel=\"prev\""] {
        assert!(page.contains(link), "{link}: {page}");
    }
    let listing = Listing::parse("q=team&page=2");
    let page = rendered(
        "/kustomizations",
        &Page::Kustomizations(&all.kustomizations, &world.graph(100), &listing),
    );
    for link in [
        "/kustomizations?q=team&amp;page=3\" rel=\"next\"",
        "/kustomizations?q=team\" rel=\"prev\"",
    ] {
        assert!(page.contains(link), "{link}: {page}");
    }
}

#[test]
fn of_many_kustomizations_what_is_ready_is_not_drawn() {
    let world = world::world(9, 3, 500);
    let all = world.overview();
    let page = |query: &str| {
        let listing = Listing::parse(query);
        let graph = world.graph(listing.boxes());
        rendered(
            "/kustomizations",
            &Page::Kustomizations(&all.kustomizations, &graph, &listing),
        )
    };
    let (few, whole) = (page(""), page("graph=all"));
    let boxes = |page: &str| page.matches("<rect/>").count();
    assert!((1..=100).contains(&boxes(&few)), "{}", boxes(&few));
    assert!(
        few.contains("Kustomizations are not drawn") && few.contains("/kustomizations?graph=all"),
        "{few}"
    );
    assert!(few.contains("GitRepository in "), "the source is drawn: {few}");
    assert!(boxes(&whole) > 300 && !whole.contains("not drawn"), "{}", boxes(&whole));
    assert!(!whole.contains("<table") && whole.contains("as a table"), "{whole}");
    assert_eq!(boxes(&page("graph=all&q=a")), 0);
}

/// What ten objects of a tenant name, each 85,000 times, is in nobody's page.
#[test]
fn objects_with_endless_lists_make_small_pages() {
    let mut world = world::world(9, 3, 60);
    let names: Vec<ObjectName> = world.kustomizations.keys().cloned().collect();
    let many = |name: &dyn Fn(usize) -> String| -> Value {
        (0..85_000)
            .map(|n| json!({"name": name(n), "namespace": "flux-system"}))
            .collect()
    };
    let known = many(&|n| names[n % names.len()].name.clone());
    let unknown = many(&|n| format!("gone-{n}"));
    for (n, one) in world.kustomizations.values_mut().enumerate() {
        let list = if n % 2 == 0 { &known } else { &unknown };
        one.spec.depends_on = serde_json::from_value(list.clone()).unwrap();
    }
    let all = world.overview();
    for query in ["", "graph=all"] {
        let listing = Listing::parse(query);
        let page = Page::Kustomizations(&all.kustomizations, &world.graph(listing.boxes()), &listing);
        let page = rendered("/kustomizations", &page);
        let most = if query.is_empty() { MOST } else { 4 * MOST };
        assert!(page.len() < most, "{query}: {} bytes", page.len());
        assert!(!query.is_empty() || page.contains(" not drawn"), "{page}");
    }
    let page = Page::Kustomization {
        kustomization: &all.kustomizations[0],
        tree: &world.tree(&Id::new("Kustomization", names[0].clone())).unwrap(),
        inventory: &Inventory::default(),
        differences: &Differences::default(),
        listing: &Listing::default(),
    };
    let page = rendered("/x", &page);
    assert!(
        page.len() < MOST && page.contains("and 84900 more"),
        "{} bytes: {page}",
        page.len()
    );
}

#[test]
fn what_is_in_another_cluster_is_not_its_namesake_here() {
    let mut world = world::world(9, 3, 12);
    let name = ObjectName::new("flux-system", "infra");
    let infra = world.kustomizations.get_mut(&name).unwrap();
    infra.spec.kube_config = Some(Default::default());
    let all = world.overview();
    let inventory = Inventory::default();
    let page = Page::Kustomization {
        kustomization: all.kustomizations.iter().find(|one| one.id.name == name).unwrap(),
        tree: &world.tree(&Id::new("Kustomization", name.clone())).unwrap(),
        inventory: &inventory,
        differences: &Differences::default(),
        listing: &Listing::default(),
    };
    let page = rendered("/x", &page);
    let objects = page
        .split("id=\"objects\"")
        .nth(1)
        .unwrap()
        .split("id=\"history\"")
        .next()
        .unwrap();
    assert!(objects.contains("in another cluster</span>"), "{objects}");
    assert!(
        !objects.contains("class=\"badge good\"") && !objects.contains("<a class=\"object\""),
        "{objects}"
    );
    let hits = search(&world, "infra-0 deployment");
    assert!(matches!(hits[0].object, Found::Elsewhere(_)), "{hits:?}");
    let page = rendered("/search?q=x", &Page::Search(&hits, &Listing::parse("q=infra-0")));
    assert!(
        page.contains("applied to another cluster by Kustomization flux-system/infra"),
        "{page}"
    );
    assert!(!page.contains("href=\"/objects/"), "{page}");
    let Found::Elsewhere(entry) = &hits[0].object else {
        panic!()
    };
    let object = ObjectPage {
        object: entry,
        readiness: None,
        elsewhere: true,
        health: None,
        conditions: &[],
        events: &[],
        releases: &[],
        trace: &world.trace(entry, None),
        yaml: None,
    };
    let page = rendered("/x", &Page::Object(&object));
    assert!(
        page.contains("Nothing is known of it here") && !page.contains("id=\"yaml\""),
        "{page}"
    );
}

#[test]
fn nothing_is_offered_that_is_not_allowed() {
    let world = world::world(3, 1, 3);
    let all = world.overview();
    let automation = &all.automations[0];
    let page = Page::Automation {
        automation,
        runs: &[],
        note: "",
        images: &[],
    };
    let html = |frame: &Frame<'_>| render(frame, &page).unwrap();
    assert!(html(&frame("/")).contains("value=\"reconcile\""));
    let off = Frame {
        has_actions: false,
        ..frame("/")
    };
    assert!(!html(&off).contains("action=\"/act\""));
    let unknown = Frame {
        csrf: None,
        ..frame("/")
    };
    assert!(!html(&unknown).contains("<form method=\"post\"") && !html(&unknown).contains("action=\"/act\""));
    let dead = Frame {
        live: None,
        ..frame("/")
    };
    assert!(!html(&dead).contains("data-live"));
    let bare = render(&frame("/"), &Page::SignIn { error: None, back: "/" }).unwrap();
    assert!(!bare.contains("<nav"));
}

#[test]
fn search_finds_names_first_and_then_what_else_has_the_words() {
    let world = world::world(60, 12, 24);
    let found = |words: &str| -> Vec<String> {
        let text = |hit: bumpwright_pages::Hit| match hit.object {
            Found::Known(id) => format!("{id} {}", hit.why),
            Found::Applied(entry) | Found::Elsewhere(entry) => {
                format!("{entry} {}", hit.why)
            }
        };
        search(&world, words).into_iter().map(text).collect()
    };
    assert_eq!(found(" "), Vec::<String>::new());
    assert_eq!(
        found("INFRA-0 deployment"),
        ["Deployment/apps/infra-0 applied by Kustomization flux-system/infra"]
    );
    assert_eq!(
        found("oci:// charts"),
        ["OCIRepository/flux-system/charts oci://registry.acme.io/charts"]
    );
    assert_eq!(found("ImagePolicy/apps/app-59"), ["ImagePolicy/apps/app-59 "]);
    assert_eq!(found("a").len(), 100);
}
