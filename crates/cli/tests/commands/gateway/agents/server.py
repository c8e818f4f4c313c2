"""An MCP server of the older era, over stdin and stdout. Its tools are in a file, which is read for each list."""

import json
import os
import sys

TOOLS = sys.argv[1]
NAME = sys.argv[2] if len(sys.argv) > 2 else "t"
ASKED = 0
CALLS = 0


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def ask(method, params):
    global ASKED
    ASKED += 1
    key = f"question-{ASKED}"
    send({"id": key, "method": method, "params": params})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == key and "method" not in message:
            return message
    sys.exit()


def text(value):
    return {"content": [{"type": "text", "text": str(value)}]}


BLOCKS = {
    "content": [
        {"type": "text", "text": "See:", "annotations": {"audience": ["user"], "priority": 0.5}},
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png", "_meta": {"width": 1}},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "note://1", "name": "one", "mimeType": "text/plain"},
        {"type": "resource", "resource": {"uri": "note://2", "text": "two"}},
    ],
    "structuredContent": {"kinds": 5},
    "_meta": {"example.com/trace": "abc"},
}


def call(tool, arguments):
    global CALLS
    CALLS += 1
    if tool == "pid":
        return text(os.getpid())
    if tool == "count":
        return text(CALLS)
    if tool == "crash":
        os._exit(1)
    if tool == "elicit":
        schema = {"type": "object", "properties": {"value": {"type": "string"}}}
        answer = ask("elicitation/create", {"message": arguments["about"], "requestedSchema": schema})
        return text(json.dumps(answer.get("result", answer.get("error"))))
    if tool == "log":
        send({"method": "notifications/message", "params": {"level": arguments["level"], "data": arguments["text"]}})
        return text("logged")
    if tool == "touch":
        send({"method": "notifications/resources/updated", "params": {"uri": arguments["uri"]}})
        return text("touched")
    if tool == "blocks":
        return BLOCKS
    if tool == "fails":
        return {**BLOCKS, "isError": True}
    if tool == "changed":
        send({"method": "notifications/tools/list_changed"})
        return text("changed")
    if tool == "who":
        return text(f"{NAME} {arguments['secret']}")
    if tool == "echo":
        return text(arguments.get("text", ""))
    return {"content": [{"type": "text", "text": f"no tool {tool}"}], "isError": True}


CAPABILITIES = {
    "tools": {"listChanged": True},
    "logging": {},
    "prompts": {},
    "completions": {},
    "resources": {"subscribe": True},
}


def answer(method, params):
    if method == "initialize":
        info = {"name": "test", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": CAPABILITIES, "serverInfo": info}
    if method == "tools/list":
        with open(TOOLS) as file:
            return {"tools": json.load(file)}
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    if method == "prompts/list":
        arguments = [{"name": "name", "description": "Who.", "required": True}]
        return {"prompts": [{"name": "greet", "title": "Greeting", "description": "Greets.", "arguments": arguments}]}
    if method == "prompts/get":
        link = {"type": "resource_link", "uri": "note://1", "name": "one"}
        who = {"type": "text", "text": f"Hello {params['arguments']['name']}"}
        messages = [{"role": "user", "content": who}, {"role": "assistant", "content": link}]
        return {"description": "A greeting.", "messages": messages}
    if method == "completion/complete":
        return {"completion": {"values": [f"{params['ref']['name']} {params['argument']['value']}"], "hasMore": True}}
    if method == "resources/list":
        return {"resources": [{"uri": "note://1", "name": "one", "mimeType": "text/plain", "size": 3}]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "note://by/{author}", "name": "by author"}]}
    if method == "resources/read":
        uri = params["uri"]
        if not uri.startswith("note://"):
            return None
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": f"of {uri}", "_meta": {"n": 1}}]}
    if method in ("ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"):
        return {}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = answer(message["method"], message.get("params") or {})
    if result is None:
        send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
    else:
        send({"id": message["id"], "result": result})
