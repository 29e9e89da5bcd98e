import { formatDay } from '../time/days.js';
import { compareText, type Finding, type FindingCode } from '../refusals/findings.js';
import type { ActionType, CorporateAction } from '../market/market-data.js';
import type { SessionAction } from '../market/session-actions.js';
import type { SessionMarket } from '../market/session-market.js';
import { refuseWithFindings } from '../refusals/refusal.js';
import type { PackAccount } from './pack.js';
import type { RebalancePackRequest } from './pack-request.js';

interface HoldingSession {
  readonly sm: SessionMarket;
  readonly session: number;
  /** Maximum age of a price in sessions. */
  readonly maxStaleSessions: number;
}

interface LocatedHoldingsInput extends HoldingSession {
  /** Target weights by column. */
  readonly weights: ReadonlyMap<number, number>;
}

export interface LocatedHoldings {
  readonly columns: Set<number>;
  /** Accounts without the holdings that cannot be traded. These holdings are neither sold nor counted. */
  readonly accounts: RebalancePackRequest['accounts'];
  /** Findings about the excluded holdings, with reasons. */
  readonly findings: readonly Finding[];
}

/**
 * Returns the columns of the securities that accounts hold. @throws Refusal VALIDATION_FAILED for a holding without a
 * price, or a lot size of an unknown security
 */
export function locateHoldings(
  locatedHoldingsInput: LocatedHoldingsInput,
  { accounts, lot_sizes: lots }: RebalancePackRequest,
): LocatedHoldings {
  const { sm, session, maxStaleSessions, weights } = locatedHoldingsInput;
  const columns = new Set<number>();
  const refusals = Object.keys(lots)
    .filter((identifier) => sm.columnOf(identifier) < 0)
    .map((identifier) => reportUnpriced(locatedHoldingsInput, identifier, `lot_sizes.${identifier}`));
  const findings: Finding[] = [];
  const locatedAccounts = accounts.map((account, a) => {
    const holdings = account.holdings.filter(({ identifier }, h) => {
      const path = `accounts[${a}].holdings[${h}].identifier`;
      const column = sm.columnOf(identifier);
      if (column < 0 || !Number.isFinite(sm.carriedClose(session, column))) {
        refusals.push(reportUnpriced(locatedHoldingsInput, identifier, path));
        return false;
      }
      if (!weights.has(column) && !sm.isPriceable(session, column, maxStaleSessions)) {
        findings.push(reportExcluded(locatedHoldingsInput, { identifier, column, account: account.name, path }));
        return false;
      }
      columns.add(column);
      return true;
    });
    return { ...account, holdings };
  });
  if (refusals.length > 0) throw refuseWithFindings('body', refusals);
  return { columns, accounts: locatedAccounts, findings };
}

function reportUnpriced({ sm, session }: HoldingSession, identifier: string, path: string): Finding {
  const message =
    sm.columnOf(identifier) >= 0
      ? `The data contains no price for ${identifier} on or before ${formatDay(sm.sessions[session]!)}.`
      : `The data does not contain ${identifier}.`;
  return { severity: 'error', code: 'UNKNOWN_IDENTIFIER', message, path, value: identifier };
}

interface ExcludedHolding {
  readonly identifier: string;
  readonly column: number;
  readonly account: string;
  readonly path: string;
}

function reportExcluded(
  holdingSession: HoldingSession,
  { identifier, column, account, path }: ExcludedHolding,
): Finding {
  const { sm, session, maxStaleSessions } = holdingSession;
  const barDate = formatDay(sm.barDay(session, column));
  const why = sm.hasEnded(session, column)
    ? `${describeEnding(holdingSession, column)} Add the cash and shares received for it to the account.`
    : `Its last price bar is on ${barDate}, more than ${maxStaleSessions} sessions ago.`;
  return {
    severity: 'warning',
    code: 'STALE_FILL',
    message: `The account ${account} holds ${identifier}, which cannot be traded. It is not sold, and its value is not included. ${why}`,
    path,
    value: identifier,
  };
}

