"""Verifies a published log without the service: python3 verify_published.py LOG [--key KEYS] [--head HASH]

LOG is GET /analytics/INDEX/published, as lines of JSON or as one object, KEYS is GET .../published/keys. Needs Python
3.8 and nothing else. Ed25519 as in RFC 8032, numbers as in RFC 8785.
"""
import argparse
import base64
import hashlib
import json
import os
import re
import sys
from decimal import Decimal

P = 2**255 - 19
Q = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
I = pow(2, (P - 1) // 4, P)


def x_of(y, sign):
    xx = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(xx, (P + 3) // 8, P)
    if (x * x - xx) % P:
        x = x * I % P
    if y >= P or (x * x - xx) % P or (x == 0 and sign):
        raise ValueError("no point of the curve")
    return P - x if x % 2 != sign else x


def add(a, b):
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = f - e, h - g, h + g, f + e
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n, point):
    sum_ = (0, 1, 1, 0)
    while n:
        if n & 1:
            sum_ = add(sum_, point)
        point, n = add(point, point), n >> 1
    return sum_


def point(x, y):
    return x, y, 1, x * y % P


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE = point(x_of(BASE_Y, 0), BASE_Y)


def decoded(data):
    number_, mask = int.from_bytes(data, "little"), 2**255 - 1
    return point(x_of(number_ & mask, number_ >> 255), number_ & mask)


def is_signed(key, message, signature):
    if len(key) != 32 or len(signature) != 64:
        return False
    try:
        a, r = decoded(key), decoded(signature[:32])
    except ValueError:
        return False
    s = int.from_bytes(signature[32:], "little")
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % Q
    left, right = times(s, BASE), add(r, times(h, a))
    return s < Q and not ((left[0] * right[2] - right[0] * left[2]) % P or (left[1] * right[2] - right[1] * left[2]) % P)


def number(value):
    """A number as JavaScript writes it."""
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text, n = "".join(map(str, digits)), len(digits) + exponent
    if 0 < n <= 21:
        text = text + "0" * (n - len(text)) if len(text) <= n else text[:n] + "." + text[n:]
    elif -6 < n <= 0:
        text = "0." + "0" * -n + text
    else:
        text = text[0] + ("." + text[1:] if len(text) > 1 else "") + "e" + ("+" if n > 0 else "-") + str(abs(n - 1))
    return ("-" if sign else "") + text


def canonical(entry):
    def text(value):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number(value) if is_number else json.dumps(value, ensure_ascii=False)

    return ("{" + ",".join(json.dumps(name) + ":" + text(entry[name]) for name in sorted(entry)) + "}").encode()


def once(pairs):
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name is repeated")
    return dict(pairs)


def fault(entry, seq, previous, index_id, keys):
    """What is wrong with one entry; None when nothing is."""
    signature = base64.b64decode(entry["signature"], validate=True)
    stated = {name: value for name, value in entry.items() if name not in ("hash", "signature")}
    key = None if keys is None else keys.get(entry["key_id"])
    if seq == 1 and entry["seq"] > 1:
        return f"it is missing: this is not the whole log, it begins with entry {entry['seq']}"
    if entry["seq"] != seq or entry["index_id"] != index_id:
        return "its number or its index is another"
    if entry["previous"] != previous:
        return "its previous hash is not that of the entry before"
    if hashlib.sha256(canonical(stated)).hexdigest() != entry["hash"]:
        return "its hash is not that of its content"
    if keys is None:
        return None
    if key is None:
        return "its key is not known"
    raw = base64.b64decode(key["public_key"])
    if hashlib.sha256(raw).hexdigest()[:16] != key["key_id"] or not is_signed(raw, bytes.fromhex(entry["hash"]), signature):
        return "its signature is not one of its key"
    if base64.b64encode(signature).decode() != entry["signature"]:
        return "its signature is written in another way"
    until = key["valid_until"]
    return None if key["valid_from"] <= entry["at"] and (until is None or entry["at"] <= until) else "its key was not valid then"


def known_keys(path):
    """Keys in a file by their ids; ends with 64 where it holds none."""
    try:
        with open(path, encoding="utf-8") as file:
            return {key["key_id"]: key for key in json.load(file)["keys"]}
    except (OSError, ValueError, KeyError, TypeError) as cause:
        unusable(f"{path} contains no keys in the form of GET .../published/keys ({type(cause).__name__})")


def entries_of(path):
    """Readers of the entries in a file, of one object or a line each."""
    with open(path, encoding="utf-8", newline="\n") as file:
        try:
            entries = list(json.load(file, object_pairs_hook=once)["entries"])
        except (ValueError, KeyError, TypeError):
            file.seek(0)
            for line in file:
                yield lambda: json.loads(line, object_pairs_hook=once)
        else:
            for entry in entries:
                yield lambda: entry


def unusable(sentence):
    print(sentence, file=sys.stderr)
    sys.exit(64)


def main(log, keys=None, head=None):
    if not os.path.isfile(log):
        unusable(f"{log} cannot be read")
    if head is not None and not re.fullmatch("[0-9a-fA-F]{64}", head):
        unusable(f"the hash of an entry has 64 hexadecimal digits: {head}")
    known = None if keys is None else known_keys(keys)
    previous, seq, index_id = "0" * 64, 0, None
    for seq, read in enumerate(entries_of(log), 1):
        try:
            entry = read()
            index_id = entry["index_id"] if index_id is None else index_id
            reason = fault(entry, seq, previous, index_id, known)
        except (ValueError, KeyError, TypeError, AttributeError) as cause:
            reason = f"it is no entry of a log ({cause})"
        if reason is not None:
            print(f"Entry {seq}: {reason}.")
            return 1
        previous = entry["hash"]
    if seq == 0:
        print("Entry 1: it is missing: the file has no entries.")
        return 1
    if head is not None and head.lower() != previous:
        print(f"Entry {seq + 1}: it is missing: the log ends with {previous}.")
        return 1
    extent = "The hash chain is intact; signatures not verified" if known is None else "The hash chain and the signatures are intact"
    print(f"{extent}: {seq} entries, last hash {previous}.")
    return 0


class Arguments(argparse.ArgumentParser):
    def error(self, message):
        unusable(f"{message}\n\n{__doc__}")


if __name__ == "__main__":
    arguments = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("log")
    arguments.add_argument("keys", nargs="?", help="as --key")
    arguments.add_argument("last", nargs="?", help="as --head")
    arguments.add_argument("--key", help="file of public keys; without it signatures are not verified")
    arguments.add_argument("--head", help="hash that the last entry must have")
    given = arguments.parse_args()
    sys.exit(main(given.log, given.key or given.keys, given.head or given.last))
