"""What the programs here share: a line for every check, and an exit code that says whether all of them held."""

import sys

_failed = False


def check(claim, found, expected):
    """What was found is what was expected."""
    global _failed
    if found == expected:
        print(f"ok {claim}")
    else:
        _failed = True
        print(f"FAILED {claim}\n  found    {found!r}\n  expected {expected!r}")


def url(scheme):
    """The URL with this scheme among the arguments of the program."""
    for argument in sys.argv[1:]:
        if argument.startswith(f"{scheme}:"):
            return argument
    sys.exit(f"give a URL that begins with {scheme}:")


def end():
    """Ends the program."""
    sys.exit(1 if _failed else 0)
