"""``python -m visterm`` is the command line."""

from visterm.faces.cli import main

if __name__ == "__main__":
    main()
