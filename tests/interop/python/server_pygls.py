"""A language server with pygls, over stdin and stdout. It asks its client for the configuration when a document is opened, and
publishes it as a diagnostic.

    python server_pygls.py
"""

from lsprotocol import types
from pygls.lsp.server import LanguageServer

server = LanguageServer("colours", "1")


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
async def opened(params: types.DidOpenTextDocumentParams):
    asked = types.ConfigurationParams(items=[types.ConfigurationItem(section="colour")])
    [colour] = await server.workspace_configuration_async(asked)
    start = types.Position(line=0, character=0)
    found = types.Diagnostic(range=types.Range(start=start, end=start), message=f"the colour is {colour}")
    published = types.PublishDiagnosticsParams(uri=params.text_document.uri, diagnostics=[found])
    server.text_document_publish_diagnostics(published)


@server.feature(types.TEXT_DOCUMENT_HOVER)
def hover(params: types.HoverParams):
    document = server.workspace.get_text_document(params.text_document.uri)
    return types.Hover(contents=document.source)


server.start_io()
