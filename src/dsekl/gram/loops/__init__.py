"""The compiled inner loops of the products."""
