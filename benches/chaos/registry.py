"""A real registry behind a proxy that can spoil its answers, and the images in it."""

import hashlib
import http.client
import json
import re
import socket

from chaos.front import Answer, Fault, Front
from chaos.world import REGISTRY, Program, free_port
from programs import tool

MANIFEST = "application/vnd.oci.image.manifest.v1+json"


class Registry(Front):
    def __init__(self, folder, authority, report, credentials):
        home, self.port = folder / "registry", free_port()
        home.mkdir()
        config = {"version": "0.1", "log": {"level": "error"}, "http": {"addr": f"127.0.0.1:{self.port}", "secret": "chaos"},
                  "storage": {"filesystem": {"rootdirectory": str(home)}, "maintenance": {"uploadpurging": {"enabled": False}}}}
        (home / "config.yml").write_text(json.dumps(config))
        log = folder / "registry.log"
        self.program = Program([tool("registry"), "serve", home / "config.yml"], log, env={"OTEL_TRACES_EXPORTER": "none"})
        self.program.start()
        super().__init__(REGISTRY, authority, report, credentials)

    def backend(self, request):
        headers = {name: ", ".join(request.headers.get_all(name)) for name in ("Accept", "Range") if name in request.headers}
        return self.ask(request.command, request.path, request.content, headers)

    def ask(self, method, path, body=b"", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            drop = ("transfer-encoding", "connection", *(() if method == "HEAD" else ("content-length",)))
            return Answer(answer.status, [(name, value) for name, value in answer.getheaders() if name.lower() not in drop], answer.read())
        finally:
            connection.close()

    def is_up(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def push(self, image, tag, mark):
        """An image whose digest is that of `mark`; gives the digest."""
        blobs = [json.dumps({"architecture": "amd64", "os": "linux", "mark": mark}).encode(), mark.encode()]
        digests = [self.blob(image, blob) for blob in blobs]
        parts = [{"mediaType": f"application/vnd.oci.image.{kind}", "digest": digest, "size": len(blob)}
                 for kind, digest, blob in zip(("config.v1+json", "layer.v1.tar"), digests, blobs)]
        text = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": parts[0], "layers": parts[1:]}).encode()
        answer = self.ask("PUT", f"/v2/{image}/manifests/{tag}", text, {"Content-Type": MANIFEST})
        if answer.status != 201:
            raise SystemExit(f"the registry refuses {image}:{tag}: {answer.status} {answer.body[:300]}")
        return digest_of(text)

    def blob(self, image, blob):
        digest = digest_of(blob)
        begun = self.ask("POST", f"/v2/{image}/blobs/uploads/")
        place = re.sub("^https?://[^/]*", "", dict(begun.headers)["Location"])
        self.ask("PUT", f"{place}&digest={digest}", blob, {"Content-Type": "application/octet-stream"})
        return digest


def digest_of(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class AnotherDigest(Fault):
    """A manifest is said to have another digest."""
    kind = "digest"

    def __init__(self, share, random, lies):
        super().__init__(share, random)
        self.lies = lies

    def hits(self, request):
        return "/manifests/" in request.path and super().hits(request)

    def after(self, request, answer):
        lie = f"sha256:{self.random.getrandbits(256):064x}"
        answer.headers = [(name, lie if name.lower() == "docker-content-digest" else value) for name, value in answer.headers]
        self.lies.add(lie)
        return False
