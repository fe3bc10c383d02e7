"""Whether factors that are each right fit together, alone and with the prompt sets they name."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from pipeline.domain.method import BASELINE
from pipeline.domain.workload import Prompt, Workload
from pipeline.matrix.factors import STATED

if TYPE_CHECKING:
    from pipeline.matrix.schema import MatrixFile
    from pipeline.matrix.workload_entry import WorkloadEntry

CHARACTERS_A_TOKEN = 4  # of English text; a rough figure, used only to refuse what cannot fit
TEMPLATE_TOKENS = 64  # room for a chat template and a system prompt of its own
LENGTH_TOLERANCE = 0.1  # a nominal length is met within this, by the target's tokenizer

Sets = Mapping[tuple[str, int | None], Workload]  # (name, nominal length; None where it has none)


class FactorMisfit(ValueError):
    """Factors that are each right and do not fit together; `location` leads to the key to change."""

    def __init__(self, text: str, *, location: tuple[str | int, ...]) -> None:
        super().__init__(text)
        self.location = location


def misfits(matrix: "MatrixFile") -> Iterator[FactorMisfit]:
    """What the file alone shows."""
    return chain(_of_targets(matrix), _of_methods(matrix), _of_engines(matrix), _of_lengths(matrix), _of_load(matrix))


def _of_targets(matrix: "MatrixFile") -> Iterator[FactorMisfit]:
    known = sorted(model.name for model in matrix.targets)
    for index, entry in enumerate(matrix.methods):
        for target in entry.targets or ():
            if target not in known:
                text = f"method {entry.arm!r} names the target {target!r}; targets lists {known}"
                yield FactorMisfit(text, location=("methods", index, "targets"))


def _of_methods(matrix: "MatrixFile") -> Iterator[FactorMisfit]:
    drafts = {entry.name for entry in matrix.drafts}
    shortest = min(_told(matrix), default=None)
    for index, entry in enumerate(matrix.methods):
        if entry.draft and entry.draft not in drafts:
            text = f"method {entry.arm!r} names the draft {entry.draft!r}; drafts lists {sorted(drafts) or 'nothing'}"
            yield FactorMisfit(text, location=("methods", index, "draft"))
        k = entry.num_speculative_tokens or 0
        if shortest is not None and k >= shortest:
            text = (
                f"method {entry.arm!r} drafts {k} tokens a step, but a request has only {shortest} output "
                "tokens: lower num_speculative_tokens or raise output_tokens"
            )
            yield FactorMisfit(text, location=("methods", index, "num_speculative_tokens"))


def _of_engines(matrix: "MatrixFile") -> Iterator[FactorMisfit]:
    arms = {BASELINE, *(entry.arm for entry in matrix.methods)}
    for index, engine in enumerate(matrix.engines):
        for arm in engine.external:
            if arm not in arms:
                text = f"external names a server for {arm!r}; the arms are {', '.join(sorted(arms))}"
                yield FactorMisfit(text, location=("engines", index, "external"))


def _of_lengths(matrix: "MatrixFile") -> Iterator[FactorMisfit]:
    room = matrix.server.max_model_len
    longest = max(_told(matrix), default=0)
    if longest >= room:
        text = f"output_tokens {longest} leaves no room for a prompt in server.max_model_len {room}"
        yield FactorMisfit(text, location=("output_tokens",))


def _told(matrix: "MatrixFile") -> list[int]:
    return [value for value in matrix.output_tokens if isinstance(value, int)]


def _of_load(matrix: "MatrixFile") -> Iterator[FactorMisfit]:
    if not matrix.concurrency and not matrix.arrivals:
        text = "there is no load: write concurrency (a closed loop), arrivals (an open loop), or both"
        yield FactorMisfit(text, location=("concurrency",))
    widest = max(matrix.concurrency, default=0)
    if widest > prompts_at(matrix, widest):
        text = f"concurrency {widest} is never reached with {matrix.prompts} prompts: raise prompts or lower it"
        yield FactorMisfit(text, location=("concurrency",))
    if widest > matrix.server.max_num_seqs:
        text = f"concurrency {widest} exceeds server.max_num_seqs {matrix.server.max_num_seqs}: requests would queue"
        yield FactorMisfit(text, location=("concurrency",))


def sets_of(
    matrix: "MatrixFile", *, lengths: Mapping[str, Sequence[int]]
) -> Iterator[tuple["WorkloadEntry", int | None]]:
    """Yield (workload, nominal length) of every prompt set that the matrix asks for.

    `lengths` says which of our sets come in lengths; the others get None. Raises FactorMisfit.
    """
    for index, entry in enumerate(matrix.workloads):
        known = lengths.get(entry.name, ()) if entry.format is None else ()
        if not known:
            yield entry, None
            continue
        told = ", ".join(map(str, known))
        if matrix.prompt_tokens is None:
            text = f"workload {entry.name!r} comes in lengths: write prompt_tokens, one or more of {told}"
            raise FactorMisfit(text, location=("workloads", index))
        for position, nominal in enumerate(matrix.prompt_tokens):
            if nominal not in known:
                text = f"workload {entry.name!r} does not come in {nominal} tokens; it has {told}"
                raise FactorMisfit(text, location=("prompt_tokens", position))
            yield entry, nominal


def set_misfits(matrix: "MatrixFile", sets: Sets) -> Iterator[FactorMisfit]:
    """What only shows with the prompt sets at hand: how many prompts they have, how long they are, what they state."""
    for (name, nominal), workload in sets.items():
        index = next(i for i, entry in enumerate(matrix.workloads) if entry.name == name)
        available = len(workload.prompts)
        if matrix.prompts > available:
            text = f"workload {name!r} has {available} prompts, the matrix asks for {matrix.prompts}: lower prompts"
            yield FactorMisfit(text, location=("prompts",))
        if STATED in matrix.output_tokens and workload.output_tokens is None:
            text = f"workload {name!r} states no output_tokens: write a number instead of `stated`"
            yield FactorMisfit(text, location=("output_tokens",))
            continue
        yield from _of_conversations(matrix, name, workload)
        prompts = workload.first(max(prompts_at(matrix, each) for each in matrix.concurrency or [1]))
        yield from _of_room(matrix, workload, prompts, location=("prompt_tokens",) if nominal else ("workloads", index))


def prompts_at(matrix: "MatrixFile", concurrency: int) -> int:
    """Return how many prompts a closed loop of that concurrency sends."""
    return max(matrix.prompts, (matrix.waves or 0) * concurrency)


def _of_conversations(matrix: "MatrixFile", name: str, workload: Workload) -> Iterator[FactorMisfit]:
    widest = max(matrix.concurrency, default=0)
    prompts = workload.first(prompts_at(matrix, widest))
    at_once = sum(prompt.follows is None for prompt in prompts)
    if at_once < widest <= len(prompts):
        text = (
            f"concurrency {widest} is never reached with workload {name!r}: its {len(prompts)} prompts are "
            f"{at_once} conversations, whose turns wait for each other"
        )
        yield FactorMisfit(text, location=("concurrency",))


def _of_room(
    matrix: "MatrixFile", workload: Workload, prompts: Sequence[Prompt], *, location: tuple[str | int, ...]
) -> Iterator[FactorMisfit]:
    stated = [workload.output_tokens or 0] if STATED in matrix.output_tokens else []
    answer = max(*stated, *_told(matrix), 0)
    if workload.prompt_tokens is not None:
        needed = round(workload.prompt_tokens * (1 + LENGTH_TOLERANCE)) + TEMPLATE_TOKENS + answer
    else:
        needed = longest_context(prompts, answer_tokens=answer)
    room = matrix.server.max_model_len
    if needed > room:
        about = "input" if workload.prompt_tokens is None else f"{workload.prompt_tokens} input tokens"
        text = (
            f"workload {workload.name!r} needs about {needed} tokens ({about} and up to {answer} of each answer), "
            f"but server.max_model_len is {room}: raise it, or ask for less"
        )
        yield FactorMisfit(text, location=location)


def longest_context(prompts: Sequence[Prompt], *, answer_tokens: int) -> int:
    """Estimate the tokens of the longest conversation: its messages, and an answer of full length for every turn."""
    context: dict[str, int] = {}
    for prompt in prompts:
        own = sum(len(content) for _, content in prompt.messages) // CHARACTERS_A_TOKEN + answer_tokens
        context[prompt.prompt_id] = own + (context.get(prompt.follows, 0) if prompt.follows else 0)
    return max(context.values(), default=0)
