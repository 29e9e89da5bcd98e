import type { Finding } from '../refusals/findings.js';
import type { MarketData } from '../market/market-data.js';
import { hasCash, variantsOn } from '../market/price-basis.js';
import { pairOf, pairsUsed } from '../market/exchange-rates.js';
import { currenciesNeeded, isHeld, namesWithoutCurrency } from './rates-needed.js';
import {
  isDerivedDocument,
  isOverlayDocument,
  sourcesOf,
  type IndexDocument,
  type OverlayDocument,
  type TreatmentSpec,
} from '../documents/index-document.js';
import { defaultStaleSessions, STALE_SESSIONS } from '../documents/stale-sessions.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import { currenciesInto } from './overlay-on-market.js';
import { unknownNames, unknownRowNames } from './names-on-market.js';

/** A definition, the treatment that it has or inherits, and the market it is computed on. */
export interface Assumed {
  readonly document: IndexDocument;
  readonly treatment: TreatmentSpec;
  readonly market: MarketData;
  /** Indices beneath it, of an overlay. */
  readonly indexOf: (indexId: string) => IndexDocument | undefined;
  /** Of the constraint set of a strategy. */
  readonly rows?: readonly ConstraintRow[] | null | undefined;
  /** A run, which reports each default that it applied. */
  readonly isRun?: true;
}

/**
 * What is assumed of a market so that a definition can be computed on it: warnings of validation, preview and run
 * alike.
 */
export function assumptionFindings(assumed: Assumed): Finding[] {
  const { document, market, rows } = assumed;
  return [
    ...basisFindings(assumed),
    ...staleFindings(assumed),
    ...currencyFindings(assumed),
    ...crossedRates(assumed),
    ...unknownNames(document, market),
    ...unknownRowNames(rows ?? [], market, 'constraints'),
  ];
}

/** Findings where returns cannot follow the treatment. @cost O(A) */
function basisFindings({ document, treatment: { dividends }, market }: Assumed): Finding[] {
  const path = isDerivedDocument(document) ? 'derivation.source_index_id' : 'pipeline.treatment.dividends';
  if (!variantsOn(market).includes(dividends)) {
    const message = `The treatment asks for the ${dividends} return; the prices of the data store include dividends (adjustment total), so that every level is a total return.`;
    return [{ severity: 'warning', code: 'PRICE_BASIS', path, message, value: dividends }];
  }
  if (dividends === 'price' || market.adjustment === 'total' || hasCash(market)) return [];
  const message = `The treatment asks for the ${dividends} return; the data store has 0 cash actions (adjustment ${market.adjustment}), so that every level is a price return.`;
  return [{ severity: 'warning', code: 'NO_DIVIDENDS', path, message, value: dividends }];
}

/** The longest gap where it follows from the store: of a run always, else where it is another than on a store without endings. */
function staleFindings({ document, market, isRun }: Assumed): Finding[] {
  const { pipeline } = document;
  if (pipeline === null || pipeline.treatment.max_stale_sessions !== undefined) return [];
  const path = 'pipeline.treatment.max_stale_sessions';
  if (defaultStaleSessions(market) !== null) {
    if (isRun === undefined) return [];
    const message = `${path} is ${STALE_SESSIONS} by default, as the store has no delisting, acquisition or merger: a constituent without a price for ${STALE_SESSIONS} sessions leaves.`;
    return [{ severity: 'info', code: 'DEFAULT_TAKEN', path, message, value: STALE_SESSIONS }];
  }
  const message = `${path} is null by default, as the store has a delisting, an acquisition or a merger: a suspended constituent stays until a review or an action removes it. On a store without any it is ${STALE_SESSIONS}.`;
  return [{ severity: 'info', code: 'DEFAULT_TAKEN', path, message, value: null }];
}

/** Names listed by an assumption; the others are counted. */
const NAMES_LISTED_MAX = 3;

/**
 * Names whose prices are taken to be in the currency of the index because nothing tells theirs; of an overlay in that of
 * the index beneath that holds them.
 */
function currencyFindings({ document, market, indexOf }: Assumed): Finding[] {
  if (!isOverlayDocument(document)) return currencyFindingsOf(document, market, 'the index');
  return holdersBeneath(document, indexOf).flatMap((holder) =>
    currencyFindingsOf(holder, market, `the index ${holder.id} beneath`),
  );
}

/** Missing exchange rates that two others take the place of: those of names, and of the conversion of an overlay. */
function crossedRates({ document, market, indexOf }: Assumed): Finding[] {
  const holders = isOverlayDocument(document) ? holdersBeneath(document, indexOf) : [document];
  const needed = [
    ...holders.flatMap((holder) => currenciesNeeded(market, holder).map((from) => [from, holder.currency] as const)),
    ...(isOverlayDocument(document)
      ? currenciesInto(document, indexOf).map((from) => [from, document.currency] as const)
      : []),
  ];
  const crossed = needed.flatMap(([from, to]): [pair: string, through: string][] => {
    const pairs = pairsUsed((pair) => isHeld(market, pair), from, to);
    return pairs?.length === 2 ? [[pairOf(from, to), pairs.join(' and ')]] : [];
  });
  return [...new Map(crossed)].map(([pair, through]) => ({
    severity: 'warning',
    code: 'FX_CROSSED',
    path: 'currency',
    message: `The data store has no exchange rate ${pair}: it is crossed from ${through}.`,
    value: pair,
  }));
}

/** The indices beneath an overlay that hold names, each once. */
function holdersBeneath(overlay: OverlayDocument, indexOf: Assumed['indexOf']): IndexDocument[] {
  const found = new Map<string, IndexDocument>();
  const visit = (document: IndexDocument): void => {
    if (found.has(document.id)) return;
    found.set(document.id, document);
    if (isOverlayDocument(document)) for (const id of sourcesOf(document)) visit(indexOf(id) ?? document);
  };
  visit(overlay);
  return [...found.values()].filter((document) => !isOverlayDocument(document));
}

function currencyFindingsOf(document: IndexDocument, market: MarketData, holder: string): Finding[] {
  const names = namesWithoutCurrency(market, document);
  if (names.length === 0) return [];
  const { currency } = document;
  const more = names.length - NAMES_LISTED_MAX;
  const listed = `${names.slice(0, NAMES_LISTED_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  const message = `${names.length} of ${market.identifiers.length} names of the data store have no CURRENCY (${listed}) and the store declares none: their prices are taken to be in ${currency}, the currency of ${holder}.`;
  return [{ severity: 'warning', code: 'CURRENCY_ASSUMED', path: 'currency', message, value: currency }];
}
