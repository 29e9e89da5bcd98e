import { z } from 'zod';
import { defineObject } from '../base/schema.js';

/** Maximum number of tables, columns and entries in one mapping. */
const ENTRIES_MAX = 2000;

const ColumnName = z.string().max(200);

/** Date formats in addition to patterns of YYYY, YY, MMM, MM, M, DD and D. */
export const EPOCH_FORMATS = ['epoch_s', 'epoch_ms', 'epoch_us', 'epoch_ns'] as const;

/** Formats of dates that are numbers: since 1970, and serial numbers of Excel. */
export const NUMBER_FORMATS = [...EPOCH_FORMATS, 'excel'] as const;

/** Encodings of text files in addition to UTF-8; UTF-16 is recognised by its byte order mark. */
export const ENCODINGS = ['utf-8', 'windows-1252', 'windows-1250', 'utf-16le', 'utf-16be'] as const;

/** Source of identifiers: a column, a file name with a placeholder for the identifier, or a heading with a label. */
const IDENTIFIER_FROM = /^(?:column|file:[^{}]*\{identifier\}[^{}]*|heading:[^{}]*[^{}\s][^{}]*)$/;

/** Date pattern: year, month and day, with any separators. */
const DATE_PATTERN = /^(?=.*Y)(?=.*M)(?=.*D)(?:YYYY|YY|MMM|MM|M|DD|D|[^A-Za-z0-9])+$/;

/** Name of a time zone, an offset from UTC, or the code of a calendar. */
const TIME_ZONE = /^(?:[A-Za-z][\w+-]*(?:\/[\w+-]+)*|[+-]\d\d:?\d\d|\d\d[-/]\d)$/;

/** Units of interest rates. A series is stored in percent. */
export const RATE_UNITS = ['percent', 'basis_points', 'fraction'] as const;
export type RateUnit = (typeof RATE_UNITS)[number];

/** Interpretation of wide tables of series: one row per date and one column per series. */
export const WideSeries = defineObject(() => ({
  base: z
    .string()
    .regex(/^[A-Z]{3}$/, { error: 'must be a code of ISO 4217, such as EUR' })
    .nullable()
    .default(null)
    .meta({
      description:
        'Currency to which columns named by one currency belong: with EUR, the column USD is the rate between EUR and USD. Null: no column is named by one currency.',
      example: 'EUR',
    }),
  quoted: z.enum(['per_base', 'per_unit']).default('per_base').meta({
    description:
      'Meaning of the rates of these columns: units of the currency for one unit of the base, as in EURUSD, or units of the base for one unit of the currency, the inverse.',
    example: 'per_base',
  }),
  unit: z.enum(RATE_UNITS).default('percent').meta({
    description:
      'Unit of the columns that are no exchange rates, if they are interest rates. Values are converted to percent. A level such as that of a benchmark is not converted with `percent`.',
    example: 'basis_points',
  }),
})).meta({ id: 'WideSeries' });
export type WideSeries = z.infer<typeof WideSeries>;

