"""A model server on loopback that answers as told or asks a real one, and fails on demand."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Upstream = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Fault:
    """What to do in the place of an answer.

    kind: "status" (answer it with words), "reset" (end without a word), "cut" (end half way through
    the answer), "garbage" (no JSON), "trickle" (a byte now and then, for ever), "hang" (nothing).
    """

    kind: str
    status: int = 500
    words: Any = "injected"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Place:
    """The server: what it was asked, and what it does with the next requests (then it answers)."""

    url: str
    faults: list[Fault | None]
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


def reply(text: str | None, finish: str = "stop", **more: Any) -> dict[str, Any]:
    """A chat completion. more: fields of its choice, such as logprobs."""
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    choice = {"index": 0, "message": message, "finish_reason": finish, **more}
    return {"object": "chat.completion", "choices": [choice], "usage": usage}


def listing(*places: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """The logprobs of a choice: for each token of the reply (token, logprob) of the likeliest."""
    content = []
    for place in places:
        top = [{"token": token, "logprob": logprob} for token, logprob in place]
        content.append({**top[0], "top_logprobs": top})
    return {"content": content}


def forward(host: str, port: int) -> Upstream:
    """Hand every request on to a real server."""

    def upstream(body: dict[str, Any]) -> dict[str, Any]:
        connection = HTTPConnection(host, port, timeout=120)
        try:
            data = json.dumps(body)
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/v1/chat/completions", data, headers)
            response = connection.getresponse()
            answer: dict[str, Any] = json.loads(response.read())
            assert response.status == 200, answer
            return answer
        finally:
            connection.close()

    return upstream


@contextmanager
def serving(upstream: Upstream, faults: Sequence[Fault | None] = ()) -> Iterator[Place]:
    """The server, while the block runs. faults: for the first requests; None is none."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: object) -> None:
            """Quiet."""

        def do_GET(self) -> None:
            if self.path.endswith("/models"):
                with lock:
                    place.headers.append(dict(self.headers))
                    fault = place.faults.pop(0) if place.faults else None
                if fault is None:
                    data = [{"id": "tiny", "object": "model"}]
                    self._send(200, json.dumps({"object": "list", "data": data}).encode())
                elif fault.kind == "status":
                    self._send(fault.status, json.dumps({"error": fault.words}).encode())
                else:
                    assert fault.kind == "hang"
                    place.over.wait()
                    self._end()
            else:
                self._send(404, b"{}")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                place.asked.append(body)
                place.headers.append(dict(self.headers))
                fault = place.faults.pop(0) if place.faults else None
            if fault is None:
                self._send(200, json.dumps(upstream(body)).encode())
            elif fault.kind == "status":
                words = fault.words
                said = words if isinstance(words, bytes) else json.dumps({"error": words}).encode()
                self._send(fault.status, said, fault.headers)
            elif fault.kind == "garbage":
                self._send(200, b"<html>not what you asked for</html>")
            elif fault.kind == "cut":
                self._begin(200, 1000)
                self.wfile.write(b'{"choices": [')
                self._end()
            elif fault.kind == "trickle":
                self._begin(200, 10**6)
                while not place.over.wait(0.05):
                    try:
                        self.wfile.write(b" ")
                    except OSError:
                        break
                self._end()
            elif fault.kind == "hang":
                place.over.wait()
                self._end()
            else:
                assert fault.kind == "reset"
                self._end()

        def _send(self, status: int, data: bytes, headers: Mapping[str, str] | None = None) -> None:
            try:
                self._begin(status, len(data), headers)
                self.wfile.write(data)
            except OSError:  # who asked is gone
                self.close_connection = True

        def _begin(
            self, status: int, length: int, headers: Mapping[str, str] | None = None
        ) -> None:
            self.send_response(status)
            for key, value in {**(headers or {}), "Content-Length": str(length)}.items():
                self.send_header(key, value)
            self.end_headers()

        def _end(self) -> None:
            self.close_connection = True
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    place = Place(f"http://127.0.0.1:{server.server_address[1]}/v1", list(faults))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield place
    finally:
        place.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
