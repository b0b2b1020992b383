"""``python -m grader``: the `grader` command of the course in this folder."""

from grader.cli import main

if __name__ == "__main__":
    main(prog_name="grader")
