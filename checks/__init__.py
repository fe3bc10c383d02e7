"""What `make check` holds by machine, beside the linters: run `python -m checks`."""
