import type { AssetView } from '#contract/analytics/analytics.js';
import type { BatchReferenceResponse } from '#contract/data.js';
import { computeRelativeMetrics, type DatedSeries } from '#domain/analytics/relative-returns.js';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { Refusal } from '#domain/base/refusals.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { computeGrowthStep } from '#domain/market/action-effects.js';
import { formatCsvTable } from './formats/text.js';
import { listRunEffects, roundOnDay } from './run-columns.js';

/**
 * Returns the view of a security in a stored run.
 * @throws Refusal ASSET_NOT_IN_RUN, NO_COMMON_DATES
 */
export function createAssetView(columns: RunColumns, identifier: string): AssetView {
  const { header } = columns;
  const { names, rebalances, run_id } = header;
  const name = names.indexOf(identifier);
  if (name < 0) throw new Refusal('ASSET_NOT_IN_RUN', `The run of ${run_id} never held ${identifier}.`, { identifier });
  const days = columns.i32('days');
  const price = columns.column('price', name);
  const pricedSessions = [...price.keys()].filter((t) => price[t] === price[t]);
  const ownDatedSeries: DatedSeries = {
    days: Int32Array.from(pricedSessions, (t) => days[t]!),
    values: computeUnitValue(columns, name, price).filter((_, t) => price[t] === price[t]),
  };
  const relativeMetrics = computeRelativeMetrics(ownDatedSeries, { days, values: columns.f64('level') });
  const readHistory = (block: 'targets' | 'raw') => {
    const weights = columns.f64(block);
    const targets = block === 'targets' ? weights : columns.f64('targets');
    return Object.fromEntries(
      rebalances.flatMap(({ date }, r) =>
        targets[r * names.length + name] !== 0
          ? [[date, roundOnDay(columns, 'weights', parseValidDay(date))(weights[r * names.length + name]!)]]
          : [],
      ),
    );
  };
  const weightHistory = readHistory('targets');
  return {
    index_id: run_id,
    identifier,
    beta: relativeMetrics.beta,
    correlation: relativeMetrics.correlation,
    excess_return: relativeMetrics.excessReturn,
    index_return: relativeMetrics.benchmarkReturn,
    total_return: relativeMetrics.totalReturn,
    tracking_error: relativeMetrics.trackingError,
    observations: relativeMetrics.observations,
    rebalances_held: Object.keys(weightHistory).length,
    price: {
      index: Array.from(ownDatedSeries.days, formatDay),
      data: pricedSessions.map((t) => price[t]!),
      name: identifier,
    },
    weight_history: weightHistory,
    raw_weight_history: readHistory('raw'),
  };
}

/**
 * Computes the value of one unit of the security on each date, [T]. Dividends are treated as in the run. The value is
 * NaN before the first bar.
 */
function computeUnitValue(columns: RunColumns, name: number, price: Float64Array): Float64Array {
  const { header } = columns;
  const weights = columns.column('weights', name);
  const effects = new Map(
    listRunEffects(columns).flatMap(({ name: affectedName, at, effect, onShort }) =>
      affectedName === name ? [[at, weights[at - 1]! < 0 ? onShort : effect] as const] : [],
    ),
  );
  // Runs up to version 0.2.0 do not store the payments of short positions. They are derived from the change of the
  // weights.
  const hasShortPayments = columns.has('shortCash') || header.variant !== 'net';
  const row = header.foreign[String(name)];
  const rates = row === undefined ? null : columns.f64('rates', row * header.dates, (row + 1) * header.dates);
  const values = new Float64Array(price.length).fill(Number.NaN);
  let carriedPrice = Number.NaN;
  let value = Number.NaN;
  for (let t = 0; t < price.length; t++) {
    const bar = price[t]!;
    const effect = effects.get(t);
    if (carriedPrice !== carriedPrice) {
      if (bar === bar) value = 1;
      carriedPrice = bar;
    } else {
      const step = effect
        ? computeGrowthStep(effect, carriedPrice, bar)
        : { factor: bar === bar ? bar / carriedPrice : 1, carried: bar === bar ? bar : carriedPrice };
      if (effect && !hasShortPayments && weights[t - 1]! < 0) value *= computePositionGrowth(columns, { name, at: t });
      else value *= rates ? step.factor * (rates[t]! / rates[t - 1]!) : step.factor;
      carriedPrice = step.carried;
    }
    values[t] = value;
  }
  return values;
}

/** Returns the growth of a position from the previous close to the close of a date, before any trade. */
function computePositionGrowth(
  columns: RunColumns,
  { name, at }: { readonly name: number; readonly at: number },
): number {
  const H = columns.header.names.length;
  const event = columns.i32('eventAt').indexOf(at);
  const [block, row] = event < 0 ? (['weights', at] as const) : (['before', event] as const);
  const getWeight = (panel: 'weights' | 'before', r: number): number =>
    columns.f64(panel, r * H + name, r * H + name + 1)[0]!;
  return (
    (getWeight(block, row) * columns.f64(columns.has('drift') ? 'drift' : 'gross', at, at + 1)[0]!) /
    getWeight('weights', at - 1)
  );
}

/** Formats the reference data of securities as CSV, one row per security. A value is empty if the store has no value. */
export function formatReferenceCsv({ entries }: BatchReferenceResponse): string {
  const names = [...new Set(entries.flatMap(({ fields }) => Object.keys(fields)))];
  const rows = entries.map(({ identifier, found, fields }) => [
    identifier,
    found,
    ...names.map((name) => toCell(fields[name])),
  ]);
  return formatCsvTable(['identifier', 'found', ...names], rows);
}

function toCell(value: unknown): string | number | boolean | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'object' ? JSON.stringify(value) : (value as string | number | boolean); // other values do not occur in JSON
}
