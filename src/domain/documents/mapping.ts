import { z } from 'zod';

/** Tables, columns and entries that one mapping may name. */
const ENTRIES_MAX = 2000;

const ColumnName = z.string().max(200);

/** Formats of days besides patterns of YYYY, YY, MMM, MM, M, DD and D. */
export const EPOCH_FORMATS = ['epoch_s', 'epoch_ms', 'epoch_us', 'epoch_ns'] as const;

/** How text files are written besides UTF-8; UTF-16 is known by its byte order mark. */
export const ENCODINGS = ['utf-8', 'windows-1252', 'windows-1250', 'utf-16le', 'utf-16be'] as const;

/** A column, the name of a file around the identifier, or the label of a heading. */
const IDENTIFIER_FROM = /^(?:column|file:[^{}]*\{identifier\}[^{}]*|heading:[^{}]*[^{}\s][^{}]*)$/;

/** Each part of a date once: a year, a month, a day, with whatever stands between them. */
const DATE_PATTERN = /^(?=.*Y)(?=.*M)(?=.*D)(?:YYYY|YY|MMM|MM|M|DD|D|[^A-Za-z0-9])+$/;

/** A market whose prices come from a file, sheet or table as its vendor writes it. */
export const Mapping = z
  .strictObject({
    layout: z.enum(['long', 'wide']).default('long').meta({
      description: 'long: a row a name and date. wide: a row a date and a column a name.',
      example: 'wide',
    }),
    skip_rows: z.int().min(0).max(1000).default(0).meta({
      description: 'Rows before the header of each table, empty ones not counted.',
      example: 3,
    }),
    encoding: z.enum(ENCODINGS).nullable().default(null).meta({
      description: 'Encoding of text files without a byte order mark. Null: UTF-8.',
      example: 'windows-1252',
    }),
    field: ColumnName.min(1).nullable().default(null).meta({
      description:
        'Wide: what the numbers are. Null: each column says it too, in two header rows or as ("Close", "AAPL") in Parquet.',
      example: 'CLOSE',
    }),
    fields: z
      .record(ColumnName.min(1), ColumnName.min(1))
      .refine((fields) => Object.keys(fields).length <= ENTRIES_MAX, { error: `at most ${ENTRIES_MAX} tables` })
      .default({})
      .meta({
        description: 'Wide, one table a field: what the numbers of each file, sheet or table are. Others are not read.',
        example: { 'close.csv': 'CLOSE', 'volume.csv': 'VOLUME' },
      }),
    columns: z
      .record(ColumnName.min(1), ColumnName)
      .refine((columns) => Object.keys(columns).length <= ENTRIES_MAX, { error: `at most ${ENTRIES_MAX} columns` })
      .default({})
      .meta({
        description:
          'Column of date, identifier and each datapoint, where it is called otherwise. An empty name is the column without one.',
        example: { date: 'Date', identifier: 'Ticker', CLOSE: 'Close' },
      }),
    identifier_from: z
      .string()
      .max(200)
      .refine((text) => IDENTIFIER_FROM.test(text), {
        error: 'must be column, file: with the name of a file around {identifier}, or heading: with a label',
      })
      .nullable()
      .default(null)
      .meta({
        description:
          'Where the identifier stands: in a column (also null), in the name of the file or sheet (file:, those with another name are not read), or beside a label above the header (heading:Security).',
        example: 'file:{identifier}_data.csv',
      }),
    date_format: z
      .string()
      .max(40)
      .refine((text) => EPOCH_FORMATS.some((each) => each === text) || DATE_PATTERN.test(text), {
        error: `must be made of YYYY or YY, MMM, MM or M, DD or D, or be one of ${EPOCH_FORMATS.join(', ')}`,
      })
      .nullable()
      .default(null)
      .meta({
        description: `How days are written; null is YYYY-MM-DD. Of YYYY, YY, MMM, MM, M, DD and D, or one of ${EPOCH_FORMATS.join(', ')}. A time of day is dropped.`,
        example: 'MM/DD/YYYY',
      }),
    decimal: z.enum(['.', ',']).default('.').meta({
      description: 'Mark of decimals. With a comma, points, apostrophes and spaces between thousands are passed over.',
      example: ',',
    }),
    thousands: z.enum([',', '.', "'", ' ']).nullable().default(null).meta({
      description:
        'Mark between thousands beside a decimal point: 1,234.5. The mark of decimals itself: that of VOLUME and SHARES_OUTSTANDING alone, as 58,490 beside 14,82. Null: there is none.',
      example: ',',
    }),
    units: z.enum(['refuse', 'read']).default('refuse').meta({
      description: 'A sign of money ($14.82), and K, M, B or T behind a number (59.83M): refused, or read.',
      example: 'read',
    }),
    on_duplicate: z.enum(['refuse', 'identical', 'first', 'last']).default('refuse').meta({
      description:
        'A second row of one name and date: refused, accepted where all its values are the same, left out, or taken in place of the first.',
      example: 'identical',
    }),
    zero_prices: z
      .enum(['refuse', 'missing'])
      .default('refuse')
      .meta({ description: 'A price of 0: refused, or no price.', example: 'missing' }),
    negative_prices: z.enum(['refuse', 'absolute']).default('refuse').meta({
      description: 'A negative price: refused, or its amount (CRSP marks the mean of bid and ask so).',
      example: 'absolute',
    }),
    adjusted_close: ColumnName.min(1).nullable().default(null).meta({
      description:
        'Column of closes adjusted for dividends, and for splits where CLOSE is not: cash dividends, and those splits, are derived from it. It is no datapoint then.',
      example: 'Adj Close',
    }),
    ignore: z
      .array(ColumnName)
      .max(ENTRIES_MAX)
      .default([])
      .meta({ description: 'Columns, files and sheets that are not read.', example: ['Repaired?'] }),
  })
  .meta({
    id: 'Mapping',
    description: 'How a market is read from tables as they come. Columns that are not mapped are taken by their name.',
  });
export type Mapping = z.infer<typeof Mapping>;

/** Some members of a mapping, without their defaults: those that are absent are not meant. */
export const MappingChange = z.strictObject(withoutDefaults(Mapping.shape)).partial().meta({
  id: 'MappingChange',
  description: 'Members of a mapping that change; the others stay as they are. A member is replaced as a whole.',
});
export type MappingChange = z.infer<typeof MappingChange>;

type WithoutDefaults<Shape> = { [K in keyof Shape]: Shape[K] extends z.ZodDefault<infer Inner> ? Inner : Shape[K] };

function withoutDefaults<Shape extends z.ZodRawShape>(shape: Shape): WithoutDefaults<Shape> {
  const inner = ([key, schema]: [string, z.ZodRawShape[string]]) => {
    if (!(schema instanceof z.ZodDefault)) return [key, schema];
    return [key, (schema.unwrap() as z.ZodType).meta(schema.meta() ?? {})];
  };
  return Object.fromEntries(Object.entries(shape).map(inner)) as WithoutDefaults<Shape>; // each by its own key
}

/** A mapping with the members of a change, or none at all. */
export function changedMapping(mapping: Mapping | null, change: MappingChange | null): Mapping | null {
  return change === null ? null : Mapping.parse({ ...mapping, ...change });
}

/** Number of cash dividends and splits derived from adjusted closes. */
export const DerivedActions = z
  .strictObject({ dividends: z.int().min(0), splits: z.int().min(0) })
  .meta({ id: 'DerivedActions', description: 'Corporate actions that were derived from adjusted closes.' });
export type DerivedActions = z.infer<typeof DerivedActions>;
