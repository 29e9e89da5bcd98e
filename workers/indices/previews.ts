import { requireSandbox, SandboxError } from '#base/sandbox/sandbox.js';
import { computeRollingVolatility } from '#domain/analytics/returns.js';
import { sortFindings, compareText, type Finding } from '#domain/base/findings.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { checkAsOf } from '#domain/base/schema.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import {
  findRuleText,
  composeAsKnown,
  type Composer,
  type DecidedComposition,
  restoreDecided,
} from '#domain/books/compositions.js';
import { listBookDays, simulateIndexBook, createIndexTerms } from '#domain/books/index-run.js';
import {
  findRebalanceCause,
  composeAsIfEffective,
  findPendingChange,
  listPendingSwaps,
  type NamedSwap,
  type PendingComposition,
} from '#domain/books/pending-changes.js';
import {
  findSessionWithData,
  areAllAnnounced,
  findAnnouncement,
  findNextRebalances,
  type NextRebalance,
} from '#domain/books/rebalance-dates.js';
import { estimatePeriodsPerYear, listClosures } from '#domain/calendars/calendar.js';
import { compareCompositions, evaluateDatapoint, previewRules } from '#domain/decide/preview.js';
import { isDerivedDocument, isRuleDocument, type IndexDocument } from '#domain/definition/index-document.js';
import { explainWeight } from '#domain/optimisation/explanation.js';
import { previewDerived, previewOptimisation, toRulePreview } from '#domain/optimisation/preview.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import { toDerivedPreview } from '#views/optimisation.js';
import {
  answerPreview,
  type ComparedPreview,
  toIndexExplanation,
  toWhatIfResponse,
  toReplacements,
} from '#views/preview.js';
import { createQuestionComposer, openCachedCalendars, openCachedMarket, runOnEngine } from '../input/inputs.js';
import { answerBytes } from '../output/task-outputs.js';
import { Refusal } from '#domain/base/refusals.js';
import { hasMemberChanges } from '#domain/books/member-changes.js';
import { applyDecision } from '#domain/books/rebalance.js';
import { findAnnouncedRebalance } from '#domain/definition/index-schedule.js';
import { readPriceSessions, resolveTreatment } from '#domain/definition/treatment.js';
import type { GrowthTerms } from '#domain/market/action-effects.js';
import { createExchangeRates, requireRate } from '#domain/market/rates.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import {
  createPack,
  findCarriedPrices,
  findLeftSince,
  type KnownSecurity,
  locateHoldings,
  type PackedSecurities,
  readSecurityAsKnown,
  readSecurityBefore,
  reconcilePacks,
} from '#domain/studies/rebalance-pack.js';
import type { RebalancePackQuestion } from '#jobs/tasks/indices.js';
import type { TaskControl } from '#jobs/tasks/messages.js';
import type { Engine } from '#kernels/engines/engine.js';
import { createPackOrders } from '#views/exports/view-files.js';

/** Checks a plug-in in the sandbox, in the same way as its first call. */
export const checkPluginProgram: Task<'check-plugin'> = ({ program }) => {
  try {
    requireSandbox().check(program);
    return { fault: null };
  } catch (thrown) {
    if (thrown instanceof SandboxError) return { fault: thrown.message };
    throw thrown;
  }
};

/** Evaluates an expression on the latest session with data on or before a day. */
export const evaluateDatapointTask: Task<'evaluate-datapoint'> = (
  { market: handle, documents, indexId, day: requestedDay, expression, expects, identifiers, most },
  control,
) =>
  runOnEngine((engine) => {
    const market = openCachedMarket(handle);
    const day = requestedDay === null ? (market.dates.at(-1) ?? 0) : parseValidDay(requestedDay);
    const composer = createQuestionComposer({ market, documents, until: day, engine }, control);
    const document = composer.document(indexId);
    if (!isRuleDocument(document)) throw new Error('an expression is evaluated on the terms of rules');
    const sm = composer.market(indexId);
    const session = findSessionWithData(sm, day);
    if (session < 0) return { asOf: null, securities: 0, values: [] };
    const universe = composer.universe(indexId, session);
    const values = evaluateDatapoint({
      document,
      market: sm,
      session,
      universe,
      expression,
      expects,
      identifiers,
      most,
    });
    return { asOf: formatDay(sm.sessions[session]!), securities: universe.length, values };
  });

