# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Margins from a transformers model, in two ways that must agree: one forward per token tree, or plain sequences."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from recap.models.contract import Request
from recap.models.fp8 import FP8, Fp8Linear
from recap.models.layers import project_patches, restrict_last_layer
from recap.models.layout import Layout, TreeBatch
from recap.models.prompt import Prompted, Prompter
from recap.models.tree import Tree

if TYPE_CHECKING:
    from recap.models.packed import PackedAttention


Likelihood = tuple[float, bool]
"""log p of a continuation, and whether greedy decoding would give it"""


@dataclass(frozen=True)
class LaunchedForward:
    """A forward whose margins are on their way to the host: on a GPU the next one can be launched meanwhile."""

    batch: TreeBatch
    """kept, so that its memory is not given away before it was read"""
    margins: torch.Tensor
    arrived: torch.Event | None

    def read(self) -> list[list[float]]:
        """The margins of every request, once they are there."""
        if self.arrived is not None:
            self.arrived.synchronize()
        margins = iter(self.margins.tolist())
        return [[next(margins) for _ in tree.ends] for tree in self.batch.trees]


class Scorer:
    """A frozen model with its prompter. Everything runs without gradients and without a cache."""

    def __init__(self, model: Any, prompter: Prompter, *, packed: bool | None = None) -> None:
        """Trees are packed on a GPU, and padded to a batch on a CPU, where that is faster, unless `packed` says."""
        self.model = model
        self.prompter = prompter
        self.device = next(model.parameters()).device
        self.dtype = next(model.parameters()).dtype
        self.body = getattr(model, model.base_model_prefix)
        pad = getattr(prompter.tokenizer, "pad_token_id", None)
        self.layout = Layout(model, self.device, self.dtype, 0 if pad is None else int(pad))
        self.rows_read = restrict_last_layer(model)
        project_patches(model)
        fp8 = any(isinstance(part, Fp8Linear) for part in model.modules())
        self.precision = str(self.dtype).removeprefix("torch.") + (f"_{FP8}" if fp8 else "")
        self.attention = str(getattr(model.config, "_attn_implementation", None) or "eager")
        wanted = self.device.type == "cuda" if packed is None else packed
        self.packed = _packing(model, self.device) if wanted else None
        if self.packed is not None:
            self.attention = "packed"
        self._streams = deque(torch.cuda.Stream(self.device) for _ in range(2 if self.device.type == "cuda" else 0))
        self.head = model.get_output_embeddings()
        yes, no = prompter.answers
        self.single = prompter.spelled is not None or len(yes) == len(no) == 1
        self.yes_ids, self.no_ids = prompter.spelled or ((yes[0],), (no[0],))
        weight, bias = self.head.weight, getattr(self.head, "bias", None)
        rows = [*self.yes_ids, *self.no_ids]
        # Only these rows of the output matrix are needed: the normaliser over the vocabulary cancels.
        self.rows = weight[rows].float().detach()
        self.rows_bias = self.rows.new_zeros(len(rows)) if bias is None else bias[rows].float().detach()

    def unpack(self) -> None:
        """Pad trees to batches from now on."""
        if self.packed is not None:
            self.packed.restore()
        self.packed, self.attention = None, str(self.model.config._attn_implementation)

    @torch.inference_mode()
    def ready(self, prompted: Prompted) -> TreeBatch:
        """All that comes before the forward; it may run in another thread, beside a forward."""
        return self.layout.batch(prompted, [self._with_answers(each) for each in prompted.sequences], self.packed)

    @torch.inference_mode()
    def tree(self, batch: TreeBatch | Prompted) -> list[list[float]]:
        """One forward for all requests of the batch: each request is a token tree, answers are its leaves."""
        batch = self.ready(batch) if isinstance(batch, Prompted) else batch
        if not self.single:
            hidden = self.forward_trees(batch, None)
            return [self._leaves(hidden[at:], tree) for at, tree in zip(batch.starts, batch.trees, strict=True)]
        return self.launch(batch).read()

    @torch.inference_mode()
    def launch(self, batch: TreeBatch) -> LaunchedForward:
        """The forward of a batch whose answers are single tokens, not waited for: it is read back once, as a whole.

        Two streams take turns: where a model's code waits for its own batch, the one before goes on computing.
        """
        if self.device.type != "cuda":
            return LaunchedForward(batch, self._margins(self._read(batch)), None)
        stream = self._streams[0]
        self._streams.rotate()
        stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(stream):
            margins = self._margins(self._read(batch))
            host = torch.empty(margins.shape, dtype=margins.dtype, pin_memory=True).copy_(margins, non_blocking=True)
            return LaunchedForward(batch, host, stream.record_event())

    def _read(self, batch: TreeBatch) -> torch.Tensor:
        """Hidden states where answers are read, from a forward of the trees."""
        return self.forward_trees(batch, batch.read)[batch.read].float()

    @torch.inference_mode()
    def plain(self, request: Request) -> list[float]:
        """Each question by itself, as the processor prepares it, through the whole model: what the tree must equal."""
        found: list[float] = []
        for question in request.questions:
            inputs = self.prompt_inputs(question, request)
            if self.prompter.spelled is not None:
                last = self.model(**inputs, use_cache=False).logits[0, -1:].float()
                found += self._contrast(last[:, [*self.yes_ids, *self.no_ids]]).tolist()
                continue
            if self.single:  # one forward tells of both
                logs = self._continuation_logs(inputs, self.prompter.answers[0])[0]
                scores = [float(logs[answer[0]]) for answer in self.prompter.answers]
            else:
                scores = [self._continuation(inputs, answer) for answer in self.prompter.answers]
            found.append(scores[0] - scores[1])
        return found

    @torch.inference_mode()
    def tree_likelihoods(
        self, batch: TreeBatch | Prompted, answers: Sequence[Sequence[Sequence[int]]]
    ) -> list[list[Likelihood]]:
        """log p of single-token continuations of every question of one request, from one forward of its tree."""
        batch = self.ready(batch) if isinstance(batch, Prompted) else batch
        hidden = self.forward_trees(batch, batch.read)[batch.read]
        logs = torch.log_softmax(self.head(hidden.to(self.head.weight.dtype)).float(), dim=-1)
        best = logs.argmax(dim=-1).tolist()
        return [[(float(logs[i, token]), best[i] == token) for (token,) in some] for i, some in enumerate(answers)]

    @torch.inference_mode()
    def plain_likelihoods(self, request: Request, answers: Sequence[Sequence[Sequence[int]]]) -> list[list[Likelihood]]:
        """log p of continuations of every question, each by itself through the whole model."""
        found: list[list[Likelihood]] = []
        for question, some in zip(request.questions, answers, strict=True):
            inputs = self.prompt_inputs(question, request)
            scored: list[Likelihood] = []
            for answer in some:
                logs = self._continuation_logs(inputs, answer)
                best = logs.argmax(dim=-1).tolist()
                total = float(sum(logs[i, token] for i, token in enumerate(answer)))
                scored.append((total, best == list(answer)))
            found.append(scored)
        return found

    def _contrast(self, logits: torch.Tensor) -> torch.Tensor:
        """log Σ p of the yes tokens less that of the no tokens, from their logits alone, (n, tokens) → (n,)."""
        yes, no = logits.split([len(self.yes_ids), len(self.no_ids)], dim=-1)
        return yes.logsumexp(-1) - no.logsumexp(-1)

    def shown(self, request: Request) -> Any:
        """The request's picture as the processor gets it."""
        assert request.image is not None
        return self.prompter.pictures.shown(request.image)

    def prompt_inputs(self, question: str, request: Request, *, closed: bool = True) -> dict[str, Any]:
        """The inputs up to where the answer begins; not `closed`, a thought that the template opens stays open."""
        prompt = self.prompter.prompt(question, request.image is not None)
        if not closed:
            prompt = prompt.removesuffix(self.prompter.closing)
        if request.image is None:
            ids = torch.tensor([self.prompter.tokens(prompt)])
            return {"input_ids": ids.to(self.device), "attention_mask": torch.ones_like(ids).to(self.device)}
        return self.placed(self.prompter.encode([prompt], [self.shown(request)]))

    def _continuation(self, inputs: dict[str, Any], answer: Sequence[int]) -> float:
        """Σ log p of a continuation's tokens, each after all before it."""
        logs = self._continuation_logs(inputs, answer)
        return float(sum(logs[i, token] for i, token in enumerate(answer)))

    def _continuation_logs(self, inputs: dict[str, Any], answer: Sequence[int]) -> torch.Tensor:
        """log p over the vocabulary where each of a continuation's tokens comes, (tokens, vocabulary)."""
        wide = self.extended(inputs, answer[:-1])
        logits = self.model(**wide, use_cache=False).logits[0, -len(answer) :].float()
        return torch.log_softmax(logits, dim=-1)

    def extended(self, inputs: dict[str, Any], tokens: Sequence[int]) -> dict[str, Any]:
        """The inputs with these tokens of an answer behind them."""
        extra = torch.tensor([tokens], dtype=torch.long, device=self.device)
        wide = dict(inputs)
        wide["input_ids"] = torch.cat([inputs["input_ids"], extra], dim=1)
        for name in ("attention_mask", "token_type_ids", "mm_token_type_ids"):
            if name in inputs:
                fill = 1 if name == "attention_mask" else 0
                wide[name] = torch.cat([inputs[name], torch.full_like(extra, fill)], dim=1)
        return wide

    def _with_answers(self, prompts: Sequence[Sequence[int]]) -> list[list[int]]:
        """The sequences to merge: prompts, each followed by all but the last token of either answer."""
        if self.single:
            return [list(prompt) for prompt in prompts]
        return [[*prompt, *answer[:-1]] for prompt in prompts for answer in self.prompter.answers]

    def forward_trees(self, batch: TreeBatch, read: torch.Tensor | None) -> torch.Tensor:
        """Last hidden states of all nodes, one tree behind the other. Only those that are read need be right."""
        if batch.copied is not None:
            now = torch.cuda.current_stream(self.device)
            now.wait_event(batch.copied)
            for tensor in batch.tensors:  # made in another stream: its memory must outlive this forward
                tensor.record_stream(now)
        mask = self._mask(*batch.sight) if self.packed is None else self.packed.mask(*batch.sight)
        showing = nullcontext() if self.packed is None else self.packed.showing(batch.longest)
        with self.rows_read.only(read), showing:
            hidden = self.body(
                input_ids=batch.ids, attention_mask=mask, position_ids=batch.positions, use_cache=False, **batch.vision
            ).last_hidden_state
        return hidden.flatten(0, 1)

    def _mask(self, visible: torch.Tensor) -> torch.Tensor:
        """The additive mask of padded trees."""
        mask = torch.zeros(visible.shape, dtype=self.dtype, device=self.device)
        return mask.masked_fill_(~visible, torch.finfo(self.dtype).min)

    def _margins(self, ends: torch.Tensor) -> torch.Tensor:
        """Margins from the hidden states at the prompts' ends, where answers are single tokens, (n, d) → (n,)."""
        if self.prompter.spelled is None:
            # The difference of two rows first: one product, and no rounding of two large logits.
            return ends @ (self.rows[0] - self.rows[1]) + (self.rows_bias[0] - self.rows_bias[1])
        return self._contrast(ends @ self.rows.T + self.rows_bias)

    def _leaves(self, hidden: torch.Tensor, tree: Tree) -> list[float]:
        """Margins of one request's questions, whose answers are several tokens, along the leaves of its tree."""
        found: list[float] = []
        for k in range(len(tree.ends) // 2):
            pairs = enumerate(self.prompter.answers)
            yes, no = (self._leaf(hidden, tree, tree.ends[2 * k + i], answer) for i, answer in pairs)
            found.append(yes - no)
        return found

    def _leaf(self, hidden: torch.Tensor, tree: Tree, end: int, answer: Sequence[int]) -> float:
        """Σ log p of an answer's tokens along its leaf: the last prompt token, then the answer's own."""
        nodes = [end]
        for _ in answer[1:]:
            nodes.append(int(tree.parents[nodes[-1]]))
        logits = self.head(hidden[nodes[::-1]]).float()
        logs = torch.log_softmax(logits, dim=-1)
        return float(sum(logs[i, token] for i, token in enumerate(answer)))

    def placed(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Tensors on the model's device, floating ones in its dtype."""
        return {
            name: value.to(self.device, self.dtype if value.is_floating_point() else value.dtype)
            if isinstance(value, torch.Tensor)
            else value
            for name, value in inputs.items()
        }


def _packing(model: Any, device: torch.device) -> PackedAttention:
    # FlexAttention brings the compiler along, which takes seconds to import: only those wait who use it.
    from recap.models.packed import PackedAttention

    return PackedAttention(model, device)
