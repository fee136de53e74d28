"""The deterministic router: English requests into checked calls, by topic and backward chaining."""
