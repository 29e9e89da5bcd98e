import { requireSandbox, SandboxError } from '#base/sandbox/sandbox.js';
import { computeRollingVolatility } from '#domain/analytics/rolling.js';
import { sortFindings } from '#domain/base/findings.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { checkAsOf } from '#domain/base/requested-dates.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import { findRuleText } from '#domain/books/compositions.js';
import { listBookDays, simulateIndexBook } from '#domain/books/index-run.js';
import { findRebalanceCause } from '#domain/books/pending-changes.js';
import { findSessionWithData } from '#domain/books/rebalance-dates.js';
import { estimatePeriodsPerYear, listClosures } from '#domain/calendars/calendar.js';
import { compareCompositions, evaluateDatapoint, previewRules } from '#domain/decide/preview.js';
import { isDerivedDocument, isRuleDocument } from '#domain/definition/index-document.js';
import { explainWeight } from '#domain/optimisation/explanation.js';
import { previewDerived, previewOptimisation, toRulePreview } from '#domain/optimisation/preview.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import { toDerivedPreview } from '#views/optimisation.js';
import { answerPreview, type ComparedPreview, toIndexExplanation, toWhatIfResponse } from '#views/preview.js';
import { createQuestionComposer, openCachedCalendars, openCachedMarket, runOnEngine } from '../input/inputs.js';
import { answerBytes } from '../output/task-outputs.js';

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
