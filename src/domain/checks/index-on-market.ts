import { checkWithholding } from './withholding-on-market.js';
import { parseValidDay, formatDay } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';
import type { MarketData } from '../market/market-data.js';
import { findMissingRates } from './required-rates.js';
import { checkConstraintFields, checkSpecFields } from '../optimisation/field-uses.js';
import { bindPipeline, listReads } from '../rules/bound-pipeline.js';
import { checkFields, type LocatedUse } from '../rules/field-findings.js';
import {
  isDerivedDocument,
  isOverlayDocument,
  isRuleDocument,
  type IndexDocument,
  type RuleDocument,
  type UniverseSpec,
} from '../documents/index-document.js';
import { checkOverlayOnMarket } from './overlay-on-market.js';
import type { IndexContext } from './index-context.js';
import { readDefinitions } from '../documents/definitions.js';

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

/** Returns the datapoints that the rows of reviews read. */
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
export function checkBaseDate({ base_date: base }: Pick<IndexDocument, 'base_date'>, market: MarketData): Finding[] {
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
