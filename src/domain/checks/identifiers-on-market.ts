import type { z } from 'zod';
import { listNamedAssets, type NamedAsset } from '../catalogue/named-assets.js';
import { findConstraintClass } from '../constraints/catalogue.js';
import { findReturnsClass } from '../expected-returns/catalogue.js';
import type { Finding } from '../refusals/findings.js';
import type { MarketData } from '../market/market-data.js';
import { suggestName } from '#base/text/nearest-name.js';
import { findSelectionClass, findWeightingClass } from '../rules/catalogue.js';
import { findUnknownGroups } from '../constraints/groups-on-market.js';
import { EventsSpec } from '../documents/events-spec.js';
import { UniverseSpec, type DerivationPayload, type IndexDocument } from '../documents/index-document.js';
import type { ReviewSpec } from '../documents/review-spec.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';

/** Maximum number of securities listed individually. The others are only counted. */
const SECURITIES_LISTED_MAX = 20;

/** Maximum number of unknown securities whose names are compared with those of the market. */
const SECURITIES_COMPARED_MAX = 5;

/** Security that a document lists. */
interface ListedSecurity extends NamedAsset {
  /** Path of the list. */
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

interface ListLocation {
  readonly path: string;
  readonly rowId?: string | null;
}

/** Returns the securities in the parameters of a class, with the list that contains each security. */
function listValues(
  entry: { readonly params: z.ZodObject } | undefined,
  params: unknown,
  { path, rowId = null }: ListLocation,
): ListedSecurity[] {
  if (entry === undefined) return [];
  return listNamedAssets(entry.params, params, path).map((name) => ({
    ...name,
    list: name.path.slice(0, path.length) + /^\.\w+/.exec(name.path.slice(path.length))![0],
    rowId,
  }));
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
    .slice(0, SECURITIES_LISTED_MAX)
    .map(({ identifier, path, rowId }, i): Finding => ({
      severity: 'warning',
      code: 'UNKNOWN_IDENTIFIER',
      path,
      row_id: rowId,
      message: describeUnknown(identifier, i < SECURITIES_COMPARED_MAX ? storedIdentifiers : [], market),
      value: identifier,
    }));
  const restCounts = new Map<string, number>();
  for (const { list } of unknownSecurities.slice(SECURITIES_LISTED_MAX))
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
