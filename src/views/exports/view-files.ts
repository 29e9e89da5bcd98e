import type { LimitsView } from '#contract/analytics/run-views.js';
import type { Finding } from '#domain/base/findings.js';
import {
  type ExportFormat,
  EXPOSURE_TABLES,
  type ExposureTable,
  LIMIT_TABLES,
  type LimitTable,
  ORDERS,
  SCENARIO_TABLES,
  type ScenarioTable,
} from '#domain/outputs/exports.js';
import type { PackAccount, PackTrade } from '#domain/studies/rebalance-pack.js';
import type { ScenarioResult } from '#domain/studies/scenarios.js';
import type { Exposures, FieldSeries } from '../exposures.js';
import { type ColumnValues, type NamedColumn, toTextValues } from '../formats/batch.js';
import { createRowTableFile, createTableFile, type TableCells } from './files.js';

const NAME = 'orders';

/** Returns the orders of a rebalance pack as a complete file. It has at most a few thousand rows. */
export function createPackOrders(
  indexId: string,
  accounts: readonly PackAccount[],
  format: Exclude<ExportFormat, 'json'>,
): Promise<Uint8Array> {
  return createTableFile(
    { runId: indexId, name: NAME, columns: ORDERS.columns, rows: createOrderRows(accounts) },
    format,
  );
}

type Order = PackTrade & { readonly account: string };

function createOrderRows(accounts: readonly PackAccount[]): {
  readonly columns: NamedColumn[];
  readonly count: number;
} {
  const orders = accounts.flatMap(({ name, trades }) => trades.map((trade): Order => ({ ...trade, account: name })));
  const columns = Object.entries(ORDERS.columns).map(([name, { type }]): NamedColumn => {
    const cells = orders.map((order) => order[name as keyof Order]); // the table contains only members of an order
    return { name, type, values: getValues(cells) };
  });
  return { columns, count: orders.length };
}

function getValues(cells: readonly (string | number | null)[]): ColumnValues {
  return cells.some((cell) => typeof cell === 'string')
    ? toTextValues(cells.map(String))
    : Float64Array.from(cells, (cell) => (typeof cell === 'number' ? cell : Number.NaN));
}

/** Returns a table of exposures on the shown dates as a complete file. */
export function createExposuresFile(
  exposures: Exposures,
  table: ExposureTable,
  format: Exclude<ExportFormat, 'json'>,
): Promise<Uint8Array> {
  const { columns } = EXPOSURE_TABLES[table];
  const result = ROWS[table](exposures);
  const namedColumns = Object.entries(columns).map(([name, { type }]): NamedColumn => ({
    name,
    type,
    values: result.values[name]!,
  }));
  const rows = { columns: namedColumns, count: result.count };
  return createTableFile({ runId: exposures.indexId, name: table, columns, rows }, format);
}

interface Rows {
  readonly count: number;
  readonly values: Readonly<Record<string, ColumnValues>>;
}

const ROWS: Readonly<Record<ExposureTable, (exposures: Exposures) => Rows>> = {
  groups({ days, groups }) {
    const rows = createDatedRows(days, groups);
    return {
      count: rows.count,
      values: {
        date: rows.dates,
        group: rows.labels(groups.map(({ group }) => group)),
        weight: rows.numbers(({ weights }) => weights),
        benchmark_weight: rows.numbers(({ benchmark }) => benchmark),
      },
    };
  },
  fields({ days, fields }) {
    const rows = createDatedRows(days, fields);
    const ownFigures = Object.entries(FIGURES).map(([name, figure]) => [
      name,
      rows.numbers((field) => figure(field.own)),
    ]);
    const other = Object.entries(FIGURES).map(([name, figure]) => [
      `benchmark_${name}`,
      rows.numbers(({ benchmark }) => benchmark && figure(benchmark)),
    ]);
    const field = rows.labels(fields.map((item) => item.field));
    return { count: rows.count, values: { date: rows.dates, field, ...Object.fromEntries([...ownFigures, ...other]) } };
  },
  concentration({ days, herfindahl, effective, largest, grossEffective, grossLargest, turnover, activeShare }) {
    const active_share = activeShare ?? new Float64Array(days.length).fill(NaN);
    const grossColumns = { gross_effective: grossEffective, gross_largest: grossLargest };
    return {
      count: days.length,
      values: { date: days, herfindahl, effective, largest, turnover, active_share, ...grossColumns },
    };
  },
};

