"""A model that is played: it records what it is shown, and calls the tools that a script says.

It speaks OpenAI's chat completions and responses, Anthropic's messages and Gemini's `generateContent`, streamed or not.
Step k of the script is played once the conversation holds k results of tools; after the last it says that all is done.
"""

from __future__ import annotations

import gzip
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

from .filling import filled, text_of


@dataclass
class Model:
    """What it plays, and what it was shown.

    Attributes:
        steps: `{"tool": name, "arguments": {...}}` each.
        tools: Those that it was shown, by name: `{"description", "parameters"}`.
        first: The names of those in the first request.
        seen: The results of tools in the last request, as texts.
    """

    steps: list
    url: str = ""
    tools: dict = field(default_factory=dict)
    first: list | None = None
    seen: list = field(default_factory=list)

    def next(self, kind, body):
        """The step to play: a name and arguments; `None` at the end."""
        tools = dict(_TOOLS[kind](body))
        seen = list(_RESULTS[kind](body))
        self.tools |= tools
        self.first = list(tools) if self.first is None else self.first
        if len(seen) >= len(self.seen):
            self.seen = seen
        if not tools or len(seen) >= len(self.steps):
            return None
        step = self.steps[len(seen)]
        return _named(tools, step["tool"]), filled(step.get("arguments", {}), seen)


@contextmanager
def played(steps):
    """A model at a URL of this machine, while the block lasts."""
    model = Model(steps)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"model": model, "ids": count(1)}))
    model.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _named(tools, wanted):
    """The tool that is meant: hosts put the server's name before that of the tool, and change hyphens."""
    plain = wanted.replace("-", "_")
    found = [name for name in tools if name == wanted] or [
        name for name in tools if name.replace("-", "_").endswith(plain)
    ]
    return found[0] if found else wanted


def _chat_tools(body):
    for tool in body.get("tools") or []:
        function = tool["function"]
        yield function["name"], {key: function.get(key) for key in ("description", "parameters")}


def _responses_tools(body):
    for tool in body.get("tools") or []:
        for each in tool.get("tools", [tool]) if tool.get("type") == "namespace" else [tool]:
            if "name" in each:
                name = f"{tool['name']}{each['name']}" if each is not tool else each["name"]
                yield name, {key: each.get(key) for key in ("description", "parameters")}


def _messages_tools(body):
    for tool in body.get("tools") or []:
        yield tool["name"], {"description": tool.get("description"), "parameters": tool.get("input_schema")}


def _gemini_tools(body):
    for tools in body.get("tools") or []:
        for tool in tools.get("functionDeclarations") or tools.get("function_declarations") or []:
            parameters = (
                tool.get("parametersJsonSchema") or tool.get("parameters_json_schema") or tool.get("parameters")
            )
            yield tool["name"], {"description": tool.get("description"), "parameters": parameters}


def _chat_results(body):
    return (text_of(message["content"]) for message in body["messages"] if message["role"] == "tool")


_OUTPUTS = ("function_call_output", "custom_tool_call_output", "tool_search_output")


def _responses_results(body):
    given = body.get("input")
    items = given if isinstance(given, list) else []
    return (text_of(each.get("output", each)) for each in items if each.get("type") in _OUTPUTS)


def _messages_results(body):
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block.get("type") == "tool_result":
                yield text_of(block.get("content"))


def _gemini_results(body):
    for content in body.get("contents", []):
        for part in content.get("parts", []):
            if (response := part.get("functionResponse") or part.get("function_response")) is not None:
                yield text_of(response["response"])


