//! What the audit log proves: between the last write of one process to an object and the first one of another, the first process has
//! acknowledged a deal that gives the object away, and was not at it any more; or its Lease was deleted.

use std::collections::BTreeMap;

use bumpwright_shards::{Ack, Deal, bucket, id};
use serde_json::Value as Json;

/// What was looked at.
#[derive(Debug, Default)]
pub struct Proof {
    pub writes: usize,
    pub moves: usize,
    pub deals: usize,
}

/// When a request came, and when it was done.
type Span<'a> = (&'a str, &'a str);

/// What a member said.
enum Said {
    Ack(Ack),
    Gone,
}

fn text<'a>(event: &'a Json, pointer: &str) -> &'a str {
    event.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

fn annotation<'a>(event: &'a Json, key: &str) -> Option<&'a str> {
    event["requestObject"]["metadata"]["annotations"][key].as_str()
}

/// The key of an object, and its own number, from its kind in a path and its name.
fn place(resource: &str, namespace: &str, name: &str, repositories: usize) -> Option<(usize, u64)> {
    let text = |kind: &str, name: &str| format!("{kind}/{namespace}/{name}");
    let number = || name.split('-').nth(1).and_then(|number| number.parse::<usize>().ok());
    let (key, own) = match resource {
        "gitrepositories" => (text("GitRepository", name), text("GitRepository", name)),
        "imagerepositories" => (text("ImageRepository", name), text("ImageRepository", name)),
        "imagepolicies" => (text("ImageRepository", name), text("ImagePolicy", name)),
        "kustomizations" => (text("Kustomization", name), text("Kustomization", name)),
        "imageupdateautomations" => {
            let source = format!("fleet-{}", number()? % repositories);
            (text("GitRepository", &source), text("ImageUpdateAutomation", name))
        }
        // Applied for a Kustomization.
        "configmaps" => {
            let own = text("Kustomization", name.strip_suffix("-map")?);
            (own.clone(), own)
        }
        _ => return None,
    };
    Some((bucket(&key), id(&own)))
}

pub fn check(events: &[Json], namespace: &str, repositories: usize) -> Proof {
    let mut deals: BTreeMap<u64, Deal> = BTreeMap::new();
    let mut said: BTreeMap<&str, Vec<(&str, Said)>> = BTreeMap::new();
    let mut writes: BTreeMap<(&str, &str), Vec<(Span<'_>, &str)>> = BTreeMap::new();
    for event in events {
        let (resource, name) = (text(event, "/objectRef/resource"), text(event, "/objectRef/name"));
        let created = text(event, "/requestObject/metadata/name");
        let name = if name.is_empty() { created } else { name };
        let done = text(event, "/stageTimestamp");
        if resource == "leases" {
            if let Some(deal) = annotation(event, "bumpwright.dev/deal") {
                let deal = Deal::read(deal).unwrap();
                assert!(deals.insert(deal.epoch(), deal).is_none(), "an epoch comes twice");
            } else if let Some(member) = name.strip_prefix("bumpwright-shard-") {
                let member = member.split_once('-').unwrap().1;
                let what = match annotation(event, "bumpwright.dev/shard") {
                    Some(ack) => Said::Ack(Ack::read(ack)),
                    None if text(event, "/verb") == "delete" => Said::Gone,
                    None => continue,
                };
                said.entry(member).or_default().push((done, what));
            }
        } else if text(event, "/user/username") != "admin" && !text(event, "/requestURI").contains("dryRun=All") {
            let span = (text(event, "/requestReceivedTimestamp"), done);
            let all = writes.entry((resource, name)).or_default();
            all.push((span, text(event, "/user/username")));
        }
    }
    let mut proof = Proof {
        deals: deals.len(),
        ..Proof::default()
    };
    for ((resource, name), mut all) in writes {
        let Some((bucket, id)) = place(resource, namespace, name, repositories) else {
            continue;
        };
        all.sort_unstable();
        proof.writes += all.len();
        for pair in all.windows(2) {
            let [((_, ended), before), ((begun, _), after)] = pair else {
                continue;
            };
            if before == after {
                continue;
            }
            proof.moves += 1;
            assert!(
                ended < begun,
                "{before} and {after} write {resource} {name} at once, at {begun}"
            );
            let has_let_go = said[before].iter().any(|(at, what)| {
                let is_between = ended < at && at < begun;
                is_between
                    && match what {
                        Said::Gone => true,
                        Said::Ack(ack) => {
                            let deal = deals.get(&ack.epoch);
                            let others = ack.leaving || deal.is_some_and(|deal| deal.owner(bucket) != Some(*before));
                            others && !ack.busy.contains(&id)
                        }
                    }
            });
            assert!(
                has_let_go,
                "{after} writes {resource} {name} at {begun} before {before} has let go of it, which wrote at {ended}"
            );
        }
    }
    proof
}
