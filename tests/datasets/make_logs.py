"""Writes the sample logs in tests/datasets/logs with the real tools, around a model that makes up its numbers.

Run in an environment that has lm-eval 0.4.13, lmms-eval 0.7.3 and inspect_ai 0.3.285, not in ours:

    python tests/datasets/make_logs.py tests/datasets/logs

The pictures are drawn scenes (`recap.world`), so that `recap probe --complete` has something to show.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

DATE = "2026-01-01T00-00-00.000000"
STATEMENTS = [
    ("whatsup-0032.jpg", "Is the crate on the suitcase?", "yes"),
    ("whatsup-0032.jpg", "Is the crate to the left of the suitcase?", "no"),
    ("whatsup-0032.jpg", "Is the crate below the suitcase?", "no"),
    ("whatsup-0001.jpg", "Is the basket to the right of the lamp?", "yes"),
    ("whatsup-0001.jpg", "What colour is the lamp?", "no"),
    ("whatsup-0001.jpg", "Is the basket behind the lamp?", "no"),
]


def logits(text: str) -> tuple[float, float]:
    """Made-up log-likelihoods of yes and no, the same for the same question."""
    number = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)
    return -((number % 997) / 250) - 0.01, -((number // 997 % 997) / 250) - 0.01


def documents(folder: Path) -> Path:
    path = folder / "statements.jsonl"
    rows = [
        {"image_path": image, "question": question, "label": label, "answer": label}
        for image, question, label in STATEMENTS
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def lm_eval_log(folder: Path, out: Path) -> None:
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    class MadeUp(LM):
        def loglikelihood(self, requests: list) -> list:
            return [(logits(each.args[0])["yes" not in each.args[1].lower()], False) for each in requests]

        def loglikelihood_rolling(self, requests: list) -> list:
            raise NotImplementedError

        def generate_until(self, requests: list) -> list:
            yes_no = ((each.args[0], logits(each.args[0])) for each in requests)
            return [f"{'Yes' if yes > no else 'No'}, I am sure." for _, (yes, no) in yes_no]

    common = f"""
dataset_path: json
dataset_kwargs: {{data_files: {{test: {documents(folder)}}}}}
test_split: test
doc_to_text: "Question: {{{{question}}}} Answer:"
"""
    (folder / "choice.yaml").write_text(
        "task: spatial_choice\noutput_type: multiple_choice\n"
        + common
        + 'doc_to_choice: ["yes", "no"]\ndoc_to_target: "{{[\'yes\', \'no\'].index(label)}}"\n'
        + "metric_list:\n  - metric: acc\n"
    )
    (folder / "generate.yaml").write_text(
        "task: spatial_generate\noutput_type: generate_until\n"
        + common
        + 'doc_to_target: "{{label}}"\n'
        + 'generation_kwargs: {until: ["\\n"]}\nmetric_list:\n  - metric: exact_match\n'
    )
    tracker = EvaluationTracker(output_path=str(folder / "lm"))
    tracker.date_id, tracker.general_config_tracker.model_name_sanitized = DATE, "made-up"
    tasks = ["spatial_choice", "spatial_generate"]
    found = lm_eval.simple_evaluate(
        MadeUp(),
        tasks=tasks,
        task_manager=TaskManager(include_path=str(folder)),
        evaluation_tracker=tracker,
        log_samples=True,
    )
    for task in tasks:
        tracker.save_results_samples(task, found["samples"][task])
    for path in (folder / "lm").rglob("samples_*.jsonl"):
        shutil.copy(path, out / path.name)


def lmms_eval_log(folder: Path, out: Path) -> None:
    from lmms_eval.api.model import lmms
    from lmms_eval.evaluator import simple_evaluate
    from lmms_eval.loggers import EvaluationTracker
    from lmms_eval.tasks import TaskManager

    class MadeUp(lmms):
        def loglikelihood(self, requests: list) -> list:
            return [(logits(each.args[0])["yes" not in str(each.args[1]).lower()], False) for each in requests]

        def generate_until(self, requests: list) -> list:
            return ["Yes" if logits(each.args[0])[0] > logits(each.args[0])[1] else "no" for each in requests]

        def generate_until_multi_round(self, requests: list) -> list:
            raise NotImplementedError

    (folder / "lmms").mkdir()
    (folder / "lmms" / "utils.py").write_text(
        "def visual(doc):\n    return [doc['image_path']]\n\n"
        "def results(doc, found):\n    return {'right': float(found[0].lower().startswith(doc['label']))}\n"
    )
    (folder / "lmms" / "spatial.yaml").write_text(
        f"""task: spatial_words
