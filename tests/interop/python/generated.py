"""A client that our program wrote is checked by mypy, and then called with.

    python generated.py http://… path/to/switchboard
"""

import importlib.util
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import islice
from pathlib import Path

from checks import check, end, url

PROGRAM = sys.argv[-1]
ZOO = Path(__file__).parents[3] / "crates/openrpc/tests/golden/zoo.json"

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for source, file in ((url("http"), "client.py"), (ZOO, "zoo.py")):
        subprocess.run([PROGRAM, "generate", "python", source, "-o", folder / file], check=True)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "--cache-dir", folder / "cache", "client.py", "zoo.py"]
    checked = subprocess.run(mypy, cwd=folder, capture_output=True, text=True)
    check("mypy finds no fault", checked.stdout.strip(), "Success: no issues found in 2 source files")
    modules = []
    for file in ("client", "zoo"):
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


class Odd(BaseHTTPRequestHandler):
    """Sends calls elsewhere, or answers with nothing that is a result."""

    seen = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append(self.path)
        body = b'{"jsonrpc": "2.0", "id": 1}'
        self.send_response(200 if self.path == "/empty" else 302)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, *args):
        pass


with HTTPServer(("127.0.0.1", 0), Odd) as odd:
    threading.Thread(target=odd.serve_forever, daemon=True).start()
    at = f"http://127.0.0.1:{odd.server_port}"
    check("a redirect is refused", str(failure(lambda: api.Client(f"{at}/moved").math.add(1, 1))), "the server answered with status 302")
    check("and not followed", Odd.seen, ["/moved"])
    empty = failure(lambda: api.Client(f"{at}/empty").math.add(1, 1))
    check("a response without a result", str(empty), "the answer has neither a result nor an error")
    odd.shutdown()

end()
