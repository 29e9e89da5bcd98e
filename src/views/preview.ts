import type { IndexExplanation, PreviewResponse, WhatIfResponse } from '#contract/indices/previews.js';
import { computeCashWeight, measureConcentration } from '#domain/analytics/concentration.js';
import { compareText, type Finding, sortFindings } from '#domain/base/findings.js';
import { checkAsOf } from '#domain/base/schema.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import { type OverlayPreview, previewOverlay, previewOverlayOnFirstSession } from '#domain/books/composer.js';
import { type Composer, findRuleText } from '#domain/books/compositions.js';
import type { ConstituentChange } from '#domain/books/constituent-changes.js';
import { hasMemberChanges } from '#domain/books/member-changes.js';
import { listSwapsDecidedOn, type NamedSwap } from '#domain/books/pending-changes.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { ExplainedDatapoint, Explanation } from '#domain/decide/explanation.js';
import {
  previewRules,
  type ResolvedPreview,
  type RulePreview,
  type WeightChange,
  type WeightDifference,
} from '#domain/decide/preview.js';
import { checkLookAhead } from '#domain/definition/backtest-plan.js';
import { computeRuleHeadroom, type BreachRule } from '#domain/definition/compliance.js';
import {
  type IndexDocument,
  isDerivedDocument,
  isOverlayDocument,
  listSources,
} from '#domain/definition/index-document.js';
import type { RebalanceCause } from '#domain/definition/index-schedule.js';
import { reportAssumptions } from '#domain/definition/index-validation.js';
import type { MarketData } from '#domain/market/market-data.js';
import {
  type DerivedExplanation,
  isDerivedExplanation,
  type SecurityExplanation,
  type SecuritySolve,
} from '#domain/optimisation/explanation.js';
import { previewDerived, previewFirst } from '#domain/optimisation/preview.js';
import { formatCashName } from '#domain/outputs/exports.js';
import type { Engine } from '#kernels/engines/engine.js';
import { toDerivedPreview } from './optimisation.js';

/** Converts the entry or exit of a security to the format of the API. */
function toConstituentChange(change: ConstituentChange | null): IndexExplanation['entered'] {
  if (change === null) return null;
  const { date, event, exDay, related, ratio, weight, price, currency, lastBar, orderedOn } = change;
  const toDayOrNull = (day: Day | null): string | null => (day === null ? null : formatDay(day));
  return {
    date: formatDay(date),
    event,
    ex_date: toDayOrNull(exDay),
    related,
    ratio,
    weight,
    price,
    currency,
    last_bar: toDayOrNull(lastBar),
    ordered_on: toDayOrNull(orderedOn),
  };
}

/**
 * Converts a datapoint of an explanation to the format of the API. If its value is missing, the result contains the
 * date from which a value can be known.
 */
function toExplainedDatapoint({
  path,
  field,
  value,
  read: { knownFrom, ...read },
}: ExplainedDatapoint): IndexExplanation['datapoints'][number] {
  return { path, field, value, ...read, known_from: value === null ? knownFrom : null };
}

/** Converts changes of constituents between reviews to the format of the API. */
export function toReplacements(swaps: readonly NamedSwap[]): IndexExplanation['replacements'] {
  return swaps.map(({ date, rule, entered, left, decision, ranked, rank, leftRank }) => ({
    date: formatDay(date),
    rule,
    entered,
    left,
    decision_date: formatDay(decision),
    ranked_on: ranked === null ? null : formatDay(ranked),
    rank,
    left_rank: leftRank,
  }));
}

/** Response with findings of the domain. The API returns the findings unchanged. */
export type WithFindings<T> = Omit<T, 'findings'> & { readonly findings: readonly Finding[] };

type Asset = PreviewResponse['assets'][number];

const NO_DERIVATION = { source_weight: null, solved_weight: null, weight_delta: null } as const;

interface PreviewedIndex {
  readonly indexId: string;
  readonly asOf: string;
  /** Rule that triggers a rebalance when it is breached; null if there is none. */
  readonly rule: BreachRule | null;
}

