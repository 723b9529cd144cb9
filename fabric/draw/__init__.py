"""Pictures of the fabric and files other tools read: SVG, HTML, DOT, GraphML, containerlab, Slurm topologies."""

from fabric.draw.write import KINDS, draw, write_drawing

__all__ = ["KINDS", "draw", "write_drawing"]
