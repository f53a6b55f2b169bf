//! Which automations name policies of other namespaces in their markers: they run again when such a policy changes.
//!
//! Only Git has the markers, so that each run tells what it found. A policy that allows all namespaces would otherwise
//! wake the automations of all tenants whenever its owner likes.

use std::collections::{BTreeSet, HashMap};

use bumpwright_api::ObjectName;
use bumpwright_policy::PolicyName;
use parking_lot::Mutex;

/// The most policies that are remembered of an automation. One that names more waits for its interval.
const MOST: usize = 1000;

/// The automations by what they name.
#[derive(Debug, Default)]
pub(crate) struct Readers(Mutex<HashMap<ObjectName, BTreeSet<PolicyName>>>);

impl Readers {
    /// Records all policies that the markers of an automation name. True if one of another namespace is new.
    pub(crate) fn record(&self, automation: &ObjectName, named: &BTreeSet<PolicyName>) -> bool {
        let others = named.iter().filter(|policy| policy.namespace != automation.namespace);
        let others: BTreeSet<PolicyName> = others.take(MOST).cloned().collect();
        let mut readers = self.0.lock();
        if others.is_empty() {
            readers.remove(automation);
            return false;
        }
        let is_known = |before: &BTreeSet<PolicyName>| others.is_subset(before);
        let is_new = !readers.get(automation).is_some_and(is_known);
        readers.insert(automation.clone(), others);
        is_new
    }

    pub(crate) fn forget(&self, automation: &ObjectName) {
        self.0.lock().remove(automation);
    }

    /// The automations of other namespaces that name a policy.
    pub(crate) fn of(&self, policy: &ObjectName) -> Vec<ObjectName> {
        let policy = PolicyName::new(&policy.namespace, &policy.name);
        let readers = self.0.lock();
        let of_policy = readers.iter().filter(|(_, named)| named.contains(&policy));
        of_policy.map(|(automation, _)| automation.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_names_a_policy_of_another_namespace_is_known() {
        let readers = Readers::default();
        let (one, two) = (ObjectName::new("a", "one"), ObjectName::new("b", "two"));
        let named = |names: &[(&str, &str)]| names.iter().map(|(ns, name)| PolicyName::new(*ns, *name)).collect();
        assert!(!readers.record(&one, &named(&[("a", "web")])));
        assert!(readers.record(&one, &named(&[("a", "web"), ("shared", "web")])));
        assert!(!readers.record(&one, &named(&[("shared", "web")])));
        assert!(readers.record(&two, &named(&[("shared", "web"), ("a", "web")])));
        let mut both = readers.of(&ObjectName::new("shared", "web"));
        both.sort();
        assert_eq!(both, [one.clone(), two.clone()]);
        assert_eq!(readers.of(&ObjectName::new("a", "web")), std::slice::from_ref(&two));
        readers.forget(&two);
        assert!(!readers.record(&one, &named(&[])));
        assert_eq!(readers.of(&ObjectName::new("shared", "web")), []);
        let many = (0..MOST + 5)
            .map(|n| PolicyName::new("shared", n.to_string()))
            .collect();
        readers.record(&one, &many);
        assert_eq!(readers.0.lock().get(&one).map(BTreeSet::len), Some(MOST));
    }
}
