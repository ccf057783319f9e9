from .cli import run_command_line

run_command_line()
