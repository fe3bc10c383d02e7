"""The run directory: whole files, manifests, hashes."""
