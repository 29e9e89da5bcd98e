import type { z } from 'zod';
import { suggestName } from '#base/nearest-name.js';
import { callOnce } from '#base/once.js';
import { type Finding, hasErrors, keepSmallValue, reportFindings, sortFindings } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { refuseWithFindings } from '../base/refusals.js';
import { checkFinite, checkShape } from '../base/schema.js';
import { formatDay, parseValidDay } from '../base/time.js';
import { describeUnknownCalendar, listExchangeCodes } from '../calendars/calendar.js';
import { hasCash, listVariants, type MarketData } from '../market/market-data.js';
import { createPair, listUsedPairs } from '../market/rates.js';
import { checkAmendments } from './amendments.js';
import type { BacktestPlan } from './backtest-plan.js';
import { formatAssetPath, visitNamedAssets } from './catalogue.js';
import type { ConstraintRow } from './constraint-class.js';
import { findUnknownGroups } from './constraint-sets.js';
import { findConstraintClass } from './constraints.js';
import { checkDerivation, checkInheritance, reportDroppedSource } from './optimisation-requests.js';
import { locateInTexts, parseDocumentExpressions } from './document-expressions.js';
import { EventsSpec, RebalanceSpec, validateRebalance } from './schedule.js';
import { findReturnsClass } from './expected-returns.js';
import {
  checkConstraintFields,
  checkFields,
  checkSpecFields,
  listMissingColumns,
  listRowFields,
  listSpecFields,
  type LocatedUse,
} from './field-uses.js';
import {
  checkBreachRule,
  checkEvents,
  checkFloatFields,
  checkIdleEvents,
  checkReviews,
  checkRounding,
  checkRuleRows,
  checkUniverse,
  checkUnkeptRule,
  listExcess,
} from './index-checks.js';
import {
  createErrorFinding,
  type DerivationPayload,
  type IndexContext,
  IndexDocument,
  isDerivedDocument,
  isObject,
  isOverlayDocument,
  isRuleDocument,
  listSources,
  type OverlayDocument,
  readDefinitions,
  RESERVED_INDEX_IDS,
  type ReviewSpec,
  type RuleDocument,
  stateIndexDefaults,
  stateRowDefaults,
  type TreatmentSpec,
  type UncheckedBody,
  UniverseSpec,
} from './index-document.js';
import { PLAIN_OBJECTIVE } from './optimisation.js';
import { findOverlayType, listBlendParts, OverlaySpec } from './overlays.js';
import { checkCalledReferences, checkReference } from './references.js';
import {
  checkOverlayOnMarket,
  checkWithholding,
  findMissingRates,
  isCurrencyHeld,
  listConvertedCurrencies,
  listRequiredCurrencies,
  listSecuritiesWithoutCurrency,
} from './required-rates.js';
import { bindPipeline, findIndexShares, findSelectionClass, findWeightingClass, listReads } from './rule-pipeline.js';
import { BacktestFields } from './runs.js';
import { readDefaultStaleSessions, resolveTreatment, STALE_SESSIONS } from './treatment.js';

/** Maximum number of securities listed individually. The others are only counted. */
const UNKNOWN_LISTED_MAX = 20;

/** Maximum number of unknown securities whose names are compared with those of the market. */
const SECURITIES_COMPARED_MAX = 5;

interface ListedSecurity {
  readonly identifier: string;
  /** Path of its list or object, and its position or key there. */
  readonly place: string;
  readonly key: number | string | null;
  /** Path of the parameter that contains it. */
  readonly list: string;
  readonly rowId: string | null;
}

/**
 * Reports securities and groups of a document that the market does not contain. These are warnings, because the other
 * securities can be computed.
 */
export function findUnknownSecurities(document: IndexDocument, market: MarketData): Finding[] {
  const { universe, pipeline, derivation, events, reviews = [] } = document;
  const names = reportUnknown(
    [
      ...listValues({ params: UniverseSpec }, universe, { path: 'universe' }),
      ...(pipeline === null ? [] : listPipelineSecurities(pipeline, 'pipeline')),
      ...reviews.flatMap((review, i) => listPipelineSecurities(review, `reviews[${i}]`)),
      ...listValues({ params: EventsSpec }, events, { path: 'events' }),
      ...(derivation === null ? [] : listDerivationSecurities(derivation)),
    ],
    market,
  );
  return [...names, ...findUnknownGroups(derivation?.constraints ?? [], market, 'derivation.constraints')];
}

/** Reports unknown securities and groups in constraint rows. @param path path of the list of rows */
export function findUnknownRowSecurities(rows: readonly ConstraintRow[], market: MarketData, path: string): Finding[] {
  return [...reportUnknown(listRowSecurities(rows, path), market), ...findUnknownGroups(rows, market, path)];
}

