"""``python -m dpsumm`` is the command ``dpsumm``."""

from dpsumm.cli import main

if __name__ == "__main__":
    main()
