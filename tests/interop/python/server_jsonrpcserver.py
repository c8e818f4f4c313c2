"""A server with jsonrpcserver, behind the HTTP server of Python. Its first line says where.

    python server_jsonrpcserver.py
"""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from jsonrpcserver import Error, Success, dispatch, method

updates = 0


@method
def echo(value):
    return Success(value)


@method
def subtract(minuend, subtrahend):
    return Success(minuend - subtrahend)


@method(name="sum")
def add(*values):
    return Success(sum(values))


@method
def get_data():
    return Success(["hello", 5])


@method
def update(*_):
    global updates
    updates += 1
    return Success()


@method(name="updates")
def count():
    return Success(updates)


@method
def fail():
    return Error(code=1234, message="boom", data={"x": 1})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = self.rfile.read(int(self.headers["content-length"])).decode()
        response = dispatch(request).encode()
        self.send_response(200 if response else 204)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(response)))
        self.end_headers()
        self.wfile.write(response)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
