import type { ActionsView } from '#contract/analytics/actions.js';
import { formatCsvTable } from '../csv-table.js';

/** A constituent of the index at the last close. */
export interface HeldSecurity {
  readonly identifier: string;
  readonly weight: number;
  /** Index shares. */
  readonly shares: number;
}

type Action = ActionsView['actions'][number];
type Choice = Action['choices'][number];

/** Constituent after one future action, for one choice of an election. Unknown numbers are null. */
export interface ProFormaRow {
  readonly ex_date: string;
  readonly identifier: string;
  readonly type: string;
  /** Choice of an election; null for the choice that the index makes. */
  readonly choice: string | null;
  readonly constituent: string;
  readonly weight_before: number;
  readonly weight_after: number | null;
  readonly shares_before: number;
  readonly shares_after: number | null;
}

/** Maximum number of rows in a file. The number of actions times constituents has no other limit. */
const ROWS_MAX = 500_000;

/** The holdings of an index at the last close. */
export interface IndexHoldings {
  readonly holdings: readonly HeldSecurity[];
  /**
   * True if an exit changes the divisor and leaves the other shares unchanged. False if the proceeds buy more shares of
   * the other constituents.
   */
  readonly sharesStay: boolean;
}

/**
 * Returns the whole index after each future action, as if only that action happened. An election has one result per
 * choice.
 */
export function createProFormaRows(actions: readonly Action[], { holdings, sharesStay }: IndexHoldings): ProFormaRow[] {
  const rows: ProFormaRow[] = [];
  for (const action of actions) {
    if (action.state !== 'coming' || isSharesOfOffer(action, actions)) continue;
    for (const choice of action.choices.length === 0 ? [null] : action.choices) {
      if (rows.length + holdings.length > ROWS_MAX) return rows;
      rows.push(...createRowsAfter(action, choice, { holdings, sharesStay }));
    }
  }
  return rows;
}

/**
 * Returns true for the row of an offer with the choice of shares. The row with the choice of cash already lists both
 * choices.
 */
function isSharesOfOffer({ type, identifier, ex_date, choices }: Action, actions: readonly Action[]): boolean {
  const isCash = (other: Action): boolean =>
    other.type === 'ACQUISITION' && other.identifier === identifier && other.ex_date === ex_date;
  return type === 'MERGER' && choices.length > 0 && actions.some(isCash);
}

function createRowsAfter(
  action: Action,
  choice: Choice | null,
  { holdings, sharesStay }: IndexHoldings,
): ProFormaRow[] {
  const { ex_date, identifier, type, weight_before: weight, shares_before: shares } = action;
  const after = choice ?? action;
  const { received } = after;
  const otherWeight = after.weight_after === null ? null : 1 - after.weight_after - (received?.weight ?? 0);
  const otherFactor = otherWeight === null || weight === 1 ? null : otherWeight / (1 - weight);
  // The proceeds of an exit buy the other securities. The cash of an election comes from outside the index or leaves
  // the index.
  const boughtRatio =
    choice === null && action.proceeds !== null && !sharesStay ? computeBoughtRatio(action, weight) : 1;
  const commonFields = { ex_date, identifier, type, choice: choice?.choice ?? null };
  const heldIdentifiers = new Set(holdings.map((name) => name.identifier));
  const heldSecurities =
    received === null || heldIdentifiers.has(received.identifier)
      ? holdings
      : [...holdings, { identifier: received.identifier, weight: 0, shares: 0 }];
  return heldSecurities.map((name): ProFormaRow => {
    const previousFields = { constituent: name.identifier, weight_before: name.weight, shares_before: name.shares };
    if (name.identifier === identifier)
      return { ...commonFields, ...previousFields, weight_after: after.weight_after, shares_after: after.shares_after };
    const ownReceipt = received?.identifier === name.identifier ? received : null;
    return {
      ...commonFields,
      ...previousFields,
      weight_after: otherFactor === null ? null : name.weight * otherFactor + (ownReceipt?.weight ?? 0),
      shares_after:
        boughtRatio === null
          ? null
          : boughtRatio * (name.shares + (ownReceipt === null ? 0 : ownReceipt.ratio * shares)),
    };
  });
}

/**
 * Returns how the proceeds of an exit change the shares of all other securities, as the ratio after / before. Received
 * shares count as other securities. Returns null if nothing else is held.
 */
function computeBoughtRatio({ proceeds, price_before: price, received }: Action, weight: number): number | null {
  if (weight === 1 || proceeds === null || price === null) return null;
  return 1 + ((weight * proceeds) / price / (1 - weight)) * (1 - (received?.weight ?? 0));
}

const COLUMNS = [
  'ex_date',
  'identifier',
  'type',
  'choice',
  'constituent',
  'weight_before',
  'weight_after',
  'shares_before',
  'shares_after',
] as const satisfies readonly (keyof ProFormaRow)[];

export function formatProFormaCsv(rows: readonly ProFormaRow[]): string {
  return formatCsvTable(
    COLUMNS,
    rows.map((row) => COLUMNS.map((column) => row[column])),
  );
}
