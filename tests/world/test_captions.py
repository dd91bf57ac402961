"""Captions of drawn scenes: what they claim is what was written, and what is labelled is what the scene shows."""

from __future__ import annotations

from recap import extract
from recap.world.captions import absent_claims, captions


def test_every_claim_of_a_caption_is_read_as_it_was_written():
    for caption in [*captions(60), *absent_claims(60)]:
        read = {(c.subject, c.relation, c.object) for c in extract(caption.text).claims}
        assert read == set(caption.labels), caption.text


def test_every_second_caption_has_one_false_relation():
    written = captions(60)
    assert [sum(not true for true in caption.labels.values()) for caption in written] == [0, 1] * 30
