"""Python runners."""
