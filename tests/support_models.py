"""A model hub on loopback that speaks the hub's protocol and fails where it is told to."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """Serves one model `org/tiny` with these files; see `faults`.

    faults: what to answer the next requests for a file's bytes with: a status; 0 to cut the
        connection half way through the file; None to serve it. Served once they are used up.
    asked: the files whose bytes were asked for, in order. stated: a sha256 to state wrongly.
    """

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.faults: list[int | None] = []
        self.asked: list[str] = []
        self.stated: dict[str, str] = {}

    def info(self) -> dict[str, object]:
        """The hub's description of the model: names, sizes and, of large files, the sha256."""
        siblings: list[dict[str, object]] = []
        for name, data in self.files.items():
            entry: dict[str, object] = {"rfilename": name, "size": len(data), "blobId": "0" * 40}
            if name.endswith(".safetensors"):
                digest = self.stated.get(name, hashlib.sha256(data).hexdigest())
                entry["lfs"] = {"sha256": digest, "size": len(data), "pointerSize": 130}
            siblings.append(entry)
        return {"_id": "0", "id": "org/tiny", "sha": COMMIT, "siblings": siblings}


@contextmanager
def serving(hub: Hub) -> Iterator[str]:
    """The address of a server for `hub`, on loopback, while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: object) -> None:
            """Quiet."""

        def do_HEAD(self) -> None:
            self._file(body=False)

        def do_GET(self) -> None:
            if self.path.startswith("/api/models/org/tiny"):
                self._send(200, json.dumps(hub.info()).encode())
            else:
                self._file(body=True)

        def _file(self, *, body: bool) -> None:
            prefix = f"/org/tiny/resolve/{COMMIT}/"
            name = self.path.removeprefix(prefix)
            if not self.path.startswith(prefix) or name not in hub.files:
                self._send(404, b"", {"X-Error-Code": "RepoNotFound"}, body=body)
                return
            data = hub.files[name]
            headers = {"X-Repo-Commit": COMMIT, "ETag": hashlib.sha256(data).hexdigest()}
            if not body:
                self._send(200, data, headers, body=False)
                return
            hub.asked.append(name)
            fault = hub.faults.pop(0) if hub.faults else None
            if fault:
                self._send(fault, b"")
                return
            start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")[0])
            if fault == 0:
                self.send_response(200)
                for key, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(data[: len(data) // 2])
                self.wfile.flush()
                self.close_connection = True
                return
            if start:
                headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
            self._send(206 if start else 200, data[start:], headers)

        def _send(
            self,
            status: int,
            data: bytes,
            headers: dict[str, str] | None = None,
            *,
            body: bool = True,
        ) -> None:
            self.send_response(status)
            for key, value in {**(headers or {}), "Content-Length": str(len(data))}.items():
                self.send_header(key, value)
            self.end_headers()
            if body:
                self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
