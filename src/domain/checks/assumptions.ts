import type { Finding } from '../refusals/findings.js';
import type { MarketData } from '../market/market-data.js';
import { hasCash, listVariants } from '../market/price-basis.js';
import { listUsedPairs } from '../market/currency-pairs.js';
import { createPair } from '../market/currency-codes.js';
import { listRequiredCurrencies, isCurrencyHeld, listSecuritiesWithoutCurrency } from './required-rates.js';
import {
  isDerivedDocument,
  isOverlayDocument,
  listSources,
  type IndexDocument,
  type OverlayDocument,
  type TreatmentSpec,
} from '../documents/index-document.js';
import { readDefaultStaleSessions, STALE_SESSIONS } from '../documents/stale-sessions.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import { listConvertedCurrencies } from './overlay-on-market.js';
import { findUnknownSecurities, findUnknownRowSecurities } from './identifiers-on-market.js';

/** Definition with its own or inherited treatment, and the market on which it is computed. */
export interface AssumptionInput {
  readonly document: IndexDocument;
  readonly treatment: TreatmentSpec;
  readonly market: MarketData;
  /** Returns an underlying index of an overlay. */
  readonly indexOf: (indexId: string) => IndexDocument | undefined;
  /** Rows of the constraint set of a strategy. */
  readonly rows?: readonly ConstraintRow[] | null | undefined;
  /** True for a run, which reports every default that it applied. */
  readonly isRun?: true;
}

/**
 * Returns the assumptions under which a definition is computed on a market. Validation, preview and run report the same
 * warnings.
 */
export function reportAssumptions(assumed: AssumptionInput): Finding[] {
  const { document, market, rows } = assumed;
  return [
    ...reportBasis(assumed),
    ...reportStaleDefault(assumed),
    ...reportCurrencies(assumed),
    ...reportCrossedRates(assumed),
    ...findUnknownSecurities(document, market),
    ...findUnknownRowSecurities(rows ?? [], market, 'constraints'),
  ];
}

/** Warns if the price data do not permit the stated treatment of dividends. @cost O(A) for A corporate actions */
function reportBasis({ document, treatment: { dividends }, market }: AssumptionInput): Finding[] {
  const path = isDerivedDocument(document) ? 'derivation.source_index_id' : 'pipeline.treatment.dividends';
  if (!listVariants(market).includes(dividends)) {
    const message = `The treatment requests the ${dividends} return, but the prices of the data store include dividends (adjustment total), so every level is a total return.`;
    return [{ severity: 'warning', code: 'PRICE_BASIS', path, message, value: dividends }];
  }
  if (dividends === 'price' || market.adjustment === 'total' || hasCash(market)) return [];
  const message = `The treatment requests the ${dividends} return, but the data store has no cash actions (adjustment ${market.adjustment}), so every level is a price return.`;
  return [{ severity: 'warning', code: 'NO_DIVIDENDS', path, message, value: dividends }];
}

/**
 * Reports the default of `max_stale_sessions` that follows from the store. A run always reports it. Other callers
 * report it only if it differs from the default of a store without delistings.
 */
function reportStaleDefault({ document, market, isRun }: AssumptionInput): Finding[] {
  const { pipeline } = document;
  if (pipeline === null || pipeline.treatment.max_stale_sessions !== undefined) return [];
  const path = 'pipeline.treatment.max_stale_sessions';
  if (readDefaultStaleSessions(market) !== null) {
    if (isRun === undefined) return [];
    const message = `The store has no delisting, acquisition or merger, so by default a constituent without a price for ${STALE_SESSIONS} sessions leaves.`;
    return [{ severity: 'info', code: 'DEFAULT_TAKEN', path, message, value: STALE_SESSIONS }];
  }
  const message = `A suspended constituent stays until a review or a corporate action removes it. Reason: the store has delistings, acquisitions or mergers. Otherwise it would leave after ${STALE_SESSIONS} sessions without a price.`;
  return [{ severity: 'info', code: 'DEFAULT_TAKEN', path, message, value: null }];
}

/** Maximum number of securities that an assumption lists. The others are only counted. */
const SECURITIES_LISTED_MAX = 3;

/**
 * Warns about securities without a stated currency. Their prices are assumed to be in the currency of the index, or of
 * the underlying index that holds them.
 */
function reportCurrencies({ document, market, indexOf }: AssumptionInput): Finding[] {
  if (!isOverlayDocument(document)) return reportDocumentCurrencies(document, market, 'the index');
  return listUnderlyingHolders(document, indexOf).flatMap((holder) =>
    reportDocumentCurrencies(holder, market, `the underlying index ${holder.id}`),
  );
}

/**
 * Reports missing exchange rates that are derived from two other rates. They concern securities and the conversion of
 * an overlay.
 */
function reportCrossedRates({ document, market, indexOf }: AssumptionInput): Finding[] {
  const holders = isOverlayDocument(document) ? listUnderlyingHolders(document, indexOf) : [document];
  const neededPairs = [
    ...holders.flatMap((holder) =>
      listRequiredCurrencies(market, holder).map((from) => [from, holder.currency] as const),
    ),
    ...(isOverlayDocument(document)
      ? listConvertedCurrencies(document, indexOf).map((from) => [from, document.currency] as const)
      : []),
  ];
  const crossedPairs = neededPairs.flatMap(([from, to]): [pair: string, through: string][] => {
    const pairs = listUsedPairs((pair) => isCurrencyHeld(market, pair), from, to);
    return pairs?.length === 2 ? [[createPair(from, to), pairs.join(' and ')]] : [];
  });
  return [...new Map(crossedPairs)].map(([pair, through]) => ({
    severity: 'warning',
    code: 'FX_CROSSED',
    path: 'currency',
    message: `The data store has no exchange rate ${pair}. It is computed as the cross rate of ${through}.`,
    value: pair,
  }));
}

/** Returns the distinct underlying indices of an overlay that hold securities. */
function listUnderlyingHolders(overlay: OverlayDocument, indexOf: AssumptionInput['indexOf']): IndexDocument[] {
  const results = new Map<string, IndexDocument>();
  const visit = (document: IndexDocument): void => {
    if (results.has(document.id)) return;
    results.set(document.id, document);
    if (isOverlayDocument(document)) for (const id of listSources(document)) visit(indexOf(id) ?? document);
  };
  visit(overlay);
  return [...results.values()].filter((document) => !isOverlayDocument(document));
}

function reportDocumentCurrencies(document: IndexDocument, market: MarketData, holder: string): Finding[] {
  const names = listSecuritiesWithoutCurrency(market, document);
  if (names.length === 0) return [];
  const { currency } = document;
  const moreCount = names.length - SECURITIES_LISTED_MAX;
  const list = `${names.slice(0, SECURITIES_LISTED_MAX).join(', ')}${moreCount > 0 ? ` and ${moreCount} more` : ''}`;
  const message = `${names.length} of ${market.identifiers.length} securities of the data store have no CURRENCY (${list}), and the store has no default currency. Their prices are assumed to be in ${currency}, the currency of ${holder}.`;
  return [{ severity: 'warning', code: 'CURRENCY_ASSUMED', path: 'currency', message, value: currency }];
}
