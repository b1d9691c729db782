"""Features on top of the core, a folder each; the core works without any of them."""