/** Explains one weight, as an IndexExplanation. */
export const explain: Task<'explain'> = ({ market: handle, documents, models, indexId, identifier, asOf }, control) =>
  runOnEngine((engine) => {
    const market = openCachedMarket(handle);
    const day = asOf === null ? market.dates.at(-1)! : parseValidDay(asOf);
    const composer = createQuestionComposer({ market, documents, models, until: day, engine }, control);
    const column = market.identifiers.indexOf(identifier);
    const explanation = explainWeight(composer, indexId, { column, asOf: day, engine });
    const getWeightingType = (id: string): string => documents[id]!.pipeline!.weighting.type; // called only for rule-based documents
    return answerBytes(
      JSON.stringify(
        toIndexExplanation(explanation, { indexId, identifier, requestedAsOf: asOf, weightingType: getWeightingType }),
      ),
    );
  });

/**
 * Computes the composition of an index on a day, as a PreviewResponse. Default: the base date. For a derived index, the
 * default is the first rebalance.
 */
export const preview: Task<'preview'> = ({ market: handle, documents, models, indexId, asOf }, control) =>
  runOnEngine((engine) => {
    const market = openCachedMarket(handle);
    const answer = answerPreview({
      market,
      calendars: openCachedCalendars(listClosures(documents)),
      documents,
      indexId,
      asOf,
      engine,
      composerUntil: (until: Day) => createQuestionComposer({ market, documents, models, until, engine }, control),
      findObservedEnd: (modelId) => models?.[modelId]?.dates?.[0]?.date ?? models?.[modelId]?.observedEnd,
    });
    return answerBytes(JSON.stringify(answer));
  });

/** Number of returns from which a volatility is computed. */
const WINDOW_SESSIONS = 60;

/**
 * Computes the level of an index that is not stored, with its volatility and exposure. The level is computed at a
 * number of sessions from its base to the last day.
 */
export const sketchLevel: Task<'sketch-level'> = (
  { market: handle, documents, models, indexId, points, until },
  control,
) =>
  runOnEngine((engine) => {
    const market = openCachedMarket(handle);
    const end = until === undefined ? (market.dates.at(-1) ?? 0) : parseValidDay(until);
    const compositions = createQuestionComposer(
      { market, documents, models, until: end, engine },
      control,
    ).compositions(indexId);
    const book = simulateIndexBook({ compositions, to: findLastAtMost(compositions.sm.sessions, end) });
    const days = listBookDays(book);
    const last = days.length - 1;
    const count = Math.min(points, days.length);
    const shownSessions = Array.from({ length: count }, (_, k) =>
      count === 1 ? last : Math.round((k * last) / (count - 1)),
    );
    const returns = book.value.subarray(1).map((level, t) => level / book.value[t]! - 1);
    const periods = estimatePeriodsPerYear(compositions.sm.calendar.sessions);
    const volatilities = computeRollingVolatility(returns, WINDOW_SESSIONS, periods);
    const explain = book.overlay?.explain;
    return {
      dates: shownSessions.map((t) => formatDay(days[t]!)),
      levels: shownSessions.map((t) => book.value[t]!),
      volatilities: shownSessions.map((t) => volatilities[t - WINDOW_SESSIONS] ?? null),
      constituents: compositions.overlay === undefined ? (compositions.list.at(-1)?.columns.length ?? null) : null,
      exposures: explain === undefined ? null : shownSessions.map((t) => explain(t).exposure),
    };
  });

/** Computes the effects of a change of definition on a day, as a WhatIfResponse. */
export const compareWhatIf: Task<'whatIf'> = ({ market: handle, before, after, asOf: requested, findings }, control) =>
  runOnEngine((engine) => {
    const market = openCachedMarket(handle);
    const asOf = requested ?? formatDay(market.dates.at(-1) ?? 0);
    const lastDay = parseValidDay(asOf);
    const comparePreview = ({ documents, models, indexId }: typeof before): ComparedPreview => {
      const composer = createQuestionComposer({ market, documents, models, until: lastDay, engine }, control);
      const preview = isDerivedDocument(composer.document(indexId))
        ? toRulePreview(previewDerived(composer, indexId, { asOf: lastDay, engine }))
        : previewRules(composer, indexId, lastDay);
      const session = preview.resolved?.session;
      const cause = session === undefined ? null : findRebalanceCause(composer, indexId, session);
      return { indexId, preview, rule: findRuleText(composer, indexId, lastDay), cause };
    };
    const previewBefore = comparePreview(before);
    const previewAfter = comparePreview(after);
    const response = toWhatIfResponse({
      asOf,
      before: previewBefore,
      after: previewAfter,
      difference: compareCompositions(previewBefore.preview.resolved, previewAfter.preview.resolved),
      findings: sortFindings([...(requested === null ? [] : checkAsOf(requested, market.dates)), ...findings]),
    });
    return answerBytes(JSON.stringify(response));
  });

