"""The process and the machine: memory, threads, files that appear whole, how a run ends."""