const FIGURES: Readonly<Record<string, (series: FieldSeries) => Float64Array>> = {
  mean: ({ mean }) => mean,
  coverage: ({ coverage }) => coverage,
  p10: ({ percentiles }) => percentiles.p10,
  p25: ({ percentiles }) => percentiles.p25,
  p50: ({ percentiles }) => percentiles.p50,
  p75: ({ percentiles }) => percentiles.p75,
  p90: ({ percentiles }) => percentiles.p90,
};

/** Returns functions that build columns with one row per item and date. Rows are grouped by date. */
function createDatedRows<T>(days: Int32Array, items: readonly T[]) {
  const width = items.length;
  const count = days.length * width;
  const dates = new Int32Array(count);
  const codes = new Int32Array(count);
  for (let t = 0, row = 0; t < days.length; t++) {
    for (let k = 0; k < width; k++, row++) {
      dates[row] = days[t]!;
      codes[row] = k;
    }
  }
  return {
    count,
    dates,
    labels: (texts: readonly string[]): ColumnValues => ({ codes, texts }),
    /**
     * Returns a column of numbers.
     * @param getSeries returns the values of an item on the dates; null if the item has none
     */
    numbers(getSeries: (item: T) => Float64Array | null): Float64Array {
      const numbers = new Float64Array(count);
      items.forEach((item, k) => {
        const series = getSeries(item);
        for (let t = 0, row = k; row < count; t++, row += width) numbers[row] = series === null ? NaN : series[t]!;
      });
      return numbers;
    },
  };
}

export function createLimitsFile(
  view: Pick<LimitsView, 'index_id' | 'state'> & {
    readonly rows: readonly LimitsView['rows'][number][];
    readonly breaches: readonly LimitsView['breaches'][number][];
  },
  table: LimitTable,
  format: Exclude<ExportFormat, 'json'>,
): Promise<Uint8Array> {
  const { columns } = LIMIT_TABLES[table];
  return createRowTableFile(
    { runId: view.index_id, name: table, columns, rows: LIMITS_FILE_ROWS[table](view) },
    format,
  );
}

const LIMITS_FILE_ROWS: Readonly<
  Record<LimitTable, (view: Parameters<typeof createLimitsFile>[0]) => readonly TableCells[]>
> = {
  state: ({ state: { dates, headroom, nearest, move } }) =>
    dates.map((date, t) => ({ date, headroom: headroom[t]!, nearest: nearest[t]!, move: move[t]! })),
  rows: ({ rows }) =>
    rows.map(({ row, side, unit, breached_sessions, least }) => ({
      row,
      side,
      unit,
      breached_sessions,
      least_date: least.date,
      least_value: least.value,
      least_limit: least.limit,
    })),
  breaches: ({ breaches }) =>
    breaches.map(({ worst, issuers: _issuers, ...breach }) => ({
      ...breach,
      worst_date: worst.date,
      worst_value: worst.value,
      limit: worst.limit,
    })),
};

/** Scenarios of a run as in the response. */
export interface ListedScenarios {
  readonly index_id: string;
  readonly as_of: string;
  readonly by: string;
  readonly scenarios: readonly ScenarioResult[];
  readonly findings: readonly Finding[];
}

/** Returns a table of scenarios as a complete file. It has the same rows as the JSON response. */
export function createScenariosFile(
  { index_id: runId, scenarios, findings }: ListedScenarios,
  table: ScenarioTable,
  format: Exclude<ExportFormat, 'json'>,
): Promise<Uint8Array> {
  const rows = scenarios.flatMap((result, position) => {
    const ownFindings = findings.filter(({ path }) => path.startsWith(`scenarios[${position}]`));
    return SCENARIOS_FILE_ROWS[table](result, ownFindings).map((row) => ({ scenario: result.name, ...row }));
  });
  return createRowTableFile({ runId, name: table, columns: SCENARIO_TABLES[table].columns, rows }, format);
}

const SCENARIOS_FILE_ROWS: Readonly<
  Record<ScenarioTable, (result: ScenarioResult, findings: readonly Finding[]) => readonly TableCells[]>
> = {
  scenarios: ({ return: total, standard_error, covered_weight, window, r_squared, observations }, findings) => [
    {
      return: total,
      standard_error,
      covered_weight,
      start: window && window.start,
      end: window && window.end,
      r_squared,
      observations,
      finding: findings.length === 0 ? null : findings.map(({ message }) => message).join(' '),
    },
  ],
  names({ by_name: names, proxied }) {
    const proxies = new Map(proxied.map(({ identifier, proxy }) => [identifier, proxy]));
    return names.map((row) => ({ ...row, proxy: proxies.get(row.identifier) ?? null }));
  },
  groups: ({ by_group: groups }) => groups,
  sessions: ({ worst_sessions: sessions }) => sessions.map((session) => ({ ...session })),
};