function listPipelineSecurities(
  { selection = [], weighting }: Pick<ReviewSpec, 'selection' | 'weighting'>,
  path: string,
): ListedSecurity[] {
  return [
    ...selection.flatMap(({ id, type, params }, i) =>
      listValues(findSelectionClass(type), params, { path: `${path}.selection[${i}].params`, rowId: id }),
    ),
    ...(weighting === undefined
      ? []
      : listValues(findWeightingClass(weighting.type), weighting.params, { path: `${path}.weighting.params` })),
  ];
}

function listDerivationSecurities({ constraints, expected_returns: returns }: DerivationPayload): ListedSecurity[] {
  return [
    ...listRowSecurities(constraints, 'derivation.constraints'),
    ...listValues(findReturnsClass(returns?.type ?? ''), returns, { path: 'derivation.expected_returns' }),
  ];
}

function listRowSecurities(rows: readonly ConstraintRow[], path: string): ListedSecurity[] {
  return rows.flatMap(({ id, type, params }, i) =>
    listValues(findConstraintClass(type), params, { path: `${path}[${i}].params`, rowId: id === '' ? null : id }),
  );
}

function listValues(
  entry: { readonly params: z.ZodObject } | undefined,
  params: unknown,
  { path, rowId = null }: { readonly path: string; readonly rowId?: string | null },
): ListedSecurity[] {
  if (entry === undefined || typeof params !== 'object' || params === null) return [];
  const values = params as Readonly<Record<string, unknown>>; // an object, as asserted above
  const found: ListedSecurity[] = [];
  for (const [name, schema] of Object.entries(entry.params.shape)) {
    const list = `${path}.${name}`;
    visitNamedAssets(schema as z.core.$ZodType, values[name], list, (identifier, place, key) =>
      found.push({ identifier, place, key, list, rowId }),
    );
  }
  return found;
}

/**
 * Reports securities that the market does not contain. @cost O(N) string comparisons for each of a few unknown
 * securities
 */
function reportUnknown(names: readonly ListedSecurity[], market: MarketData): Finding[] {
  if (names.length === 0) return [];
  const storedIdentifiers = new Set(market.identifiers);
  const unknownSecurities = names.filter(({ identifier }) => !storedIdentifiers.has(identifier));
  const securityFindings = unknownSecurities
    .slice(0, UNKNOWN_LISTED_MAX)
    .map(({ identifier, place, key, rowId }, i): Finding => ({
      severity: 'warning',
      code: 'UNKNOWN_IDENTIFIER',
      path: formatAssetPath(place, key),
      row_id: rowId,
      message: describeUnknown(identifier, i < SECURITIES_COMPARED_MAX ? storedIdentifiers : [], market),
      value: identifier,
    }));
  const restCounts = new Map<string, number>();
  for (const { list } of unknownSecurities.slice(UNKNOWN_LISTED_MAX))
    restCounts.set(list, (restCounts.get(list) ?? 0) + 1);
  return [
    ...securityFindings,
    ...Array.from(restCounts, ([path, count]): Finding => ({
      severity: 'warning',
      code: 'MORE_FINDINGS',
      path,
      message: `${count} further ${count === 1 ? 'identifier is' : 'identifiers are'} not in the store.`,
    })),
  ];
}

function describeUnknown(identifier: string, candidates: Iterable<string>, { series }: MarketData): string {
  return series?.has(identifier) === true
    ? `${identifier} is a series of the store, which is never a constituent.`
    : `The store has no ${identifier}.${suggestName(identifier, candidates)}`;
}

