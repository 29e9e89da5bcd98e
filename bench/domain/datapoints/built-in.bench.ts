import { requireSandbox } from '#base/sandbox/sandbox.js';
import { createDaysCalendar } from '#domain/calendars/calendar.js';
import { loadPluginSandbox } from '#domain/datapoints/plugin-sandbox.js';
import { parseExpression } from '#domain/datapoints/expression-text.js';
import type { DatapointExpression } from '#domain/datapoints/expression-tree.js';
import { createLatestRequest } from '#domain/datapoints/fields.js';
import { readDefinitions, TreatmentSpec } from '#domain/definition/index-document.js';
import { type PluginDocument, resolvePluginCode } from '#domain/definition/plugins.js';
import { alignMarket } from '#domain/market/session-market.js';
import { createIndexCrossSections } from '#domain/decide/rule-decider.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createSeededMarket } from '../seeded-market.js';

/**
 * Compares expressions with built-in datapoints that read the same data. The case has 3,000 securities on 60 monthly
 * decisions; the processor time of the fastest of five rounds counts. Goal: at most 1.3 times the built-in datapoint.
 *
 * Also compares plug-ins with built-in datapoints of the same values. The case has 500 securities on each of 5,000
 * sessions; the processor time of the fastest of three alternating rounds counts. The values must agree. Limit: 20
 * times.
 *
 * The last cases read 252 values of each security in a loop in JavaScript, which a plug-in can avoid with inputs and
 * `rows`. These cases have no limit, because the interpreter alone takes longer. An empty loop over the same number of
 * rows is measured as well.
 */
const SECURITIES = 500;
const SESSIONS = 5000;
const ROUNDS = 3;
const LIMIT = 20;
const WINDOW = 252;

await loadPluginSandbox();
const calendars = openCalendars();
compareExpressions({ names: 3000, rounds: 5, goal: 1.3 });

const market = createSeededMarket(calendars, { names: SECURITIES, sessions: SESSIONS });
const sm = alignMarket({ market, calendar: createDaysCalendar(market.dates), calendars });
const columns = Int32Array.from(market.identifiers.keys());
const daily = Array.from({ length: SESSIONS }, (_, i) => i);
const monthly = daily.filter((session) => session >= WINDOW && session % 21 === 0);

const createPlugin = (inputs: PluginDocument['inputs'], source: string): PluginDocument => ({
  name: 'Bench',
  description: null,
  kind: 'datapoint',
  inputs,
  parameters: {},
  source,
});
const requestOnce = (expression: string) => ({ expression, sessions: 1 });

const MEAN_OF_ROWS = `function compute({ r }, parameters, count) {
  const means = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    let n = 0;
    let sum = 0;
    for (const value of r.subarray(i * ${WINDOW}, (i + 1) * ${WINDOW})) {
      if (value !== value) continue;
      n += 1;
      sum += value;
    }
    means[i] = n === 0 ? NaN : sum / n;
  }
  return means;
}`;

const MEAN = `function compute({ r }, parameters, count) {
  const means = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    let n = 0;
    let sum = 0;
    for (let t = i * ${WINDOW}; t < (i + 1) * ${WINDOW}; t++) {
      const value = r[t];
      if (value !== value) continue;
      n += 1;
      sum += value;
    }
    means[i] = n === 0 ? NaN : sum / n;
  }
  return means;
}`;

interface Case {
  readonly name: string;
  readonly plugin: PluginDocument;
  readonly built: DatapointExpression;
  readonly sessions: readonly number[];
  readonly limit: number;
}

