"""`python -P -m pipeline` is `memory`; -P keeps packages of the working folder out of the way."""

from pipeline.cli import main

if __name__ == "__main__":
    main()
