"""What machine this is, and what it does while a window runs."""
