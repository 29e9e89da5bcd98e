import type { RebalanceList, RebalanceView } from '#contract/analytics/rebalances.js';
import { drift } from '#domain/analytics/concentration.js';
import { readDecisions, type RecordedDecisions } from '#domain/backtest/run-file/decisions.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { dayFrom, formatDay } from '#domain/days.js';
import { compareText } from '#domain/findings.js';
import { Refusal } from '#domain/refusal.js';
import { lastAtMost } from '#domain/search.js';

type RebalanceRow = RebalanceList['rebalances'][number];

/** A rebalance with the weights around it, [H] each. */
interface Around {
  readonly r: number;
  readonly target: Float64Array;
  readonly capped: Uint8Array;
  /** After drift, before the trades; null of a composition in force before the run. */
  readonly before: Float64Array | null;
  /** After the close; the target where there is none. */
  readonly after: Float64Array;
}

/** Every rebalance of a stored run. @cost reads [R x H] targets, and as many weights */
export function rebalancesView(columns: RunColumns): RebalanceList {
  const decisions = readDecisions(columns);
  const around = aroundOf(columns);
  return {
    index_id: columns.header.run_id,
    rebalances: columns.header.rebalances.map((_, r) => rowOf(columns, around(r), decisions)),
  };
}

/**
 * The rebalance in force on a day, name by name.
 * @throws Refusal NO_DATA_AT_DATE before the first one
 * @cost reads every trade of the run
 */
export function rebalanceView(columns: RunColumns, asked: string): RebalanceView {
  const { header } = columns;
  const r = header.rebalances.findLastIndex(({ date }) => date <= asked);
  if (r < 0)
    throw new Refusal('NO_DATA_AT_DATE', `${asked} is before the first rebalance, ${header.rebalances[0]!.date}.`);
  const decisions = readDecisions(columns);
  const around = aroundOf(columns)(r);
  const row = rowOf(columns, around, decisions);
  return {
    index_id: header.run_id,
    requested_date: asked,
    ...row,
    previous: header.rebalances[r - 1]?.date ?? null,
    next: header.rebalances[r + 1]?.date ?? null,
    names: namesOf(columns, around, decisions),
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

/** Reads the weights around one rebalance after the other. */
function aroundOf(columns: RunColumns): (r: number) => Around {
  const { header } = columns;
  const H = header.names.length;
  const eventAt = columns.i32('eventAt');
  const rowAt = (block: 'targets' | 'before' | 'weights', row: number) => columns.f64(block, row * H, (row + 1) * H);
  return (r) => {
    const { at } = header.rebalances[r]!;
    const target = rowAt('targets', r);
    const event = lastAtMost(eventAt, at);
    const isEvent = event >= 0 && eventAt[event] === at;
    return {
      r,
      target,
      capped: columns.u8('capped', r * H, (r + 1) * H),
      before: at < 0 ? null : isEvent ? rowAt('before', event) : rowAt('weights', at),
      after: at < 0 ? target : rowAt('weights', at),
    };
  };
}

function rowOf(columns: RunColumns, around: Around, decisions: RecordedDecisions | undefined): RebalanceRow {
  const { r, target, capped, before, after } = around;
  const { date, at, cap, redistributed, cause = 'schedule' } = columns.header.rebalances[r]!;
  const decided = decisions?.decidedOn(dayFrom(date));
  const has = (weights: Float64Array | null, i: number): boolean => weights !== null && weights[i] !== 0;
  const names = Array.from(target, (_, i) => i);
  const snapshot = decisions?.snapshot(dayFrom(date));
  return {
    date,
    cause,
    schedule_dates: [date, ...Array.from(snapshot?.also ?? [], formatDay)],
    stale_fills: fillsOf(snapshot, decisions?.identifiers ?? []),
    decision_date: decided === undefined ? null : formatDay(decided),
    traded_on: at < 0 ? null : formatDay(columns.i32('days', at, at + 1)[0]!),
    constituents: names.filter((i) => has(target, i)).length,
    added: names.filter((i) => has(target, i) && !has(before, i)).length,
    removed: names.filter((i) => !has(target, i) && has(before, i)).length,
    cap,
    capped: capped.reduce((sum, mark) => sum + mark, 0),
    redistributed,
    turnover: before && drift(after, before).turnover,
    cost: at < 1 ? null : columns.f64('costs', at, at + 1)[0]! / columns.f64('value', at - 1, at)[0]!,
  };
}

function fillsOf(
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

function namesOf(
  columns: RunColumns,
  { r, target, capped, before, after }: Around,
  decisions: RecordedDecisions | undefined,
): RebalanceView['names'] {
  const { names, rebalances } = columns.header;
  const H = names.length;
  const uncapped = columns.f64('raw', r * H, (r + 1) * H);
  const tradeOf = tradesAt(rebalances[r]!.at, decisions);
  return names
    .map((identifier, i) => ({
      identifier,
      before: before && before[i]!,
      after: after[i]!,
      change: before && after[i]! - before[i]!,
      target: target[i]!,
      uncapped: uncapped[i]!,
      capped: capped[i] === 1,
      ...tradeOf(identifier),
    }))
    .filter(({ before, after, target }) => after !== 0 || target !== 0 || (before !== null && before !== 0))
    .toSorted((a, b) => b.after - a.after || compareText(a.identifier, b.identifier));
}

type Trade = Pick<RebalanceView['names'][number], 'trade' | 'price'>;

/** Trades of a session, by name. */
function tradesAt(at: number, decisions: RecordedDecisions | undefined): (identifier: string) => Trade {
  if (decisions === undefined) return () => ({ trade: null, price: null });
  const rows = decisions.trades();
  const traded = new Map<string, Trade>();
  for (let k = 0; k < rows.at.length; k++) {
    if (rows.at[k] === at)
      traded.set(decisions.identifiers[rows.columns[k]!]!, { trade: rows.notional[k]!, price: rows.price[k]! });
  }
  return (identifier) => traded.get(identifier) ?? { trade: 0, price: null };
}
