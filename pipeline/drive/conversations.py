"""Conversations: which prompt follows which. A turn waits for the answer before it."""

from collections.abc import Sequence

from pipeline.domain.workload import Prompt

Chain = tuple[int, ...]  # prompts of one conversation by index, in the order of sending


def chains(prompts: Sequence[Prompt]) -> tuple[Chain, ...]:
    """Return the conversations in the order of their first prompts; a prompt that follows none is one of its own.

    A prompt follows the latest one before it with that id, so a set may be repeated. Raises ValueError when there is
    none, or when another prompt follows the same one: a conversation does not fork.
    """
    latest: dict[str, int] = {}
    conversation: dict[int, list[int]] = {}  # by the index of its last turn so far
    found: list[list[int]] = []
    for index, prompt in enumerate(prompts):
        if prompt.follows is None:
            turns = [index]
            found.append(turns)
        else:
            before = latest.get(prompt.follows)
            turns = [] if before is None else conversation.pop(before, [])
            if not turns:
                message = (
                    f"prompt {prompt.prompt_id!r} follows {prompt.follows!r}, "
                    "which is not before it or is followed already"
                )
                raise ValueError(message)
            turns.append(index)
        conversation[index] = turns
        latest[prompt.prompt_id] = index
    return tuple(tuple(turns) for turns in found)
