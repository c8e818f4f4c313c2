"""A client that our program wrote is checked by mypy, and then called with.

    python generated.py http://… path/to/switchboard
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
import threading
from http.client import IncompleteRead, RemoteDisconnected
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from urllib.error import HTTPError

from checks import check, end, url

PROGRAM = sys.argv[-1]
GOLDEN = Path(__file__).parents[3] / "crates/openrpc/tests/golden"

# What mypy has to find: each fault that it does not find is one, too.
USE = """
from client import Client, Pending

def use(client: Client) -> None:
    batch = client.batch()
    total: Pending[float] = batch.add(client.math.add, 1, b=2)
    text: str = batch.add(client.get_server_time).result()
    wrong: Pending[str] = batch.add(client.math.add, 1, 2)  # type: ignore[arg-type]
    batch.add(client.math.add, 1)  # type: ignore[call-arg]
    batch.add(client.math.add, 1, "2")  # type: ignore[arg-type]
"""

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for source, file in ((url("http"), "client.py"), (GOLDEN / "zoo.json", "zoo.py"), (GOLDEN / "names.json", "names.py")):
        subprocess.run([PROGRAM, "generate", "python", source, "-o", folder / file], check=True)
    (folder / "use.py").write_text(USE)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "--cache-dir", folder / "cache", "client.py", "zoo.py", "names.py", "use.py"]
    checked = subprocess.run(mypy, cwd=folder, capture_output=True, text=True)
    check("mypy finds no fault", checked.stdout.strip(), "Success: no issues found in 4 source files")
    modules = []
    for file in ("client", "zoo", "names"):
        spec = importlib.util.spec_from_file_location(file, folder / f"{file}.py")
        modules.append(importlib.util.module_from_spec(spec))
        spec.loader.exec_module(modules[-1])
    api = modules[0]


def failure(call):
    try:
        return call()
    except (api.RpcError, api.TransportError) as error:
        return error


client = api.Client(url("http"))
check("a call by position", client.math.add(2, 3), 5)
check("a call by name", client.math.subtract(b=3, a=2), -1)
error = failure(client.trigger_error)
check("an optional parameter left out", (error.code, error.message), (-32000, "Server error"))
check("and given", failure(lambda: client.trigger_error(message="boom")).message, "boom")
check("any number of values", client.sum([1, 2, 3]), 6)
error = failure(lambda: client.math.sqrt(-1))
check("an error", (error.code, error.data), (-32001, {"details": "x must not be negative"}))
check("a stream", list(client.math.add_stream(1, 2)), [0, 1, 2, 3])
check("a stream of strings", list(client.paritosh.stream("hé")), ["h", "é"])
check("an error in the place of a stream", failure(lambda: list(client.math.add_stream(1, -2))).code, -32001)
check("a stream that is left early", list(islice(client.math.add_stream(10**12, 1), 3)), [0, 1, 2])
before = client.get_status()["notices"]
check("a notification", (client.log_event({"event": "login", "user": "ann"}), client.get_status()["notices"] - before), (None, 1))
nowhere = failure(lambda: api.Client("http://127.0.0.1:1").math.add(1, 1))
check("a place where nobody is", isinstance(nowhere, api.TransportError), True)
try:
    api.Client("ws://127.0.0.1:8000")
except ValueError as error:
    check("a carrier that it does not have", "must start with http:// or https://" in str(error), True)
else:
    check("a carrier that it does not have", "taken", "refused")


check("one value", client.ai.generate("to be"), "to be")
check("or its parts", list(client.ai.generate_stream("to be")), ["to ", "be"])

batch = client.batch()
total = batch.add(client.math.add, 2, b=3)
root = batch.add(client.math.sqrt, -1)
text = batch.add(client.paritosh.echo, "hi")
notice = batch.add(client.log_event, {"event": "login"})
check("before a batch is sent", str(total.error()), "the batch was not sent")
before = client.get_status()["notices"]
batch.send()
check("a call in a batch", (total.result(), total.error()), (5, None))
check("an error in a batch", (root.error().code, failure(root.result).code), (-32001, -32001))
check("a call after it", text.result(), "[Paritosh] hi")
check("a notification in a batch", (notice.result(), client.get_status()["notices"] - before), (None, 1))
batch = client.batch()
ten = [batch.add(client.math.add, at, 1) for at in range(10)]
batch.send()
check("ten calls", [one.result() for one in ten], list(range(1, 11)))
alone = client.batch()
check("a batch of notifications alone", (alone.add(client.log_event, ["alone"]).error() is None, alone.send()), (False, None))


def misuse(call):
    try:
        return call()
    except (TypeError, ValueError, RuntimeError) as error:
        return str(error)


check("an empty batch", misuse(client.batch().send), "the batch is empty; nothing was sent")
check("a batch that was sent", misuse(batch.send), "the batch was already sent")
streaming = misuse(lambda: client.batch().add(client.math.add_stream, 1, 2))
check("a stream in a batch", streaming, "math/add_stream returns a stream, which cannot be part of a batch")
check("something else in a batch", misuse(lambda: client.batch().add(len, [])), "only methods of the client can be added to a batch")


class Odd(BaseHTTPRequestHandler):
    """Answers with what is no answer, each path in its own way."""

    seen = []
    left = threading.Event()

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(self.path)
        name = self.path[1:]
        if name == "closed":
            return
        if name == "silent":
            self.left.wait(30)
            return
        body = b"hello"
        if name == "empty":
            body = json.dumps({} if isinstance(asked, list) else {"jsonrpc": "2.0", "id": asked["id"]}).encode()
        elif name == "other":
            body = b'{"jsonrpc": "2.0", "result": 1, "id": 77}'
        elif name == "deep":
            body = b"[" * 200_000
        elif name == "mixed":
            one, _, three = ({"jsonrpc": "2.0", "result": one["params"]["a"], "id": one["id"]} for one in asked)
            body = json.dumps([{"jsonrpc": "2.0", "result": 0, "id": []}, three, one, None]).encode()
        elif name == "refused":
            body = b'{"jsonrpc": "2.0", "error": {"code": -32600, "message": "no batches"}, "id": null}'
        self.send_response({"moved": 302, "failed": 502}.get(name, 200))
        self.send_header("Location", "/elsewhere")
        if name == "chunks":
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(body) + (100 if name in ("cut", "cutevents") else 0)))
        if name == "cutevents":
            self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"a\r\n0123" if name == "chunks" else body)

    do_GET = do_POST

    def log_message(self, *args):
        pass


def calls(at):
    """A call, a batch and a stream."""
    client = api.Client(api.HttpTransport(at, timeout=0.2))
    batch = client.batch()
    batch.add(client.math.add, 1, 1)
    return (lambda: client.math.add(1, 1)), batch.send, (lambda: list(client.math.add_stream(1, 1)))


with ThreadingHTTPServer(("127.0.0.1", 0), Odd) as odd:
    odd.daemon_threads = True
    threading.Thread(target=odd.serve_forever, daemon=True).start()
    at = f"http://127.0.0.1:{odd.server_port}"
    check("a redirect is refused", str(failure(lambda: api.Client(f"{at}/moved").math.add(1, 1))), "the server responded with status 302")
    check("and not followed", Odd.seen, ["/moved"])
    for path, expected, cause in (
        ("closed", "cannot be called: Remote end closed", RemoteDisconnected),
        ("silent", "cannot be called: timed out", TimeoutError),
        ("cut", "incomplete: 100 bytes are missing", type(None)),
        ("chunks", "cannot be called: IncompleteRead", IncompleteRead),
        ("text", "is not JSON", ValueError),
        ("deep", "is not JSON", (RecursionError, ValueError)),
        ("failed", "status 502", HTTPError),
        ("empty", "neither a result nor an error", type(None)),
    ):
        for kind, call in zip(("a call", "a batch", "a stream"), calls(f"{at}/{path}")):
            error = failure(call)
            check(f"{path}, for {kind}: {error}", isinstance(error, api.TransportError) and expected in str(error), True)
            check("with its cause", isinstance(error.__cause__, cause), True)
    Odd.left.set()
    check("events that are cut off", str(failure(calls(f"{at}/cutevents")[2])), "the stream ended early")
    check("the answer to another call", str(failure(calls(f"{at}/other")[0])), "the response has the id of another call")

    client = api.Client(f"{at}/mixed")
    batch = client.batch()
    one, two, three = (batch.add(client.math.add, a, 0) for a in (1, 2, 3))
    batch.send()
    check("answers in another order", (one.result(), three.result()), (1, 3))
    check("a call that is left out", str(failure(two.result)), "the batch response does not include this call")
    client = api.Client(f"{at}/refused")
    batch = client.batch()
    one = batch.add(client.math.add, 1, 1)
    error = failure(batch.send)
    check("a batch that is refused as a whole", (error.code, error.message, one.error() is error), (-32600, "no batches", True))
    odd.shutdown()

end()
