import { readSecurityCurrency, restoreTreatment, type RunHeader } from '#domain/backtest/run-file/header.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { Finding } from '#domain/base/findings.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { type Day, formatDay } from '#domain/base/time.js';
import { openMarketOn } from '#domain/books/window.js';
import { createIndexCrossSections } from '#domain/decide/rule-decider.js';
import type { LimitRow } from '#domain/definition/compliance.js';
import {
  type ConstraintRow,
  describeLackingValues,
  listMissingValues,
  type MissingValues,
} from '#domain/definition/constraint-class.js';
import {
  createLimitRows,
  listRowFindings,
  type RowWatch,
  type WatchedContext,
} from '#domain/definition/limit-monitoring.js';
import type { MarketData } from '#domain/market/market-data.js';
import {
  createGroupsByDay,
  type GroupOfDay,
  listGroupSpells,
  listIssuerSpells,
  UNCLASSIFIED,
} from '#domain/market/reference.js';
import { readDatapoints } from '#domain/optimisation/decision-problem.js';
import type { TaskControl } from '#jobs/tasks/messages.js';
import type { InputOfView } from '#jobs/tasks/views.js';
import { createLimitsView } from '#views/limits.js';
import { openCachedCalendars, openCachedMarket } from '../input/markets.js';
import { getFigures, useRunFile } from '../run-files.js';
import { createWindow } from './run-view.js';

/**
 * Checks limits over a stored run. @throws Refusal NO_DATA_IN_RANGE, VALIDATION_FAILED for a constraint that does not
 * concern holdings
 */
export function showLimits(input: InputOfView<'limits'>, { report }: TaskControl): ReturnType<typeof createLimitsView> {
  const { columns, limits, by, market: handle } = input;
  const market = handle && openCachedMarket(handle);
  return useRunFile(columns, (run) => {
    const issuers = market !== null && 'rule' in limits ? listIssuerSpells(market, by) : null;
    return createLimitsView(run, {
      window: createWindow(input),
      limits: 'rule' in limits ? limits : { rowsOn: createRowsByDay(limits.rows, run.header, market) },
      by,
      openIssuers: issuers && (() => createGroupsByDay(run.header.names, issuers)),
      keep: getFigures(columns, handle),
      onDate: () => report(0),
      findings: [
        ...input.findings,
        ...(issuers ? countSeparateIssuers(run, listGroupSpells(market!, by), by) : []), // a grouping by issuers requires a market
        ...('rule' in limits
          ? []
          : [
              ...listRowFindings(limits.rows, createRowWatch(run, market)),
              ...findMissingInputs(limits.rows, run, market),
            ]),
      ],
    });
  });
}

/** Warns of inputs of constraints that are missing for holdings on the last date of a run. */
function findMissingInputs(rows: readonly ConstraintRow[], run: RunColumns, market: MarketData | null): Finding[] {
  if (market === null) return [];
  const { names } = run.header;
  const days = run.i32('days');
  const weights = run.f64('weights', (days.length - 1) * names.length, days.length * names.length);
  const heldFlags = Uint8Array.from(weights, (weight) => (weight === 0 ? 0 : 1));
  const findings: Finding[] = [];
  const report = (lack: MissingValues, position: number): void => {
    const values = lack.values.map((value, place) => (heldFlags[place] === 1 ? value : 0));
    const missingValues = listMissingValues({ ...lack, values }, { identifiers: names, weights });
    const { identifiers } = missingValues;
    if (identifiers.length === 0) return;
    const count = heldFlags.reduce((sum, is) => sum + is, 0);
    const message = `On ${formatDay(days.at(-1)!)} ${describeLackingValues(lack, missingValues, { count, whole: 'the portfolio' })}`;
    const { id } = rows[position]!;
    findings.push({
      severity: 'warning',
      code: 'NO_WEIGHT_DATA',
      message,
      path: `rows[${position}].params.field`,
      row_id: id === '' ? null : id,
      count: identifiers.length,
      places: identifiers.slice(0, 5),
    });
  };
  createRowsByDay(rows, run.header, market, report)(days.at(-1)!, heldFlags);
  return findings;
}

const createRowWatch = (run: RunColumns, market: MarketData | null): RowWatch => ({
  names: run.header.names,
  market,
  day: run.i32('days').at(-1)!,
});

/** Counts securities that are their own issuers on the last date of a run. */
function countSeparateIssuers(run: RunColumns, groupOf: GroupOfDay, by: string): Finding[] {
  const { names } = run.header;
  const day = run.i32('days').at(-1)!;
  const separateIssuers = names.filter((name) => groupOf(name, day).group === UNCLASSIFIED);
  if (separateIssuers.length === 0) return [];
  const message = `${separateIssuers.length} of ${names.length} securities have no ${by} on ${formatDay(day)} and count as their own issuers.`;
  return [
    {
      severity: 'warning',
      code: 'UNKNOWN_FIELD_NAME',
      message,
      path: 'by',
      count: separateIssuers.length,
      places: separateIssuers.slice(0, 5),
    },
  ];
}

/**
 * Converts constraints of the optimiser to daily limits. If no constraint reads a datapoint, the limits are built again
 * only when a new security is held. A constraint without a scope covers the securities held so far, and their groups,
 * because later data must not change earlier days.
 */
function createRowsByDay(
  rows: readonly ConstraintRow[],
  header: RunHeader,
  market: MarketData | null,
  missing?: WatchedContext['missing'],
): (day: Day, heldFlags: Uint8Array) => readonly LimitRow[] {
  if (market === null) {
    let latestRows: { readonly count: number; readonly rows: readonly LimitRow[] } | undefined;
    return (_day, heldFlags) => {
      const count = heldFlags.reduce((sum, is) => sum + is, 0);
      if (latestRows?.count === count) return latestRows.rows;
      const isHeldName = (name: number) => heldFlags[name] === 1;
      const context = {
        identifiers: header.names,
        numbers: throwUndeclaredRead,
        categories: throwUndeclaredRead,
        covers: isHeldName,
      };
      latestRows = { count, rows: createLimitRows(rows, context) };
      return latestRows.rows;
    };
  }
  const sm = openMarketOn({ market, calendars: openCachedCalendars(header.closures), code: header.calendar });
  const treatment = restoreTreatment(header.treatment);
  const sections = createIndexCrossSections({ market: sm, treatment, currency: readSecurityCurrency(header) });
  const placedNames = header.names
    .map((name, position) => ({ position, column: sm.columnOf(name) }))
    .filter(({ column }) => column >= 0)
    .toSorted((a, b) => a.column - b.column);
  const columns = Int32Array.from(placedNames, ({ column }) => column);
  return (day, heldFlags) => {
    const session = findLastAtMost(sm.sessions, day);
    const { numbers, categories } = readDatapoints(sections.at(session, columns), columns);
    const context: WatchedContext = {
      identifiers: header.names,
      covers: (name) => heldFlags[name] === 1,
      ...(missing ? { missing } : {}),
      numbers(field) {
        const valuesByName = new Float64Array(header.names.length).fill(NaN);
        numbers(field).forEach((value, k) => (valuesByName[placedNames[k]!.position] = value));
        return valuesByName;
      },
      categories(field) {
        const textsByName: (string | null)[] = header.names.map(() => null);
        categories(field).forEach((value, k) => (textsByName[placedNames[k]!.position] = value));
        return textsByName;
      },
    };
    return createLimitRows(rows, context);
  };
}

function throwUndeclaredRead(field: string): never {
  throw new Error(`a row read ${field}, which no parameter named`);
}
