"""The command line: arguments and exit codes, nothing else. One file a verb; nobody imports this room."""
