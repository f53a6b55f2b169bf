//! Pages of pull requests: seeded ones, with everything that a review has.

use std::sync::Arc;

use bumpwright_api::ObjectName;
use bumpwright_diff::{Field, Named};
use bumpwright_pages::request::{
    Behind, Change, ChangedObject, ChangedOwner, FindingSeverity, NewFinding, News, Review, ReviewState,
    ReviewedChange, Tally, Workload,
};
use bumpwright_pages::{Listing, Page, Subject};

use super::world::{HOSTILE, NOW};
use super::{MOST, html, rendered, write};

fn field(path: &str, old: Option<&str>, new: Option<&str>) -> Field {
    Field {
        path: path.to_owned(),
        old: old.map(str::to_owned),
        new: new.map(str::to_owned),
    }
}

fn object(kind: &str, name: &str, change: Change, fields: Vec<Field>) -> ChangedObject {
    ChangedObject {
        object: Named {
            group: String::new(),
            kind: kind.to_owned(),
            namespace: "apps".to_owned(),
            name: name.to_owned(),
        },
        change,
        from: String::new(),
        place: "apps/web.yaml:3:1".to_owned(),
        fields,
        fields_left_out: 0,
    }
}

fn owner(kind: &str, name: &str, objects: Vec<ChangedObject>) -> ChangedOwner {
    ChangedOwner {
        kind: kind.to_owned(),
        namespace: Some("flux-system".to_owned()),
        name: name.to_owned(),
        change: Change::Changed,
        problems: [None, None],
        objects,
    }
}

fn finding(rule: &str, severity: FindingSeverity, object: &str) -> NewFinding {
    NewFinding {
        rule: rule.to_owned(),
        severity,
        place: "apps/db.yaml:8:16".to_owned(),
        object: object.to_owned(),
        message: "the claim shrinks from 10Gi to 8Gi: claims can only grow".to_owned(),
        help: "make a new claim".to_owned(),
        kustomizations: vec![ObjectName::new("flux-system", "db")],
    }
}

