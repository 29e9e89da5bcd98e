import { formatDay } from '../days.js';
import { compareText, type Finding, type FindingCode } from '../findings.js';
import { panelRow, type SessionMarket } from '../market/session-market.js';
import { refuseWithFindings } from '../refusal.js';
import type { PackAccount } from './pack.js';
import type { RebalancePackRequest } from './pack-request.js';

interface HeldOn {
  readonly sm: SessionMarket;
  readonly session: number;
  /** Sessions that a price stays good for. */
  readonly maxStaleSessions: number;
}

export interface PlacedHoldings {
  readonly columns: Set<number>;
  /** What is priced by a bar that is too old to trade at. */
  readonly findings: readonly Finding[];
}

/** Columns of the names that accounts hold. @throws Refusal VALIDATION_FAILED for a holding without a price, a lot of no name */
export function placedHoldings(held: HeldOn, { accounts, lot_sizes: lots }: RebalancePackRequest): PlacedHoldings {
  const { sm, session, maxStaleSessions } = held;
  const columns = new Set<number>();
  const refused = Object.keys(lots)
    .filter((identifier) => sm.columnOf(identifier) < 0)
    .map((identifier) => unpriced(held, identifier, `lot_sizes.${identifier}`));
  const findings: Finding[] = [];
  accounts.forEach(({ name, holdings }, a) =>
    holdings.forEach(({ identifier }, h) => {
      const path = `accounts[${a}].holdings[${h}].identifier`;
      const column = sm.columnOf(identifier);
      if (column < 0 || !Number.isFinite(sm.carriedClose(session, column)))
        refused.push(unpriced(held, identifier, path));
      else columns.add(column);
      if (column >= 0 && !sm.isPriceable(session, column, maxStaleSessions))
        findings.push(stale(held, { identifier, column, account: name, path }));
    }),
  );
  if (refused.length > 0) throw refuseWithFindings('body', refused);
  return { columns, findings };
}

function unpriced({ sm, session }: HeldOn, identifier: string, path: string): Finding {
  const message =
    sm.columnOf(identifier) >= 0
      ? `The served store has no price of ${identifier} on or before ${formatDay(sm.sessions[session]!)}.`
      : `The served store does not hold ${identifier}.`;
  return { severity: 'error', code: 'UNKNOWN_IDENTIFIER', message, path, value: identifier };
}

interface StaleHolding {
  readonly identifier: string;
  readonly column: number;
  readonly account: string;
  readonly path: string;
}

function stale(
  { sm, session, maxStaleSessions }: HeldOn,
  { identifier, column, account, path }: StaleHolding,
): Finding {
  const bar = formatDay(sm.sessions[sm.lastBar[panelRow(sm, session) + column]!]!);
  const since = sm.hasEnded(session, column)
    ? `it has ended, and ${bar} is its last bar`
    : `its last bar is of ${bar}, more than ${maxStaleSessions} sessions ago`;
  return {
    severity: 'warning',
    code: 'STALE_FILL',
    message: `The account ${account} holds ${identifier}, which cannot be traded: ${since}. It counts at that price; what was paid for it is cash of the account.`,
    path,
    value: identifier,
  };
}

interface Since {
  readonly sm: SessionMarket;
  readonly session: number;
  /** Session on which the composition was decided. */
  readonly decision: number;
}

interface Targets {
  readonly announced: ReadonlyMap<number, number>;
  readonly weights: ReadonlyMap<number, number>;
}

/** Names of a composition that have ended since it was decided. */
export function leftSince({ sm, session, decision }: Since, { announced, weights }: Targets): Finding[] {
  const gone = [...announced.keys()].filter((column) => !weights.has(column));
  if (gone.length === 0) return [];
  const names = gone.map((column) => sm.identifiers[column]!).toSorted(compareText);
  const [from, to] = [formatDay(sm.sessions[decision]!), formatDay(sm.sessions[session]!)];
  return [
    counted('NOT_IN_INDEX', names, `of the composition of ${from}, ended by ${to}: the others take over the weight.`),
  ];
}

/** Names that are traded without a bar on the session, besides those that cannot be traded at all. */
export function carriedPrices({ sm, session, maxStaleSessions }: HeldOn, accounts: readonly PackAccount[]): Finding[] {
  const traded = new Set(accounts.flatMap(({ trades }) => trades.map(({ identifier }) => identifier)));
  const carried = [...traded].filter((identifier) => {
    const column = sm.columnOf(identifier);
    return Number.isNaN(sm.closeAt(session, column)) && sm.isPriceable(session, column, maxStaleSessions);
  });
  if (carried.length === 0) return [];
  const day = formatDay(sm.sessions[session]!);
  return [
    counted(
      'STALE_FILL',
      carried.toSorted(compareText),
      `to be traded, without a bar on ${day}: priced at the last close.`,
    ),
  ];
}

/** @param names at least one */
function counted(code: FindingCode, names: readonly string[], what: string): Finding {
  const others = names.length === 1 ? '' : ` and ${names.length - 1} more`;
  const message = `${names[0]}${others}: ${what}`;
  return { severity: 'warning', code, message, path: '', count: names.length, places: names.slice(0, 5) };
}
