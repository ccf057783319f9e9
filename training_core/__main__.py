"""Runs the command line: `python -m training_core`."""

from .cli import run_command_line

run_command_line()
