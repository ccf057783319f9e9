"""The U-Net, its files, and the engines that run it. Imports geodata."""
