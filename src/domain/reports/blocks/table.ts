import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { ScenarioList } from '../../scenarios/scenario-request.js';
import { blockFields, defineBlockKind, listMeanings, listNames } from '../block.js';

/** Sources of the rows in a table. */
export const TABLE_SOURCES = {
  constituents: 'holdings on the last date, beginning with the largest',
  rebalances: 'latest rebalances, with securities added and removed, turnover, cap and redistributed weight',
  annual_returns: 'return of each calendar year',
  monthly_returns: 'return of each month, one row per year',
  attribution: 'contribution of each security to the return of the portfolio, beginning with the largest',
  risk: 'contribution of each holding to the volatility, beginning with the largest',
  exposures: 'weight of each sector at the end of each year, beginning with the largest',
  limits: 'published concentration rules: headroom, sessions in breach and number of breaches',
  breaches: 'breaches of the rule that triggers rebalances, latest first; empty if the index has no such rule',
  overlay_parts: 'contribution of the underlying securities and of the parts of an overlay; empty for other indices',
  dividend_points: 'ordinary dividends in index points, latest years first; empty if there are none',
  pack: 'orders of the latest rebalance for a portfolio of `aum` that held the index, beginning with the largest; empty for an overlay',
  scenarios: 'holdings of the last date in past windows and under shocks, as defined in `scenarios`',
  literal: 'the rows of `frame`',
} as const;
export type TableSource = keyof typeof TABLE_SOURCES;

const SOURCES = listNames(TABLE_SOURCES);

/** Sources that also read the market. */
export const MARKET_SOURCES: ReadonlySet<TableSource> = new Set(['risk', 'dividend_points', 'pack', 'scenarios']);

/** Sources that show all their rows, regardless of the limit. */
const UNLIMITED_SOURCES: ReadonlySet<TableSource> = new Set(['limits', 'overlay_parts', 'scenarios']);

/** Maximum number of rows: the largest universe, about 120 pages. */
const ROWS_MAX = 5000;
const COLUMNS_MAX = 40;

const Cell = z.union([z.string().max(400), z.number(), z.boolean(), z.null()]);

/** Table given in a template. */
export const LiteralTable = defineObject(() => ({
  index: z.array(z.union([z.string().max(200), z.int()])).max(ROWS_MAX),
  columns: z.array(z.string().max(200)).max(COLUMNS_MAX),
  data: z.array(z.array(Cell).max(COLUMNS_MAX)).max(ROWS_MAX),
}))
  .superRefine(({ index, columns, data }, context) => {
    const refuseMember = (message: string, path: (string | number)[]) =>
      context.addIssue({ code: 'custom', message, path, params: { finding: 'WRONG_TYPE' } });
    if (data.length !== index.length) refuseMember(`has ${data.length} rows for ${index.length} labels`, ['data']);
    const irregularRow = data.findIndex((row) => row.length !== columns.length);
    if (irregularRow >= 0)
      refuseMember(`has ${data[irregularRow]!.length} cells for ${columns.length} columns`, ['data', irregularRow]);
  })
  .meta({ id: 'LiteralTable', description: 'Table in the "split" format of pandas.' });
export type LiteralTable = z.infer<typeof LiteralTable>;

export const table = defineBlockKind({
  help: 'Table of a run, or a table in the template.',
  schema: defineObject(() => ({
    kind: z.literal('table'),
    ...blockFields,
    source: z
      .enum(SOURCES)
      .default('constituents')
      .meta({ description: `Source of the rows. ${listMeanings(TABLE_SOURCES)}.` }),
    limit: z.int().min(1).max(ROWS_MAX).default(10).meta({
      description:
        'Maximum number of rows: the largest holdings, the latest rebalances, or the latest years. A single further security is shown; several further securities are added up.',
    }),
    aum: z
      .number()
      .gt(0)
      .max(1e15)
      .default(100_000_000)
      .meta({ description: 'Value of the portfolio of a table of orders, in the currency of the index.' }),
    scenarios: ScenarioList.nullable()
      .default(null)
      .meta({ description: 'Past windows and shocks of a table of scenarios, as in a request for scenarios.' }),
    frame: LiteralTable.nullable().default(null).meta({ description: 'Rows of a literal table.' }),
  }))
    .superRefine(({ source, frame, scenarios }, context) => {
      const requireMember = (member: string, what: string) =>
        context.addIssue({
          code: 'custom',
          message: `is required for a ${what}`,
          path: [member],
          params: { finding: 'REQUIRED' },
        });
      if (source === 'literal' && frame === null) requireMember('frame', 'literal table');
      if (source === 'scenarios' && scenarios === null) requireMember('scenarios', 'table of scenarios');
    })
    .meta({ id: 'TableBlock' }),
  example: { kind: 'table', title: 'Largest constituents', index_id: 'LARGE-100', source: 'constituents', limit: 10 },
  runUse: ({ source }) => (source === 'literal' ? 'never' : 'always'),
  readers: {
    limit: { member: 'source', of: SOURCES.filter((source) => !UNLIMITED_SOURCES.has(source)) },
    aum: { member: 'source', of: ['pack'] },
    scenarios: { member: 'source', of: ['scenarios'] },
    frame: { member: 'source', of: ['literal'] },
  },
});
