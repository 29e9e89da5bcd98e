import type { Finding } from '../findings.js';
import type { MarketData } from '../market/market-data.js';
import { missingRates } from '../market/rates-needed.js';
import { constraintFieldFindings, specFieldFindings } from '../optimisation/field-uses.js';
import { bindPipeline, readsOf } from '../rules/bound-pipeline.js';
import { fieldFindings } from '../rules/datapoints/field-findings.js';
import { isDerivedDocument, isRuleDocument, type IndexDocument, type UniverseSpec } from './index-document.js';

/** Findings about listed identifiers told one by one; beyond it they are counted. */
const IDENTIFIERS_LISTED_MAX = 20;

/**
 * What a market lacks for a valid document: datapoints, a named universe, listed names, exchange rates.
 * @param severity Warnings while the document is saved, since another store may have them; errors once it is computed. Names and
 *   rates stay warnings then: those that are there are computed.
 */
export function marketFindings(document: IndexDocument, market: MarketData, severity: 'error' | 'warning'): Finding[] {
  if (isDerivedDocument(document))
    return [
      ...specFieldFindings(document.derivation, market, { path: 'derivation.', severity }),
      ...constraintFieldFindings(document.derivation.constraints, market, { path: 'derivation.constraints', severity }),
    ];
  if (!isRuleDocument(document)) return [];
  return [
    ...fieldFindings(readsOf(bindPipeline(document.pipeline)), market, severity),
    ...(document.universe === undefined ? [] : universeOnMarket(document.universe, market, severity)),
    ...missingRates(market, document).map((pair): Finding => ({
      severity: 'warning',
      code: 'FX_MISSING',
      path: 'currency',
      message: `The store has no exchange rate ${pair}, which names in that currency need.`,
      value: pair,
    })),
  ];
}

function universeOnMarket(
  { kind, id, identifiers = [] }: UniverseSpec,
  market: MarketData,
  severity: 'error' | 'warning',
): Finding[] {
  if (kind === 'named') {
    const accepted = [...new Set(market.universes.map(({ universe }) => universe))].sort();
    if (accepted.includes(id!)) return [];
    return [
      {
        severity,
        code: 'UNKNOWN_IDENTIFIER',
        path: 'universe.id',
        message: `The store has no universe ${id}; it has ${accepted.join(', ') || 'none'}.`,
        accepted,
        value: id,
      },
    ];
  }
  if (kind !== 'list') return [];
  const held = new Set(market.identifiers);
  const unknown = identifiers.flatMap((identifier, i) => (held.has(identifier) ? [] : [{ identifier, i }]));
  const listed = unknown.slice(0, IDENTIFIERS_LISTED_MAX).map(({ identifier, i }): Finding => ({
    severity: 'warning',
    code: 'UNKNOWN_IDENTIFIER',
    path: `universe.identifiers[${i}]`,
    message: `The store has no ${identifier}.`,
    value: identifier,
  }));
  if (unknown.length <= IDENTIFIERS_LISTED_MAX) return listed;
  return [
    ...listed,
    {
      severity: 'warning',
      code: 'MORE_FINDINGS',
      path: 'universe.identifiers',
      message: `${unknown.length - IDENTIFIERS_LISTED_MAX} further identifiers are not in the store.`,
    },
  ];
}
