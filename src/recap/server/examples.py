"""Examples in the OpenAPI document. Each can be sent as it stands; a test holds the verdict to what is answered."""

from __future__ import annotations

from pydantic.config import JsonDict

SCENE, QUESTION = "world:whatsup/0032", "Is the crate on the suitcase?"
AUDIT: JsonDict = {"image": SCENE, "question": QUESTION}
BATCH: JsonDict = {"audits": [AUDIT, {"image": SCENE, "question": "Is the crate below the suitcase?", "answer": "no"}]}
DOT = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
CHAT: JsonDict = {
    "model": "qwen",
    "max_tokens": 8,
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": DOT}},
                {"type": "text", "text": "Is the mug to the left of the laptop? Answer yes or no."},
            ],
        }
    ],
}


def _probe(role: str, relation: str, margin: float) -> JsonDict:
    question = f"Is the crate {relation} the suitcase?"
    return {"role": role, "relation": relation, "question": question, "view": "image", "margin": margin}


VERDICT: JsonDict = {
    "question": QUESTION,
    "answer": "yes",
    "accepted": True,
    "risk": 0.727,
    "threshold": 0.801,
    "mode": "recap-selector",
    "witness": {"kind": "claim", "relation": "on", "margin": 4.418},
    "reason": 'accepted: the claim "crate on suitcase" holds up well enough '
    '(+4.42, against +0.04 for "crate below suitcase"); risk 0.727 ≤ threshold 0.801',
    "standing": {"risk": 0.727, "threshold": 0.801},
    "probes": [
        _probe("direct", "on", 4.418),
        _probe("claim", "on", 4.418),
        _probe("contradiction", "below", 0.04),
        _probe("support", "above", 2.172),
    ],
    "model": "world:aligned",
    "row": {
        "id": "0",
        "subject": "crate",
        "relation": "on",
        "object": "suitcase",
        "claim": "on",
        "swapped": False,
        "direct": {"image": 4.418},
        "margins": {"image": {"on": 4.418, "below": 0.04, "above": 2.172}},
        "unit": "audit",
    },
}
