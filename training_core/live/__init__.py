"""Live sessions: learn from roads while they are drawn, and show what has been learned."""
