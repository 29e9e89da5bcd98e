import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasModule, isPythonHere, openPythonUser, reportMissing, type PythonUser } from './python-user.js';

reportMissing("the Python client's batches", { python3: isPythonHere, pandas: hasModule('pandas') });

let user: PythonUser;
beforeAll(async () => {
  if (isPythonHere) user = await openPythonUser();
});
afterAll(() => user?.close());

const runScript = (script: string) => user.runScript(script);

describe.skipIf(!isPythonHere)('batches of the Python client', () => {
  test('runs a batch of accounts from a file and from dictionaries, and reads accounts, trades and one account', async () => {
    const output = await runScript(`
import csv, io
d.estimate_risk_model("py-factors", index_id="PY", estimator="statistical", factors=2, start="2020-08-03")
names = [row["identifier"] for row in d.weights("PY")["weights"]][:2]
terms = {"parent": "PY", "risk_model": "py-factors", "defaults": {"tax": {"short_rate": 0.3}}}
accounts = [{"account_id": "A", "cash": 5000, "exclusions": names[:1]}, {"account_id": "B", "cash": -1}]
seen = []
view = d.batches.run(accounts, terms, "py-one", progress=lambda job: seen.append(job["status"]))
template = list(csv.DictReader(io.StringIO(d.batches.template())))
row = {**{name: "" for name in template[0]}, "account_id": "C", "identifier": names[0], "shares": "3", "cost": "1", "acquired": "2020-02-03"}
with open("accounts.csv", "w", newline="") as file:
    writer = csv.DictWriter(file, row.keys())
    writer.writeheader()
    writer.writerow(row)
d.batches.submit("accounts.csv", terms, "py-two").wait()
try:
    d.batches.submit("accounts.xlsx", terms)
except ValueError as failure:
    refused = str(failure)
found = d.batches.account("py-one", "A")
assert d.batches.account("py-one", "A", position=0) == found
summary = d.batches.accounts("py-one")
print(json.dumps([view["by_status"], seen[-1], [one["status"] for one in d.batches.results("py-two")], refused[:18],
  found["account_id"], names[0] in [trade["identifier"] for trade in d.batches.trades("py-one")], len(d.batches.trades("py-one")) == len(found["trades"]),
  [[row["account_id"], row["position"]] for row in summary], "trades" in summary[0], d.batches.list()[0]["job_id"]]))`);
    expect(output).toEqual([
      { optimal: 1, refused: 1 },
      'succeeded',
      ['optimal'],
      'accounts.xlsx must',
      'A',
      false,
      true,
      [
        ['A', 0],
        ['B', 1],
      ],
      false,
      'batch:py-two',
    ]);
  });

  test.skipIf(!hasModule('pandas'))(
    'runs batches of frames with a row per lot and per account, and returns the same results as frames',
    async () => {
      const output = await runScript(`
import pandas
d.estimate_risk_model("frame-factors", index_id="PY", estimator="statistical", factors=2, start="2020-08-03")
name = d.weights("PY")["weights"][0]["identifier"]
terms = {"parent": "PY", "risk_model": "frame-factors"}
lot = {"identifier": name, "shares": 3.0, "cost": 1.0, "acquired": "2020-02-03"}
rows = pandas.DataFrame([{"account_id": one, **lot, "cash": 500.0, "exclusions": [name] if one == "A" else None} for one in "AB"])
rows["acquired"] = pandas.to_datetime(rows["acquired"])
d.batches.run(rows, terms, "by-lot")
nested = pandas.DataFrame([{"account_id": one, "cash": 500.0, "lots": [lot], "exclusions": [name] if one == "A" else None} for one in "AB"])
d.batches.run(nested, terms, "by-account")
framed = Divisor().batches
print(json.dumps([list(d.batches.results("by-lot")) == list(d.batches.results("by-account")), framed.accounts("by-lot")["account_id"].tolist(), framed.trades("by-lot")["account_id"].nunique()]))`);
      expect(output).toEqual([true, ['A', 'B'], 2]);
    },
  );
});
