#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes schemas for kubeconform, in which a field that does not exist is an error.

  kubernetes-schemas.py DIR SWAGGER DEFINITION...

SWAGGER is api/openapi-spec/swagger.json of Kubernetes, each DEFINITION a custom resource definition.
scripts/fleet-test.sh uses it.
"""
import json
import pathlib
import sys

import yaml

KINDS = {"Namespace", "ServiceAccount", "ConfigMap", "Service", "DaemonSet", "ClusterRole", "ClusterRoleBinding"}


def refuse_unknown(schema):
    """Forbids what has no description, in every object that describes its fields."""
    if schema.pop("x-kubernetes-int-or-string", False):
        schema.pop("anyOf", None)
        schema["type"] = ["integer", "string"]
    if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        schema.setdefault("additionalProperties", False)
    parts = list(schema.get("properties", {}).values())
    parts += [schema[name] for name in ("items", "additionalProperties") if isinstance(schema.get(name), dict)]
    for part in parts:
        refuse_unknown(part)


def main(directory, swagger, *definitions):
    directory = pathlib.Path(directory)

    def write(kind, group, version, schema):
        parts = [kind.lower(), group.split(".")[0], version] if group else [kind.lower(), version]
        (directory / ("-".join(parts) + ".json")).write_text(json.dumps(schema))

    types = json.loads(pathlib.Path(swagger).read_text())["definitions"]
    for schema in types.values():
        refuse_unknown(schema)
    types["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] = {"type": ["integer", "string"]}
    types["io.k8s.apimachinery.pkg.api.resource.Quantity"] = {"type": ["number", "string"]}
    for name, schema in types.items():
        for known in schema.get("x-kubernetes-group-version-kind", []):
            if known["kind"] in KINDS:
                of_kind = {"$ref": "#/definitions/" + name, "definitions": types}
                write(known["kind"], known["group"], known["version"], of_kind)
    for path in definitions:
        spec = yaml.safe_load(pathlib.Path(path).read_text())["spec"]
        for version in spec["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            refuse_unknown(schema)
            schema["properties"]["metadata"] = {"type": "object"}
            write(spec["names"]["kind"], spec["group"], version["name"], schema)


if __name__ == "__main__":
    main(*sys.argv[1:])
