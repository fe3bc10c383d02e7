"""`python -m vllm.entrypoints.openai.api_server`, as the real one is started."""

import sys

from vllm.fake.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
