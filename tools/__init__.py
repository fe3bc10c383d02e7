"""Programs that write committed files from the code: the compose file, parts of the documentation."""