/** Describes when and how a security ended, and what a holder receives per share. */
function describeEnding({ sm, session }: HoldingSession, column: number): string {
  const endings = sm.actions.all.filter(
    (ownSessionAction) =>
      ownSessionAction.column === column && ownSessionAction.session <= session && isEnding(ownSessionAction),
  );
  const last = endings.filter((ownSessionAction) => ownSessionAction.session === endings.at(-1)!.session);
  const termTexts = last.flatMap(({ action }) => describeTerms(action) ?? []);
  const kindsText = last.map(({ action }) => action.type).join(' and ');
  const paymentPhrase = termTexts.length === 0 ? 'the data does not contain the payment' : termTexts.join(' or ');
  return `It has ended (${kindsText} of ${formatDay(last[0]!.action.exDay)}): ${paymentPhrase}.`;
}

const ENDINGS: ReadonlySet<ActionType> = new Set(['DELISTING', 'ACQUISITION', 'MERGER', 'TICKER_CHANGE']);

/** Returns true if an action ends a security. A ticker change without a successor does not. */
function isEnding({ action: { type, related } }: SessionAction): boolean {
  return ENDINGS.has(type) && (type !== 'TICKER_CHANGE' || related !== null);
}

/** Describes what a holder receives per share. Returns undefined if the action does not state it. */
function describeTerms({ type, value, related, cash, isUnpriced }: CorporateAction): string | undefined {
  if (type === 'TICKER_CHANGE') return `it continues as ${related}`;
  if (isUnpriced) return undefined;
  if (type !== 'MERGER') return `paid ${value} per share`;
  return related === null
    ? undefined
    : `a share became ${value} of ${related}${cash === undefined ? '' : ` and ${cash} in cash`}`;
}

interface DecisionSpan {
  readonly sm: SessionMarket;
  readonly session: number;
  /** Session on which the composition was decided. */
  readonly decision: number;
}

interface Targets {
  readonly announced: ReadonlyMap<number, number>;
  readonly weights: ReadonlyMap<number, number>;
}

/** Reports securities of a composition that have ended since its decision. */
export function findLeftSince({ sm, session, decision }: DecisionSpan, { announced, weights }: Targets): Finding[] {
  const removedColumns = [...announced.keys()].filter((column) => !weights.has(column));
  if (removedColumns.length === 0) return [];
  const names = removedColumns.map((column) => sm.identifiers[column]!).toSorted(compareText);
  const [from, to] = [formatDay(sm.sessions[decision]!), formatDay(sm.sessions[session]!)];
  return [
    countValues(
      'NOT_IN_INDEX',
      names,
      `of the composition of ${from}, ended by ${to}: the others take over its weight.`,
    ),
  ];
}

/**
 * Reports securities that are traded although they have no price bar on the session. Skips those that cannot be traded
 * at all.
 */
export function findCarriedPrices(
  { sm, session, maxStaleSessions }: HoldingSession,
  accounts: readonly PackAccount[],
): Finding[] {
  const tradedIdentifiers = new Set(accounts.flatMap(({ trades }) => trades.map(({ identifier }) => identifier)));
  const staleIdentifiers = [...tradedIdentifiers].filter((identifier) => {
    const column = sm.columnOf(identifier);
    return !sm.hasBar(session, column) && sm.isPriceable(session, column, maxStaleSessions);
  });
  if (staleIdentifiers.length === 0) return [];
  const day = formatDay(sm.sessions[session]!);
  return [
    countValues(
      'STALE_FILL',
      staleIdentifiers.toSorted(compareText),
      `to be traded without a price bar on ${day}: priced at the last close after later corporate actions.`,
    ),
  ];
}

/** Creates a finding that counts securities. @param names at least one security */
function countValues(code: FindingCode, names: readonly string[], what: string): Finding {
  const remainderPhrase = names.length === 1 ? '' : ` and ${names.length - 1} more`;
  const message = `${names[0]}${remainderPhrase}: ${what}`;
  return { severity: 'warning', code, message, path: '', count: names.length, places: names.slice(0, 5) };
}
