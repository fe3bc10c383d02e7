"""YAML to cells; every complaint names line and key."""
