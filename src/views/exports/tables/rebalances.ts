import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { openRecordParts } from '#domain/backtest/run-file/record.js';
import { isReviewed } from '#domain/schedule/rebalance-causes.js';
import { parseValidDay, type Day } from '#domain/time/days.js';
import { computeRebalanceFigures, createWeightsReader } from '../../rebalance-figures.js';
import { yieldBatches, MISSING_INTEGER, toTextValues, type Producer } from '../batch.js';

export const produceRebalances: Producer<'rebalances'> = ({ columns, window: { start, end } }, from) => {
  const { header } = columns;
  const decisions = getDecisions(columns);
  const costs = columns.f64('costs');
  const readWeightsAround = createWeightsReader(columns);
  const rows = header.rebalances.flatMap((storedRebalance, r) =>
    (start !== null && storedRebalance.date < start) || (end !== null && storedRebalance.date > end)
      ? []
      : [{ at: storedRebalance.at, ...computeRebalanceFigures(readWeightsAround(r), storedRebalance) }],
  );
  const readCounts = (readRow: (row: (typeof rows)[number]) => number): Int32Array => Int32Array.from(rows, readRow);
  return yieldBatches<'rebalances'>(
    {
      count: rows.length,
      columns: {
        date: Int32Array.from(rows, ({ date }) => parseValidDay(date)),
        decision_date: Int32Array.from(rows, ({ date }) => decisions.get(parseValidDay(date))?.day ?? MISSING_INTEGER),
        cause: toTextValues(rows.map(({ cause }) => cause)),
        review: toTextValues(
          rows.map(({ cause, date }) =>
            isReviewed(cause) ? (decisions.get(parseValidDay(date))?.reviews ?? null) : null,
          ),
        ),
        constituents: readCounts(({ constituents }) => constituents),
        added: readCounts(({ added }) => added.length),
        removed: readCounts(({ removed }) => removed.length),
        turnover: Float64Array.from(rows, ({ turnover }) => turnover ?? Number.NaN),
        cost: Float64Array.from(rows, ({ at }) => (at < 0 ? Number.NaN : costs[at]!)),
        gross_constituents: readCounts(({ grossConstituents }) => grossConstituents),
      },
    },
    from,
  );
};

interface Decision {
  readonly day: Day;
  readonly reviews: string | null;
}

/** Returns the decisions of the newest compositions of the index, by effective date. */
function getDecisions(columns: RunColumns): ReadonlyMap<Day, Decision> {
  if (!columns.has('record')) return new Map();
  const snapshots = openRecordParts(columns).snapshots();
  return new Map(
    snapshots.map(({ date, announced, reference, reviews }) => [
      date,
      { day: announced === null ? date : (reference ?? announced), reviews: reviews?.join(', ') ?? null },
    ]),
  );
}
