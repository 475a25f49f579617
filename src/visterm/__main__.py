"""``python -m visterm`` is the command line."""

from visterm.app.cli import main

if __name__ == "__main__":
    main()
