# The transports. This part is the same for every API.


class RpcError(Exception):
    """An error returned by the server. Unknown codes are passed on unchanged."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class TransportError(Exception):
    """No response arrived, or none that can be read. The underlying error, if there is one, is the cause."""


class Request:
    """A call or a notification."""

    def __init__(self, method: str, params: Params, is_notification: bool) -> None:
        self.method = method
        self.params = params
        self.is_notification = is_notification

    def to_json(self, id: Optional[int]) -> Dict[str, Any]:
        """The request as JSON."""
        message: Dict[str, Any] = {"jsonrpc": "2.0", "method": self.method}
        if self.params is not None:
            message["params"] = self.params
        if not self.is_notification:
            message["id"] = id
        return message


class Transport(Protocol):
    """Sends calls to a server. A client works over any transport."""

    def call(self, method: str, params: Params) -> Any:
        """Returns the result, or raises the error."""

    def notify(self, method: str, params: Params) -> None:
        """Sends a notification. There is no response to wait for."""

    def stream(self, method: str, params: Params) -> Iterator[Any]:
        """Yields the items as they arrive."""

    def batch(self, requests: Sequence[Request]) -> List[Union[Exception, Any]]:
        """Sends all as one message. Returns the result or error of each, in order; raises if the batch as a whole fails."""


class Pending(Generic[_T]):
    """The outcome of a call in a batch, once the batch is sent."""

    def __init__(self) -> None:
        self._outcome: Any = RuntimeError("the batch was not sent")

    def error(self) -> Optional[Exception]:
        """The error, if there is one: an RpcError from the server, or a TransportError."""
        return self._outcome if isinstance(self._outcome, Exception) else None

    def result(self) -> _T:
        """The result. Raises the error, if there is one."""
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return cast(_T, self._outcome)


class Batch:
    """Calls that are sent as one message."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._requests: List[Request] = []
        self._pending: List[Pending[Any]] = []
        self._is_sent = False

    def add(self, method: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Pending[_T]:
        """Adds a call: a method of the client and its arguments. The result of a notification is None."""
        group: Any = getattr(method, "__self__", None)
        if not hasattr(group, "_transport"):
            raise TypeError("only methods of the client can be added to a batch")
        if self._is_sent:
            raise RuntimeError("the batch was already sent")
        recorder = _Recorder()
        # The method makes its request as usual, over a transport that only records it.
        getattr(type(group)(recorder), method.__name__)(*args, **kwargs)
        self._requests.append(recorder.request)
        self._pending.append(Pending())
        return self._pending[-1]

    def send(self) -> None:
        """Sends the batch. Raises if it fails as a whole; the outcome of each call is in the `Pending` that `add` returned."""
        if not self._requests:
            raise ValueError("the batch is empty; nothing was sent")
        if self._is_sent:
            raise RuntimeError("the batch was already sent")
        self._is_sent = True
        try:
            outcomes = self._transport.batch(self._requests)
        except Exception as error:
            for pending in self._pending:
                pending._outcome = error
            raise
        for pending, outcome in zip(self._pending, outcomes):
            pending._outcome = outcome


class _Recorder:
    """Records a request."""

    request: Request

    def call(self, method: str, params: Params) -> Any:
        self.request = Request(method, params, False)

    def notify(self, method: str, params: Params) -> None:
        self.request = Request(method, params, True)

    def stream(self, method: str, params: Params) -> Iterator[Any]:
        raise TypeError(f"{method} returns a stream, which cannot be part of a batch")

    def batch(self, requests: Sequence[Request]) -> List[Union[Exception, Any]]:
        raise TypeError("a batch cannot contain another batch")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Treats redirects as errors: requests and their headers are meant for one server only."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class HttpTransport:
    """Sends each call as one POST. Streams are read as server-sent events."""

    def __init__(self, url: str, *, headers: Optional[Mapping[str, str]] = None, timeout: float = 30.0) -> None:
        """The timeout, in seconds, covers connecting and the response; for a stream, each part of it."""
        if not url.lower().startswith(("http://", "https://")):
            raise ValueError(f"{url!r} is not an HTTP URL; it must start with http:// or https://")
        self._url = url
        self._headers = dict(headers or {})
        self._timeout = timeout
        self._ids = itertools.count(1)
        self._opener = urllib.request.build_opener(_NoRedirects)

    def call(self, method: str, params: Params) -> Any:
        id = next(self._ids)
        answer = _parse(self._ask(Request(method, params, False).to_json(id)))
        result = _outcome(answer)
        if answer.get("id") != id:
            raise TransportError("the response has the id of another call")
        return result

    def notify(self, method: str, params: Params) -> None:
        self._ask(Request(method, params, True).to_json(None))

    def batch(self, requests: Sequence[Request]) -> List[Union[Exception, Any]]:
        ids = [next(self._ids) for _ in requests]
        text = self._ask([request.to_json(id) for request, id in zip(requests, ids)])
        if all(request.is_notification for request in requests):
            return [None for _ in requests]
        answer = _parse(text)
        if not isinstance(answer, list):
            _outcome(answer)
            raise TransportError("the response to the batch is not an array")
        # From the end on, so that the first response to a call counts.
        known = [one for one in reversed(answer) if isinstance(one, dict) and type(one.get("id")) is int]
        responses = {one["id"]: one for one in known}
        return [None if request.is_notification else _settled(responses.get(id)) for request, id in zip(requests, ids)]

    def stream(self, method: str, params: Params) -> Iterator[Any]:
        with self._post(Request(method, params, False).to_json(next(self._ids)), "text/event-stream") as response:
            if response.headers.get_content_type() != "text/event-stream":
                result = _outcome(_parse(self._read(response)))
                yield from result if isinstance(result, list) else [result]
                return
            for data in _events(self._lines(response)):
                if data == b"[DONE]":
                    return
                yield _outcome(_parse(data))
        raise TransportError("the stream ended early")

    def _ask(self, message: Any) -> bytes:
        with self._post(message, "application/json") as response:
            return self._read(response)

    def _post(self, message: Any, accept: str) -> HTTPResponse:
        headers = {"Content-Type": "application/json", "Accept": accept, **self._headers}
        request = urllib.request.Request(self._url, json.dumps(message, allow_nan=False).encode(), headers, method="POST")
        try:
            with self._telling():
                return cast(HTTPResponse, self._opener.open(request, timeout=self._timeout))
        except urllib.error.HTTPError as error:
            with error:
                try:
                    answer = json.loads(self._read(cast(HTTPResponse, error.fp)))
                except (ValueError, RecursionError, TransportError):
                    answer = None
            if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
                _outcome(answer)
            raise TransportError(f"the server responded with status {error.code}") from error

    def _read(self, response: HTTPResponse) -> bytes:
        """The whole response, which may arrive in parts but within the timeout."""
        parts: List[bytes] = []
        until = time.monotonic() + self._timeout
        with self._telling():
            while part := response.read1(65536):
                parts.append(part)
                if time.monotonic() > until:
                    raise TimeoutError(f"the response is not complete after {self._timeout} seconds")
        if response.length:
            raise TransportError(f"the response is incomplete: {response.length} bytes are missing")
        return b"".join(parts)

    def _lines(self, response: HTTPResponse) -> Iterator[bytes]:
        while True:
            with self._telling():
                line = response.readline()
            if not line:
                return
            yield line

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Turns every failure on the way into a TransportError."""
        try:
            yield
        except urllib.error.HTTPError:
            raise
        except (OSError, HTTPException) as error:
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            raise TransportError(f"{self._url} cannot be called: {cause or repr(cause)}") from error


def _events(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The data of each event."""
    data: List[bytes] = []
    for line in lines:
        line = line.rstrip(b"\r\n")
        if not line and data:
            yield b"\n".join(data)
            data = []
        elif line.startswith(b"data:"):
            data.append(line[6:] if line[5:6] == b" " else line[5:])


def _parse(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TransportError("the server's message is not JSON") from error


def _outcome(response: Any) -> Any:
    """The result of a response; an error is raised."""
    if not isinstance(response, dict):
        raise TransportError("the message is not a JSON-RPC response")
    error = response.get("error")
    if isinstance(error, dict):
        raise RpcError(error.get("code", 0), error.get("message", ""), error.get("data"))
    if error is not None:
        raise TransportError("the server's error is not a JSON-RPC error")
    if "result" not in response:
        raise TransportError("the response has neither a result nor an error")
    return response["result"]


def _settled(response: Any) -> Any:
    """The result of a response in a batch, or its error."""
    if response is None:
        return TransportError("the batch response does not include this call")
    try:
        return _outcome(response)
    except (RpcError, TransportError) as error:
        return error


def _names(params: Dict[str, Any], *optional: str) -> Dict[str, Any]:
    """Parameters by name, without the omitted ones."""
    return {name: value for name, value in params.items() if value is not None or name not in optional}


def _positions(values: List[Any], required: int) -> List[Any]:
    """Parameters by position, without omitted ones at the end."""
    while len(values) > required and values[-1] is None:
        values.pop()
    return values
