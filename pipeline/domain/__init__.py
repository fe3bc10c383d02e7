"""The vocabulary: frozen values every room speaks in. Nothing here reads, writes or measures."""
