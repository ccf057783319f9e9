"""What the Makefile calls; no part of the plugin."""
