"""Print the size of the package beside its limits: ``python tests/size``; ``--lower`` writes lower limits.

It ends with 1 where a number is above its limit, or a limit far above its number. Numbers are those of Python 3.11,
which tokenizes and calls in its own way: other versions measure nothing.
"""

import pathlib
import re
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from tests.size import measures

FILE = pathlib.Path(__file__).with_name("limits.toml")


def main():
    """Each number, its limit, and where it stands; with ``--lower`` limits become the numbers that are below them."""
    if sys.version_info[:2] != (3, 11):
        print("The limits of the size are those of Python 3.11: nothing is measured.")
        return
    text, said = FILE.read_text(encoding="utf-8"), []
    limits = tomllib.loads(text)
    source, rooms = measures.of_source()
    for part, numbers in {"source": source, "rooms": rooms, "package": measures.of_package()}.items():
        said += measures.broken(numbers, limits[part])
        for name in [*numbers, *(limits[part].keys() - numbers.keys())]:
            number, limit = numbers.get(name, 0), limits[part].get(name, 0)
            print(f"{part:8} {name:24} {number:8,d} {limit:8,d}{'  ABOVE' if number > limit else ''}")
            if "--lower" in sys.argv and number < limit:
                line = f"{name} = {number}\n" if number or name in numbers else ""
                text = re.sub(rf"^{name} = {limit}\n", line, text, flags=re.MULTILINE)
    if "--lower" in sys.argv:
        FILE.write_text(text, encoding="utf-8")
    elif said:
        sys.exit("\n".join(said))


if __name__ == "__main__":
    main()
