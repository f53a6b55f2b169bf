//! What events say that statuses do not.

use super::*;

/// A status does not say since when fields are left out, and the last commit does not either.
#[test]
fn fields_are_left_out_since_the_event_that_says_so() {
    let mut world = world();
    let automation = world.automations.get_mut(&name("fs/auto")).unwrap();
    let told = "repository up-to-date\napps/a.yaml:3: policy fs/wbe not found";
    automation.status.conditions = read(ready("True", "Succeeded", told));
    let since = |world: &World| world.attention().remove(0).since;
    assert_eq!(since(&world), None);
    let event = |at: &str, about: &str| {
        read::<EventFacts>(
            json!({"metadata": meta("fs/e"), "type": "Warning", "reason": "MarkersSkipped", "message": "markers",
            "firstTimestamp": at, "lastTimestamp": at,
            "involvedObject": {"kind": "ImageUpdateAutomation", "namespace": "fs", "name": about}}),
        )
    };
    world.events = vec![
        event("2026-01-01T11:59:00Z", "other"),
        event("2026-01-01T11:50:00Z", "auto"),
        event("2026-01-01T11:00:00Z", "auto"),
    ];
    assert_eq!(since(&world), Some(1_767_268_200));
}

/// client-go makes one event of many, and says so before the message.
#[test]
fn a_push_is_one_also_in_a_combined_event() {
    let mut world = world();
    let event = json!({"metadata": meta("fs/e"), "type": "Normal", "reason": "Succeeded",
        "message": "(combined from similar events): pushed commit 'c0ffee0' to branch 'main'",
        "lastTimestamp": "2026-01-01T11:00:01Z",
        "involvedObject": {"kind": "ImageUpdateAutomation", "namespace": "fs", "name": "auto"}});
    world.events = vec![read(event)];
    let run = world.runs(&name("fs/auto")).remove(0);
    assert_eq!(run.kind, ChangeKind::Pushed);
    assert_eq!(run.message, "pushed commit 'c0ffee0' to branch 'main'");
    assert_eq!(run.commit, COMMIT);
}