/** Computes the weights of an optimisation, as a PreviewResponse. */
export const previewOfOptimisation: Task<'preview-optimisation'> = ({ market: handle, ...question }, control) =>
  runOnEngine((engine) => {
    const { documents, models, indexId, request } = question;
    const market = openCachedMarket(handle);
    const parseDay = (text: string | null) => (text === null ? null : parseValidDay(text));
    const lastDay = parseDay(request.as_of) ?? market.dates.at(-1) ?? 0;
    const preview = previewOptimisation({
      composer: createQuestionComposer({ market, documents, models, until: lastDay, engine }, control),
      engine,
      indexId,
      constraints: request.constraints,
      spec: request,
      asOf: parseDay(request.as_of),
      start: parseDay(request.start),
      end: parseDay(request.end),
    });
    return answerBytes(JSON.stringify(toDerivedPreview(preview, { indexId, asOf: request.as_of })));
  });

/** Returns the finding that the orders belong to no announced rebalance. It names the next rebalance. */
function reportUnannounced({ id, rebalance }: IndexDocument, day: Day, next: NextRebalance | undefined): Finding {
  const path = 'as_of';
  const explanation = `the orders follow the decision of the rules on ${formatDay(day)}`;
  if (next !== undefined) {
    const message = `The next rebalance of ${id}, effective on ${formatDay(next.date)}, is ${next.announcement === undefined ? 'decided' : 'announced'} on ${formatDay(findAnnouncement(next))}: ${explanation}.`;
    return { severity: 'info', code: 'NOT_ANNOUNCED', path, message };
  }
  const { frequency } = rebalance;
  const message = `${id} has no rebalance on or after ${formatDay(day)}, its frequency is ${frequency}: ${explanation}.`;
  return { severity: 'warning', code: 'NOT_ANNOUNCED', path, message };
}

/** Computes the orders that align accounts with an index, as a RebalancePack. */
export const createRebalancePack: Task<'rebalancePack'> = async (question, control) => {
  const { indexId, format } = question;
  const pack = await runOnEngine((engine) => createOrderPack(question, engine, control));
  return answerBytes(format === 'json' ? JSON.stringify(pack) : await createPackOrders(indexId, pack.accounts, format));
};

function createOrderPack(question: RebalancePackQuestion, engine: Engine, control: TaskControl) {
  const market = openCachedMarket(question.market);
  const { documents, models, indexId, request } = question;
  const asOf = request.as_of === null ? (market.dates.at(-1) ?? 0) : parseValidDay(request.as_of);
  const composer = createQuestionComposer({ market, documents, models, until: asOf, engine }, control);
  const sm = composer.market(indexId);
  const session = findSessionWithData(sm, asOf);
  if (session < 0) {
    const start = market.dates.length === 0 ? 'no date' : formatDay(market.dates[0]!);
    throw new Refusal('NO_DATA_AT_DATE', `as_of ${formatDay(asOf)} is before the first date of the store, ${start}.`);
  }
  const composition = selectComposition(composer, { indexId, session, engine, called: question.called });
  const maxStaleSessions = readPriceSessions(resolveTreatment(documents[indexId]!, (id) => documents[id])!); // the composition has a decision
  const { weights } = composition;
  const { columns, accounts, findings } = locateHoldings({ sm, session, maxStaleSessions, weights }, request);
  const placement = { ...question, request: { ...request, accounts } };
  for (const column of composition.announced.keys()) columns.add(column);
  const growth = createIndexTerms({ treatment: composer.treatment(indexId), document: composer.document(indexId) });
  const names = listKnownSecurities(sm, { question, growth, session, weights, columns });
  const pack = createPack(names, placement.request, findings);
  const { weights: _weights, announced: _announced, ...about } = composition;
  return {
    index_id: indexId,
    index_version: question.version,
    requested_as_of: request.as_of,
    as_of: formatDay(sm.sessions[session]!),
    ...about,
    ...pack,
    reconciliation: listLaterChanges(sm, {
      question: placement,
      composition,
      growth,
      session,
      names,
      accounts: pack.accounts,
    }),
    findings: sortFindings([
      ...(request.as_of === null ? [] : listPricedBeforeFindings(sm, asOf, session)),
      ...checkVolumes(sm, session, request.adv_sessions),
      ...composition.findings,
      ...findings,
      ...pack.findings,
      ...findCarriedPrices({ sm, session, maxStaleSessions }, pack.accounts),
    ]),
  };
}

