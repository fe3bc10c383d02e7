"""A model's name to a path, a content hash and a tokenizer hash."""
