"""``python -m study.cli``."""

from study.cli.main import main

main()
