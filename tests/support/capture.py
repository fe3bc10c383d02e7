"""Captures streams and /metrics from a running vLLM server, as fixtures for the fake one.

usage: python -m tests.support.capture --url http://127.0.0.1:28000 --name cpu-0.32.0-ngram-c4 --out DIRECTORY
Sends the four prompts at once and writes NAME.stream-N.sse as received, NAME.before.prom and NAME.after.prom. The
/metrics texts lose what no test reads: histogram buckets above the first two, and metrics outside KEPT.
"""

import argparse
import asyncio
import re
import sys
from pathlib import Path

import aiohttp

PROMPTS = (
    "Return a JSON array of eight objects with the keys id, name and price. Only JSON.",
    "Write SQL: create table orders and insert five rows into orders.",
    "Repeat this list three times: alpha, bravo, charlie, delta, echo, foxtrot.",
    "Write a short poem about rain on a tin roof.",
)
KEPT = re.compile(
    r"vllm:(spec_decode_|inter_token_latency|time_to_first_token|generation_tokens|prompt_tokens|num_requests_|"
    r"num_preemptions|request_success|kv_cache_usage|cache_config_info|e2e_request_latency|prefix_cache_)"
)
_TIMEOUT = aiohttp.ClientTimeout(total=300)


async def capture(url: str, *, name: str, out: Path, model: str, max_tokens: int) -> list[int]:
    """Write the files to the folder `out` and return the size in bytes of each stream."""
    async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:
        (out / f"{name}.before.prom").write_text(await _metrics(session, url=url), encoding="utf-8")
        streams = await asyncio.gather(
            *(_stream(session, url=url, prompt=p, model=model, max_tokens=max_tokens) for p in PROMPTS)
        )
        (out / f"{name}.after.prom").write_text(await _drained(session, url=url), encoding="utf-8")
    for index, stream in enumerate(streams):
        (out / f"{name}.stream-{index}.sse").write_bytes(stream)
    return [len(stream) for stream in streams]


async def _stream(session: aiohttp.ClientSession, *, url: str, prompt: str, model: str, max_tokens: int) -> bytes:
    body = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": max_tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    }
    async with session.post(f"{url}/v1/chat/completions", json=body) as response:
        response.raise_for_status()
        return await response.read()


async def _metrics(session: aiohttp.ClientSession, *, url: str) -> str:
    async with session.get(f"{url}/metrics") as response:
        response.raise_for_status()
        return small(await response.text())


async def _drained(session: aiohttp.ClientSession, *, url: str) -> str:
    """The counters follow the last chunk by a moment: wait until nothing runs, then until nothing changes."""
    previous = ""
    for _ in range(100):
        await asyncio.sleep(0.2)
        text = await _metrics(session, url=url)
        if re.search(r"^vllm:num_requests_running\{[^}]*\} 0\.0$", text, re.MULTILINE) and text == previous:
            return text
        previous = text
    message = f"{url} did not drain within 20 s"
    raise TimeoutError(message)


def small(text: str) -> str:
    """Return a /metrics text without the buckets above the second and without metrics outside KEPT."""
    kept: list[str] = []
    buckets: dict[str, int] = {}
    for line in text.splitlines():
        name = line.split(" ")[2] if line.startswith("#") else re.split(r"[{ ]", line)[0]
        if not KEPT.match(name):
            continue
        if "_bucket{" in line and 'le="+Inf"' not in line:
            buckets[name] = buckets.get(name, 0) + 1
            if buckets[name] > 2:
                continue
        kept.append(line)
    return "\n".join(kept) + "\n"


def main() -> None:
    """Read the arguments, capture, and print the sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", default="m")
    parser.add_argument("--max-tokens", type=int, default=64)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    sizes = asyncio.run(
        capture(
            arguments.url.rstrip("/"),
            name=arguments.name,
            out=arguments.out,
            model=arguments.model,
            max_tokens=arguments.max_tokens,
        )
    )
    sys.stdout.write(f"{arguments.name}: streams of {sizes} bytes in {arguments.out}\n")


if __name__ == "__main__":
    main()