pub fn review() -> Review {
    let web = vec![
        field(
            "spec.template.spec.containers[web].image",
            Some("\"ghcr.io/acme/web:1.0.0\""),
            Some("\"ghcr.io/acme/web:1.1.0\""),
        ),
        field("spec.replicas", None, Some("3")),
        field("spec.template.spec.env", Some(r#"[{"name":"a"}]"#), None),
    ];
    let config = vec![
        field(
            "data[\"a.conf\"]",
            Some("\"one\\ntwo\\nthree\\n\""),
            Some("\"one\\n2\\nthree\\n\""),
        ),
        field("data.secret", Some("**"), Some("**")),
    ];
    let claim = vec![field(
        "spec.resources.requests.storage",
        Some("\"10Gi\""),
        Some("\"8Gi\""),
    )];
    Review {
        has_errors: true,
        owners: vec![
            owner(
                "Kustomization",
                "flux-system/apps",
                vec![
                    object("Deployment", "web", Change::Changed, web),
                    object("ConfigMap", "web", Change::Changed, config),
                    object("Service", "new", Change::Added, Vec::new()),
                ],
            ),
            owner(
                "Kustomization",
                "flux-system/db",
                vec![object("PersistentVolumeClaim", "data", Change::Changed, claim)],
            ),
            ChangedOwner {
                problems: [None, Some("accumulating resources: no such file".to_owned())],
                ..owner("HelmRelease", "flux-system/shop", Vec::new())
            },
        ],
        findings: vec![
            finding("missing-secret", FindingSeverity::Warning, "Deployment apps/web"),
            finding(
                "immutable-field",
                FindingSeverity::Error,
                "PersistentVolumeClaim apps/data",
            ),
        ],
        workloads: vec![Workload {
            namespace: Some("flux-system".to_owned()),
            object: "Deployment apps/web".to_owned(),
            effect: "restarts".to_owned(),
            restarts: true,
            images: vec![("ghcr.io/acme/web:1.0.0".to_owned(), "ghcr.io/acme/web:1.1.0".to_owned())],
        }],
        news: vec![
            News {
                title: "chart shop 1.0.0 → 1.1.0".to_owned(),
                kind: "HelmRelease",
                names: vec![ObjectName::new("flux-system", "shop")],
                links: Vec::new(),
                lines: vec!["default replicas: 1 → 2".to_owned()],
            },
            News {
                title: "image ghcr.io/acme/web: 1.0.0 → 1.1.0".to_owned(),
                kind: "Kustomization",
                names: vec![ObjectName::new("flux-system", "apps")],
                links: vec![
                    (
                        "Faster".to_owned(),
                        "https://github.com/acme/web/releases/tag/1.1.0".to_owned(),
                    ),
                    ("changes".to_owned(), "javascript:alert(1)".to_owned()),
                ],
                lines: vec!["## New <img src=x>".to_owned(), String::new(), "- quicker".to_owned()],
            },
        ],
        notes: vec!["Kustomization flux-system/other could not be built before either".to_owned()],
        gone: 2,
        ..Review::default()
    }
}

fn request(number: u64, state: ReviewState) -> ReviewedChange {
    ReviewedChange {
        repository: ObjectName::new("flux-system", "fleet"),
        subject: Subject::Request(number),
        title: "Smaller claim".to_owned(),
        author: "ann".to_owned(),
        link: "https://git.acme.io/ops/fleet/pulls/7".to_owned(),
        branch: "main".to_owned(),
        head: "8c1e0f2a".repeat(5),
        base: "47c1513d".repeat(5),
        behind: Vec::new(),
        is_behind_partial: false,
        state,
        at: NOW - 300,
    }
}

fn not_applied(names: &[(&str, &str)], state: ReviewState) -> ReviewedChange {
    let behind = names.iter().map(|(namespace, name)| Behind {
        name: ObjectName::new(*namespace, *name),
        why: "BuildFailed: no such file".to_owned(),
    });
    ReviewedChange {
        subject: Subject::parse("not-applied-47c1513d47c1").unwrap(),
        title: "main at 8c1e0f2".to_owned(),
        author: String::new(),
        link: String::new(),
        branch: String::new(),
        behind: behind.collect(),
        ..request(7, state)
    }
}

fn push(state: ReviewState) -> ReviewedChange {
    ReviewedChange {
        subject: Subject::parse("push-8c1e0f2a8c1e").unwrap(),
        title: "Update web to 1.1.0".to_owned(),
        author: "ImageUpdateAutomation flux-system/all".to_owned(),
        ..request(7, state)
    }
}

/// The page of a request with a review, for a query.
fn page(review: Review, query: &str) -> String {
    let request = request(7, ReviewState::Reviewed(Arc::new(review)));
    let listing = Listing::parse(query);
    let html = rendered(
        "/reviews/flux-system/fleet/7",
        &Page::Review {
            change: &request,
            listing: &listing,
        },
    );
    assert_eq!(html::faults(&html), Vec::<String>::new(), "{query}: {html}");
    html
}

fn list(requests: &[ReviewedChange], tally: Tally, query: &str) -> String {
    let listing = Listing::parse(query);
    let requests: Vec<(&ReviewedChange, Tally)> = requests.iter().map(|one| (one, tally)).collect();
    let html = rendered(
        "/reviews",
        &Page::Reviews {
            changes: &requests,
            note: "why",
            listing: &listing,
        },
    );
    assert_eq!(html::faults(&html), Vec::<String>::new(), "{query}: {html}");
    html
}

/// The part of a page that has the differences.
fn differences(html: &str) -> &str {
    html.split("id=\"differences\"").nth(1).unwrap()
}

#[test]
fn what_differs_is_shown_in_both_views() {
    for (query, name) in [("", "unified"), ("view=split", "split")] {
        let html = page(review(), query);
        write(&format!("review-{name}"), &html);
        for text in [
            "ghcr.io/acme/web:<mark>1.0.0</mark>",
            "ghcr.io/acme/web:<mark>1.1.0</mark>",
            "<mark>10Gi</mark>",
            "<mark>two</mark>",
            ">three<",
            "- name: a",
            "changed, not shown",
            "claims can only grow",
            "make a new claim",
            "apps/db.yaml:8:16",
            "Service apps/new",
            "cannot be built",
            "2 findings of before are gone.",
            "href=\"https://git.acme.io/ops/fleet/pulls/7\"",
            "href=\"/reviews/flux-system/fleet/7?view=split\"",
            "href=\"#object-4\"",
        ] {
            assert!(html.contains(text), "{name} lacks {text}: {html}");
        }
        assert_eq!(html.contains("<th scope=\"col\">Before</th>"), name == "split");
        // The worst comes first.
        assert!(
            html.find("<b>immutable-field</b>") < html.find("<b>missing-secret</b>"),
            "{html}"
        );
    }
}

/// What authors say is text, and only their pages with HTTPS are links.
#[test]
fn what_is_new_is_shown_as_text() {
    let html = page(review(), "");
    for text in [
        "What is new <span class=\"count\">2</span>",
        "chart shop 1.0.0 → 1.1.0",
        "default replicas: 1 → 2",
        "href=\"https://github.com/acme/web/releases/tag/1.1.0\" rel=\"noreferrer\"><bdi>Faster</bdi>",
        "## New &lt;img src=x",
        "- quicker",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
    assert!(!html.contains("javascript:"), "{html}");
    let html = page(review(), "owner=HelmRelease+flux-system%2Fshop");
    assert!(
        html.contains("default replicas") && !html.contains("- quicker"),
        "{html}"
    );
    let long = News {
        lines: vec!["x".repeat(300); 5_000],
        ..review().news.remove(1)
    };
    let many = Review {
        news: vec![long; 60],
        ..Review::default()
    };
    let html = page(many, "");
    assert!(
        html.len() < MOST && html.contains("and 20 more"),
        "{} bytes",
        html.len()
    );
}

#[test]
fn an_owner_and_a_rule_can_be_chosen() {
    let html = page(review(), "owner=Kustomization+flux-system%2Fdb&view=split");
    assert!(
        !differences(&html).contains("Deployment apps/web") && differences(&html).contains("8Gi"),
        "{html}"
    );
    assert!(
        html.contains("Only of <bdi>Kustomization flux-system/db</bdi>"),
        "{html}"
    );
    // The choices keep what else is asked for, and lead back.
    let choose = "?owner=Kustomization+flux-system%2Fdb&amp;rule=immutable-field&amp;view=split";
    assert!(
        html.contains(choose) && html.contains("/7?view=split\" aria-current"),
        "{html}"
    );
    let html = page(review(), "rule=immutable-field");
    assert!(
        differences(&html).contains("8Gi") && !differences(&html).contains("1.1.0"),
        "{html}"
    );
    assert!(!html.contains("<b>missing-secret</b>"), "{html}");
    for query in ["rule=nothing", "owner=Kustomization+x%2Fy", "rule=%3Cimg%3E"] {
        assert!(
            page(review(), query).contains("No object differs that fits."),
            "{query}"
        );
    }
    assert!(page(review(), "page=99").contains("1–4 of 4 objects"));
}

#[test]
fn a_review_that_is_not_there_is_never_an_all_clear() {
    let states = [
        (ReviewState::Waiting, "waiting"),
        (ReviewState::Skipped("it is of a fork".to_owned()), "not reviewed"),
        (ReviewState::Failed("the forge is down".to_owned()), "not finished"),
        (
            ReviewState::NotKept("an earlier process has reviewed it".to_owned()),
            "reviewed before, not kept here",
        ),
    ];
    for (state, words) in states {
        let why = state.why().to_owned();
        let request = request(7, state);
        let listing = Listing::default();
        let html = rendered(
            "/x",
            &Page::Review {
                change: &request,
                listing: &listing,
            },
        );
        assert_eq!(html::faults(&html), Vec::<String>::new());
        let of_list = list(&[request], Tally::default(), "");
        for html in [&html, &of_list] {
            let main = html.split("<main").nth(1).unwrap();
            assert!(main.contains(words) && main.contains(&why), "{main}");
            assert!(!main.contains("good") && !main.contains("differ"), "{main}");
        }
    }
}

#[test]
fn a_part_of_a_review_says_that_it_is_one() {
    let part = Review {
        is_partial: true,
        owners: Vec::new(),
        findings: Vec::new(),
        workloads: Vec::new(),
        notes: Vec::new(),
        ..review()
    };
    let html = page(part, "");
    assert!(
        html.contains("This is not all of it") && html.contains("None of what you may list."),
        "{html}"
    );
    assert!(html.contains("class=\"badge bad\">failure"), "{html}");
}

#[test]
fn requests_are_listed_with_counts() {
    let all = [
        request(7, ReviewState::Reviewed(Arc::new(review()))),
        request(8, ReviewState::Waiting),
    ];
    let tally = Tally {
        objects: 4,
        errors: 1,
        warnings: 2,
        notes: 0,
    };
    let html = list(&all, tally, "");
    write("reviews", &html);
    for text in [
        "/reviews/flux-system/fleet/7",
        "Smaller claim",
        "4 objects differ",
        "1 error<",
        "2 warnings<",
        "ann",
        "why",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
    let html = list(&all, tally, "only=waiting");
    assert!(html.contains("#8 ") && !html.contains("#7 "), "{html}");
    assert!(list(&all, tally, "q=%238").contains("1–1 of 1 that fit"));
}

#[test]
fn changes_of_the_cluster_are_groups_below_the_requests() {
    let reviewed = || ReviewState::Reviewed(Arc::new(review()));
    let all = [
        push(reviewed()),
        not_applied(&[("flux-system", "apps"), ("shop", "web")], ReviewState::Waiting),
        request(7, reviewed()),
        request(8, ReviewState::Waiting),
    ];
    let html = list(&all, Tally::default(), "");
    write("reviews-groups", &html);
    let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text}: {html}"));
    let order = [
        "Pull requests</th>",
        "/reviews/flux-system/fleet/7\"",
        "/reviews/flux-system/fleet/8\"",
        "Not applied in the cluster</th>",
        "/reviews/flux-system/fleet/not-applied-47c1513d47c1\"",
        "main at 8c1e0f2: not applied by apps and shop/web",
        "Pushed by automations</th>",
        "/reviews/flux-system/fleet/push-8c1e0f2a8c1e\"",
        "Update web to 1.1.0",
        "to <bdi>main</bdi> by <bdi>ImageUpdateAutomation flux-system/all</bdi>",
    ];
    assert!(order.map(at).is_sorted(), "{html}");
    assert_eq!(html.matches("scope=\"rowgroup\"").count(), 3);
    // The same words and filters; a list of requests alone has no headings.
    let html = list(&all, Tally::default(), "q=shop%2Fweb");
    assert!(
        html.contains("1–1 of 1 that fit") && html.contains("Not applied in the cluster</th>"),
        "{html}"
    );
    let html = list(&all, Tally::default(), "only=waiting");
    assert!(
        html.contains("2 that fit") && !html.contains("Pushed by automations</th>"),
        "{html}"
    );
    assert!(!list(&all[2..], Tally::default(), "").contains("rowgroup"));
}

#[test]
fn a_title_names_the_kustomizations_that_one_may_list() {
    let names = [
        ("flux-system", "apps"),
        ("flux-system", "db"),
        ("shop", "web"),
        ("shop", "api"),
        ("flux-system", "x"),
    ];
    let whole = not_applied(&names, ReviewState::Reviewed(Arc::new(review())));
    let title = |one: &ReviewedChange| one.full_title();
    assert_eq!(title(&whole), "main at 8c1e0f2: not applied by apps, db and 3 more");
    let own = whole.seen(|_, namespace| namespace == "shop");
    assert_eq!(title(&own), "main at 8c1e0f2: not applied by shop/web and shop/api");
    assert!(own.is_behind_partial && own.review().unwrap().is_partial);
    let none = whole.seen(|_, _| false);
    assert_eq!(
        title(&none),
        "main at 8c1e0f2: not applied by Kustomizations that you may not list"
    );
    assert_eq!(whole.seen(|_, _| true), whole);
    assert!(whole.places().any(|place| place == ("Kustomization", "shop")));

    let shown = |change: &ReviewedChange| {
        let listing = Listing::default();
        let html = rendered(
            "/x",
            &Page::Review {
                change,
                listing: &listing,
            },
        );
        assert_eq!(html::faults(&html), Vec::<String>::new(), "{html}");
        html
    };
    let html = shown(&whole);
    write("review-not-applied", &html);
    for text in [
        "Not applied</span>",
        "Not applied by",
        "BuildFailed: no such file",
        "/kustomizations/shop/web",
        "47c1513",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
    let html = shown(&own);
    assert!(
        html.contains("Kustomizations that you may not list") && !html.contains("/kustomizations/flux-system/db\""),
        "{html}"
    );
    let html = shown(&push(ReviewState::Waiting));
    assert!(
        html.contains("Push</span>") && html.contains("to <bdi>main</bdi>"),
        "{html}"
    );
}

#[test]
fn hostile_requests_are_text() {
    let hostile = || HOSTILE.to_owned();
    let json = serde_json::to_string(HOSTILE).unwrap();
    let lines = serde_json::to_string(&format!("{HOSTILE}\n{HOSTILE}x")).unwrap();
    let mut review = review();
    review.owners[0].name = hostile();
    review.owners[0].kind = hostile();
    review.owners[0].problems = [Some(hostile()), Some(hostile())];
    let changed = &mut review.owners[0].objects[0];
    changed.object.name = hostile();
    changed.from = hostile();
    changed.place = hostile();
    changed.fields = vec![
        field(HOSTILE, Some(&json), Some(&lines)),
        field(HOSTILE, Some(HOSTILE), None),
        field("x", None, Some(&format!("{{{json}:{json}}}"))),
    ];
    let finding = &mut review.findings[0];
    finding.rule = hostile();
    finding.object = hostile();
    finding.message = hostile();
    finding.help = hostile();
    finding.place = hostile();
    finding.kustomizations = vec![ObjectName::new(HOSTILE, HOSTILE)];
    review.workloads[0].object = hostile();
    review.workloads[0].images = vec![(hostile(), hostile())];
    review.notes = vec![hostile()];
    let request = ReviewedChange {
        repository: ObjectName::new(HOSTILE, HOSTILE),
        title: hostile(),
        author: hostile(),
        link: "javascript:alert(1)".to_owned(),
        branch: hostile(),
        head: hostile(),
        base: hostile(),
        behind: vec![Behind {
            name: ObjectName::new(HOSTILE, HOSTILE),
            why: hostile(),
        }],
        ..request(7, ReviewState::Reviewed(Arc::new(review)))
    };
    let of_list = list(std::slice::from_ref(&request), Tally::default(), "q=img");
    let hostile_query = url_of(HOSTILE);
    for query in [
        String::new(),
        format!("view=split&owner={hostile_query}&rule={hostile_query}"),
    ] {
        let listing = Listing::parse(&query);
        let html = rendered(
            "/x",
            &Page::Review {
                change: &request,
                listing: &listing,
            },
        );
        for html in [&html, &of_list] {
            assert_eq!(html::faults(html), Vec::<String>::new());
            assert!(
                !html.contains("<img") && !html.contains('\u{202e}') && !html.contains("javascript:"),
                "{html}"
            );
        }
    }
}

fn url_of(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A thousand objects, and values of any length.
#[test]
fn large_reviews_make_small_pages() {
    let mut review = review();
    let long = |end: &str| serde_json::to_string(&format!("{}{end}", "<x> & ".repeat(2000))).unwrap();
    let objects = (0..1000).map(|n| {
        let fields = (0..n % 7).map(|at| field(&format!("data.{at}"), Some("\"a\""), Some("\"b\"")));
        object("ConfigMap", &format!("map-{n}"), Change::Changed, fields.collect())
    });
    review.owners[0].objects = objects.collect();
    let wide = (0..200).map(|at| field(&format!("data.{at}"), Some(&long("1")), Some(&long("2"))));
    review.owners[0].objects[0].fields = wide.collect();
    review
        .owners
        .extend((0..1000).map(|n| owner("Kustomization", &format!("flux-system/k{n}"), Vec::new())));
    review.findings = (0..500)
        .map(|n| finding(&format!("rule-{}", n % 9), FindingSeverity::Error, "A b/c"))
        .collect();
    let mut seen = 0;
    for number in 1..1000 {
        let html = page(review.clone(), &format!("page={number}"));
        println!("page {number}: {} bytes", html.len());
        assert!(html.len() <= MOST, "page {number} has {} bytes", html.len());
        seen += html.matches("<article").count();
        if number == 1 {
            assert!(html.contains("fields more") && html.contains("and 903 more"), "{html}");
            assert!(html.contains("60 of 500"), "{html}");
        }
        if !html.contains("rel=\"next\"") {
            break;
        }
    }
    assert_eq!(seen, 1001, "each object is on a page");
}
