"""An HTTPS server in front of what is real, which passes requests on or spoils them."""

import base64
import http.server
import socket
import socketserver
import ssl
import struct
import threading
import time

from chaos.world import free_port


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body


class Front(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Passes requests on by `backend(request)`, spoiled by the faults that are on."""
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, host, authority, report, credentials):
        self.host, self.report, self.credentials = host, report, credentials
        self.faults, self.served, self.refused = [], 0, 0
        self.trust(authority)
        super().__init__(("127.0.0.1", free_port()), Handler)
        self.address = f"{host}:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def trust(self, authority):
        """Shows another certificate from now on."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.certificate, authority.key)
        self.tls = context

    def fault(self, request):
        """The first fault that is on and meant for a request."""
        return next((fault for fault in list(self.faults) if fault.hits(request)), None)

    def may(self, request):
        user, password = self.credentials
        return request.headers.get("Authorization") == "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    def handle_error(self, request, client_address):
        """Clients hang up, are killed, and do not trust: that is what they are here for."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 120

    def setup(self):
        self.request.settimeout(30)
        self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.content = self.content_sent()
        fault = self.server.fault(self)
        if fault:
            self.server.report.count(f"request:{fault.kind}")
        if fault and fault.before(self):
            return
        self.server.served += 1
        if self.server.may(self):
            answer = self.server.backend(self)
        else:
            self.server.refused += 1
            answer = Answer(401, [("WWW-Authenticate", 'Basic realm="chaos"')], b"who are you?\n")
        if fault and fault.after(self, answer):
            return
        self.send(answer)

    do_HEAD = do_POST = do_GET

    def content_sent(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def send(self, answer, part=1.0):
        """Sends an answer, or the first part of its body."""
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        if self.command == "HEAD":
            if not any(name.lower() == "content-length" for name, _ in answer.headers):
                self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            return
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body[:int(len(answer.body) * part)])
        self.wfile.flush()

    def hang_up(self, reset=True):
        """Ends the connection, by a reset or in order."""
        self.close_connection = True
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


class Fault:
    """One way to spoil requests, while it is in a server's `faults`. `before` and `after` give whether they have answered."""
    kind = "none"

    def __init__(self, share, random):
        self.share, self.random, self.is_over = share, random, threading.Event()

    def hits(self, request):
        return self.random.random() < self.share

    def before(self, request):
        return False

    def after(self, request, answer):
        return False


class Refuse(Fault):
    """No answer at all."""
    kind = "refuse"

    def before(self, request):
        request.hang_up()
        return True


class Status(Fault):
    """An error of the server."""
    kind = "status"

    def before(self, request):
        status = self.random.choice([429, 429, 500, 502, 503])
        headers = [("Retry-After", str(self.random.randrange(1, 6)))] if status in (429, 503) and self.random.random() < 0.7 else []
        request.send(Answer(status, headers, b"not now\n"))
        return True


class Reset(Fault):
    """Half of an answer, and a reset."""
    kind = "reset"

    def after(self, request, answer):
        request.send(answer, 0.5)
        request.hang_up()
        return True


class Truncate(Fault):
    """Half of an answer that says that it is whole."""
    kind = "truncate"

    def after(self, request, answer):
        answer.body = answer.body[:len(answer.body) // 2]
        return False


class Stall(Fault):
    """Half of an answer, and then nothing for as long as the fault lasts."""
    kind = "stall"

    def after(self, request, answer):
        request.send(answer, 0.5)
        self.is_over.wait(120)
        request.hang_up()
        return True


class Slow(Fault):
    kind = "slow"

    def before(self, request):
        time.sleep(self.random.uniform(0.5, 3))
        return False


class LoseAnswer(Fault):
    """What is asked for is done, and not answered."""
    kind = "lose-answer"

    def after(self, request, answer):
        request.hang_up()
        return True