/** Converts the preview of a rule-driven index to its form in the API. */
function toPreviewResponse(
  { resolved }: RulePreview,
  { indexId, asOf, rule }: PreviewedIndex,
): WithFindings<PreviewResponse> {
  const emptyResponse: WithFindings<PreviewResponse> = {
    index_id: indexId,
    as_of: asOf,
    resolved_date: null,
    assets: [],
    weights: {},
    total_weight: 0,
    cap: null,
    cap_redistributed: 0,
    steps: [],
    solve: null,
    findings: [],
  };
  if (resolved === null) return emptyResponse;
  const { sm, session, decision } = resolved;
  const listIdentifiers = (columns: ArrayLike<number>): string[] =>
    Array.from(columns, (column) => sm.identifiers[column]!);
  const steps = decision.waterfall.map(({ position, remaining, excluded, ruleId, ruleType }) => ({
    position,
    remaining,
    excluded: listIdentifiers(excluded),
    rule_id: ruleId,
    rule_type: ruleType,
  }));
  const answer = { ...emptyResponse, resolved_date: formatDay(sm.sessions[session]!), steps };
  if (decision.kind !== 'decided') return { ...answer, assets: findExcludedRows(resolved) };
  const includedRows = findIncludedRows(resolved);
  return {
    ...answer,
    assets: [...includedRows, ...findExcludedRows(resolved)],
    weights: Object.fromEntries(listIdentifiers(decision.columns).map((name, i) => [name, decision.weights[i]!])),
    total_weight: decision.weights.reduce((total, weight) => total + weight, 0),
    cap: decision.cap,
    cap_redistributed: decision.redistributed,
    findings: decision.findings,
    ...(rule === null ? {} : { limits: computeDecidedLimits(resolved, rule) }),
  };
}

/**
 * Converts the preview of an overlay to its form in the API.
 * @param asOf date YYYY-MM-DD; null for the first session, which is then reported
 */
function toOverlayPreview(
  { document, sm, session, columns, weights, exposure }: OverlayPreview,
  asOf: string | null,
): WithFindings<PreviewResponse> {
  const createAsset = (identifier: string, weight: number): Asset => ({
    identifier,
    included: true,
    weight,
    excluded_by: null,
    excluded_at: null,
    uncapped_weight: null,
    capped: false,
    ...NO_DERIVATION,
  });
  const securities = Array.from(columns, (column, i) => createAsset(sm.identifiers[column]!, weights[i]!));
  const cash = computeCashWeight(weights);
  const assets = [
    ...securities.toSorted((a, b) => b.weight! - a.weight! || compareText(a.identifier, b.identifier)),
    ...(cash === 0 ? [] : [createAsset(formatCashName(document.currency), cash)]),
  ];
  return {
    index_id: document.id,
    as_of: asOf ?? formatDay(sm.sessions[session]!),
    resolved_date: formatDay(sm.sessions[session]!),
    assets,
    weights: Object.fromEntries(assets.map(({ identifier, weight }) => [identifier, weight!])),
    total_weight: assets.reduce((total, { weight }) => total + weight!, 0),
    cap: null,
    cap_redistributed: 0,
    // an overlay has no rules: its holdings are a universe
    steps: [{ position: 0, remaining: securities.length, excluded: [], rule_id: null, rule_type: null }],
    solve: null,
    overlay: { type: document.overlay.type, index_ids: [...listSources(document)], ...(exposure ? { exposure } : {}) },
    findings: [],
  };
}

/** Returns how far decided weights are from a breach of the rule that triggers a rebalance. */
function computeDecidedLimits({ sm, session, decision }: ResolvedPreview, rule: BreachRule): PreviewResponse['limits'] {
  if (decision.kind !== 'decided') return undefined;
  const names = Array.from(decision.columns, (column) => sm.identifiers[column]!);
  const headroom = computeRuleHeadroom({ rule, market: sm.market, names }, sm.sessions[session]!, decision.weights);
  return { rule: rule.name, headroom };
}

/** Returns the held securities, sorted by descending weight and then by identifier. */
function findIncludedRows({ sm, decision }: ResolvedPreview): Asset[] {
  if (decision.kind !== 'decided') return [];
  const cappedColumns = new Set(decision.capped);
  const rows = Array.from(decision.columns, (column, i): Asset => ({
    identifier: sm.identifiers[column]!,
    included: true,
    weight: decision.weights[i]!,
    excluded_by: null,
    excluded_at: null,
    uncapped_weight: cappedColumns.has(column) ? decision.uncapped[i]! : null,
    capped: cappedColumns.has(column),
    ...NO_DERIVATION,
  }));
  return rows.sort((a, b) => b.weight! - a.weight! || compareText(a.identifier, b.identifier));
}

/**
 * Returns the excluded securities, sorted by the step that excluded them and then by identifier. Selected securities
 * without a weight come last.
 */
function findExcludedRows({ sm, decision }: ResolvedPreview): Asset[] {
  const createRow = (column: number, by: string | null, position: number): Asset => ({
    identifier: sm.identifiers[column]!,
    included: false,
    weight: null,
    excluded_by: by,
    excluded_at: position,
    uncapped_weight: null,
    capped: false,
    ...NO_DERIVATION,
  });
  const unweightedRows =
    decision.kind === 'decided'
      ? Array.from(decision.unweighted, (column) => createRow(column, null, decision.waterfall.length))
      : [];
  return [
    ...decision.waterfall.flatMap(({ position, ruleId, excluded }) =>
      Array.from(excluded, (column) => createRow(column, ruleId, position)),
    ),
    ...unweightedRows,
  ];
}

