import { findRuleText } from '#domain/books/find-rule-text.js';
import { findCause } from '#domain/books/rebalance-cause.js';
import { parseValidDay, formatDay } from '#domain/time/days.js';
import { checkAsOf } from '#domain/checks/as-of-findings.js';
import { isDerivedDocument } from '#domain/documents/index-document.js';
import { sortFindings } from '#domain/refusals/findings.js';
import { toRulePreview, previewDerived } from '#domain/optimisation/preview.js';
import { previewRules } from '#domain/rules/preview.js';
import { compareCompositions } from '#domain/rules/whatif.js';
import type { Task } from '#jobs/tasks.js';
import { toWhatIfResponse, type ComparedPreview } from '#views/what-if.js';
import { answerBytes } from '../output/hand-over.js';
import { createQuestionComposer } from '../input/index-composer.js';
import { runOnEngine } from '../input/numerics.js';
import { openCachedMarket } from '../input/open-markets.js';

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
      const cause = session === undefined ? null : findCause(composer, indexId, session);
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
