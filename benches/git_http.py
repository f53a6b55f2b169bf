"""A smart-HTTP Git server for the benchmarks: kept connections in front of the real `git http-backend`.

TCP_NODELAY matters: without it a kept connection stalls some 40 ms on every second request, which would punish exactly
the clients that keep theirs. Usage: git_http.py ROOT; prints its port. GET /requests answers the requests so far."""

import http.server
import os
import subprocess
import sys
import threading

ROOT = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "."
requests = 0
lock = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 64 * 1024

    def do_GET(self):
        if self.path == "/requests":
            return self.answer(str(requests).encode())
        self.git()

    def do_POST(self):
        self.git()

    def git(self):
        global requests
        with lock:
            requests += 1
        path, _, query = self.path.partition("?")
        env = dict(os.environ, GIT_PROJECT_ROOT=ROOT, GIT_HTTP_EXPORT_ALL="1", REQUEST_METHOD=self.command,
                   PATH_INFO=path, QUERY_STRING=query, CONTENT_TYPE=self.headers.get("Content-Type", ""),
                   REMOTE_USER="bench", REMOTE_ADDR="127.0.0.1")
        for header, name in (("Content-Encoding", "HTTP_CONTENT_ENCODING"), ("Git-Protocol", "GIT_PROTOCOL")):
            if header in self.headers:
                env[name] = self.headers[header]
        body = self.body()
        env["CONTENT_LENGTH"] = str(len(body))
        with subprocess.Popen(["git", "http-backend"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as backend:
            writer = threading.Thread(target=feed, args=(backend.stdin, body))
            writer.start()
            self.relay(backend.stdout)
            writer.join()

    def body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def relay(self, output):
        status, headers = 200, []
        while line := output.readline().strip():
            name, _, value = line.decode().partition(": ")
            if name.lower() == "status":
                status = int(value.split()[0])
            else:
                headers.append((name, value))
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while piece := output.read1(64 * 1024):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def answer(self, text):
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def feed(pipe, body):
    try:
        pipe.write(body)
        pipe.close()
    except BrokenPipeError:
        pass


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    server.serve_forever()
