"""`python -m phasewalk.surfaces.cli` is the same as `phasewalk`."""

from phasewalk.surfaces.cli.main import run

run()
