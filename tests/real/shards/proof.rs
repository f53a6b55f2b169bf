//! What the audit log proves: between the last write of one process to an object and the first one of
//! another, the first process has acknowledged a deal that gives the object away, and was not at it any
//! more; or its Lease was deleted.

use std::collections::BTreeMap;

use bumpwright_shards::{Ack, Deal, bucket, id};
use serde_json::Value as Json;

/// What was looked at.
#[derive(Debug, Default)]
pub struct Proof {
    pub writes: usize,
    pub moves: usize,
    pub deals: usize,
    /// How often each ConfigMap was written that is applied.
    pub applied: BTreeMap<String, usize>,
}

/// When a request came, and when it was done: it has taken effect in between.
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

/// What the log tells of one fleet.
#[derive(Default)]
struct Told<'a> {
    deals: BTreeMap<u64, Deal>,
    /// What each member said, and when that was written.
    said: BTreeMap<&'a str, Vec<(Span<'a>, Said)>>,
    /// By resource and name: when, and by whom.
    writes: BTreeMap<(&'a str, &'a str), Vec<(Span<'a>, &'a str)>>,
}

impl<'a> Told<'a> {
    fn by(events: &'a [Json]) -> Result<Self, String> {
        let mut told = Self::default();
        for event in events {
            let (resource, name) = (text(event, "/objectRef/resource"), text(event, "/objectRef/name"));
            let created = text(event, "/requestObject/metadata/name");
            let name = if name.is_empty() { created } else { name };
            let span = (text(event, "/requestReceivedTimestamp"), text(event, "/stageTimestamp"));
            let user = text(event, "/user/username");
            if resource == "leases" {
                told.hear(event, name, span)?;
            } else if user != "admin" && !text(event, "/requestURI").contains("dryRun=All") {
                told.writes.entry((resource, name)).or_default().push((span, user));
            }
        }
        told.writes.values_mut().for_each(|all| all.sort_unstable());
        Ok(told)
    }

    fn hear(&mut self, event: &'a Json, lease: &'a str, span: Span<'a>) -> Result<(), String> {
        if let Some(deal) = annotation(event, "bumpwright.dev/deal") {
            let deal = Deal::read(deal).map_err(|error| error.to_string())?;
            let epoch = deal.epoch();
            return match self.deals.insert(epoch, deal) {
                None => Ok(()),
                Some(_) => Err(format!("epoch {epoch} comes twice")),
            };
        }
        let member = lease.strip_prefix("bumpwright-shard-");
        let Some((_, member)) = member.and_then(|rest| rest.split_once('-')) else {
            return Ok(());
        };
        let what = match annotation(event, "bumpwright.dev/shard") {
            Some(ack) => Said::Ack(Ack::read(ack)),
            None if text(event, "/verb") == "delete" => Said::Gone,
            None => return Ok(()),
        };
        self.said.entry(member).or_default().push((span, what));
        Ok(())
    }

    /// Whether a member has said, between these times, that an object is not its own any more, and that it
    /// is not at it.
    fn has_let_go(&self, member: &str, (bucket, id): (usize, u64), (after, before): (&str, &str)) -> bool {
        let mut said = self.said.get(member).into_iter().flatten();
        said.any(|((begun, ended), what)| {
            let lets_go = match what {
                Said::Gone => true,
                Said::Ack(ack) => {
                    let deal = self.deals.get(&ack.epoch);
                    let is_others = || deal.is_some_and(|deal| deal.owner(bucket) != Some(member));
                    (ack.leaving || is_others()) && !ack.busy.contains(&id)
                }
            };
            lets_go && after < *ended && *begun < before
        })
    }
}

/// Looks at the whole log.
///
/// # Errors
/// What shows that an object had two owners at once.
pub fn check(events: &[Json], namespace: &str, repositories: usize) -> Result<Proof, String> {
    let told = Told::by(events)?;
    let mut proof = Proof {
        deals: told.deals.len(),
        ..Proof::default()
    };
    for ((resource, name), all) in &told.writes {
        let Some(place) = place(resource, namespace, name, repositories) else {
            continue;
        };
        proof.writes += all.len();
        if *resource == "configmaps" {
            proof.applied.insert((*name).to_owned(), all.len());
        }
        for pair in all.windows(2) {
            let [((_, ended), before), ((begun, _), after)] = pair else {
                continue;
            };
            if before == after {
                continue;
            }
            proof.moves += 1;
            if ended >= begun {
                return Err(format!(
                    "{before} and {after} write {resource} {name} at once, at {begun}"
                ));
            }
            if !told.has_let_go(before, place, (ended, begun)) {
                return Err(format!(
                    "{after} writes {resource} {name} at {begun} before {before} has let go of it, which wrote at {ended}"
                ));
            }
        }
    }
    Ok(proof)
}

/// The log, had one member not said a word: what [`check`] refuses.
pub fn without_word_of(member: &str, events: &[Json]) -> Vec<Json> {
    let lease = format!("-{member}");
    let is_its_lease = |event: &Json| {
        let name = text(event, "/objectRef/name");
        text(event, "/objectRef/resource") == "leases"
            && name.starts_with("bumpwright-shard-")
            && name.ends_with(&lease)
    };
    events.iter().filter(|event| !is_its_lease(event)).cloned().collect()
}