const CASES: readonly Case[] = [
  {
    name: 'market capitalisation, each session',
    plugin: createPlugin(
      { close: requestOnce('CLOSE'), shares: requestOnce('SHARES_OUTSTANDING') },
      'function compute({ close, shares }) { return close.map((price, i) => price * shares[i]); }',
    ),
    built: createLatestRequest('MARKET_CAP'),
    sessions: daily,
    limit: LIMIT,
  },
  {
    name: 'share of the high of 252 sessions, each session',
    plugin: createPlugin(
      { close: requestOnce('CLOSE'), high: requestOnce(`max(CLOSE, window=${WINDOW})`) },
      'function compute({ close, high }) { return close.map((price, i) => price / high[i]); }',
    ),
    built: parseExpression(`CLOSE / max(CLOSE, window=${WINDOW})`).tree,
    sessions: daily,
    limit: LIMIT,
  },
  {
    name: 'mean return of 252 sessions by an input, each session',
    plugin: createPlugin(
      { mean: requestOnce(`mean(RETURN, window=${WINDOW})`) },
      'const compute = ({ mean }) => mean;',
    ),
    built: createLatestRequest('RETURN', { aggregate: 'mean', window: WINDOW }),
    sessions: daily,
    limit: LIMIT,
  },
  {
    name: 'the same by rows.mean, one of 21 sessions',
    plugin: createPlugin(
      { r: { expression: 'RETURN', sessions: WINDOW } },
      `const compute = ({ r }) => rows.mean(r, ${WINDOW}, ${WINDOW / 2});`,
    ),
    built: createLatestRequest('RETURN', { aggregate: 'mean', window: WINDOW }),
    sessions: monthly,
    limit: LIMIT,
  },
  {
    name: 'the same by rows.mean for each security separately',
    plugin: createPlugin(
      { r: { expression: 'RETURN', sessions: WINDOW } },
      `const compute = ({ r }, _, count) =>
        Array.from({ length: count }, (_, i) => rows.mean(r.subarray(i * ${WINDOW}, (i + 1) * ${WINDOW}), ${WINDOW}, ${WINDOW / 2})[0]);`,
    ),
    built: createLatestRequest('RETURN', { aggregate: 'mean', window: WINDOW }),
    sessions: monthly,
    limit: LIMIT,
  },
  {
    name: 'BETA of 252 sessions by rows, one of 21 sessions',
    plugin: createPlugin(
      { r: { expression: 'RETURN', sessions: WINDOW } },
      `function compute({ r }, _, count) {
        const market = rows.mean(rows.transpose(r, ${WINDOW}), count);
        return rows.beta(r, market, ${WINDOW}, ${WINDOW / 2});
      }`,
    ),
    built: createLatestRequest('BETA', { window: WINDOW }),
    sessions: monthly,
    limit: LIMIT,
  },
  {
    name: 'the mean in a loop over positions, one of 21 sessions',
    plugin: createPlugin({ r: { expression: 'RETURN', sessions: WINDOW } }, MEAN),
    built: createLatestRequest('RETURN', { aggregate: 'mean', window: WINDOW }),
    sessions: monthly,
    limit: Infinity,
  },
  {
    name: 'the same in a loop over values (for of)',
    plugin: createPlugin({ r: { expression: 'RETURN', sessions: WINDOW } }, MEAN_OF_ROWS),
    built: createLatestRequest('RETURN', { aggregate: 'mean', window: WINDOW }),
    sessions: monthly,
    limit: Infinity,
  },
];
const VALUES = monthly.length * SECURITIES * WINDOW;

for (const { name, plugin, built, sessions, limit } of CASES) {
  const plugins = { OWN: { plugin: 'own', parameters: {}, code: resolvePluginCode(plugin, {}, '0'.repeat(64)) } };
  const datapoints = readDefinitions({ plugins });
  const terms = { market: sm, treatment: TreatmentSpec.parse({}), currency: '', datapoints };
  const getValues = (field: DatapointExpression): Float64Array[] => {
    const sections = createIndexCrossSections(terms);
    return sessions.map((session) => sections.at(session, columns).numbers(field, columns));
  };
  const ownRequest = createLatestRequest('OWN');
  const times = { built: Infinity, own: Infinity };
  for (let round = 0; round < ROUNDS; round++) {
    times.built = Math.min(
      times.built,
      measureTime(() => getValues(built)),
    );
    times.own = Math.min(
      times.own,
      measureTime(() => getValues(ownRequest)),
    );
  }
  const difference = computeLargestDifference(getValues(ownRequest), getValues(built));
  const ratio = times.own / times.built;
  const valueTimeText = limit === LIMIT ? '' : `, ${((times.own / VALUES) * 1e6).toFixed(0)} ns a value`;
  console.log(
    `${name}: plug-in ${times.own.toFixed(0)} ms, built in ${times.built.toFixed(0)} ms, ratio ${ratio.toFixed(2)}, limit ${limit}${valueTimeText}; values differ by at most ${difference.toExponential(1)}`,
  );
  if (ratio > limit || !(difference < 1e-12)) process.exitCode = 1;
}

