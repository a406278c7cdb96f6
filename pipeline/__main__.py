"""`python -P -m pipeline` is `memory`; -P keeps packages of the working folder out of the way."""

from pipeline.front import main

if __name__ == "__main__":
    main()