dataset_path: json
dataset_kwargs: {{data_files: {{test: {documents(folder)}}}}}
test_split: test
output_type: generate_until
doc_to_visual: !function utils.visual
doc_to_text: "{{{{question}}}}\\nAnswer the question with yes or no."
doc_to_target: label
process_results: !function utils.results
generation_kwargs: {{max_new_tokens: 8}}
metric_list:
  - metric: right
    aggregation: mean
    higher_is_better: true
"""
    )
    tracker = EvaluationTracker(output_path=str(folder / "lmms-out"))
    tracker.date_id, tracker.general_config_tracker.model_name_sanitized = DATE, "made-up"
    found = simple_evaluate(
        MadeUp(),
        tasks=["spatial_words"],
        task_manager=TaskManager(include_path=str(folder / "lmms")),
        log_samples=True,
        batch_size=1,
    )
    tracker.save_results_samples("spatial_words", found["samples"]["spatial_words"])
    for path in (folder / "lmms-out").rglob("*_samples_*.jsonl"):
        shutil.copy(path, out / path.name)


def inspect_logs(folder: Path, out: Path, pictures: Path) -> None:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        ChatMessageUser,
        ContentImage,
        ContentText,
        GenerateConfig,
        Logprob,
        Logprobs,
        Model,
        ModelAPI,
        ModelOutput,
        TopLogprob,
        modelapi,
    )
    from inspect_ai.scorer import match

    def sample(number: int, image: str, question: str, label: str) -> Sample:
        data = base64.b64encode((pictures / image).read_bytes()).decode()
        content = [
            ContentImage(image=f"data:image/jpeg;base64,{data}"),
            ContentText(text=f"{question} Answer yes or no."),
        ]
        return Sample(id=number, input=[ChatMessageUser(content=content)], target=label, metadata={"scene": image})

    def output(question: str) -> ModelOutput:
        yes, no = logits(question)
        word = "Yes" if yes > no else "No"
        top = [
            TopLogprob(token="Yes", logprob=yes),
            TopLogprob(token="No", logprob=no),
            TopLogprob(token=" yes", logprob=yes - 3),
        ]
        first = Logprob(token=word, logprob=max(yes, no), top_logprobs=top if "below" not in question else top[:1])
        message = ChatMessageAssistant(content=f"{word}.")
        return ModelOutput(
            model="made-up", choices=[ChatCompletionChoice(message=message, logprobs=Logprobs(content=[first]))]
        )

    @modelapi(name="made-up")
    class MadeUp(ModelAPI):
        async def generate(self, input: list, tools: list, tool_choice: object, config: object) -> ModelOutput:
            return output(input[0].text.removesuffix(" Answer yes or no."))

    for form in ("eval", "json"):
        samples = [sample(i + 1, *each) for i, each in enumerate(STATEMENTS)]
        model = Model(MadeUp("made-up"), GenerateConfig())
        task = Task(dataset=samples, scorer=match(location="begin"), name="spatial")
        [log] = eval(task, model=model, log_dir=str(folder / form), log_format=form, display="none", max_connections=1)
        shutil.copy(log.location.removeprefix("file://"), out / f"inspect.{form}")


def main() -> None:
    out = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["HF_HOME"] = name
        which = sys.argv[2:] or ["lm-eval", "lmms-eval", "inspect"]
        if "lm-eval" in which:
            lm_eval_log(folder, out)
        if "lmms-eval" in which:
            lmms_eval_log(folder, out)
        if "inspect" in which:
            inspect_logs(folder, out, out)


if __name__ == "__main__":
    main()
