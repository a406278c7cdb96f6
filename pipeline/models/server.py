"""One server that speaks OpenAI's chat completions: requests out, JSON back, faults named.

Plain `http.client`: it follows no redirect and asks no proxy of the environment, either of which
would carry transcripts to where the user did not send them.
"""

from __future__ import annotations

import json
import random
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

from pipeline.errors import ModelFault, OutOfMemory, PromptTooLong
from pipeline.models.address import Address
from pipeline.redact import redact

_TRIES = 4
_CONNECT_SECONDS = 10.0
_LONGEST_WAIT = 120.0  # a server that asks for more has had enough of us for this night
_LARGEST_ANSWER = 64 * 2**20
_WORDS_KEPT = 200  # of what a server says is wrong: it may quote the whole prompt

_PASSING = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_REFUSED = {400, 422}
_EXHAUSTED = re.compile(r"out of memory|insufficient memory|malloc|allocat", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|window|size)|maximum context|prompt is too long|too many tokens",
    re.IGNORECASE,
)


class Refused(ModelFault):
    """The server does not take a request of this form. words: what it says about it."""

    def __init__(self, message: str, *, words: str) -> None:
        super().__init__(message, mend="`memory model check` says what this server can do.")
        self.words = words


class _Passing(ModelFault):
    """A fault that may be gone in a moment. after: seconds the server asks to wait, or None."""

    def __init__(self, message: str, *, mend: str, after: float | None = None) -> None:
        super().__init__(message, mend=mend)
        self.after = after


