"""A server of this machine that plays Overpass: it gives its answers in turn, and keeps the queries."""

import http.server
import itertools
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs


@dataclass
class Answer:
    """What the server sends: a status, further headers, and content, after a while; cut off after some bytes."""

    content: bytes = b""
    status: int = 200
    headers: dict = field(default_factory=dict)
    after_s: float = 0.0
    cut: int = 0


BUSY = {status: Answer(b"<html>Too many</html>", status, {"Retry-After": "0"}) for status in (429, 504)}
_numbers = itertools.count()


class Queries(list):
    """The queries that came, and the path and the headers that each came with."""

    def __init__(self):
        super().__init__()
        self.heads = []


@contextmanager
def overpass(*answers):
    """Serve answers, the last of them again and again; give the address and the queries that came.

    A proxy of HTTP is asked alike, but for the path, which is a whole address.
    """
    left, queries = list(answers), Queries()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            form = self.rfile.read(int(self.headers["Content-Length"])).decode()
            queries.heads.append((self.path, self.headers))  # whose names Qt 6 writes in lower case
            queries.append(parse_qs(form).get("data", [""])[0])
            answer = left.pop(0) if len(left) > 1 else left[0]
            time.sleep(answer.after_s)
            self.send_response(answer.status)
            for name, value in {"Content-Length": len(answer.content), **answer.headers}.items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(answer.content[: answer.cut or None])

        def handle(self):
            try:
                super().handle()
            except ConnectionError:  # of a client that waits no longer
                self.close_connection = True

        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{next(_numbers)}/api/interpreter", queries
        server.shutdown()
