# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The model in training: many questions about one photograph in one forward, as branches of a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from recap.photo.training.dense import DenseHeads
from recap.photo.training.vocabulary import BEFORE, BOS, PAD, vocabulary

Tensor = torch.Tensor
BRANCHES = 325
"""places for questions behind a photograph: with the three words before it, a multiple of eight in all"""


@dataclass(frozen=True)
class Layout:
    """How many questions of which length share a forward; together at most BRANCHES."""

    questions: int
    width: int
    """tokens of a question with the words before the answer, and the answer"""


SHORT, MEDIUM, LONG = Layout(18, 18), Layout(12, 26), Layout(4, 74)


class Learner(torch.nn.Module):
    """The model to be kept, and heads that are thrown away."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.places: int = model.config.image_seq_length
        self.dense = DenseHeads(model.config.text_config.hidden_size)
        self.start: Tensor
        self.register_buffer("start", torch.tensor([vocabulary()[word] for word in (BOS, *BEFORE)]), persistent=False)
        self.before = len(self.start)
        self.length = self.before + self.places + BRANCHES
        self._layouts: dict[Any, tuple[Tensor, Tensor]] = {}
        self.plain()

    def plain(self) -> None:
        """Nothing compiled."""
        self.compiled = False
        self.see: Any = self._see
        self.think: Any = self._think

    def compile(self) -> None:  # type: ignore[override]
        """Fuse the small operations of the tower and of the decoder; shapes are always the same."""
        self.compiled = True
        self.see = torch.compile(self._see, dynamic=False)
        self.think = torch.compile(self._think, dynamic=False)

    def _see(self, pixels: Tensor) -> Tensor:
        inner = self.model.model
        return inner.multi_modal_projector(inner.vision_tower(pixel_values=pixels).last_hidden_state)

    def _think(self, hidden: Tensor, mask: Tensor, place: Tensor) -> Tensor:
        decoder = self.model.model.language_model
        return decoder(
            inputs_embeds=hidden, attention_mask=mask, position_ids=place, use_cache=False
        ).last_hidden_state

    def forward(
        self, pixels: Tensor, ids: Tensor, length: Tensor, answer: Tensor, layout: Layout, blind: int = 0
    ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """Scores for the answer and for what follows it, and the dense heads'. The first `blind` rows see no picture.

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
        found = self.think(hidden, mask, place)
        out = found[:, self.before + self.places :][:, : questions * width].reshape(n, questions, width, -1)
        at = torch.stack([length - 1, length], -1)
        read = out.gather(2, at[..., None].expand(-1, -1, -1, out.shape[-1]))
        scores = self.model.lm_head(read).float()
        return scores[:, :, 0], scores[:, :, 1], self.dense(tokens)

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
