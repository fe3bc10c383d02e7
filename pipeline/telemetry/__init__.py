"""What machine this is."""