interface ExplanationContext {
  readonly indexId: string;
  readonly identifier: string;
  readonly requestedAsOf: string | null;
  /** Returns the weighting class of a rule-driven index. */
  weightingType(indexId: string): string;
}

/** Converts the explanation of a weight to the format of the API. */
export function toIndexExplanation(explanation: SecurityExplanation, context: ExplanationContext): IndexExplanation {
  const { indexId, identifier, requestedAsOf } = context;
  const {
    asOf,
    rebalance,
    decision,
    inUniverse,
    datapoints,
    stayed,
    decidedWeight,
    weight,
    drift,
    held,
    entered,
    left,
    order,
  } = explanation;
  return {
    index_id: indexId,
    identifier,
    requested_as_of: requestedAsOf,
    as_of: formatDay(asOf),
    rebalance_date: formatDay(rebalance),
    decision_date: formatDay(decision),
    reviews: [...explanation.reviews],
    in_universe: inUniverse,
    included: held !== null,
    datapoints: datapoints.map(toExplainedDatapoint),
    ...(isDerivedExplanation(explanation)
      ? { ...NO_RULES, derivation: toDerivation(explanation, context) }
      : { ...toChain(explanation, context), derivation: null }),
    stayed,
    decided_weight: decidedWeight,
    weight,
    held_weight: held,
    entered: toConstituentChange(entered),
    left: toConstituentChange(left),
    replacements: toReplacements(explanation.swaps),
    order:
      order === null
        ? null
        : { date: formatDay(order.date), side: order.side, target_weight: order.target, reason: order.reason },
    drift: drift === null ? null : { held_weight: drift.held, change: drift.change },
  };
}

type Chain = Pick<IndexExplanation, 'excluded_by' | 'rules' | 'weighting' | 'capping'>;

const NO_RULES = { excluded_by: null, rules: [], weighting: null, capping: null };

function toChain(
  { rules, excludedBy, weighting, capping }: Explanation,
  { indexId, weightingType }: ExplanationContext,
): Chain {
  return {
    excluded_by: excludedBy,
    rules: rules.map(({ position, ruleId, ruleType, constituent, kept, reason }) => ({
      position,
      rule_id: ruleId,
      rule_type: ruleType,
      constituent,
      kept,
      ...reason,
      thresholds: [...reason.thresholds],
      comparisons: [...(reason.comparisons ?? [])],
    })),
    weighting:
      weighting === null
        ? null
        : {
            type: weightingType(indexId),
            formula: weighting.formula,
            parts: { ...weighting.parts },
            raw: weighting.raw,
            raw_total: weighting.rawTotal,
            uncapped_weight: weighting.uncapped,
          },
    capping:
      capping === null
        ? null
        : {
            cap: capping.cap,
            floor: capping.floor,
            scale: capping.scale,
            capped: capping.capped,
            rounds: capping.rounds.map(({ scale, joined }) => ({ scale, capped: [...joined] })),
          },
  };
}

type Derivation = NonNullable<IndexExplanation['derivation']>;

function toDerivation(
  { sourceIndexId, objective, source, solve, findings }: DerivedExplanation,
  context: ExplanationContext,
): Derivation {
  return {
    source_index_id: sourceIndexId,
    objective,
    source_weight: solve?.sourceWeight ?? null,
    source: toIndexExplanation(source, { ...context, indexId: sourceIndexId, requestedAsOf: null }),
    solve: solve === null ? null : toNameSolve(solve),
    findings: findings.map(({ severity, code, message, path }) => ({ severity, code, message, path })),
  };
}

function toNameSolve({
  rows,
  lower,
  upper,
  centre,
  stiffness,
  pull,
  force,
  free,
  heldBy,
  heldAt,
  solved,
  scale,
}: SecuritySolve): Derivation['solve'] {
  return {
    rows: rows.map(
      ({
        side: {
          placed: { origin },
          side,
          label,
          value,
          limit,
          slack,
          isBinding,
          shadowPrice,
        },
        coefficient,
        force: ownForce,
      }) => ({
        id: origin.id,
        index: origin.index,
        type: origin.type,
        label,
        side,
        kind: origin.kind,
        unit: origin.unit,
        value,
        limit,
        slack,
        binding: isBinding,
        shadow_price: shadowPrice,
        coefficient,
        force: ownForce,
      }),
    ),
    lower: Number.isFinite(lower) ? lower : null,
    upper: Number.isFinite(upper) ? upper : null,
    centre,
    stiffness,
    pull,
    force,
    free_weight: free,
    held_by: heldBy,
    held_at: heldAt,
    solved_weight: solved,
    scale,
  };
}

