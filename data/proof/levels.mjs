// The twin of levels.py in plain JavaScript, for machines without Python or numpy: the same rules, functions and output.
//
//   node levels.mjs FOLDER
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const TOLERANCE = 1e-12;
const BASE = '2019-01-02';
const FOLDER = process.argv[2];

function read(name) {
  const [header, ...lines] = readFileSync(join(FOLDER, name), 'utf8').trim().split(/\r?\n/);
  const columns = header.split(',');
  return lines.map((line) => {
    const cells = line.split(',');
    return Object.fromEntries(columns.map((column, k) => [column, cells[k]]));
  });
}

function stop(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

const rows = read('market.csv');
const dates = [...new Set(rows.map((row) => row.date))].sort();
const names = [...new Set(rows.map((row) => row.identifier))].sort();
const session = new Map(dates.map((day, t) => [day, t]));
const column = new Map(names.map((name, i) => [name, i]));
const [T, N] = [dates.length, names.length];
const grid = (value) => Array.from({ length: T }, () => new Float64Array(N).fill(value));
const [close, price, cap, freeCap] = [grid(NaN), grid(NaN), grid(NaN), grid(NaN)];
for (const row of rows) {
  const [t, i] = [session.get(row.date), column.get(row.identifier)];
  close[t][i] = price[t][i] = Number(row.CLOSE);
  cap[t][i] = close[t][i] * Number(row.SHARES_OUTSTANDING);
  freeCap[t][i] = cap[t][i] * Number(row.FREE_FLOAT);
}

// Events by session and security. The end of a security is its cash, or the ratio and column of its acquirer.
const [split, special, dividend, age] = [grid(1), grid(0), grid(0), grid(1e6)];
const [ends, spinOffs] = [dates.map(() => []), dates.map(() => [])];
const lastSession = new Array(N).fill(T);
for (const { identifier, type, value: text, ex_date: day, related } of read('corporate_actions.csv')) {
  const [t, i, value] = [session.get(day), column.get(identifier), Number(text)];
  if (type === 'DIVIDEND') dividend[t][i] += value;
  else if (type === 'SPECIAL_DIVIDEND') special[t][i] += value;
  else if (['SPLIT', 'STOCK_DIVIDEND', 'BONUS_ISSUE'].includes(type)) split[t][i] *= value;
  else if (type === 'SPIN_OFF') spinOffs[t].push([i, column.get(related), value]);
  else if (['ACQUISITION', 'DELISTING', 'MERGER'].includes(type)) {
    ends[t].push([i, value, type === 'MERGER' ? column.get(related) : null]);
    lastSession[i] = t;
  } else stop(`No rule for the corporate action ${type} of ${identifier} on ${day}.`);
}

// The price of a session is the last close, after later splits and special dividends; age counts sessions that have no close.
const returns = grid(NaN);
for (let t = 0; t < T; t++)
  for (let i = 0; i < N; i++) {
    if (!Number.isNaN(close[t][i])) age[t][i] = 0;
    else if (t > 0) {
      price[t][i] = price[t - 1][i] / split[t][i] - special[t][i];
      cap[t][i] = cap[t - 1][i];
      freeCap[t][i] = freeCap[t - 1][i];
      age[t][i] = age[t - 1][i] + 1;
    }
    // NaN unless both sessions have a close.
    if (t > 0) returns[t][i] = (close[t][i] + dividend[t][i]) / (close[t - 1][i] / split[t][i] - special[t][i]) - 1;
  }

const sum = (values) => values.reduce((total, value) => total + value, 0);
const weigh = (members, values) => {
  const total = sum(values);
  const weights = new Float64Array(N);
  for (const [k, i] of members.entries()) weights[i] = values[k] / total;
  return weights;
};

/** The largest securities by market value that are listed and had a close on one of the last five sessions. */
function largest(t, count) {
  const listed = names.map((_, i) => i).filter((i) => age[t][i] < 5 && t < lastSession[i]);
  const ranked = listed.sort((a, b) => cap[t][b] - cap[t][a] || (names[a] < names[b] ? -1 : 1));
  return ranked.slice(0, count).sort((a, b) => a - b);
}

/** min(limit, scale * value) with the scale for which the weights sum to 1. */
function capped(t, members, limit) {
  const raw = weigh(
    members,
    members.map((i) => freeCap[t][i]),
  );
  const atLimit = new Set();
  for (;;) {
    const scale = (1 - limit * atLimit.size) / sum(members.map((i) => (atLimit.has(i) ? 0 : raw[i])));
    const above = members.filter((i) => !atLimit.has(i) && scale * raw[i] > limit);
    if (above.length === 0) return raw.map((value, i) => (atLimit.has(i) ? limit : scale * value));
    for (const i of above) atLimit.add(i);
  }
}

function inverseVolatility(t, members) {
  const windows = members.map((i) =>
    returns.slice(Math.max(0, t - 251), t + 1).flatMap((row) => (Number.isNaN(row[i]) ? [] : [row[i]])),
  );
  const kept = members.filter((_, k) => windows[k].length >= 60);
  const deviations = windows
    .filter((window) => window.length >= 60)
    .map((window) => {
      const mean = sum(window) / window.length;
      return Math.sqrt(sum(window.map((value) => (value - mean) ** 2)) / (window.length - 1));
    });
  return weigh(
    kept,
    deviations.map((deviation) => 1 / deviation),
  );
}

/** The sessions of an anchor: the third Friday, or the next session after it; or the last session of a month. */
function anchored(day, months) {
  const found = new Set();
  for (const month of new Set(dates.map((text) => text.slice(0, 7)))) {
    if (!months.includes(Number(month.slice(5)))) continue;
    const firstWeekday = new Date(`${month}-01T00:00:00Z`).getUTCDay();
    const friday = `${month}-${1 + ((5 - firstWeekday + 7) % 7) + 14}`;
    const within = dates.flatMap((text, t) => (text.startsWith(month) ? [t] : []));
    found.add(day === 'last' ? within.at(-1) : within.find((t) => dates[t] >= friday));
  }
  return found;
}

/** The shares at a close, and after it. kept: a split leaves the number; reinvest: dividends buy the security. */
function act(shares, t, kept = false, reinvest = false) {
  const now = shares.map((count, i) => count * (kept ? 1 : split[t][i]));
  for (const [parent, child, ratio] of spinOffs[t]) now[child] += now[parent] * ratio;
  if (reinvest) for (let i = 0; i < N; i++) if (now[i] > 0) now[i] *= 1 + dividend[t][i] / price[t][i];
  const after = now.slice();
  for (const [i, value, into] of ends[t]) {
    if (into !== null) after[into] += after[i] * value;
    after[i] = 0;
  }
  return { now, after };
}

const multiply = (shares, values) =>
  shares.reduce((total, count, i) => (count === 0 ? total : total + count * values[i]), 0);

function valueOf(shares, t, ended = true) {
  const worth = price[t].slice();
  if (ended) for (const [i, value, into] of ends[t]) worth[i] = into === null ? value : value * worth[into];
  return multiply(shares, worth);
}

/** received: fraction of a dividend that the level contains; exact: the weights at the effective close are targets. */
function run(sessions, decide, { lag = 0, received = 0, basket = false, exact = false, reinvest = false }) {
  const start = session.get(BASE);
  let [points, paid, divisor] = [1000, 1000, 1]; // the price return, and the level with dividends
  let shares = new Float64Array(N);
  const levels = [];
  for (let t = start; t < T; t++) {
    if (t > start) {
      const before = valueOf(shares, t - 1, false);
      const held = shares.map((count, i) => count * (basket ? 1 : split[t][i]));
      divisor *=
        multiply(
          held,
          price[t - 1].map((value, i) => value / split[t][i] - special[t][i]),
        ) / before;
      const { now, after } = act(shares, t, basket, reinvest);
      const worth = valueOf(now, t);
      const previous = points;
      points = worth / divisor;
      paid *= (points + (received * multiply(held, dividend[t])) / divisor) / previous;
      divisor *= valueOf(after, t, false) / worth;
      shares = after;
    }
    levels.push(paid);
    if (t !== start && !sessions.has(t)) continue;
    const weights = decide(t - lag);
    let target = weights.map((weight, i) => (weight > 0 ? (basket ? 1 : weight / price[t - lag][i]) : 0));
    for (let s = t - lag + 1; s <= t; s++) target = act(target, s, false, reinvest).after;
    if (exact) target = weights.map((weight, i) => (weight > 0 && target[i] > 0 ? weight / price[t][i] : 0));
    const scale = valueOf(target, t, false) / points;
    shares = basket ? target : target.map((count) => (count * divisor) / scale);
    if (basket) divisor = scale;
  }
  return levels;
}

const all = dates.slice(session.get(BASE));
const [quarters, halves] = [
  [3, 6, 9, 12],
  [6, 12],
];
const months = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
const caps = run(anchored('friday', quarters), (t) => capped(t, largest(t, 25), 0.08), { lag: 5, received: 1 });
const computed = {
  'PRICE-20': run(
    anchored('last', [12]),
    (t) =>
      weigh(
        largest(t, 20),
        largest(t, 20).map((i) => price[t][i]),
      ),
    { basket: true },
  ),
  'CAPPED-25': caps,
  EQUAL: run(
    anchored('last', months),
    (t) =>
      weigh(
        largest(t, N),
        largest(t, N).map(() => 1),
      ),
    {
      lag: 2,
      received: 0.85,
      exact: true,
    },
  ),
  'RISK-15': run(anchored('friday', halves), (t) => inverseVolatility(t, largest(t, 15)), { lag: 3, reinvest: true }),
  'DECREMENT-5': caps.map((level, t) => level * 0.95 ** ((Date.parse(all[t]) - Date.parse(all[0])) / 864e5 / 365)),
};
const served = new Map();
for (const { index, date, level } of read('levels.csv')) {
  if (!served.has(index)) served.set(index, new Map());
  served.get(index).set(date, Number(level));
}
let worst = 0;
for (const [name, levels] of Object.entries(computed)) {
  const given = served.get(name) ?? new Map();
  if ([...given.keys()].join() !== all.join())
    stop(`${name}: the sessions of levels.csv are not those of market.csv from ${BASE} on.`);
  const differences = all.map((day, t) => Math.abs(levels[t] / given.get(day) - 1));
  const off = differences.findIndex((difference) => !(difference <= TOLERANCE));
  const largestOfIndex = Math.max(...differences);
  const first = off < 0 ? '' : `, first on ${all[off]}`;
  process.stdout.write(
    `${name.padEnd(12)} ${all.length} sessions, largest difference ${largestOfIndex.toExponential(1)}${first}\n`,
  );
  worst = Math.max(worst, Number.isNaN(largestOfIndex) ? Infinity : largestOfIndex);
}
const verdict = worst <= TOLERANCE ? 'equal' : 'DIFFERENT';
process.stdout.write(`Largest difference ${worst.toExponential(1)}; at most ${TOLERANCE} is allowed: ${verdict}\n`);
process.exitCode = worst <= TOLERANCE ? 0 : 1;
