"""A small server with a real model behind it, which speaks as vLLM, SGLang or llama.cpp does, and has bad habits on demand."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.models.remote.engine import Engine, engine, png_of

VERSION = "0.32.0"


@dataclass
class Habits:
    """What is wrong with a server, for good."""

    key: str | None = None
    """it wants this key"""
    names: tuple[str, ...] = ("world-aligned",)
    longest: int = 256
    blind: bool = False
    """pictures are left out of the prompt"""
    unmoved: bool = False
    """pictures take their place in the prompt, and are all taken for the same"""
    silent: bool = False
    """no log-probabilities"""
    deaf: bool = False
    """the likeliest token instead of those that were asked for"""
    raw: bool = False
    """logits instead of log-probabilities"""
    cuts: int | None = None
    """longer prompts are cut off"""
    names_pictures: bool = True
    forgets: int = 0
    """every so many requests, all pictures are forgotten"""
    seconds: float = 0.0
    """how long an answer takes"""
    writes: str | None = " yes"
    """what it answers to a message; nothing but a refusal, if None"""
    thinks: float = 0.0
    """seconds that it takes to write"""


@dataclass
class Server:
    """One server on loopback."""

    dialect: str = "vllm"
    engine: Engine = field(default_factory=engine)
    habits: Habits = field(default_factory=Habits)
    port: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    """requests by path"""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """what was asked for log-probabilities"""
    after: Callable[[int], None] = lambda _: None
    """told how many of those were answered"""
    pictures: dict[str, bytes] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        return f"{self.root}/v1"

    def answer(self, path: str, body: dict[str, Any], tag: str | None) -> tuple[int, Any]:
        self.asked[path] += 1
        found = DIALECTS.get(self.dialect, {}).get(path)
        if found is None:
            return 404, {"detail": "Not Found"}
        try:
            return found(self, body, tag)
        except KeyError as error:
            return refusal(400, f"{error} is missing")
        except ValueError as error:  # the template's, as vLLM passes it on
            return refusal(400, str(error))

    def logprobs(self, prompt: str, png: bytes | None, body: dict[str, Any]) -> tuple[list[float], int]:
        """The model's word, as this server's habits let it through."""
        with self.lock:
            self.bodies.append(body)
            count = len(self.bodies)
            if self.habits.forgets and count % self.habits.forgets == 0:
                self.pictures.clear()
        time.sleep(self.habits.seconds)
        if self.habits.blind and png is not None:
            prompt, png = prompt.replace("<image>\n", ""), None
        if self.habits.unmoved and png is not None:
            png = self.pictures.setdefault("the only one", png)
        values, length = self.engine.logprobs(prompt, png)
        if self.habits.raw:
            values = [value + 12.5 for value in values]
        self.after(count)
        return values, min(length, self.habits.cuts or length)


def refusal(status: int, message: str) -> tuple[int, Any]:
    return status, {"error": {"message": message, "type": "BadRequestError", "code": status}}


# vLLM, as version 0.32 answers


def models(server: Server, _body: dict[str, Any], _tag: str | None) -> tuple[int, Any]:
    data = [
        {
            "id": name,
            "root": f"/models/{server.engine.name}",
            "max_model_len": server.habits.longest,
            "meta": {"size": 1},
        }
        for name in server.habits.names
    ]
    return 200, {"object": "list", "data": data}


def tokenize(server: Server, body: dict[str, Any], _tag: str | None) -> tuple[int, Any]:
    text = body["prompt"] if "prompt" in body else server.engine.prompt(body["messages"], body)
    ids = server.engine.tokens(text, body.get("add_special_tokens", False))
    return 200, {"count": len(ids), "max_model_len": server.habits.longest, "tokens": ids}


def detokenize(server: Server, body: dict[str, Any], _tag: str | None) -> tuple[int, Any]:
    return 200, {"prompt": server.engine.prompter.tokenizer.decode(body["tokens"])}


def chat(server: Server, body: dict[str, Any], tag: str | None) -> tuple[int, Any]:
    if body["model"] not in server.habits.names:
        return refusal(404, f"The model `{body['model']}` does not exist.")
    if body.get("max_tokens", 1) > 1:
        return write(server, body, tag)
    try:
        png = _shown(server, body["messages"][0]["content"])
    except KeyError:
        return refusal(400, "Cache miss for image at index 0 but data is not provided.")
    prompt = server.engine.prompt(body["messages"], body)
    values, length = server.logprobs(prompt, png, body)
    if length >= server.habits.longest:
        return refusal(400, f"This model's maximum context length is {server.habits.longest} tokens. However, …")
    wanted = (
        sorted(range(len(values)), key=values.__getitem__)[-1:]
        if server.habits.deaf
        else body.get("logprob_token_ids", [])
    )
    top = [{"token": f"token_id:{i}", "logprob": values[i], "bytes": []} for i in wanted]
    place = {"token": "token_id:5", "logprob": values[5], "top_logprobs": top}
    logprobs = None if server.habits.silent or not body.get("logprobs") else {"content": [place]}
    return 200, {
        "id": f"chatcmpl-{tag}",
        "model": body["model"],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": " yes"}, "logprobs": logprobs}],
        "system_fingerprint": f"vllm-{VERSION}-{len(server.engine.name)}",
        "usage": {"prompt_tokens": length, "completion_tokens": 1},
    } | ({"prompt_text": prompt} if body.get("return_prompt_text") else {})


def write(server: Server, body: dict[str, Any], tag: str | None) -> tuple[int, Any]:
    """More than one token: what this server has to say, in the form of OpenAI's chat completions."""
    if body["model"] not in server.habits.names and server.dialect != "sglang":
        return refusal(404, f"The model `{body['model']}` does not exist.")
    server.bodies.append(body)
    time.sleep(server.habits.thinks)
    said = {"role": "assistant", "content": server.habits.writes, "refusal": None}
    if server.habits.writes is None:
        said["refusal"] = "I cannot do that."
    choice = {"index": 0, "message": said, "finish_reason": "stop", "logprobs": None}
    return 200, {"id": f"chatcmpl-{tag}", "object": "chat.completion", "model": body["model"], "choices": [choice]}


