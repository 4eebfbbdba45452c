"""The command line, as `python -m recollect`."""

from recollect.cli import main

if __name__ == "__main__":
    main()
