"""The GUI beside Processing: menu, toolbar, settings page, demo; only the plugin imports it, if there is a window."""
