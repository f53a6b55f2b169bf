"""Breaks rules on purpose, so that one sees that it is told: `chaos.py --sabotage`."""

import http.client
import random
import time

from chaos.fleet import BOT

#: A process that is not there. What it writes is written beside the holder of the lease.
NOBODY = "process-1999"


def sabotage(world):
    """Breaks the rules; gives their names."""
    app, other = world.fleet.apps[1], world.fleet.apps[0]
    connection = http.client.HTTPSConnection("localhost", world.cluster.port, context=world.cluster.trust)
    path = f"/api/v1/namespaces/{app.namespace}/configmaps/{app.name}-version"
    connection.request("DELETE", path, headers={"Authorization": f"Bearer {NOBODY}"})
    connection.getresponse().read()
    repository = world.people.repository(other)
    subject = f"Automation {other.namespace}/{other.name}"
    head = repository.head()
    push(repository, repository.commit({"README.md": b"not a marked field\n"}, subject, head, BOT))
    file = f"{other.folder}/deployment.yaml"
    lines = repository.files("main", other.folder)[file].replace(b"replicas: 1", b"replicas: 2")
    push(repository, repository.commit({file: lines}, subject, "main", BOT))
    push(repository, repository.commit({"README.md": b"others are lost\n"}, subject, "main~2", BOT))
    (world.replicas[0].data / "leak").write_text(world.fleet.canaries["git"])
    tell_nothing(world)
    return {"all-clear", "wake-up", "deleted", "two at once", "another file", "bytes", "forced", "secret"}


def tell_nothing(world):
    """A circle, of which nobody is told; and who follows at once is late."""
    from chaos.faults import Circle
    world.wake_ups.limit = -1
    world.wake_ups.look(random.Random(1), world.tend)
    world.all_clear.command = ["true"]
    circle, source, end = Circle(world, 1), random.Random(1), time.time() + 180
    members = circle.begin()["kustomizations"]
    while time.time() < end and not any(rule == "all-clear" for rule, _ in world.report.breaches):
        # They wait for each other once there is a new revision.
        world.people.add(world.fleet.by_name[members[0]], source)
        world.tend()
        time.sleep(5)
    circle.end()


def push(repository, commit):
    """Moves `main` as a push by the server does."""
    repository.git("update-ref", "--create-reflog", "-m", "push", "refs/heads/main", commit)