interface ReconciliationInput extends PackedSecurities {
  readonly question: RebalancePackQuestion;
  readonly composition: PackComposition;
  readonly growth: GrowthTerms;
  readonly session: number;
}

/**
 * Lists the changes of the orders since the decision. Returns null if no rebalance is announced, or on the session of
 * the decision.
 */
function listLaterChanges(
  sm: SessionMarket,
  { question, composition, growth, session, names, accounts }: ReconciliationInput,
) {
  const { documents, indexId, request } = question;
  const decision = sm.sessionAt(parseValidDay(composition.decision));
  if (composition.basis !== 'announced' || decision >= session) return null;
  const rates = createExchangeRates(sm, documents[indexId]!.currency);
  const datesTerms = { sm, rates, growth, session: decision, sessions: request.adv_sessions };
  const laterSecurities = names.map((name) => {
    const weight = composition.announced.get(sm.columnOf(name.identifier)) ?? 0;
    return readSecurityBefore(datesTerms, { ...name, weight }, session);
  });
  const sharesRequest = { ...request, accounts: request.accounts.map((account) => convertToShares(account, names)) };
  const laterPack = { accounts: createPack(laterSecurities, sharesRequest).accounts, names: laterSecurities };
  return { announced: composition.decision, accounts: reconcilePacks(laterPack, { accounts, names }) };
}

type Account = RebalancePackQuestion['request']['accounts'][number];

function convertToShares(account: Account, names: readonly KnownSecurity[]): Account {
  const priceByIdentifier = new Map(names.map(({ identifier, price }) => [identifier, price]));
  const holdings = account.holdings.map(({ identifier, shares, value }) => ({
    identifier,
    shares: shares ?? value! / priceByIdentifier.get(identifier)!,
    value: null,
  }));
  return { ...account, holdings };
}

interface PackComposition {
  /** Effective date of the rebalance. It is null if no rebalance follows. */
  readonly effective: string | null;
  /** Date of the session of the decision. */
  readonly decision: string;
  readonly basis: 'announced' | 'indicative' | 'in_force';
  /**
   * Weights to trade, by column of the market. The weights of securities that have ended are distributed to the other
   * securities.
   */
  readonly weights: ReadonlyMap<number, number>;
  /** Weights of the decision, by column of the market. */
  readonly announced: ReadonlyMap<number, number>;
  readonly replacements: ReturnType<typeof toReplacements>;
  readonly findings: readonly Finding[];
}

interface CompositionInput {
  readonly indexId: string;
  readonly session: number;
  readonly engine: Engine;
  readonly called: RebalancePackQuestion['called'];
}

/**
 * Returns the composition to trade. If the next rebalance has been announced, it is the announced composition. This
 * includes a rebalance that a breach triggered, and one on the session itself. Before the announcement, it is the
 * decision of the rules today, or the latest solution of a derived index.
 */
