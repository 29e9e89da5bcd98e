import type { CorporateAction, Membership, ReferenceRow } from '#domain/market/market-data.js';
import type { PriceSeries } from '#domain/market/series.js';
import type { ContentTables } from '../content/market-content.js';

/** Tables of a content as lines of JSON, one per row or identifier. */
export interface TableTexts {
  readonly columns: readonly string[];
  readonly reference: readonly string[];
  readonly actions: readonly string[];
  readonly universes: readonly string[];
  /** Lines of the series. One line per series is followed by one line per value. */
  readonly series: readonly string[];
}

export const TABLE_NAMES = ['columns', 'reference', 'actions', 'universes', 'series'] as const;

export type SeriesLine = readonly [string, string | null, string | null] | readonly [string, number, number];

/** Encodes tables as lines. @cost a few microseconds per row */
export function encodeTables({ reference, actions, universes, series }: ContentTables): TableTexts {
  return {
    columns: reference.columns,
    reference: [...reference.rows].map((row) => JSON.stringify(row)),
    actions: actions.map((action) => JSON.stringify(action)),
    universes: universes.map((spell) => JSON.stringify(spell)),
    series: [...(series?.values() ?? [])].flatMap(encodeSeries),
  };
}

function encodeSeries({ identifier, name, currency, days, closes }: PriceSeries): string[] {
  const seriesHead: SeriesLine = [identifier, name, currency];
  return [seriesHead, ...Array.from(days, (day, i): SeriesLine => [identifier, day, closes[i]!])].map((line) =>
    JSON.stringify(line),
  );
}

/** Parses tables from lines of JSON. */
export function createTables(texts: TableTexts): ContentTables {
  const series = parseSeries(texts.series);
  return {
    reference: {
      columns: texts.columns,
      rows: new Map(texts.reference.map((text) => JSON.parse(text) as [string, ReferenceRow[]])),
    },
    actions: texts.actions.map((text) => JSON.parse(text) as CorporateAction),
    universes: texts.universes.map((text) => JSON.parse(text) as Membership),
    ...(series.size === 0 ? {} : { series }),
  };
}

function parseSeries(lines: readonly string[]): Map<string, PriceSeries> {
  const drafts: { readonly about: readonly [string, string | null, string | null]; values: [number, number][] }[] = [];
  for (const text of lines) {
    const line = JSON.parse(text) as SeriesLine; // written by `encodeTables`
    if (typeof line[2] === 'number') drafts.at(-1)!.values.push([line[1] as number, line[2]]);
    else drafts.push({ about: line as readonly [string, string | null, string | null], values: [] });
  }
  return new Map(
    drafts.map(({ about: [identifier, name, currency], values }) => [
      identifier,
      {
        identifier,
        name,
        currency,
        days: Int32Array.from(values, ([day]) => day),
        closes: Float64Array.from(values, ([, close]) => close),
      },
    ]),
  );
}
