"""`python -m recap` is the same as `recap`."""

from recap.cli.main import main

if __name__ == "__main__":
    main()
