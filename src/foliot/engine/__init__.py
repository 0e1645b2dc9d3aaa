"""Makes time move: small actors, each with one verb, driven by one loop."""
