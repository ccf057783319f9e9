"""The Processing algorithms, one a module. They know their job and Processing; never each other."""
