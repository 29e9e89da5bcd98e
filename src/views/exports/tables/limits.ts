import { TOLERANCE } from '#domain/compliance/measure.js';
import { LIMIT_RULE_NAMES } from '#domain/compliance/rules.js';
import { watchRules } from '../../limits/watched-rules.js';
import { yieldBatches, MISSING_INTEGER, toTextValues, type Producer } from '../batch.js';
import { createSpan } from '../span.js';

const STATES = ['within', 'breached'] as const;

export const produceLimits: Producer<'limits'> = ({ columns, window, market, by, keep }, offset) => {
  const days = columns.i32('days');
  const { from, to } = createSpan(days, window);
  if (from === to) return [];
  const rules = watchRules(columns, { market, by, from, to: to - 1, withDistances: true, keep });
  const { names } = columns.header;
  const count = (to - from) * rules.length;
  const rows = Array.from({ length: count }, (_, row) => ({
    date: Math.floor(row / rules.length),
    rule: row % rules.length,
  }));
  const distances = rows.map(({ date, rule }) => rules[rule]!.distances[date]!);
  const headroom = Float64Array.from(rows, ({ date, rule }) => rules[rule]!.headroom[date]!);
  return yieldBatches<'limits'>(
    {
      count,
      columns: {
        date: Int32Array.from(rows, ({ date }) => days[from + date]!),
        rule: { codes: Int32Array.from(rows, ({ rule }) => rule), texts: LIMIT_RULE_NAMES },
        headroom,
        state: { codes: Int32Array.from(headroom, (value) => Number(value < -TOLERANCE)), texts: STATES },
        nearest: { codes: Int32Array.from(distances, (distance) => distance?.name ?? -1), texts: names },
        move: Float64Array.from(distances, (distance) => distance?.move ?? NaN),
      },
    },
    offset,
  );
};

export const produceBreaches: Producer<'breaches'> = ({ columns, window, market, by, keep }, offset) => {
  const days = columns.i32('days');
  const { from, to } = createSpan(days, window);
  if (from === to) return [];
  const results = watchRules(columns, { market, by, from, to: to - 1, keep }).flatMap(({ rule, breaches }) =>
    breaches.map((breach) => ({ rule, ...breach })),
  );
  const rows = results.toSorted((a, b) => a.begin - b.begin); // stable: breaches that begin on the same date keep the order of the rules
  return yieldBatches<'breaches'>(
    {
      count: rows.length,
      columns: {
        begin: Int32Array.from(rows, ({ begin }) => days[begin]!),
        end: Int32Array.from(rows, ({ end }) => (end === null ? MISSING_INTEGER : days[end]!)),
        rule: toTextValues(rows.map(({ rule }) => rule)),
        row: toTextValues(rows.map(({ row }) => row)),
        cause: toTextValues(rows.map(({ cause }) => cause)),
        worst_date: Int32Array.from(rows, ({ worst }) => days[worst.at]!),
        worst_value: Float64Array.from(rows, ({ worst }) => worst.value),
        limit: Float64Array.from(rows, ({ worst }) => worst.limit),
      },
    },
    offset,
  );
};