const rounds = SECURITIES * WINDOW;
const emptySpeed = {
  source: `function compute(inputs, parameters, count) { for (let i = 0; i < ${rounds}; i++); return new Float64Array(count); }`,
  parameters: {},
  inputs: [],
};
let floor = Infinity;
for (let call = 0; call < 50; call++)
  floor = Math.min(
    floor,
    measureTime(() => requireSandbox().compute(emptySpeed, [], SECURITIES)),
  );
console.log(`an empty loop: ${((floor / rounds) * 1e6).toFixed(0)} ns a round`);

/** Returns the processor time of a function, in milliseconds. */
function measureTime(work: () => void): number {
  const begin = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1000;
}

/**
 * Returns the largest relative difference of two arrays. Returns Infinity if a value is missing in only one of them.
 */
function computeLargestDifference(left: readonly Float64Array[], right: readonly Float64Array[]): number {
  let largest = 0;
  left.forEach((values, t) =>
    values.forEach((value, i) => {
      const other = right[t]![i]!;
      if (value === other || (Number.isNaN(value) && Number.isNaN(other))) return;
      const difference = Math.abs(value - other) / Math.abs(other);
      largest = Math.max(largest, Number.isNaN(difference) ? Infinity : difference);
    }),
  );
  return largest;
}

function compareExpressions({ names, rounds, goal }: Readonly<Record<'names' | 'rounds' | 'goal', number>>): void {
  const shares = 'CLOSE * SHARES_OUTSTANDING';
  const pairs: readonly (readonly [built: DatapointExpression, text: string])[] = [
    [createLatestRequest('MARKET_CAP'), shares],
    [createLatestRequest('MARKET_CAP', { transform: 'zscore' }), `zscore(${shares})`],
    [createLatestRequest('MARKET_CAP', { aggregate: 'mean', window: 60 }), `mean(${shares}, window=60)`],
    [createLatestRequest('MARKET_CAP', { aggregate: 'median', window: 252 }), `median(${shares}, window=252)`],
    [createLatestRequest('RETURN', { aggregate: 'std', window: 252 }), 'std(RETURN, window=252)'],
    [createLatestRequest('MOMENTUM', { transform: 'percentile' }), 'percentile(MOMENTUM)'],
  ];
  const large = createSeededMarket(calendars, { names, sessions: 1600 });
  const terms = {
    market: alignMarket({ market: large, calendar: createDaysCalendar(large.dates), calendars }),
    treatment: TreatmentSpec.parse({}),
    currency: '',
  };
  const everyColumn = Int32Array.from(large.identifiers.keys());
  const decisions = Array.from({ length: 60 }, (_, i) => 300 + 21 * i);
  const timeField = (field: DatapointExpression): number => {
    const sections = createIndexCrossSections(terms);
    sections.at(decisions[0]!, everyColumn).numbers(field, everyColumn);
    return measureTime(() => {
      for (const session of decisions) sections.at(session, everyColumn).numbers(field, everyColumn);
    });
  };
  for (const [built, text] of pairs) {
    const expression = parseExpression(text).tree;
    const times = { built: Infinity, expression: Infinity };
    for (let round = 0; round < rounds; round++) {
      times.built = Math.min(times.built, timeField(built));
      times.expression = Math.min(times.expression, timeField(expression));
    }
    const ratioText = (times.expression / times.built).toFixed(2);
    console.log(
      `${text}: ${times.expression.toFixed(1)} ms, built in ${times.built.toFixed(1)} ms, ratio ${ratioText}, goal ${goal}`,
    );
  }
}
