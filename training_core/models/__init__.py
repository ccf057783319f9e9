"""The network, its files, and the engines that run it."""