interface PreviewQuestion {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly indexId: string;
  /** Date YYYY-MM-DD; null for the base date, or for the first rebalance of a derived index. */
  readonly asOf: string | null;
  readonly engine: Engine;
  composerUntil(until: Day): Composer;
  /**
   * Returns the first day (YYYY-MM-DD) on which decisions may use a stored risk model. Returns undefined if the model
   * is unknown.
   */
  findObservedEnd(modelId: string): string | undefined;
}

/**
 * Returns the composition of an index on a day, as a PreviewResponse.
 * @throws Refusal as for the preview of the kind of index
 */
export function answerPreview(question: PreviewQuestion) {
  const { market, calendars, documents, indexId, asOf: requestedDate, composerUntil } = question;
  const day = parseValidDay(requestedDate ?? documents[indexId]!.base_date); // `documents` contains the index itself
  const composer = composerUntil(day);
  const document = composer.document(indexId);
  const answer = createPreviewResponse(question, composer, day);
  const dateFindings = requestedDate === null ? [] : checkAsOf(requestedDate, market.dates);
  const assumptions = reportAssumptions({
    document,
    treatment: composer.treatment(indexId),
    market,
    indexOf: (id) => documents[id],
  });
  const lookAheadFindings = checkLookAhead(document, {
    calendar: calendars.get(document.calendar)!, // the index was composed with this calendar
    firstDay: market.dates[0] ?? null,
    observedEndOf: question.findObservedEnd,
  });
  return {
    ...answer,
    findings: sortFindings([...dateFindings, ...assumptions, ...lookAheadFindings, ...answer.findings]),
  };
}

function createPreviewResponse(
  { documents, indexId, asOf: requestedDate, engine, composerUntil }: PreviewQuestion,
  composer: Composer,
  day: Day,
) {
  const document = composer.document(indexId);
  if (isOverlayDocument(document))
    return toOverlayPreview(
      requestedDate === null
        ? previewOverlayOnFirstSession({ composerUntil, document })
        : previewOverlay(composer, document, day),
      requestedDate,
    );
  if (isDerivedDocument(document))
    return toDerivedPreview(
      requestedDate === null
        ? previewFirst({ composerUntil, indexId, engine })
        : previewDerived(composer, indexId, { asOf: day, engine }),
      { indexId, asOf: requestedDate },
    );
  const preview = previewRules(composer, indexId, day);
  const answer = toPreviewResponse(preview, {
    indexId,
    asOf: requestedDate ?? documents[indexId]!.base_date,
    rule: findRuleText(composer, indexId, day),
  });
  const { resolved } = preview;
  if (resolved === null || !hasMemberChanges(composer, indexId)) return answer;
  return { ...answer, replacements: toReplacements(listSwapsDecidedOn(composer, indexId, resolved.session)) };
}

export interface ComparedPreview {
  readonly indexId: string;
  readonly preview: RulePreview;
  /** Rule that triggers a rebalance when it is breached; null if there is none. */
  readonly rule: BreachRule | null;
  /** Cause of a rebalance that is decided on the day; null if there is none. */
  readonly cause: RebalanceCause | null;
}

interface ComparedPreviews {
  readonly asOf: string;
  readonly before: ComparedPreview;
  readonly after: ComparedPreview;
  readonly difference: WeightChange;
  readonly findings: readonly Finding[];
}

/** Converts the effects of a changed definition to their form in the API. */
export function toWhatIfResponse({
  asOf,
  before,
  after,
  difference,
  findings,
}: ComparedPreviews): WithFindings<WhatIfResponse> {
  const resolvedDate = after.preview.resolved ?? before.preview.resolved;
  return {
    as_of: asOf,
    resolved_date: resolvedDate === null ? null : formatDay(resolvedDate.sm.sessions[resolvedDate.session]!),
    before: toSide(before),
    after: toSide(after),
    added: difference.added.map(toChange),
    removed: difference.removed.map(toChange),
    changed: difference.changed.map(toChange),
    turnover: difference.turnover,
    findings,
  };
}

function toSide({ indexId, preview, rule, cause }: ComparedPreview): WhatIfResponse['before'] {
  const decision = preview.resolved?.decision;
  if (decision?.kind !== 'decided')
    return {
      index_id: indexId,
      constituents: 0,
      largest: 0,
      effective_assets: 0,
      gross_constituents: 0,
      cap: null,
      cap_redistributed: 0,
      cause,
    };
  const { weights, cap, redistributed } = decision;
  const { constituents, largest, effective_assets, gross_constituents } = measureConcentration(weights);
  return {
    index_id: indexId,
    constituents,
    largest,
    effective_assets,
    gross_constituents,
    cap,
    cap_redistributed: redistributed,
    cause,
    ...(rule === null ? {} : { limits: computeDecidedLimits(preview.resolved!, rule) }),
  };
}

function toChange({ identifier, before, after }: WeightDifference): WhatIfResponse['added'][number] {
  return { identifier, before, after, change: after - before };
}