function selectComposition(
  composer: Composer,
  { indexId, session, engine, called }: CompositionInput,
): PackComposition {
  const document = composer.document(indexId);
  const sm = composer.market(indexId);
  const day = sm.sessions[session]!;
  const isDerived = isDerivedDocument(document);
  const upcoming = findNextRebalances(document, sm, day);
  const call = isDerived ? undefined : findAnnouncedRebalance(called, day);
  const [first] = upcoming;
  const isScheduled = call === undefined || (first !== undefined && first.date <= call.effective);
  const change = isDerived ? undefined : findChange(composer, indexId, session);
  if (change !== undefined && (first === undefined || change.effective < first.session))
    return listChangedConstituents(sm, change, session);
  const next = isScheduled ? upcoming : [{ date: call.effective, session: call.effective, decision: call.decision }];
  const isAnnounced = areAllAnnounced(next, day);
  const orders = { indexId, session, engine, next: isAnnounced ? next : [] };
  const isWhole = isDerived || isReviewed(next) || hasMemberChanges(composer, indexId);
  const { decided, decision, traded, announced, swaps, findings } =
    isWhole && isAnnounced ? createReviewOrders(composer, orders) : createPlainOrders(composer, orders);
  const weights = getWeights(traded);
  return {
    effective: next[0] === undefined ? null : formatDay(next[0].date),
    decision: formatDay(decision),
    basis: isAnnounced ? 'announced' : isDerived ? 'in_force' : 'indicative',
    weights,
    announced,
    replacements: toReplacements(swaps),
    findings: [
      ...(isAnnounced || isDerived ? [] : [reportUnannounced(document, day, next[0])]),
      ...findings,
      ...findLeftSince({ sm, session, decision: decided }, { announced, weights }),
    ],
  };
}

/** Returns the next announced change of constituents between reviews. */
function findChange(composer: Composer, indexId: string, session: number): PendingComposition | undefined {
  const compositions = hasMemberChanges(composer, indexId) ? composeAsKnown(composer, indexId) : undefined;
  return compositions && findPendingChange(composer, { indexId, session, list: compositions.list });
}

function listChangedConstituents(
  sm: SessionMarket,
  { effective, composition }: PendingComposition,
  session: number,
): PackComposition {
  const weights = getWeights(composition);
  return {
    effective: formatDay(effective),
    decision: formatDay(sm.sessions[Math.min(composition.decision, session)]!),
    basis: 'announced',
    weights,
    announced: weights,
    replacements: toReplacements(listPendingSwaps({ effective, composition }, sm)),
    findings: [],
  };
}

/** Returns true if several rebalances are on one session, or if the first one has a review, a phase or an amendment. */
function isReviewed([first, ...otherNextRebalances]: readonly NextRebalance[]): boolean {
  return (
    first !== undefined &&
    (otherNextRebalances.length > 0 || [first.review, first.phase, first.amendment].some((one) => one !== undefined))
  );
}

interface OrdersInput extends Pick<CompositionInput, 'indexId' | 'session' | 'engine'> {
  /** Announced rebalances of one session. It is empty before the announcement. */
  readonly next: readonly NextRebalance[];
}

interface PackOrders {
  /** Session on whose data the weights are decided. `decision` is its day. */
  readonly decided: number;
  readonly decision: Day;
  readonly traded: Pick<DecidedComposition, 'columns' | 'weights'>;
  readonly announced: ReadonlyMap<number, number>;
  readonly swaps: readonly NamedSwap[];
  readonly findings: readonly Finding[];
}

/**
 * Computes the decision of the pipeline on its reference date. If nothing is announced, computes the decision today.
 */
function createPlainOrders(composer: Composer, { indexId, session, engine, next: [next] }: OrdersInput): PackOrders {
  const document = composer.document(indexId);
  const sm = composer.market(indexId);
  const day = sm.sessions[session]!;
  const decisionDay = next?.decision ?? day;
  const preview = isDerivedDocument(document)
    ? toRulePreview(previewDerived(composer, indexId, { asOf: day, engine }))
    : previewRules(composer, indexId, decisionDay);
  const { resolved } = preview;
  const decision = resolved?.decision;
  if (resolved === null || decision?.kind !== 'decided')
    throw new Refusal(
      'EMPTY_INDEX',
      `The index ${indexId} has no constituents by the decision of ${formatDay(decisionDay)}.`,
    );
  const pricingSession = Math.min(sm.sessionAt(next?.pricing ?? decisionDay), session);
  const timing = { date: day, also: [], session, decision: resolved.session, announced: null };
  const decidedComposition = applyDecision(
    { sm, document, treatment: composer.treatment(indexId), weightsAs: document.rebalance.weights_as },
    pricingSession > resolved.session ? { ...timing, pricing: pricingSession } : timing,
    decision,
  );
  if (decidedComposition === undefined) throw refuseEndedIndices(indexId, decisionDay);
  const { [resolved.session]: reference } = resolved.sm.sessions;
  return {
    decided: resolved.session,
    decision: reference!,
    traded: decidedComposition,
    announced: getWeights(decision),
    swaps: [],
    findings: decision.findings,
  };
}

