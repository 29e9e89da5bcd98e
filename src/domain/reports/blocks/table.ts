import { z } from 'zod';
import { ScenarioList } from '../../scenarios/scenario-request.js';
import { blockFields, blockKind, meaningsOf, namesOf } from '../block.js';

/** What the rows of a table can be. */
export const TABLE_SOURCES = {
  constituents: 'names held on the last date, the largest first',
  rebalances: 'the latest rebalances, with names added and removed, turnover, cap and what it moved',
  annual_returns: 'return of each calendar year',
  monthly_returns: 'return of each month, a year a row',
  attribution: 'contribution of each name to the return of the portfolio, the largest first',
  risk: 'contribution of each name held to the volatility, the largest first',
  exposures: 'weight of each sector at the end of each year, the largest first',
  limits: 'the published rules of concentration: headroom, sessions in breach and breaches',
  breaches: 'breaches of the rule that calls for rebalances, the latest first; nothing of an index without one',
  overlay_parts: 'contribution of the names beneath an overlay and of its own parts; nothing of another index',
  dividend_points: 'ordinary dividends in index points, the latest years first; nothing where none are paid',
  pack: 'orders of the latest rebalance of a portfolio of `aum` that held the index, the largest first; nothing of an overlay',
  scenarios: 'what is held on the last date in past windows and under shocks, those of `scenarios`',
  literal: 'the rows of `frame`',
} as const;
export type TableSource = keyof typeof TABLE_SOURCES;

const SOURCES = namesOf(TABLE_SOURCES);

/** Sources that read the market as well as the run. */
export const MARKET_SOURCES: ReadonlySet<TableSource> = new Set(['risk', 'dividend_points', 'pack', 'scenarios']);

/** Sources with all of their rows, whatever the limit. */
const WHOLE_SOURCES: ReadonlySet<TableSource> = new Set(['limits', 'overlay_parts', 'scenarios']);

/** A universe of the largest size in one table: some 120 pages. */
const ROWS_MAX = 5000;
const COLUMNS_MAX = 40;

const Cell = z.union([z.string().max(400), z.number(), z.boolean(), z.null()]);

/** A table that a template brings along. */
export const LiteralTable = z
  .strictObject({
    index: z.array(z.union([z.string().max(200), z.int()])).max(ROWS_MAX),
    columns: z.array(z.string().max(200)).max(COLUMNS_MAX),
    data: z.array(z.array(Cell).max(COLUMNS_MAX)).max(ROWS_MAX),
  })
  .superRefine(({ index, columns, data }, context) => {
    const refuse = (message: string, path: (string | number)[]) =>
      context.addIssue({ code: 'custom', message, path, params: { finding: 'WRONG_TYPE' } });
    if (data.length !== index.length) refuse(`has ${data.length} rows for ${index.length} labels`, ['data']);
    const odd = data.findIndex((row) => row.length !== columns.length);
    if (odd >= 0) refuse(`has ${data[odd]!.length} cells for ${columns.length} columns`, ['data', odd]);
  })
  .meta({ id: 'LiteralTable', description: 'A table in pandas "split" form.' });
export type LiteralTable = z.infer<typeof LiteralTable>;

export const table = blockKind({
  help: 'A table of a run, or one given by the template.',
  schema: z
    .strictObject({
      kind: z.literal('table'),
      ...blockFields,
      source: z
        .enum(SOURCES)
        .default('constituents')
        .meta({ description: `What the rows are. ${meaningsOf(TABLE_SOURCES)}.` }),
      limit: z.int().min(1).max(ROWS_MAX).default(10).meta({
        description:
          'At most so many rows: the largest names, the latest rebalances, years of returns. A single name beyond them is shown, several are summed up.',
      }),
      aum: z
        .number()
        .gt(0)
        .max(1e15)
        .default(100_000_000)
        .meta({ description: 'Value of the portfolio that a pack is for, in the currency of the index.' }),
      scenarios: ScenarioList.nullable()
        .default(null)
        .meta({ description: 'Past windows and shocks of a table of scenarios, as a request for them has them.' }),
      frame: LiteralTable.nullable().default(null).meta({ description: 'The rows of a literal table.' }),
    })
    .superRefine(({ source, frame, scenarios }, context) => {
      const require = (member: string, what: string) =>
        context.addIssue({
          code: 'custom',
          message: `is required for a ${what}`,
          path: [member],
          params: { finding: 'REQUIRED' },
        });
      if (source === 'literal' && frame === null) require('frame', 'literal table');
      if (source === 'scenarios' && scenarios === null) require('scenarios', 'table of scenarios');
    })
    .meta({ id: 'TableBlock' }),
  example: { kind: 'table', title: 'Largest constituents', index_id: 'LARGE-100', source: 'constituents', limit: 10 },
  runUse: ({ source }) => (source === 'literal' ? 'never' : 'always'),
  readers: {
    limit: { member: 'source', of: SOURCES.filter((source) => !WHOLE_SOURCES.has(source)) },
    aum: { member: 'source', of: ['pack'] },
    scenarios: { member: 'source', of: ['scenarios'] },
    frame: { member: 'source', of: ['literal'] },
  },
});