/** Mapping of a market whose prices come from a file, sheet or table in the format of a vendor. */
export const Mapping = defineObject(() => ({
  layout: z.enum(['long', 'wide']).default('long').meta({
    description: '`long`: one row per security and date; `wide`: one row per date and one column per security.',
    example: 'wide',
  }),
  skip_rows: z.int().min(0).max(1000).default(0).meta({
    description: 'Number of rows before the header of each table, without empty rows.',
    example: 3,
  }),
  encoding: z.enum(ENCODINGS).nullable().default(null).meta({
    description: 'Encoding of text files without a byte order mark. Null: UTF-8.',
    example: 'windows-1252',
  }),
  field: ColumnName.min(1).nullable().default(null).meta({
    description:
      'For `wide`: field of the numbers. Null: the columns also state the field, in two header rows or as ("Close", "AAPL") in Parquet.',
    example: 'CLOSE',
  }),
  fields: z
    .record(ColumnName.min(1), ColumnName.min(1))
    .refine((fields) => Object.keys(fields).length <= ENTRIES_MAX, { error: `at most ${ENTRIES_MAX} tables` })
    .default({})
    .meta({
      description:
        'For `wide` with one table per field: field of each file, sheet or table. Other tables are not read.',
      example: { 'close.csv': 'CLOSE', 'volume.csv': 'VOLUME' },
    }),
  columns: z
    .record(ColumnName.min(1), ColumnName)
    .refine((columns) => Object.keys(columns).length <= ENTRIES_MAX, { error: `at most ${ENTRIES_MAX} columns` })
    .default({})
    .meta({
      description:
        'Column of the date, the identifier and each datapoint, if it has another name. An empty text refers to the column without a name. Text files without a header: positions, such as #1, for all columns that are read.',
      example: { date: 'Date', identifier: 'Ticker', CLOSE: 'Close' },
    }),
  identifier_from: z
    .string()
    .max(200)
    .refine((text) => IDENTIFIER_FROM.test(text), {
      error: 'must be column, file: with a file name that contains {identifier}, or heading: with a label',
    })
    .nullable()
    .default(null)
    .meta({
      description:
        'Source of the identifier: a column (also null), the name of the file or sheet (file:; other files are not read), or a label above the header (heading:Security).',
      example: 'file:{identifier}_data.csv',
    }),
  date_format: z
    .string()
    .max(40)
    .refine((text) => NUMBER_FORMATS.some((each) => each === text) || DATE_PATTERN.test(text), {
      error: `must consist of YYYY or YY, MMM, MM or M, DD or D, or be one of ${NUMBER_FORMATS.join(', ')}`,
    })
    .nullable()
    .default(null)
    .meta({
      description: `Date format; null is YYYY-MM-DD. A pattern of YYYY, YY, MMM, MM, M, DD and D, or one of ${NUMBER_FORMATS.join(', ')} (serial dates of Excel, such as 45293). Names of months may be in English, German, French, Spanish, Italian, Dutch or Portuguese. The time of day of a date without a time zone is ignored.`,
      example: 'MM/DD/YYYY',
    }),
  time_zone: z
    .string()
    .max(60)
    .refine((text) => TIME_ZONE.test(text), {
      error: 'must be a time zone such as Asia/Tokyo or +09:00, or the code of a calendar such as XTKS',
    })
    .nullable()
    .default(null)
    .meta({
      description:
        'Time zone of the days if the dates are instants in UTC: a zone such as Asia/Tokyo or +09:00, or the code of a calendar, such as XTKS. Null: the zone of the reference column EXCHANGE. Dates without a zone or with an offset are the days that they show.',
      example: 'Asia/Tokyo',
    }),
  decimal: z.enum(['.', ',']).default('.').meta({
    description: 'Decimal separator. If it is a comma, points, apostrophes and spaces between thousands are ignored.',
    example: ',',
  }),
  thousands: z.enum([',', '.', "'", ' ']).nullable().default(null).meta({
    description:
      'Thousands separator for numbers with a decimal point: 1,234.5. If it equals the decimal separator, it applies only to VOLUME and SHARES_OUTSTANDING, as in 58,490 next to 14,82. Null: none.',
    example: ',',
  }),
  units: z.enum(['refuse', 'read']).default('refuse').meta({
    description: 'Treatment of currency signs ($14.82) and of K, M, B or T after a number (59.83M): refused, or read.',
    example: 'read',
  }),
  price_divisor: z.number().positive().max(1e12).default(1).meta({
    description:
      'Divisor of OPEN, HIGH, LOW, CLOSE and adjusted closes, for prices in fixed point: 1e9 for whole numbers of 1e-9.',
    example: 1e9,
  }),
  on_duplicate: z.enum(['refuse', 'identical', 'first', 'last']).default('refuse').meta({
    description:
      'Treatment of a second row of one security and date: refused, accepted if all values are equal, ignored, or used instead of the first row.',
    example: 'identical',
  }),
  zero_prices: z
    .enum(['refuse', 'missing'])
    .default('refuse')
    .meta({ description: 'Treatment of a price of 0: refused, or read as a missing price.', example: 'missing' }),
  negative_prices: z.enum(['refuse', 'absolute']).default('refuse').meta({
    description:
      'Treatment of a negative price: refused, or read as its absolute value. CRSP marks the mean of bid and ask in this way.',
    example: 'absolute',
  }),
  adjusted_close: ColumnName.min(1).nullable().default(null).meta({
    description:
      'Column of closes adjusted for dividends, and for splits if CLOSE is not adjusted for them. Cash dividends, and these splits, are derived from it. The column is then not a datapoint.',
    example: 'Adj Close',
  }),
  dividends_from: z.enum(['adjusted_close', 'column']).default('adjusted_close').meta({
    description:
      'Source of cash dividends if the table has a column of dividends, such as Dividends or divCash: `adjusted_close` or that column. `column` also reads splits, if CLOSE is as traded and the table has a column of splits. With both sources, each difference is a finding.',
    example: 'column',
  }),
  series: WideSeries.nullable()
    .default(null)
    .meta({
      description:
        'Interpretation of `series` tables without the columns identifier and CLOSE: one row per date and one column per series, as in the table of exchange rates of the European Central Bank.',
      example: { base: 'EUR' },
    }),
  ignore: z
    .array(ColumnName)
    .max(ENTRIES_MAX)
    .default([])
    .meta({ description: 'Columns, files and sheets that are ignored.', example: ['Repaired?'] }),
})).meta({
  id: 'Mapping',
  description: 'Mapping of tables in their original format to a market. Columns that are not mapped are read by name.',
});
export type Mapping = z.infer<typeof Mapping>;

/** Change of some members of a mapping. Members that are absent do not change, so there are no defaults. */
export const MappingChange = defineObject(() => z.strictObject(removeDefaults(Mapping.shape)).partial().shape).meta({
  id: 'MappingChange',
  description: 'Members of a mapping that change. All other members stay unchanged. A member is replaced as a whole.',
});
export type MappingChange = z.infer<typeof MappingChange>;

type WithoutDefaults<Shape> = { [K in keyof Shape]: Shape[K] extends z.ZodDefault<infer Inner> ? Inner : Shape[K] };

function removeDefaults<Shape extends z.ZodRawShape>(shape: Shape): WithoutDefaults<Shape> {
  const removeDefault = ([key, schema]: [string, z.ZodRawShape[string]]) => {
    if (!(schema instanceof z.ZodDefault)) return [key, schema];
    return [key, (schema.unwrap() as z.ZodType).meta(schema.meta() ?? {})];
  };
  return Object.fromEntries(Object.entries(shape).map(removeDefault)) as WithoutDefaults<Shape>; // every schema is inserted under the key of its member
}

/** Returns a mapping with some members changed. Returns null without a mapping. */
export function changeMapping(mapping: Mapping | null, change: MappingChange | null): Mapping | null {
  return change === null ? null : Mapping.parse({ ...mapping, ...change });
}

/** Number of cash dividends and splits derived from adjusted closes. */
export const DerivedActions = defineObject(() => ({ dividends: z.int().min(0), splits: z.int().min(0) })).meta({
  id: 'DerivedActions',
  description: 'Corporate actions that were derived from adjusted closes.',
});
export type DerivedActions = z.infer<typeof DerivedActions>;