/** Definition with its own or inherited treatment, and the market on which it is computed. */
interface AssumptionInput {
  readonly document: IndexDocument;
  readonly treatment: TreatmentSpec;
  readonly market: MarketData;
  /** Returns an underlying index of an overlay. */
  readonly indexOf: (indexId: string) => IndexDocument | undefined;
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

/**
 * Reports data that a valid document needs and the market lacks: datapoints, a named universe, exchange rates.
 * @param severity `warning` when the document is saved, because another store may have the data; `error` when the index
 * is computed. Missing rates of securities remain warnings, because the other securities are computed.
 * @param indexOf returns an underlying index
 */
export function checkOnMarket(
  document: IndexDocument,
  market: MarketData,
  { severity, indexOf }: { readonly severity: 'error' | 'warning'; readonly indexOf: IndexContext['indexOf'] },
): Finding[] {
  const definitions = readDefinitions(document);
  if (isOverlayDocument(document)) return checkOverlayOnMarket(document, { market, indexOf, severity });
  if (isDerivedDocument(document))
    return [
      ...checkSpecFields(document.derivation, market, { path: 'derivation.', severity, definitions }),
      ...checkConstraintFields(document.derivation.constraints, market, {
        path: 'derivation.constraints',
        severity,
        definitions,
      }),
    ];
  if (!isRuleDocument(document)) return [];
  return [
    ...checkFields([...listReads(bindPipeline(document)), ...listReviewReads(document)], market, severity, definitions),
    ...(document.universe === undefined
      ? []
      : checkUniverseOnMarket(document.universe, market, { severity, path: 'universe' })),
    ...checkWithholding(document, market, severity),
    ...findMissingRates(market, document).map((pair): Finding => ({
      severity: 'warning',
      code: 'FX_MISSING',
      path: 'currency',
      message: `The store has no exchange rate ${pair}, which securities in that currency need.`,
      value: pair,
    })),
  ];
}

function listReviewReads({ reviews = [], ...document }: RuleDocument): LocatedUse[] {
  const { pipeline } = document;
  return reviews.flatMap(({ selection = [], weighting = pipeline.weighting }, i) => {
    const boundPipeline = bindPipeline({ ...document, pipeline: { ...pipeline, selection, weighting } });
    return listReads(boundPipeline)
      .filter(({ path }) => weighting !== pipeline.weighting || !path.startsWith('pipeline.weighting'))
      .map((locatedUse) => ({ ...locatedUse, path: locatedUse.path.replace(/^pipeline/, `reviews[${i}]`) }));
  });
}

/** Warns about a base date before the first or after the last prices of the data. */
function checkBaseDate({ base_date: base }: Pick<IndexDocument, 'base_date'>, market: MarketData): Finding[] {
  const [first, last] = [market.dates[0], market.dates.at(-1)];
  if (first === undefined || last === undefined) return [];
  const day = parseValidDay(base);
  if (day >= first && day <= last) return [];
  const coverageText = `the prices in the data, ${formatDay(first)} to ${formatDay(last)}`;
  const message =
    day < first
      ? `The base date ${base} is before ${coverageText}. Runs begin at the first price.`
      : `The base date ${base} is after ${coverageText}. Runs have no sessions.`;
  return [{ severity: 'warning', code: 'OUT_OF_RANGE', path: 'base_date', message, value: base }];
}

function checkUniverseOnMarket(
  { kind, id, of = [] }: UniverseSpec,
  market: MarketData,
  { severity, path }: { readonly severity: 'error' | 'warning'; readonly path: string },
): Finding[] {
  const partFindings = of.flatMap((part, i) =>
    checkUniverseOnMarket(part, market, { severity, path: `${path}.of[${i}]` }),
  );
  if (kind !== 'named') return partFindings;
  const acceptedUniverses = [...new Set(market.universes.map(({ universe }) => universe))].sort();
  if (acceptedUniverses.includes(id!)) return [];
  return [
    {
      severity,
      code: 'UNKNOWN_IDENTIFIER',
      path: `${path}.id`,
      message: `The store has no universe ${id}; it has ${acceptedUniverses.join(', ') || 'none'}.`,
      accepted: acceptedUniverses,
      value: id,
    },
  ];
}

type RawBody = Readonly<Record<string, unknown>>;

/**
 * Applies the defaults of the version that stored a document. Up to 0.2.0, dividends and special dividends buy more of
 * the paying security, target weights hold exactly at the effective close, and a split keeps the weight of a
 * price-weighted constituent. In version 0.3.0, `max_stale_sessions` applies to entries too. Up to 0.7.0, a derivation
 * may state any objective by only its type. Documents of later versions are unchanged.
 */
function applyOlderSettings(body: unknown): unknown {
  return isObject(body) ? applyOlderMathematics(applyOlderObjective(body)) : body;
}

/** Returns a derivation of a version up to 0.7.0, which stated every objective by its type, with an object instead. */
function applyOlderObjective(body: RawBody): RawBody {
  const { derivation } = body;
  if (!isObject(derivation)) return body;
  const { objective: type = PLAIN_OBJECTIVE } = derivation;
  if (typeof type !== 'string' || type === PLAIN_OBJECTIVE) return body;
  return { ...body, derivation: { ...derivation, objective: { type } } };
}

function applyOlderMathematics(body: RawBody): unknown {
  const { rebalance = {}, pipeline } = body;
  if (!isObject(rebalance)) return body;
  if ('weights_as' in rebalance) return addOlderGaps(body);
  const settings = { ...body, rebalance: { ...rebalance, weights_as: 'weights' } };
  return addOlderGaps(isObject(pipeline) ? { ...settings, pipeline: applyOlderPipeline(pipeline) } : settings);
}

/**
 * Returns a document stored by a version up to 0.3.0. Its `max_stale_sessions` also applies to securities that enter.
 */
function addOlderGaps(body: RawBody): unknown {
  const { pipeline } = body;
  if (!isObject(pipeline)) return body;
  const { treatment = {} } = pipeline;
  if (!isObject(treatment) || 'entry_stale_sessions' in treatment) return body;
  const { max_stale_sessions: sessions = STALE_SESSIONS } = treatment;
  const gaps = { max_stale_sessions: sessions, entry_stale_sessions: sessions };
  return { ...body, pipeline: { ...pipeline, treatment: { ...treatment, ...gaps } } };
}

function applyOlderPipeline({ treatment = {}, weighting, ...pipeline }: RawBody): RawBody {
  return {
    ...pipeline,
    ...(isObject(treatment) ? { treatment: applyOlderTreatment(treatment) } : { treatment }),
    weighting: isObject(weighting) ? applyOlderWeighting(weighting) : weighting,
  };
}

function applyOlderTreatment({ special_dividends: special = 'reinvest', ...treatment }: RawBody): RawBody {
  return {
    ...treatment,
    reinvestment: 'constituent',
    special_dividends: special === 'reinvest' ? 'constituent' : special,
    rights: 'constituent',
  };
}

function applyOlderWeighting(weighting: RawBody): RawBody {
  const params = isObject(weighting['params']) ? weighting['params'] : {};
  const shares = findIndexShares({ type: String(weighting['type']), params });
  return shares?.kind === 'fixed' ? { ...weighting, params: { ...params, splits: 'keep_weight' } } : weighting;
}

export interface CheckedIndex {
  /** Document with defaults and without unknown fields. Undefined if a finding is an error. */
  readonly document: IndexDocument | undefined;
  /** All findings in the order in which they are served. */
  readonly findings: readonly Finding[];
}

/**
 * Checks an index document: its shape, the parameters of every row, the combination of rows, and references to other
 * documents. Also warns of data that the current market lacks.
 */
export function validateIndex(sentBody: UncheckedBody, context: IndexContext): CheckedIndex {
  const excess = listExcess(sentBody);
  if (excess.length > 0) return { document: undefined, findings: sortFindings(excess) };
  const {
    body,
    texts,
    findings: ofTexts,
  } = parseDocumentExpressions(addOverlayCurrency(sentBody, context), context.market);
  const shapeResult = checkShape(IndexDocument, body, { unknownFields: 'warning', strictMembers: STRICT_MEMBERS });
  const shapeErrors = shapeResult.findings.filter(({ severity }) => severity === 'error');
  if (shapeErrors.length > LIMITS.MAX_FINDINGS)
    return { document: undefined, findings: reportFindings(shapeResult.findings) };
  const tooLarge = checkFinite(body);
  const tooLargePaths = new Set(tooLarge.map(({ path }) => path));
  const findings = [
    ...tooLarge,
    ...shapeResult.findings.filter(({ path }) => !tooLargePaths.has(path)),
    ...checkDocumentFindings(body, context),
    ...(isObject(body['pipeline']) ? checkPipeline(body['pipeline'], body['reviews']) : []),
    ...(isObject(body['derivation'])
      ? checkDerivation(body['derivation'], body, context)
      : reportDroppedSource(body, context)),
    ...checkOverlay(body, context),
    ...checkUniverse(body, context),
    ...checkReviews(body, context),
    ...checkRounding(body, context),
    ...checkAmendments(body, (text) => validateIndex(text, context).findings),
    ...checkEvents(body['events']),
    ...ofTexts,
    ...checkCalledReferences(body, context.indexOf),
    ...reportIdleDatapoints(body),
  ];
  if (!hasErrors(findings) && shapeResult.value !== undefined)
    findings.push(...checkOverlayTerms(shapeResult.value, context));
  const document = hasErrors(findings) || shapeResult.value === undefined ? undefined : addDefaults(shapeResult.value);
  if (document !== undefined) {
    findings.push(
      ...checkInheritance(document, context),
      ...reportBlendDefaults(sentBody),
      ...checkFloatFields(document),
      ...checkUnkeptRule(document),
      ...checkIdleEvents(document, context.market),
    );
    if (context.market !== undefined)
      findings.push(
        ...checkBaseDate(document, context.market),
        ...checkOnMarket(document, context.market, { severity: 'warning', indexOf: context.indexOf }),
        ...listAssumptions(document, context.market, context.indexOf),
      );
  }
  const accepted = hasErrors(findings) ? undefined : document;
  return { document: accepted, findings: reportFindings(locateInTexts(removeRepeated(findings), texts)) };
}

/**
 * Removes warnings that repeat an error. This happens for an unknown member: the document ignores it with a warning, its
 * object refuses it with an error.
 */
function removeRepeated(findings: readonly Finding[]): Finding[] {
  const getPlace = ({ code, path }: Finding): string => `${code} ${path}`;
  const errorPlaces = new Set(findings.filter(({ severity }) => severity === 'error').map(getPlace));
  return findings.filter((finding) => finding.severity === 'error' || !errorPlaces.has(getPlace(finding)));
}

/** Reports expressions without effect: an overlay reads only levels. */
function reportIdleDatapoints(body: UncheckedBody): Finding[] {
  if (!isObject(body['overlay'])) return [];
  return ['datapoints', 'plugins']
    .filter((member) => body[member] !== undefined)
    .map((path) => {
      const message = `${path} has no effect, because an overlay reads only the level of the underlying index.`;
      return { severity: 'warning', code: 'NO_EFFECT', path, message };
    });
}

/** Members of a document that older clients do not send; unknown members within them are errors. */
const STRICT_MEMBERS = ['overlay', 'rounding', 'amendments'];

/** Parsed documents by their frozen bodies. */
const validatedDocuments = new WeakMap<object, IndexDocument>();

/**
 * Reads a stored body as a document, with the defaults of the version that stored it. Returns undefined if it does not
 * match the schema.
 * @cost one validation; none for a frozen body that was read before
 */
export function readIndex(body: unknown): IndexDocument | undefined {
  const isConstant = typeof body === 'object' && body !== null && Object.isFrozen(body);
  const cachedResult = isConstant ? validatedDocuments.get(body) : undefined;
  if (cachedResult !== undefined) return cachedResult;
  const result = IndexDocument.safeParse(applyOlderSettings(body));
  if (!result.success) return undefined;
  const document = stateIndexDefaults(addDefaultUniverse(result.data), 'earlier');
  if (isConstant) validatedDocuments.set(body, document);
  return document;
}

/** Returns a body as it would be stored, with current defaults. Returns undefined if it does not match the schema. */
export function parseAcceptedIndex(body: unknown): IndexDocument | undefined {
  const { data } = IndexDocument.safeParse(body);
  return data && addDefaults(data);
}

const addDefaults = (document: IndexDocument): IndexDocument =>
  stateIndexDefaults(addDefaultUniverse(document), 'today');

/**
 * Adds the default universe, all securities, to an index that selects by rules. The universe of a derived index is that
 * of its source.
 */
function addDefaultUniverse(document: IndexDocument): IndexDocument {
  return isDerivedDocument(document) || isOverlayDocument(document) || document.universe !== undefined
    ? document
    : { ...document, universe: { kind: 'all' } };
}

/** Returns the assumptions about a market that a document makes. Returns none if a source index is missing. */
export function listAssumptions(
  document: IndexDocument,
  market: MarketData,
  indexOf: IndexContext['indexOf'],
): Finding[] {
  const treatment = resolveTreatment(document, indexOf);
  return treatment === undefined ? [] : reportAssumptions({ document, treatment, market, indexOf });
}

function checkDocumentFindings(body: UncheckedBody, { calendars }: IndexContext): Finding[] {
  const findings: Finding[] = [];
  const { id, calendar } = body;
  if ((RESERVED_INDEX_IDS as readonly unknown[]).includes(id)) {
    findings.push(
      createErrorFinding(
        'BAD_IDENTIFIER',
        'id',
        `The id ${String(id)} is reserved, because it is part of a route; the reserved ids are ${RESERVED_INDEX_IDS.join(', ')}.`,
        { value: id },
      ),
    );
  }
  const isKnown = (name: string) => calendars.some(({ code }) => code === name);
  if (typeof calendar === 'string' && calendar !== '' && !listExchangeCodes(calendar).every(isKnown)) {
    const calendarCodes = calendars.map(({ code }) => code);
    findings.push(
      createErrorFinding(
        'UNKNOWN_CALENDAR',
        'calendar',
        `${describeUnknownCalendar(calendar, isKnown)}; the accepted set is ${calendarCodes.join(', ')}.`,
        { accepted: calendarCodes, ...keepSmallValue(calendar) },
      ),
    );
  }
  const hasMember = (field: string) => body[field] !== undefined && body[field] !== null;
  const presentParts = ['pipeline', 'derivation', 'overlay'].filter(hasMember);
  if (presentParts.length !== 1) {
    const partsPhrase =
      presentParts.length === 0
        ? 'neither is present'
        : presentParts.length === 2
          ? 'both are present'
          : 'all three are present';
    const kinds = presentParts.includes('overlay')
      ? 'a pipeline, a derivation or an overlay'
      : 'a pipeline or a derivation';
    findings.push(createErrorFinding('PIPELINE_XOR_DERIVATION', '', `An index has either ${kinds}; ${partsPhrase}.`));
  }
  if ((body['kind'] === 'overlay') !== hasMember('overlay'))
    findings.push(
      hasMember('overlay')
        ? createErrorFinding('REQUIRED', 'kind', 'kind must be overlay if the document has an overlay.')
        : createErrorFinding('PIPELINE_XOR_DERIVATION', 'kind', 'The kind overlay requires the member overlay.'),
    );
  return findings;
}

/** Checks every row by its class, and reports duplicate ids and contradictory limits. */
function checkPipeline(pipeline: UncheckedBody, reviews: unknown): Finding[] {
  return [...checkRuleRows(pipeline, 'pipeline'), ...checkBreachRule(pipeline['treatment'], reviews)];
}

type Documents = Readonly<Record<string, IndexDocument>>;

/** Returns the documents of a stored plan or request with the defaults of the version that stored them. */
export function addDefaultsToDocuments(documents: Documents): Documents {
  return Object.fromEntries(Object.entries(documents).map(([id, document]) => [id, addDefaultsToDocument(document)]));
}

export const addDefaultsToDocument = (document: IndexDocument): IndexDocument => readIndex(document) ?? document;

/** Returns a plan in the current form: documents and request with defaults for fields that were added later. */
export function addDefaultsToPlan(plan: BacktestPlan): BacktestPlan {
  const { strategy } = plan;
  const constraints = strategy?.constraints && { constraints: stateRowDefaults(strategy.constraints, 'earlier') };
  return {
    ...plan,
    documents: addDefaultsToDocuments(plan.documents),
    ...(strategy ? { strategy: { ...strategy, ...constraints } } : {}),
    request: BacktestFields.safeParse(plan.request).data ?? plan.request,
  };
}

/** Kinds of data that a document refers to by name. */
export const NEED_KINDS = ['column', 'series', 'universe'] as const;

/** Column of the market or of the reference data, series, or universe. */
export interface DataNeed {
  readonly kind: (typeof NEED_KINDS)[number];
  readonly name: string;
}

/** Parts of a market that documents refer to. */
type DescribedData = Pick<MarketData, 'fields' | 'reference' | 'universes' | 'series'>;

/** Market with only closes. */
const DATA_WITH_CLOSES: DescribedData = {
  fields: new Map([['CLOSE', new Float64Array()]]),
  reference: { columns: [], rows: new Map() },
  universes: [],
};

/** Returns the data that the documents of a template read in addition to closes, without duplicates. */
export const listDataNeeds = (documents: readonly IndexDocument[]): DataNeed[] =>
  listMissingNeeds(documents, DATA_WITH_CLOSES);

/** Returns the data that the documents of a template read and a market lacks, without duplicates. */
export function listMissingNeeds(documents: readonly IndexDocument[], market: DescribedData): DataNeed[] {
  const needs = documents.flatMap((document) => [
    ...listColumns(document, market).map((name): DataNeed => ({ kind: 'column', name })),
    ...listSeries(document).flatMap((name): DataNeed[] => (market.series?.has(name) ? [] : [{ kind: 'series', name }])),
    ...listUniverses(document.universe).flatMap((name): DataNeed[] =>
      market.universes.some(({ universe }) => universe === name) ? [] : [{ kind: 'universe', name }],
    ),
  ]);
  return [...new Map(needs.map((need) => [`${need.kind} ${need.name}`, need])).values()];
}

function listColumns(document: IndexDocument, market: DescribedData): string[] {
  const definitions = readDefinitions(document);
  if (isRuleDocument(document)) return listMissingColumns(listReads(bindPipeline(document)), market, definitions);
  if (!isDerivedDocument(document)) return [];
  const { derivation } = document;
  return listMissingColumns(
    [...listSpecFields(derivation, ''), ...listRowFields(derivation.constraints, '')],
    market,
    definitions,
  );
}

const listSeries = (document: IndexDocument): string[] =>
  isOverlayDocument(document)
    ? findOverlayType(document.overlay)
        .series(document.overlay)
        .map(({ series }) => series)
    : [];

function listUniverses(universe: UniverseSpec | undefined): string[] {
  if (universe === undefined) return [];
  const namedUniverses = universe.kind === 'named' && universe.id != null ? [universe.id] : [];
  return [...namedUniverses, ...(universe.of ?? []).flatMap(listUniverses)];
}

const WEIGHTS_TOLERANCE = 1e-9;

/** Checks that the underlying indices of an overlay are stored and do not refer back to it. */
function checkOverlay(body: UncheckedBody, { indexOf }: IndexContext): Finding[] {
  const { overlay, source_index_id: source } = body;
  // The check of the type refuses a value that is not an object.
  const isAbsent = overlay === undefined || overlay === null;
  if (!isObject(overlay)) return source === undefined || !isAbsent ? [] : [reportStrayField('source_index_id')];
  if (overlay['type'] !== 'blend') {
    if (source === undefined || source === null)
      return [createErrorFinding('REQUIRED', 'source_index_id', 'source_index_id is required by an overlay.')];
    return typeof source === 'string' ? checkReference(source, body['id'], 'source_index_id', indexOf) : [];
  }
  const parts = Array.isArray(overlay['parts']) ? overlay['parts'] : [];
  return [
    ...(source === undefined ? [] : [reportStrayField('source_index_id')]),
    ...parts.flatMap((part: unknown, k) =>
      isObject(part) && typeof part['index_id'] === 'string'
        ? checkReference(part['index_id'], body['id'], `overlay.parts[${k}].index_id`, indexOf)
        : [],
    ),
  ];
}

function reportStrayField(path: string): Finding {
  return createErrorFinding('PIPELINE_XOR_DERIVATION', path, `${path} applies only to overlays on one index.`);
}

/**
 * Adds the default currency of an overlay. This is the currency into which it converts, or otherwise the currency of
 * the underlying index.
 */
function addOverlayCurrency(body: UncheckedBody, { indexOf }: IndexContext): UncheckedBody {
  const { overlay, currency } = body;
  const result = OverlaySpec.safeParse(overlay);
  if (currency !== undefined || !result.success) return body;
  const source = listBlendParts(result.data)?.[0]?.index_id ?? body['source_index_id'];
  const typeCurrency = findOverlayType(result.data).currency(result.data);
  const inheritedCurrency = typeCurrency ?? (typeof source === 'string' ? indexOf(source)?.currency : undefined);
  return inheritedCurrency === undefined ? body : { ...body, currency: inheritedCurrency };
}

/** Reports the default schedule of a blend, on which the weights of several parts are reset. */
function reportBlendDefaults({ overlay }: UncheckedBody): Finding[] {
  if (!isObject(overlay) || overlay['type'] !== 'blend' || overlay['rebalance'] !== undefined) return [];
  if (!Array.isArray(overlay['parts']) || overlay['parts'].length < 2) return [];
  const { frequency, anchor } = RebalanceSpec.parse({});
  const path = 'overlay.rebalance';
  const message = `The weights are restored with the frequency ${frequency} and the anchor ${anchor}. Use ${path} to change this.`;
  return [{ severity: 'info', code: 'DEFAULT_TAKEN', path, message, value: { frequency, anchor } }];
}

/** Checks the fields of an overlay against its underlying indices. */
function checkOverlayTerms(document: IndexDocument, { indexOf }: Pick<IndexContext, 'indexOf'>): Finding[] {
  if (!isOverlayDocument(document)) return reportOnOverlay(document, indexOf);
  const { overlay } = document;
  const sources = listSources(document).flatMap((id) => indexOf(id) ?? []);
  return [
    ...reportCurrency(document, sources),
    ...reportBegin(document, sources),
    ...listRemarks(document, sources[0]),
    ...reportSeparateRebalance(document),
    ...('rebalance' in overlay ? validateRebalance(overlay.rebalance, 'overlay.rebalance') : []),
    ...(overlay.type === 'blend' ? [...checkBlend(overlay), ...reportReturnVariants(overlay, sources, indexOf)] : []),
  ];
}

/** Returns the findings of an overlay type about its members. */
function listRemarks(
  { overlay, base_value: baseValue }: OverlayDocument,
  source: IndexDocument | undefined,
): Finding[] {
  const remarks = findOverlayType(overlay).remarks(overlay, {
    currency: source?.currency,
    baseValue,
    isOverlay: source !== undefined && isOverlayDocument(source),
  });
  return remarks.map((remark) => ({ ...remark, path: `overlay.${remark.path}` }));
}

const getDefaultRebalance = callOnce(() => JSON.stringify(RebalanceSpec.parse({})));

/** Reports a schedule of an overlay. It has no effect, because the underlying indices determine the schedule. */
function reportSeparateRebalance({ rebalance, overlay }: OverlayDocument): Finding[] {
  if (JSON.stringify(rebalance) === getDefaultRebalance()) return [];
  const instead =
    overlay.type === 'blend'
      ? 'overlay.rebalance sets the dates on which the weights of a blend are restored'
      : 'an overlay is rebalanced with its underlying index';
  return [
    { severity: 'warning', code: 'NO_EFFECT', path: 'rebalance', message: `rebalance has no effect: ${instead}.` },
  ];
}

type Blend = Extract<OverlayDocument['overlay'], { type: 'blend' }>;

/**
 * Warns about parts with different return variants if the blend states no variant; all parts then use that of the
 * first.
 */
function reportReturnVariants(
  { variant }: Blend,
  sources: readonly IndexDocument[],
  indexOf: IndexContext['indexOf'],
): Finding[] {
  const sourceVariants = sources.map((source) => ({
    id: source.id,
    variant: resolveTreatment(source, indexOf)?.dividends,
  }));
  const [first] = sourceVariants;
  if (variant !== undefined || sourceVariants.every((part) => part.variant === first?.variant)) return [];
  const variantList = sourceVariants.map((part) => `${part.id} ${part.variant}`).join(', ');
  const message = `The parts have different return variants (${variantList}). All parts use ${first?.variant}, the variant of the first part. Use overlay.variant to select another variant.`;
  return [{ severity: 'warning', code: 'RETURNS_DIFFER', path: 'overlay.variant', message }];
}

function checkBlend({ parts }: Blend): Finding[] {
  const sum = parts.reduce((total, { weight }) => total + weight, 0);
  return [
    ...(Math.abs(sum - 1) <= WEIGHTS_TOLERANCE
      ? []
      : [
          createErrorFinding(
            'WEIGHTS_NOT_ONE',
            'overlay.parts',
            `The weights sum to ${Number(sum.toPrecision(12))}, but must sum to 1.`,
            {
              value: Number(sum.toPrecision(12)),
            },
          ),
        ]),
    ...parts.flatMap(({ index_id: id }, k) =>
      parts.findIndex((other) => other.index_id === id) < k
        ? [
            createErrorFinding(
              'DUPLICATE_ID',
              `overlay.parts[${k}].index_id`,
              `The index ${id} occurs twice among the parts.`,
              {
                value: id,
              },
            ),
          ]
        : [],
    ),
  ];
}

/** Warns that an overlay begins when the last of its underlying indices begins. */
function reportBegin({ base_date: begin }: OverlayDocument, sources: readonly IndexDocument[]): Finding[] {
  const [last] = sources.toSorted((a, b) => (a.base_date < b.base_date ? 1 : -1));
  if (last === undefined || last.base_date <= begin) return [];
  const message = `The base date is ${begin}, but the underlying index ${last.id} begins on ${last.base_date}. The overlay begins on that date.`;
  return [{ severity: 'warning', code: 'OUT_OF_RANGE', path: 'base_date', message, value: begin }];
}

/**
 * Requires that the currency of an overlay is the currency into which it converts. Without a conversion, it must be the
 * currency of the underlying index.
 */
function reportCurrency({ currency, overlay }: OverlayDocument, sources: readonly IndexDocument[]): Finding[] {
  const to = findOverlayType(overlay).currency(overlay);
  if (to !== null)
    return currency === to
      ? []
      : [
          createErrorFinding(
            'NOT_IN_CHOICES',
            'currency',
            `The currency is ${currency}, but the overlay converts into ${to}.`,
            {
              accepted: [to],
              value: currency,
            },
          ),
        ];
  const [first] = sources;
  if (overlay.type === 'blend' && sources.some((source) => source.currency !== first?.currency))
    return reportPartCurrencies(overlay, sources);
  return sources.flatMap((source) =>
    source.currency === currency
      ? []
      : [
          createErrorFinding(
            'NOT_IN_CHOICES',
            'currency',
            `The currency is ${currency}, but the underlying index ${source.id} is in ${source.currency}.`,
            { accepted: [source.currency], value: currency },
          ),
        ],
  );
}

function reportPartCurrencies({ parts }: Blend, sources: readonly IndexDocument[]): Finding[] {
  const currencyById = new Map(sources.map(({ id, currency }) => [id, currency]));
  const first = parts[0]!.index_id;
  const firstCurrency = currencyById.get(first)!;
  return parts.flatMap(({ index_id: id }, k) => {
    const partCurrency = currencyById.get(id)!;
    if (partCurrency === firstCurrency) return [];
    const message = `The parts of a blend must have the same currency: ${id} is in ${partCurrency}, and ${first} is in ${firstCurrency}. Use an overlay of type currency to convert an index.`;
    return [createErrorFinding('CURRENCIES_DIFFER', `overlay.parts[${k}].index_id`, message, { value: id })];
  });
}

/**
 * Reports a document that selects or optimises the securities of an overlay. An overlay holds securities only through
 * its underlying indices.
 */
function reportOnOverlay(document: IndexDocument, indexOf: IndexContext['indexOf']): Finding[] {
  const { derivation, universe } = document;
  const path = derivation === null ? 'universe.id' : 'derivation.source_index_id';
  const id = derivation?.source_index_id ?? (universe?.kind === 'index' ? universe.id : undefined);
  const source = id == null ? undefined : indexOf(id);
  if (source === undefined || !isOverlayDocument(source)) return [];
  const underlyingIds = listSources(source);
  return [
    createErrorFinding(
      'NOT_IN_CHOICES',
      path,
      `The index ${source.id} is an overlay. Use its underlying index instead: ${underlyingIds.join(', ')}.`,
      {
        accepted: underlyingIds,
        value: source.id,
      },
    ),
  ];
}

/**
 * Refuses requests about the decisions of an overlay, because its underlying indices make the decisions.
 * @throws Refusal VALIDATION_FAILED
 */
export function assertDecides(document: IndexDocument): void {
  if (!isOverlayDocument(document)) return;
  const sourceIds = listSources(document);
  const message = `${document.id} is an overlay and decides no composition. Use its underlying index instead: ${sourceIds.join(', ')}.`;
  throw refuseWithFindings('request', [
    createErrorFinding('NOT_IN_CHOICES', 'index_id', message, { accepted: sourceIds, value: document.id }),
  ]);
}
