import { dayFrom, formatDay } from '#domain/days.js';
import { isDerivedDocument } from '#domain/documents/index-document.js';
import { asRulePreview, previewDerived } from '#domain/optimisation/preview.js';
import { previewRules, type RulePreview } from '#domain/rules/preview.js';
import { differenceOf } from '#domain/rules/whatif.js';
import type { Task } from '#jobs/tasks.js';
import { toWhatIfResponse } from '#views/preview.js';
import { answerBytes } from './hand-over.js';
import { composerFor } from './index-composer.js';
import { onEngine } from './numerics.js';
import { openedMarket } from './open-markets.js';

/** Effects of a change of definition on a day, as a WhatIfResponse. */
export const whatIf: Task<'whatIf'> = ({ market: handle, before, after, asOf: requested, findings }, control) =>
  onEngine((engine) => {
    const market = openedMarket(handle);
    const asOf = requested ?? formatDay(market.dates.at(-1) ?? 0);
    const until = dayFrom(asOf);
    const previewOf = ({ documents, models, indexId }: typeof before): RulePreview => {
      const composer = composerFor({ market, documents, models, until, engine }, control);
      if (isDerivedDocument(composer.document(indexId)))
        return asRulePreview(previewDerived(composer, indexId, { asOf: until, engine }));
      return previewRules(composer, indexId, until);
    };
    const was = previewOf(before);
    const is = previewOf(after);
    const response = toWhatIfResponse({
      asOf,
      before: { indexId: before.indexId, preview: was },
      after: { indexId: after.indexId, preview: is },
      difference: differenceOf(was.resolved, is.resolved),
      findings,
    });
    return answerBytes(JSON.stringify(response));
  });
