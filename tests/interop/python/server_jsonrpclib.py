"""A server of JSON-RPC 1.0 with jsonrpclib-pelix, over HTTP. Its first line says where.

    python server_jsonrpclib.py
"""

import logging
from socketserver import ThreadingMixIn

from jsonrpclib.config import Config
from jsonrpclib.SimpleJSONRPCServer import SimpleJSONRPCServer


class Server(ThreadingMixIn, SimpleJSONRPCServer):
    """One that is not kept up by callers who say nothing."""

    daemon_threads = True


logging.disable()
server = Server(("127.0.0.1", 0), logRequests=False, config=Config(version=1.0))
server.register_function(lambda minuend, subtrahend: minuend - subtrahend, "subtract")
server.register_function(lambda value: value, "echo")
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
