"""Writes tails.json beside it: optima under limits on the average of the worst scenarios, as cone programmes.

    /usr/bin/python3 test/golden/tails/make.py

Made with Debian bookworm's python3-numpy 1.24.2, python3-scipy 1.10.1 and python3-cvxopt 1.3.0.

The problems are some of ../objectives with a row more, CVaR or CDaR: every excess over the level, and every highest value so far, is a
variable. The limit lies between the least that the other rows allow and what the objective has without it, so that it binds.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "objectives"))
import make as plain  # noqa: E402

HERE = pathlib.Path(__file__).parent
SHARE = 0.4


def main():
    cases = []
    for seed in range(1, 9):
        p = plain.problem(seed)
        for o, objective in enumerate(plain.OBJECTIVES):
            kind = ("CVaR", "CDaR")[(seed + o) % 2]
            tail = {"type": f"min_{kind.lower()}", "confidence": 0.9}
            if objective["type"] == tail["type"] or (seed // 2 + o) % 2:
                continue
            asked = {**p, "costs": plain.costs_with(objective["type"], p["costs"])}
            free = plain.tail(p, tail, plain.solve(asked, objective))
            least = plain.tail(p, tail, plain.solve({**p, "costs": None}, tail))
            if free - least < 1e-4:
                continue
            limit = round(least + SHARE * (free - least), 6)
            rows = [*p["rows"], {"type": kind, "params": {"limit": limit, "confidence": 0.9}}]
            w = plain.solve({**asked, "rows": rows}, objective)
            value = float(plain.value_of(asked, objective, w))
            cases.append({"seed": seed, "objective": objective, "rows": rows, "value": value, "weights": [round(float(x), 8) for x in w]})
            print(seed, objective["type"], kind, limit, value, file=sys.stderr)
    (HERE / "tails.json").write_text(json.dumps({"cases": cases}) + "\n")
    print(len(cases), "cases")


if __name__ == "__main__":
    main()
