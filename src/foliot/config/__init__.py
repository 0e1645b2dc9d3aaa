"""One frozen value that says how this Foliot runs; every complaint names the key, the rule and what it got."""
