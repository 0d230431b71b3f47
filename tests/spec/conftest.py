"""What the texts leave to the reader."""

import json
import sys
import textwrap
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from giskard.checks import FnCheck

ANSWER = "Hello! HTML was invented by Tim Berners-Lee."
VERDICT = '{"reason": "It does.", "passed": true}'


@pytest.fixture
def openai_server(monkeypatch):
    """A server that speaks OpenAI's protocol on this machine, to agents and judges; yields what it was sent."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append((self.path, body))
            content = VERDICT if "response_format" in body else ANSWER
            message = {"role": "assistant", "content": content, "refusal": None}
            reply = {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "message": message, "logprobs": None}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
            }
            payload = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none-is-needed")
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield requests
        server.shutdown()
        thread.join()


@pytest.fixture
def myapp(monkeypatch, tmp_path):
    """The application of the samples: an agent that looks items up in a database."""
    package = tmp_path / "myapp"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "db.py").write_text(
        textwrap.dedent("""
            def fetch_item(number):
                raise ConnectionError("there is no database here")
        """)
    )
    (package / "agent.py").write_text(
        textwrap.dedent("""
            from myapp import db

            def answer(question):
                item = db.fetch_item(int(question.rsplit(" ", 1)[-1]))
                return f"Found: {item}"
        """)
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "myapp"]:
        del sys.modules[name]


@pytest.fixture
def left_to_the_reader(openai_server, myapp):
    """The names that the samples use and do not define."""
    return {
        "check1": FnCheck(fn=lambda trace: trace.last.outputs == "test output", name="output"),
        "check2": FnCheck(fn=lambda trace: len(trace.interactions) == 1, name="one_turn"),
    }
