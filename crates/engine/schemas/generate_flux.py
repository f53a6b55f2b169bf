#!/usr/bin/env python3
"""Writes flux.json: the kinds of Flux that bumpwright does not define itself, from the CustomResourceDefinitions in the given files.

Run by hand: `./generate_flux.py DEFINITION.yaml…`; README.md says of which releases. What the check does not read is left out:
descriptions, rules in CEL, and what is in the status, which controllers write. Versions that earlier releases served are there without a
schema: they are known, and nothing is said of their fields.
"""

import json
import pathlib
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
UNREAD = {"description", "title", "x-kubernetes-validations"}
EARLIER = {
    "HelmRelease": ["v2beta2", "v2beta1"],
    "Alert": ["v1beta2", "v1beta1"],
    "Provider": ["v1beta2", "v1beta1"],
    "Receiver": ["v1beta2", "v1beta1"],
}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def stripped(schema, names=False):
    """A schema without what is not read; below `properties` the keys are names of fields."""
    if isinstance(schema, list):
        return [stripped(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = schema.items() if names else ((key, value) for key, value in schema.items() if key not in UNREAD)
    return {key: stripped(value, not names and key == "properties") for key, value in kept}


def version(one):
    schema = stripped(one["schema"]["openAPIV3Schema"])
    schema["properties"]["status"] = ANYTHING
    return {"name": one["name"], "served": one["served"], "schema": {"openAPIV3Schema": schema}}


def definition(whole):
    spec = whole["spec"]
    versions = [version(one) for one in spec["versions"]]
    known = {one["name"] for one in versions}
    earlier = EARLIER.get(spec["names"]["kind"], [])
    versions += [{"name": name, "served": True} for name in earlier if name not in known]
    return {
        "apiVersion": whole["apiVersion"],
        "kind": whole["kind"],
        "metadata": {"name": whole["metadata"]["name"]},
        "spec": {"group": spec["group"], "names": {"kind": spec["names"]["kind"]}, "scope": spec["scope"], "versions": versions},
    }


found = []
for path in sys.argv[1:]:
    found += [definition(one) for one in yaml.safe_load_all(pathlib.Path(path).read_text()) if one]
found.sort(key=lambda one: one["metadata"]["name"])
lines = ",\n".join(json.dumps(one, separators=(",", ":"), sort_keys=True) for one in found)
(HERE / "flux.json").write_text(f"[\n{lines}\n]\n")
