"""What a test is made of: conversations, checks, scenarios, results. No I/O, no model, no terminal."""