class Server:
    """Sends requests to one address; may be used from several threads at once.

    key: "" for none; it stands in no message, log or repr. seconds: for one request, all in.
    pause: seconds before the second try, doubled before each further one.
    """

    def __init__(self, at: Address, key: str, *, seconds: float, pause: float = 1.0) -> None:
        self.at = at
        self._key = key
        self._seconds = seconds
        self._pause = pause
        self._open: set[socket.socket] = set()
        self._aborted = threading.Event()

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request, as JSON.

        A busy server, a cut connection and an answer that is no JSON are tried again with growing
        pauses, or after what the server asks for; a refusal and a request that took too long are
        not. Raises ModelFault: Refused, PromptTooLong or OutOfMemory where the server says so.
        """
        return self._tried(path, json.dumps(body).encode())

    def models(self) -> list[str]:
        """The names of the models that it says it has; asked and refused as a request is."""
        listed = self._tried("/models", None).get("data")
        found = listed if isinstance(listed, list) else []
        named = [one.get("id") for one in found if isinstance(one, dict)]
        return [name for name in named if isinstance(name, str)]

    def abort(self) -> None:
        """End every request that is under way; those who wait for them get a ModelFault."""
        self._aborted.set()
        for sock in list(self._open):
            _cut(sock)

    def resume(self) -> None:
        """Take requests again after `abort`."""
        self._aborted.clear()

    # -------------------------------------------------------------- one try

    def _tried(self, path: str, data: bytes | None) -> dict[str, Any]:
        for attempt in Retrying(
            retry=retry_if_exception_type(_Passing),
            stop=stop_after_attempt(_TRIES),
            wait=self._wait,
            sleep=self._sleep,
            reraise=True,
        ):
            with attempt:
                return self._once(path, data)
        raise AssertionError("Retrying ends by a return or a fault")

    def _once(self, path: str, data: bytes | None) -> dict[str, Any]:
        if self._aborted.is_set():
            raise ModelFault("The request was called off.")
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        late = threading.Event()
        try:
            with self._connected() as connection, self._limited(connection, late):
                method = "GET" if data is None else "POST"
                connection.request(method, f"{self.at.path}{path}", data, headers)
                response = connection.getresponse()
                text = response.read(_LARGEST_ANSWER + 1)
                if response.length:
                    raise HTTPException("the answer was cut off")
        except (OSError, HTTPException, ValueError) as error:
            if late.is_set() or isinstance(error, TimeoutError):
                raise self._too_slow() from error
            raise self._unreachable(error) from error
        if response.status != 200:
            raise self._fault(response.status, text, response.headers.get("Retry-After", ""))
        if len(text) > _LARGEST_ANSWER:
            raise ModelFault(f"The server at {self.at} gave an answer of more than 64 MB.")
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._no_json() from error
        if not isinstance(answer, dict):
            raise self._no_json()
        return answer

    @contextmanager
    def _connected(self) -> Iterator[HTTPConnection]:
        at, seconds = self.at, min(_CONNECT_SECONDS, self._seconds)
        connection = (
            HTTPSConnection(at.host, at.port, timeout=seconds, context=ssl.create_default_context())
            if at.secure
            else HTTPConnection(at.host, at.port, timeout=seconds)
        )
        try:
            try:
                connection.connect()
            except TimeoutError as error:
                raise OSError("no connection within 10 seconds") from error
            yield connection
        finally:
            connection.close()

    @contextmanager
    def _limited(self, connection: HTTPConnection, late: threading.Event) -> Iterator[None]:
        """Cut the connection when its time is over, however slowly it still sends, or at `abort`.

        A timeout of the socket alone begins anew with each byte.
        """
        sock = connection.sock
        sock.settimeout(self._seconds)

        def expire() -> None:
            late.set()
            _cut(sock)

        timer = threading.Timer(self._seconds, expire)
        timer.daemon = True
        self._open.add(sock)
        timer.start()
        try:
            if self._aborted.is_set():
                _cut(sock)
            yield
        finally:
            timer.cancel()
            self._open.discard(sock)

    # -------------------------------------------------------------- again

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, _Passing) and error.after is not None:
            return error.after
        pause: float = self._pause * 2 ** (state.attempt_number - 1)
        return pause * random.uniform(0.8, 1.2)  # several requests must not come back in step

    def _sleep(self, seconds: float) -> None:
        self._aborted.wait(seconds)

    # -------------------------------------------------------------- faults

    def _fault(self, status: int, text: bytes, retry_after: str) -> ModelFault:
        words = self._words(text)
        said = f"The server at {self.at} answered {status}" + (f": {words}" if words else "")
        if status in _PASSING | _REFUSED and _EXHAUSTED.search(words):
            return OutOfMemory(f"{said}.", mend="Use a smaller model, or a lower `batch`.")
        if status == 413 or (status in _REFUSED and _TOO_LONG.search(words)):
            return PromptTooLong(f"{said}.", mend="Start the server with room for longer prompts.")
        if status in _REFUSED:
            return Refused(f"{said}.", words=words)
        if status in _PASSING:
            after = _seconds(retry_after)
            if after is not None and after > _LONGEST_WAIT:
                return ModelFault(
                    f"{said}, and asks to wait {after:.0f} seconds.",
                    mend="The next run goes on where this one ended.",
                )
            mend = "Look whether the server is well; a lower `batch` asks less of it at once."
            return _Passing(f"{said}, {_TRIES} times.", mend=mend, after=after)
        if status in (401, 403):
            mend = "Name where the key is in `server.key_variable` or `server.key_item`."
        elif status == 404:
            mend = (
                'Name a model that the server has: `model = "openai:NAME"`; see `server.url` too.'
            )
        elif 300 <= status < 400:
            mend = "Redirects are not followed: give `server.url` as it is in the end."
        else:
            mend = "See whether `server.url` is that of an OpenAI-compatible server."
        return ModelFault(f"{said}.", mend=mend)

    def _words(self, text: bytes) -> str:
        """What the server says, a line at most so long, without the key and other secrets."""
        said: Any = text[: 2**16].decode("utf-8", "replace")
        with suppress(ValueError, RecursionError):
            said = json.loads(text)
        for name in ("error", "detail", "message"):
            if isinstance(said, dict) and name in said:
                said = said[name]
        plain = said if isinstance(said, str) else json.dumps(said)
        if self._key:
            plain = plain.replace(self._key, "[REDACTED:key]")
        return redact(" ".join(plain.split())).text[:_WORDS_KEPT].rstrip(" .")

    def _unreachable(self, error: Exception) -> ModelFault:
        if self._aborted.is_set():
            return ModelFault("The request was called off.")
        if isinstance(error, ssl.SSLCertVerificationError):
            return ModelFault(
                f"The server at {self.at} shows no valid certificate: {error.verify_message}.",
                mend="Give `server.url` by the name that stands in the certificate.",
            )
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return _Passing(
            f"The server at {self.at} cannot be reached: {reason}.",
            mend="Start it, or mend `server.url`.",
        )

    def _too_slow(self) -> ModelFault:
        # not tried again: the server may still be at work on it, and would get it twice
        return ModelFault(
            f"The server at {self.at} did not answer within {self._seconds:g} seconds.",
            mend="Raise `server.timeout_seconds`, or lower `batch`.",
        )

    def _no_json(self) -> _Passing:
        return _Passing(
            f"The server at {self.at} answered with what is no JSON, {_TRIES} times.",
            mend="See whether `server.url` is that of an OpenAI-compatible server.",
        )


def _cut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def _seconds(retry_after: str) -> float | None:
    """Seconds to wait, from a number or a date; None where it says nothing of use."""
    with suppress(ValueError):
        return max(0.0, float(retry_after))
    with suppress(ValueError):
        at = parsedate_to_datetime(retry_after)
        now = datetime.fromtimestamp(time.time(), UTC)
        return max(0.0, ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds())
    return None
