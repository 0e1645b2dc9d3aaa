"""Settings, parsed from the environment into one frozen value; errors name the key, the rule and what it got."""
