"""Commands of a switch of the twin. They run inside the node, on a bare Python, and import nothing of ours but this."""
