"""The files of a folder behind HTTP on the loopback interface, with range requests, as web storage serves them.

In a process of its own: GDAL waits for an answer while it holds Python's interpreter lock.
"""

import http.server
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def serving(folder):
    """Serve the files of a folder; yield the address."""
    command = [sys.executable, __file__, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


class QuietHandler(http.server.BaseHTTPRequestHandler):
    """Leaves HEAD and GET to `answer`, and logs nothing."""

    def do_HEAD(self):
        self.answer(has_body=False)

    def do_GET(self):
        self.answer(has_body=True)

    def log_message(self, *_):
        pass


class FileHandler(QuietHandler):
    """Answers requests for a file, or for a range of its bytes; every second one for a file named busy by 503."""

    asked = 0

    def answer(self, has_body):
        if "busy" in self.path:
            FileHandler.asked += 1
            if FileHandler.asked % 2:
                self.send_error(503)
                return
        path = Path(sys.argv[1], self.path.lstrip("/"))
        if not path.is_file():
            self.send_error(404)
            return
        content = path.read_bytes()
        first, _, last = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
        part = content[int(first or 0) : int(last or len(content)) + 1]
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        if has_body:
            self.wfile.write(part)


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), FileHandler)
    print(server.server_port, flush=True)
    server.serve_forever()