def _shown(server: Server, content: list[dict[str, Any]]) -> bytes | None:
    """The picture of a message: the one that is sent, or the one that was sent under this name."""
    for part in content:
        if part["type"] == "image_url":
            if part["image_url"] is None:
                if not server.habits.names_pictures:
                    raise KeyError(part["uuid"])
                return server.pictures[part["uuid"]]
            png = png_of(part["image_url"]["url"])
            server.pictures[part["uuid"]] = png
            return png
    return None


# SGLang and llama.cpp, as their documentation says


def model_info(server: Server, _body: dict[str, Any], _tag: str | None) -> tuple[int, Any]:
    return 200, {"model_path": server.engine.folder, "has_image_understanding": True}


def generate(server: Server, body: dict[str, Any], _tag: str | None) -> tuple[int, Any]:
    png = png_of(body["image_data"]) if "image_data" in body else None
    values, length = server.logprobs(body["text"], png, body)
    place = [[values[i], i, None] for i in body["token_ids_logprob"]]
    return 200, {"text": "yes", "meta_info": {"prompt_tokens": length, "output_token_ids_logprobs": [place]}}


def props(server: Server, _body: dict[str, Any], _tag: str | None) -> tuple[int, Any]:
    settings = {"n_ctx": server.habits.longest}
    marked = {"media_marker": "<__media_1__>", "modalities": {"vision": True}, "build_info": "b9000-abc"}
    return 200, {"default_generation_settings": settings, "model_path": f"/models/{server.engine.name}.gguf"} | marked


def apply_template(server: Server, body: dict[str, Any], _tag: str | None) -> tuple[int, Any]:
    texts = [part["text"] for part in body["messages"][0]["content"]]
    joined = {"role": "user", "content": "".join(f"{text}\n" for text in texts[:-1]) + texts[-1]}
    return 200, {"prompt": server.engine.prompt([joined], body)}


def plain_tokens(server: Server, body: dict[str, Any], _tag: str | None) -> tuple[int, Any]:
    return 200, {"tokens": server.engine.tokens(body["content"])}


def completion(server: Server, body: dict[str, Any], _tag: str | None) -> tuple[int, Any]:
    prompt, png = body["prompt"], None
    if isinstance(prompt, dict):
        png = png_of(prompt["multimodal_data"][0])
        prompt = prompt["prompt_string"].replace("<__media_1__>", "<image>")
    values, length = server.logprobs(prompt, png, body)
    # Six at first, so that an answer is sometimes not among them.
    count = 6 if body["n_probs"] <= 64 else len(values)
    top = sorted(range(len(values)), key=values.__getitem__, reverse=True)[:count]
    filled = [{"id": i, "logprob": values[i]} for i in top] + [
        {"id": -1 - i, "logprob": -99.0} for i in range(64 - count)
    ]
    return 200, {"completion_probabilities": [{"top_logprobs": filled}], "model": "w", "tokens_evaluated": length}


Route = Callable[[Server, dict[str, Any], str | None], tuple[int, Any]]
DIALECTS: dict[str, dict[str, Route]] = {
    "vllm": {
        "/version": lambda *_: (200, {"version": VERSION}),
        "/v1/models": models,
        "/tokenize": tokenize,
        "/detokenize": detokenize,
        "/v1/chat/completions": chat,
    },
    "sglang": {
        "/model_info": model_info,
        "/v1/tokenize": tokenize,
        "/generate": generate,
        "/v1/chat/completions": write,
    },
    "llama.cpp": {
        "/props": props,
        "/v1/models": models,
        "/apply-template": apply_template,
        "/tokenize": plain_tokens,
        "/completion": completion,
        "/v1/chat/completions": write,
    },
}


class Listener(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def get_request(self) -> Any:
        connection, client = super().get_request()
        self.__dict__.setdefault("connections", []).append(connection)
        return connection, client

    def hang_up(self) -> None:
        """As a process that dies: every connection is gone."""
        for connection in self.__dict__.get("connections", []):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no error of ours."""


def handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self.guarded({})

        def do_POST(self) -> None:
            self.guarded(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def guarded(self, body: dict[str, Any]) -> None:
            if server.habits.key and self.headers.get("Authorization") != f"Bearer {server.habits.key}":
                said = self.headers.get("Authorization", "").removeprefix("Bearer ")
                self.reply(*refusal(401, f"Incorrect API key provided: {said}"))
                return
            self.reply(*server.answer(self.path, body, self.headers.get("X-Request-Id")))

        def reply(self, status: int, document: Any) -> None:
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


@contextmanager
def serving(server: Server) -> Generator[Server]:
    with listening(handler(server), server.port) as port:
        server.port = port
        yield server


@contextmanager
def listening(kind: type[BaseHTTPRequestHandler], port: int = 0) -> Generator[int]:
    listener = Listener(("127.0.0.1", port), kind)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield listener.server_port
    finally:
        listener.shutdown()
        listener.server_close()
        listener.hang_up()
        thread.join()
