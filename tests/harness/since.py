"""Runs a runner of the harness: since.py RUNNER ARGUMENTS…

Its scenarios were recorded before Flux 2.10, whose events have two fields more, `action` and `relatedObject`. They are taken out of
what the notification-controller's stand-in got, once it is sure that each event has an action. Their values have tests of their own."""

import importlib.util
import json
import pathlib
import sys

NEW = ("action", "relatedObject")


def without_new(events):
    """The events as they were before, each once."""
    seen, old = set(), []
    for event in events:
        assert event.get("action"), f"an event without an action: {event}"
        event = {key: value for key, value in event.items() if key not in NEW}
        about = {key: value for key, value in event["involvedObject"].items() if key != "resourceVersion"}
        text = json.dumps({**event, "involvedObject": about}, sort_keys=True)
        if text not in seen:
            seen.add(text)
            old.append(event)
    return old


def main():
    runner = pathlib.Path(sys.argv[1])
    sys.argv = sys.argv[1:]
    sys.path.insert(0, str(runner.parent))
    spec = importlib.util.spec_from_file_location("runner", runner)
    module = importlib.util.module_from_spec(spec)
    sys.modules["runner"] = module
    spec.loader.exec_module(module)
    for name in ("cap_sink", "r_sink"):
        if of_sink := getattr(module.Run, name, None):
            setattr(module.Run, name, lambda self, asked, of_sink=of_sink: without_new(of_sink(self, asked)))
    module.main()


main()
