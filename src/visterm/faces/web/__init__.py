"""The local web page and its REST API: routes that parse a request, ask the workspace, and send its document."""
