"""Wake words: packs, the models in them, and their recovery."""