/** Applies the reviews of one session, or the close of a phase, as if they took effect today. */
function createReviewOrders(composer: Composer, { indexId, session, next }: OrdersInput): PackOrders {
  const sm = composer.market(indexId);
  const compositions = composeAsKnown(composer, indexId)?.list ?? [];
  const before = compositions.filter((composition) => composition.session < session);
  const announcedOrders = before.length === compositions.length ? undefined : { list: compositions, findings: [] };
  const { list, findings } = announcedOrders ?? composeAsIfEffective(composer, { indexId, session, before, next });
  const lastComposition = list.at(-1);
  if (lastComposition === undefined) throw refuseEndedIndices(indexId, next[0]!.decision);
  const decisionSession = Math.min(lastComposition.decision, session);
  return {
    decided: decisionSession,
    decision: sm.sessions[decisionSession]!,
    traded: lastComposition,
    announced: getWeights(restoreDecided(lastComposition)),
    swaps: listPendingSwaps({ effective: next[0]!.session, composition: lastComposition }, sm),
    findings,
  };
}

function refuseEndedIndices(indexId: string, decided: Day): Refusal {
  const message = `Every constituent of the index ${indexId} by the decision of ${formatDay(decided)} has ended.`;
  return new Refusal('EMPTY_INDEX', message);
}

function getWeights({
  columns,
  weights,
}: Pick<DecidedComposition, 'columns' | 'weights'>): ReadonlyMap<number, number> {
  return new Map(Array.from(columns, (column, i) => [column, weights[i]!]));
}

interface PackMarket {
  readonly question: RebalancePackQuestion;
  readonly growth: GrowthTerms;
  readonly session: number;
  readonly weights: ReadonlyMap<number, number>;
  /** Columns of the securities that accounts hold or that the announced composition contains. */
  readonly columns: ReadonlySet<number>;
}

/** Lists the traded or held securities by identifier. @throws Refusal FX_MISSING */
function listKnownSecurities(
  sm: SessionMarket,
  { question, growth, session, weights, columns }: PackMarket,
): KnownSecurity[] {
  const { documents, indexId, request } = question;
  const rates = createExchangeRates(sm, documents[indexId]!.currency);
  return [...new Set([...weights.keys(), ...columns])]
    .map((column): KnownSecurity => {
      requireRate(rates, sm, session, column);
      return readSecurityAsKnown(
        { sm, rates, growth, session, sessions: request.adv_sessions },
        column,
        weights.get(column) ?? 0,
      );
    })
    .toSorted((a, b) => compareText(a.identifier, b.identifier));
}

/** Warns if a date has no closes. The last session before it then gives the prices of the orders. */
function listPricedBeforeFindings(
  { sessions, market, calendar }: SessionMarket,
  asOf: Day,
  session: number,
): Finding[] {
  const day = sessions[session]!;
  if (day === asOf) return [];
  const asOfDate = formatDay(asOf);
  const last = market.dates.at(-1)!;
  const endText =
    asOf > last ? `the last date of the store is ${formatDay(last)}` : `no session of ${calendar.code} with data`;
  const message = `as_of is ${asOfDate}, ${endText}: the closes of ${formatDay(day)} price the orders.`;
  return [{ severity: 'warning', code: 'WINDOW_CUT', message, path: 'as_of', value: asOfDate }];
}

/** Warns if the mean volume covers fewer sessions than the request states. */
function checkVolumes({ sessions, market }: SessionMarket, session: number, advSessions: number): Finding[] {
  const sessionCount = session + 1;
  if (sessionCount >= advSessions || !market.fields.has('VOLUME')) return [];
  const message = `adv_sessions is ${advSessions}, and the store has ${sessionCount} sessions up to ${formatDay(sessions[session]!)}: the mean volume covers those.`;
  return [{ severity: 'warning', code: 'WINDOW_CUT', message, path: 'adv_sessions', value: advSessions }];
}
