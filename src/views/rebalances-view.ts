import type { RebalanceList, RebalanceView } from '#contract/analytics/rebalances.js';
import { LARGEST_CHANGES_MAX } from '#domain/backtest/largest-changes.js';
import { readDecisions, type RecordedDecisions } from '#domain/backtest/run-file/decisions.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { openRecordParts } from '#domain/backtest/run-file/record.js';
import { parseValidDay, formatDay } from '#domain/time/days.js';
import { isReviewed } from '#domain/schedule/rebalance-causes.js';
import { compareText, type Finding, type FindingCode } from '#domain/refusals/findings.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { roundOnDay } from './rounded.js';
import { findStoredDate } from './weights-view.js';
import { computeRebalanceFigures, createWeightsReader, type WeightsAround } from './rebalance-figures.js';

type RebalanceRow = RebalanceList['rebalances'][number];

type Served<T> = Omit<T, 'findings'> & { readonly findings: readonly Finding[] };

/**
 * Returns all rebalances of a stored run.
 * @cost reads [R x H] targets, and the same number of weights
 */
export function listRebalances(columns: RunColumns): Served<RebalanceList> {
  const decisions = readDecisions(columns);
  const readWeightsAround = createWeightsReader(columns);
  return {
    index_id: columns.header.run_id,
    rebalances: columns.header.rebalances.map((_, r) =>
      createRow(columns, { r, around: readWeightsAround(r) }, decisions),
    ),
    findings: columns.has('record')
      ? openRecordParts(columns)
          .findings()
          .filter(({ code }) => REPORTED_CODES.has(code))
      : [],
  };
}

/** Codes of the warnings about rebalances that were not executed, and about securities that left between them. */
const REPORTED_CODES: ReadonlySet<FindingCode> = new Set(['REBALANCE_HELD', 'SILENT_DELISTING']);

/**
 * Returns the rebalance that is valid on a day, and its securities.
 * @throws Refusal NO_DATA_AT_DATE before the first rebalance
 * @cost reads every trade of the run
 */
export function createRebalanceView(columns: RunColumns, requestedDate: string): RebalanceView {
  const { header } = columns;
  const days = columns.i32('days');
  const day = parseValidDay(requestedDate);
  const r = header.rebalances.findLastIndex((storedRebalance) => findStoredDate(storedRebalance, days, day) <= day);
  if (r < 0)
    throw new Refusal(
      'NO_DATA_AT_DATE',
      `${requestedDate} is before the first rebalance, ${header.rebalances[0]!.date}.`,
    );
  const decisions = readDecisions(columns);
  const rebalance = { r, around: createWeightsReader(columns)(r) };
  const row = createRow(columns, rebalance, decisions);
  return {
    index_id: header.run_id,
    requested_date: requestedDate,
    ...row,
    previous: header.rebalances[r - 1]?.date ?? null,
    next: header.rebalances[r + 1]?.date ?? null,
    names: listSecurities(columns, rebalance, decisions),
    unfilled: (decisions?.unfilled ?? [])
      .filter(({ day }) => formatDay(day) === row.traded_on)
      .map(({ day, identifier, side, target, held, notional, reason, filledDay }) => ({
        date: formatDay(day),
        asset_id: identifier,
        side,
        target_weight: target,
        held_weight: held,
        notional,
        reason,
        filled_on: filledDay === null ? null : formatDay(filledDay),
      })),
  };
}

/** A rebalance, its position in the list of rebalances of the run, and the weights before and after it. */
interface LocatedRebalance {
  readonly r: number;
  readonly around: WeightsAround;
}

function createRow(
  columns: RunColumns,
  { r, around }: LocatedRebalance,
  decisions: RecordedDecisions | undefined,
): RebalanceRow {
  const storedRebalance = columns.header.rebalances[r]!;
  const { date, at } = storedRebalance;
  const figures = computeRebalanceFigures(around, storedRebalance);
  const { cause, constituents, added, removed, cap, capped, redistributed, turnover } = figures;
  const listLargest = (positions: readonly number[]): string[] =>
    positions.slice(0, LARGEST_CHANGES_MAX).map((position) => columns.header.names[position]!);
  const decisionDay = decisions?.decidedOn(parseValidDay(date));
  const snapshot = decisions?.snapshot(parseValidDay(date));
  return {
    date,
    cause,
    review: isReviewed(cause) ? (snapshot?.reviews?.[0] ?? null) : null,
    reviews: isReviewed(cause) && snapshot?.reviews ? [...snapshot.reviews] : null,
    phase: snapshot?.phase ?? null,
    schedule_dates: [date, ...Array.from(snapshot?.also ?? [], formatDay)],
    stale_fills: listFills(snapshot, decisions?.identifiers ?? []),
    decision_date: decisionDay === undefined ? null : formatDay(decisionDay),
    traded_on: at < 0 ? null : formatDay(columns.i32('days', at, at + 1)[0]!),
    constituents,
    gross_constituents: figures.grossConstituents,
    added: added.length,
    largest_added: listLargest(added),
    removed: removed.length,
    largest_removed: listLargest(removed),
    cap,
    capped,
    redistributed,
    turnover,
    cost_fraction: at < 1 ? null : columns.f64('costs', at, at + 1)[0]! / columns.f64('value', at - 1, at)[0]!,
  };
}

function listFills(
  snapshot: ReturnType<RecordedDecisions['snapshot']>,
  identifiers: readonly string[],
): RebalanceRow['stale_fills'] {
  const fills = snapshot?.staleFills ?? null;
  return Array.from(fills?.columns ?? [], (column, i) => ({
    identifier: identifiers[column]!,
    last_bar: formatDay(fills!.lastBars[i]!),
    sessions_old: fills!.ages[i]!,
  }));
}

function listSecurities(
  columns: RunColumns,
  { r, around: { target, capped, before, after } }: LocatedRebalance,
  decisions: RecordedDecisions | undefined,
): RebalanceView['names'] {
  const { names, rebalances } = columns.header;
  const H = names.length;
  const uncappedWeights = columns.f64('raw', r * H, (r + 1) * H);
  const roundWeight = roundOnDay(columns, 'weights', parseValidDay(rebalances[r]!.date));
  const readTrade = createTradesReader(rebalances[r]!.at, decisions);
  return names
    .map((identifier, i) => ({
      identifier,
      before: before && roundWeight(before[i]!),
      after: roundWeight(after[i]!),
      change: before && after[i]! - before[i]!,
      target: roundWeight(target[i]!),
      uncapped: roundWeight(uncappedWeights[i]!),
      capped: capped[i] === 1,
      ...readTrade(identifier),
    }))
    .filter(({ before, after, target }) => after !== 0 || target !== 0 || (before !== null && before !== 0))
    .toSorted((a, b) => b.after - a.after || compareText(a.identifier, b.identifier));
}

type Trade = Pick<RebalanceView['names'][number], 'trade' | 'price'>;

/** Returns a function that returns the trade of a security on a session. */
function createTradesReader(position: number, decisions: RecordedDecisions | undefined): (identifier: string) => Trade {
  if (decisions === undefined) return () => ({ trade: null, price: null });
  const rows = decisions.trades();
  const tradeByIdentifier = new Map<string, Trade>();
  for (let k = 0; k < rows.at.length; k++) {
    if (rows.at[k] === position)
      tradeByIdentifier.set(decisions.identifiers[rows.columns[k]!]!, {
        trade: rows.notional[k]!,
        price: rows.price[k]!,
      });
  }
  return (identifier) => tradeByIdentifier.get(identifier) ?? { trade: 0, price: null };
}
