import type { Day } from '#domain/time/days.js';
import type { MarketData, ReferenceTable } from '#domain/market/market-data.js';

/** Values of a column of a market. */
export interface FieldCoverage {
  readonly name: string;
  readonly dataset: 'market' | 'reference';
  /** Number of securities with a value on any date. */
  readonly securities: number;
  /** Number of securities with a close and a value on the last date of the market. */
  readonly securitiesAtEnd: number;
  /** Dates of the first and of the last value. Null for reference values without a date. */
  readonly start: Day | null;
  readonly end: Day | null;
}

type Columns = Pick<MarketData, 'dates' | 'identifiers' | 'fields' | 'reference'>;

/**
 * Counts the securities with a value of each column of a market, and finds the dates of its first and last values.
 * @cost one read of the reference table, and of each panel from its end until every security has a value
 */
export function measureFieldCoverage({ dates, identifiers, fields, reference }: Columns): readonly FieldCoverage[] {
  const shape = { dates, width: identifiers.length };
  const close = fields.get('CLOSE');
  const pricedAtEnd = identifiers.map((_, i) => close !== undefined && hasValueAtEnd(close, i, shape));
  const priced = new Set(identifiers.filter((_, i) => pricedAtEnd[i]));
  return [
    ...[...fields].map(([name, values]) => measurePanel(name, values, { ...shape, pricedAtEnd })),
    ...measureReference(reference, { lastDay: dates.at(-1) ?? -Infinity, priced }),
  ];
}

interface PanelShape {
  readonly dates: MarketData['dates'];
  /** Number of securities. */
  readonly width: number;
}

interface PanelTerms extends PanelShape {
  /** True for each security with a close on the last date. */
  readonly pricedAtEnd: readonly boolean[];
}

const hasValueAtEnd = (values: Float64Array, i: number, { dates, width }: PanelShape): boolean =>
  !Number.isNaN(values[(dates.length - 1) * width + i] ?? Number.NaN);

/** Measures a panel, [T x N]. */
function measurePanel(name: string, values: Float64Array, terms: PanelTerms): FieldCoverage {
  const { dates, width, pricedAtEnd } = terms;
  const hasValue = (t: number, i: number) => !Number.isNaN(values[t * width + i]!);
  let remaining = Array.from({ length: width }, (_, i) => i);
  let last = -1;
  for (let t = dates.length - 1; t >= 0 && remaining.length > 0; t--) {
    const without = remaining.filter((i) => !hasValue(t, i));
    if (last === -1 && without.length < width) last = t;
    remaining = without;
  }
  const securities = width - remaining.length;
  if (securities === 0) return { name, dataset: 'market', securities, securitiesAtEnd: 0, start: null, end: null };
  const securitiesAtEnd = pricedAtEnd.filter((isPriced, i) => isPriced && hasValueAtEnd(values, i, terms)).length;
  let cell = 0; // the panel has a value, so that the search ends
  while (Number.isNaN(values[cell]!)) cell++;
  const start = dates[Math.floor(cell / width)]!;
  return { name, dataset: 'market', securities, securitiesAtEnd, start, end: dates[last]! };
}

interface ReferenceTerms {
  /** Last date of the market. */
  readonly lastDay: Day;
  /** Securities with a close on the last date. */
  readonly priced: ReadonlySet<string>;
}

/** Measures the reference columns. A row is valid until the next row of its security. */
function measureReference(
  { columns, rows: table }: ReferenceTable,
  { lastDay, priced }: ReferenceTerms,
): readonly FieldCoverage[] {
  const securities = new Int32Array(columns.length);
  const securitiesAtEnd = new Int32Array(columns.length);
  const days = columns.map((): { start: Day; end: Day } => ({ start: Infinity, end: -Infinity }));
  for (const [identifier, rows] of table) {
    const isPriced = priced.has(identifier);
    const latest = rows.findLast(({ validFrom }) => validFrom === null || validFrom <= lastDay);
    columns.forEach((_, k) => {
      if (isPriced && (latest?.values[k] ?? null) !== null) securitiesAtEnd[k]!++;
      const valueRows = rows.filter(({ values }) => (values[k] ?? null) !== null);
      if (valueRows.length > 0) securities[k]!++;
      for (const { validFrom } of valueRows) {
        if (validFrom === null) continue;
        const span = days[k]!;
        span.start = Math.min(span.start, validFrom);
        span.end = Math.max(span.end, validFrom);
      }
    });
  }
  return columns.map((name, k) => {
    const { start, end } = days[k]!;
    const isDated = start <= end;
    return {
      name,
      dataset: 'reference',
      securities: securities[k]!,
      securitiesAtEnd: securitiesAtEnd[k]!,
      start: isDated ? start : null,
      end: isDated ? end : null,
    };
  });
}
