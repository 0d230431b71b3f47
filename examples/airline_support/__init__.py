"""Forty recorded conversations of an airline's support agent, replayed against its policy."""
