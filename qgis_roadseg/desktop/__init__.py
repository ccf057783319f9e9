"""Menu, toolbar, settings page, demo and live panel; only the plugin imports it, if there is a window."""
