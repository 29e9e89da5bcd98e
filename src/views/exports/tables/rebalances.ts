import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { recordParts } from '#domain/backtest/run-file/record.js';
import { dayFrom, type Day } from '#domain/time/days.js';
import { rebalanceFigures, weightsAround } from '../../rebalance-figures.js';
import { inBatches, NONE, type Producer } from '../batch.js';

export const rebalances: Producer<'rebalances'> = ({ columns, window: { start, end } }, from) => {
  const { header } = columns;
  const decided = decisionDays(columns);
  const costs = columns.f64('costs');
  const around = weightsAround(columns);
  const rows = header.rebalances.flatMap((stored, r) =>
    (start !== null && stored.date < start) || (end !== null && stored.date > end)
      ? []
      : [{ at: stored.at, ...rebalanceFigures(around(r), stored) }],
  );
  const counts = (of: (row: (typeof rows)[number]) => number): Int32Array => Int32Array.from(rows, of);
  return inBatches<'rebalances'>(
    {
      count: rows.length,
      columns: {
        date: Int32Array.from(rows, ({ date }) => dayFrom(date)),
        decision_date: Int32Array.from(rows, ({ date }) => decided.get(dayFrom(date)) ?? NONE),
        constituents: counts(({ constituents }) => constituents),
        added: counts(({ added }) => added),
        removed: counts(({ removed }) => removed),
        turnover: Float64Array.from(rows, ({ turnover }) => turnover ?? Number.NaN),
        cost: Float64Array.from(rows, ({ at }) => (at < 0 ? Number.NaN : costs[at]!)),
        gross_constituents: counts(({ grossConstituents }) => grossConstituents),
      },
    },
    from,
  );
};

/** Day of the decision by effective date, of the latest compositions of the index. */
function decisionDays(columns: RunColumns): ReadonlyMap<Day, Day> {
  if (!columns.has('record')) return new Map();
  return new Map(
    recordParts(columns)
      .snapshots()
      .map(({ date, announced, reference }) => [date, announced === null ? date : (reference ?? announced)]),
  );
}
