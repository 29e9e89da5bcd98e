import { readDefinitions } from '../documents/definitions.js';
import {
  isDerivedDocument,
  isOverlayDocument,
  isRuleDocument,
  type IndexDocument,
  type UniverseSpec,
} from '../documents/index-document.js';
import type { MarketData } from '../market/market-data.js';
import { listRowFields, listSpecFields } from '../optimisation/field-uses.js';
import { findOverlayType } from '../overlays/catalogue.js';
import { bindPipeline, listReads } from '../rules/bound-pipeline.js';
import { listMissingColumns } from '../rules/field-findings.js';

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