_TOOLS = {"chat": _chat_tools, "responses": _responses_tools, "messages": _messages_tools, "gemini": _gemini_tools}
_RESULTS = {
    "chat": _chat_results,
    "responses": _responses_results,
    "messages": _messages_results,
    "gemini": _gemini_results,
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, *_):
        """Nothing."""

    def do_GET(self):
        models = {"object": "list", "data": [{"id": "fake", "object": "model", "created": 1, "owned_by": "x"}]}
        self._send({**models, "models": []} if "models" in self.path else {}, 200 if "models" in self.path else 404)

    def do_HEAD(self):
        self._send({})

    def do_POST(self):
        body = json.loads(self._body() or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens") or "countTokens" in path:
            self._send({"input_tokens": 10, "totalTokens": 10})
            return
        ends = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}
        kind = next((kind for end, kind in ends.items() if path.endswith(end)), None)
        kind = "gemini" if kind is None and "enerateContent" in path else kind
        if kind is None:
            self._send({}, 404)
            return
        number = next(self.ids)
        getattr(self, f"_{kind}")(body, self.model.next(kind, body), number)

    def _body(self):
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        else:
            raw = b""
            while size := int(self.rfile.readline().strip(), 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        return gzip.decompress(raw) if self.headers.get("content-encoding") == "gzip" else raw

    def _send(self, value, status=200, kind="application/json"):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events, *, is_named=True, end=b""):
        lines = b"".join(
            (f"event: {event['type']}\n" if is_named else "").encode()
            + b"data: "
            + json.dumps(event).encode()
            + b"\n\n"
            for event in events
        )
        self._send(lines + end, kind="text/event-stream")

    def _chat(self, body, step, number):
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        base = {"id": f"c{number}", "created": 1_780_000_000, "model": body.get("model", "fake")}
        message, finish = {"role": "assistant", "content": "All done."}, "stop"
        if step is not None:
            function = {"name": step[0], "arguments": json.dumps(step[1])}
            call = {"id": f"call_{number}", "type": "function", "function": function}
            message, finish = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            self._send({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        calls = [{**call, "index": 0} for call in message.get("tool_calls", [])]
        delta = {**message, **({"tool_calls": calls} if calls else {})}
        chunk = {**base, "object": "chat.completion.chunk"}
        self._stream(
            [
                {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
                {**chunk, "choices": [], "usage": usage},
            ],
            is_named=False,
            end=b"data: [DONE]\n\n",
        )

    def _responses(self, body, step, number):
        if step is None:
            content = [{"type": "output_text", "text": "All done.", "annotations": []}]
            item = {"type": "message", "id": f"m{number}", "role": "assistant", "content": content}
        else:
            name, arguments = step
            item = {"type": "function_call", "id": f"fc{number}", "call_id": f"call_{number}", "name": name}
            item["arguments"] = json.dumps(arguments)
            for tool in body.get("tools") or []:
                # Codex keeps the tools of a server in a namespace.
                if tool.get("type") == "namespace" and name.startswith(tool["name"]):
                    item |= {"name": name.removeprefix(tool["name"]), "namespace": tool["name"]}
        item["status"] = "completed"
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        response = {
            **{"id": f"resp_{number}", "object": "response", "created_at": 1_780_000_000, "status": "completed"},
            **{"model": body.get("model", "fake"), "output": [item], "parallel_tool_calls": True, "tools": []},
            **{"tool_choice": "auto", "error": None, "incomplete_details": None, "instructions": None, "metadata": {}},
            **{"temperature": 1, "top_p": 1, "usage": usage},
        }
        if not body.get("stream"):
            self._send(response)
            return
        events = [
            {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ]
        self._stream([{**event, "sequence_number": at} for at, event in enumerate(events)])

    def _messages(self, body, step, number):
        usage = {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        block, stop = {"type": "text", "text": "All done."}, "end_turn"
        delta = {"type": "text_delta", "text": "All done."}
        if step is not None:
            block, stop = (
                {"type": "tool_use", "id": f"toolu_{number:024d}", "name": step[0], "input": step[1]},
                "tool_use",
            )
            delta = {"type": "input_json_delta", "partial_json": json.dumps(step[1])}
        message = {
            **{"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model", "fake")},
            **{"content": [block], "stop_reason": stop, "stop_sequence": None, "usage": usage},
        }
        if not body.get("stream"):
            self._send(message)
            return
        empty = {**block, "input": {}} if step is not None else {"type": "text", "text": ""}
        self._stream(
            [
                {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
                {"type": "content_block_start", "index": 0, "content_block": empty},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}},
                {"type": "message_stop"},
            ]
        )

    def _gemini(self, body, step, _number):
        part = {"text": "All done."} if step is None else {"functionCall": {"name": step[0], "args": step[1]}}
        if (body.get("generationConfig") or {}).get("responseMimeType") == "application/json":
            part = {"text": '{"model_choice": "flash", "reasoning": "x"}'}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        answer = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"}
        if "stream" in self.path:
            self._send(b"data: " + json.dumps(answer).encode() + b"\n\n", kind="text/event-stream")
        else:
            self._send(answer)
