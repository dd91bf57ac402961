# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The model in training: many questions about one photograph in one forward, as branches of a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from recap.models.llava import BEFORE, BOS, PAD
from recap.photo.training.dense import DenseHeads
from recap.photo.training.look import LookHead, OrderHead
from recap.photo.training.vocabulary import vocabulary

Tensor = torch.Tensor
BRANCHES = 325
"""places for questions behind a photograph: with the three words before it, a multiple of eight in all"""
COMPILED = ("none", "decoder", "all")


@dataclass(frozen=True)
class Layout:
    """How many questions of which length share a forward; together at most BRANCHES."""

    questions: int
    width: int
    """tokens of a question with the words before the answer, and the answer"""


SHORT, MEDIUM, LONG = Layout(18, 18), Layout(12, 26), Layout(4, 74)


@dataclass(frozen=True)
class Heard:
    """What a forward gives."""

    answer: Tensor
    """(n, questions, words): scores for the answer"""
    after: Tensor
    """(n, questions, words): scores for what follows it"""
    dense: tuple[Tensor, Tensor]
    look: Tensor
    """(n, questions, width, …): what the look head tells at every token"""
    gaze: Tensor
    """(n, heads, questions, width, places): log-shares of the attention that some heads pay to the picture's places"""
    order: tuple[Tensor, Tensor]
    """(n, questions, …) twice: what the order head tells where the answer is about to be given"""


class Learner(torch.nn.Module):
    """The model to be kept, and heads that are thrown away."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.places: int = model.config.image_seq_length
        width = model.config.text_config.hidden_size
        self.dense, self.look, self.order = DenseHeads(width), LookHead(width), OrderHead(width)
        layers = model.config.text_config.num_hidden_layers
        self.middle: int = min(layers, max(2, layers // 3))
        """so many layers up, the look head reads: the first layer puts names together, those above compare"""
        self.upper: int = max(self.middle, layers - 2)
        """so many layers up, the order head reads: those above put its side and the question's word together"""
        self.heads: int = max(1, model.config.text_config.num_attention_heads // 3)
        """so many attention heads are told where to look"""
        self.start: Tensor
        self.register_buffer("start", torch.tensor([vocabulary()[word] for word in (BOS, *BEFORE)]), persistent=False)
        self.before = len(self.start)
        self.length = self.before + self.places + BRANCHES
        self._layouts: dict[Any, tuple[Tensor, Tensor]] = {}
        self.compile_parts("none")

    def compile_parts(self, which: str) -> None:
        """Fuse the small operations of the decoder's layers (alike, so compiled once), or also of the tower."""
        self.compiled = which != "none"
        self.see: Any = torch.compile(self._see, dynamic=False) if which == "all" else self._see
        self.layer: Any = torch.compile(_layer, dynamic=False) if self.compiled else _layer

    def _see(self, pixels: Tensor) -> Tensor:
        inner = self.model.model
        return inner.multi_modal_projector(inner.vision_tower(pixel_values=pixels).last_hidden_state)

    def think(self, hidden: Tensor, mask: Tensor, place: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The decoder's last hidden states, those that the look and order heads read, and where attention goes."""
        decoder = self.model.model.language_model
        cos, sin = decoder.rotary_emb(hidden, position_ids=place)
        half = high = gaze = hidden
        for number, layer in enumerate(decoder.layers, 1):
            if number == self.middle:
                gaze = self._gaze(layer, hidden, cos, sin)
            hidden = self.layer(layer, hidden, mask, cos, sin)
            half = hidden if number == self.middle else half
            high = hidden if number == self.upper else high
        return decoder.norm(hidden), half, high, gaze

    def _gaze(self, layer: Any, hidden: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """How some heads of a layer share their attention among the picture's places, for every token of a question."""
        attention, common = layer.self_attn, self.before + self.places
        x = layer.input_layernorm(hidden)
        query, key = (
            project(x).unflatten(-1, (-1, attention.head_dim))[:, :, : self.heads].transpose(1, 2)
            for project in (attention.q_proj, attention.k_proj)
        )
        query, key = apply_rotary_pos_emb(query, key, cos, sin)
        scores = query[:, :, common:] @ key[:, :, self.before : common].transpose(2, 3) * attention.scaling
        return scores.float().log_softmax(-1)

    def forward(
        self, pixels: Tensor, ids: Tensor, length: Tensor, answer: Tensor, layout: Layout, blind: int = 0
    ) -> Heard:
        """Scores for the answer and for what follows it, and the other heads'. The first `blind` rows see no picture.

        `ids` is (n, questions, width), `length` the tokens before the answer, `answer` the token that is put there.
        """
        n, questions, width = ids.shape
        tokens = self.see(pixels)
        filled = ids.scatter(2, length[..., None], answer[..., None]).flatten(1)
        filled = torch.nn.functional.pad(filled, (0, BRANCHES - filled.shape[1]), value=vocabulary()[PAD])
        embed = self.model.model.language_model.embed_tokens
        words = embed(torch.cat([self.start.expand(n, -1), filled], 1))
        hidden = torch.cat([words[:, : self.before], tokens.to(words.dtype), words[:, self.before :]], 1)
        mask, place = self._layout(layout, n, blind, pixels.device)
        *states, gaze = self.think(hidden, mask, place)
        last, half, high = (
            x[:, self.before + self.places :][:, : questions * width].unflatten(1, (questions, width)) for x in states
        )
        gaze = gaze[:, :, : questions * width].unflatten(2, (questions, width))
        at = torch.stack([length - 1, length], -1)
        at = at[..., None].expand(-1, -1, -1, last.shape[-1])
        scores = self.model.lm_head(last.gather(2, at)).float()
        order = self.order(high.gather(2, at[:, :, :1])[:, :, 0])
        return Heard(scores[:, :, 0], scores[:, :, 1], self.dense(tokens, embed.weight), self.look(half), gaze, order)

    def _layout(self, layout: Layout, n: int, blind: int, device: Any) -> tuple[Tensor, Tensor]:
        """Mask and positions: a question sees the start, the picture unless its row is blind, and itself so far."""
        key = (layout, n, blind)
        if key not in self._layouts:
            common = self.before + self.places
            column = torch.arange(self.length, device=device)
            branch = (column - common).clamp(min=0)
            used = layout.questions * layout.width
            which = torch.where(column < common, -1, branch // layout.width)
            which = torch.where(column >= common + used, layout.questions + column, which)  # padding sees itself
            seen = (column[:, None] >= column) & ((which[:, None] == which) | (which == -1))
            seen = seen.expand(n, -1, -1).clone()
            picture = (column >= self.before) & (column < common)
            seen[:blind] &= ~((which >= 0)[:, None] & picture)
            first = torch.full((n, 1), common, device=device)
            first[:blind] = self.before
            place = torch.where(column < common, column, first + branch % layout.width)
            kind = torch.bfloat16 if torch.device(device).type == "cuda" else torch.float32
            mask = torch.zeros(seen.shape, dtype=kind, device=device).masked_fill_(~seen, torch.finfo(kind).min)
            self._layouts[key] = (mask[:, None], place)
        return self._layouts[key]


def _layer(layer: Any, hidden: Tensor, mask: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return layer(hidden, attention_mask=mask, position_embeddings=(cos, sin))
