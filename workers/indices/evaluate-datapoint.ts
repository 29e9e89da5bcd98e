import { parseValidDay, formatDay } from '#domain/time/days.js';
import { isRuleDocument } from '#domain/documents/index-document.js';
import { evaluateDatapoint } from '#domain/rules/evaluate-datapoint.js';
import { findSessionWithData } from '#domain/books/due-rebalances.js';
import type { Task } from '#jobs/tasks.js';
import { createQuestionComposer } from '../input/index-composer.js';
import { runOnEngine } from '../input/numerics.js';
import { openCachedMarket } from '../input/open-markets.js';

/** Evaluates an expression on the latest session with data on or before a day. */
export const evaluate: Task<'evaluate-datapoint'> = (
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
