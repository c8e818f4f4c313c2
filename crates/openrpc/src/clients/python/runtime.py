# How calls get there and answers back. It does not depend on what is called.


class RpcError(Exception):
    """An error that the server answered with. Codes that this client does not know come through as they are."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class TransportError(Exception):
    """There was no answer, or none that can be read."""


class Transport(Protocol):
    """Carries calls to a server. A client works over any."""

    def call(self, method: str, params: Params) -> Any:
        """Gives the result, or raises the error."""

    def notify(self, method: str, params: Params) -> None:
        """Waits for no answer."""

    def stream(self, method: str, params: Params) -> Iterator[Any]:
        """Gives the items as they come."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Takes a redirect for an error: what is sent, and the headers with it, is for one server alone."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class HttpTransport:
    """One POST a call. A stream is read as server-sent events."""

    def __init__(self, url: str, *, headers: Optional[Mapping[str, str]] = None, timeout: float = 30.0) -> None:
        """The timeout, in seconds, is for connecting and for each part of an answer."""
        self._url = url
        self._headers = dict(headers or {})
        self._timeout = timeout
        self._ids = itertools.count(1)
        self._opener = urllib.request.build_opener(_NoRedirects)

    def call(self, method: str, params: Params) -> Any:
        with self._post(method, params, next(self._ids), "application/json") as response:
            return _outcome(_parse(response.read()))

    def notify(self, method: str, params: Params) -> None:
        with self._post(method, params, None, "application/json"):
            pass

    def stream(self, method: str, params: Params) -> Iterator[Any]:
        with self._post(method, params, next(self._ids), "text/event-stream") as response:
            if response.headers.get_content_type() != "text/event-stream":
                result = _outcome(_parse(response.read()))
                yield from result if isinstance(result, list) else [result]
                return
            for data in _events(response):
                if data == b"[DONE]":
                    return
                yield _outcome(_parse(data))
        raise TransportError("the stream was cut off")

    def _post(self, method: str, params: Params, id: Optional[int], accept: str) -> HTTPResponse:
        message: Dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        if id is not None:
            message["id"] = id
        headers = {"Content-Type": "application/json", "Accept": accept, **self._headers}
        request = urllib.request.Request(self._url, json.dumps(message).encode(), headers, method="POST")
        try:
            return cast(HTTPResponse, self._opener.open(request, timeout=self._timeout))
        except urllib.error.HTTPError as error:
            with error:
                try:
                    _outcome(json.loads(error.read()))
                except (ValueError, TransportError):
                    pass
            raise TransportError(f"the server answered with status {error.code}") from None
        except OSError as error:
            raise TransportError(f"{self._url} does not answer: {error}") from error


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
    except ValueError:
        raise TransportError("what the server sent is no JSON") from None


def _outcome(response: Any) -> Any:
    """The result of a response; an error is raised."""
    if not isinstance(response, dict):
        raise TransportError("the answer is no JSON-RPC response")
    error = response.get("error")
    if isinstance(error, dict):
        raise RpcError(error.get("code", 0), error.get("message", ""), error.get("data"))
    if "result" not in response:
        raise TransportError("the answer has neither a result nor an error")
    return response["result"]


def _names(params: Dict[str, Any], *optional: str) -> Dict[str, Any]:
    """Parameters by name, without those that are left out."""
    return {name: value for name, value in params.items() if value is not None or name not in optional}


def _positions(values: List[Any], required: int) -> List[Any]:
    """Parameters by position, without those at the end that are left out."""
    while len(values) > required and values[-1] is None:
        values.pop()
    return values
