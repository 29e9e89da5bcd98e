import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { BenchmarkName } from '#domain/documents/benchmark-ref.js';
import { RETURN_VARIANTS } from '#domain/market/market-data.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { Id, IsoDate } from '#domain/schema/shape.js';
import { compositionErrors, listingQuery } from '../common.js';
import { FILE_MEDIA } from '../media-formats.js';
import { defineRoutes } from '../route.js';
import { runQuery } from '../run-state.js';
import { ActionsView } from './actions.js';
import { DividendPointsView } from './dividend-points.js';
import { EXPOSURE_INTERVALS, ExposuresView } from './exposures.js';
import { DEFAULT_LIMIT_RULE, LIMIT_RULE_NAMES, LIMIT_RULES } from '#domain/compliance/rules.js';
import { EXPOSURE_TABLE_NAMES, EXPOSURE_TABLES } from '#domain/exports/exposure-tables.js';
import type { ExportTable } from '#domain/exports/export-table.js';
import { LIMIT_TABLE_NAMES, LIMIT_TABLES } from '#domain/exports/limit-tables.js';
import { SCENARIO_TABLE_NAMES, SCENARIO_TABLES } from '#domain/exports/scenario-tables.js';
import { LimitsRequest, LimitsView } from './limits.js';
import { MEASURED_SERIES, PerformanceView } from './performance.js';
import { RebalanceList, RebalanceView } from './rebalances.js';
import { ScenarioRequest } from '#domain/scenarios/scenario-request.js';
import { ScenariosView } from './scenarios.js';
import { RunSummaryCollection } from './summaries.js';

const params = defineObject(() => ({ index_id: Id }));
const window = {
  start: IsoDate.optional().meta({ description: 'First day. Default: the first date of the run.' }),
  end: IsoDate.optional().meta({ description: 'Last day. Default: the last date of the run.' }),
};
const errors = ['INDEX_NOT_FOUND', 'RUN_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'NUMERIC_FAILURE'] as const;
const commonRoute = { method: 'GET', scope: 'read', tag: 'analytics' } as const;

/** Maximum number of groups in a response about exposures. */
const GROUPS_MAX = 100;

/** Maximum number of datapoints in a response about exposures. Each datapoint is read on every date. */
const FIELDS_MAX = 10;

const ruleHelp = LIMIT_RULE_NAMES.map((name) => `${name}: ${LIMIT_RULES[name].help}`).join(' ');

/** Formats the tables of a file as a list with one table per line. */
function formatTableLines(tables: Readonly<Record<string, ExportTable>>): string {
  return Object.entries(tables)
    .map(
      ([name, { help, row, columns }]) =>
        `- \`${name}\`: ${help} Rows: ${row}. Columns: ${Object.keys(columns).join(', ')}.`,
    )
    .join('\n');
}

/**
 * Returns the description of the query parameter `table`.
 * @param defaultBy table of the file if the request names none
 */
const createTableQuery = (defaultBy: string) => ({
  description: `Table of a CSV, Arrow, Parquet or Excel file. Refused with JSON. Default: \`${defaultBy}\`.`,
});

const limitsAsFile = `A CSV, Arrow, Parquet or Excel file contains one \`table\`:\n\n${formatTableLines(LIMIT_TABLES)}`;
const limitTable = z.enum(LIMIT_TABLE_NAMES).optional().meta(createTableQuery('state'));
const limitsSuccess = { status: 200, description: 'The limits.', schema: LimitsView, media: FILE_MEDIA } as const;

const scenarioTable = z.enum(SCENARIO_TABLE_NAMES).optional().meta(createTableQuery('scenarios'));

export const runViewRoutes = defineRoutes({
  listSummaries: {
    ...commonRoute,
    path: '/analytics/summaries',
    summary: 'Returns level, returns, volatility and rebalances of every stored run, one row per run.',
    description: 'A run that is no longer readable is omitted and counted in `skipped`.',
    query: listingQuery,
    success: { status: 200, description: 'The rows, by id.', schema: RunSummaryCollection },
    errors: [],
  },
  getPerformance: {
    ...commonRoute,
    path: '/analytics/{index_id}/performance',
    summary: 'Returns levels, drawdown, returns and figures of a run over a window.',
    description: 'The window is narrowed to dates of the run. All figures are measured within this window.',
    params,
    query: defineObject(() => ({
      ...runQuery,
      ...window,
      of: z.enum(MEASURED_SERIES).optional().meta({
        description:
          'Series that the figures describe: the portfolio after costs, or the index that it tracks. Default: index if `variant` is set, otherwise portfolio.',
      }),
      variant: z.enum(RETURN_VARIANTS).optional().meta({
        description:
          'Return variant of the index that is measured. Default: that of the definition. A portfolio has only the variant of its run.',
      }),
    })),
    view: { name: 'performance', needs: ['window'] },
    success: { status: 200, description: 'The performance.', schema: PerformanceView },
    errors: [...errors, 'INVALID_RANGE', 'RANGE_TOO_SHORT', 'VARIANT_NOT_AVAILABLE'],
  },
  listRebalances: {
    ...commonRoute,
    path: '/analytics/{index_id}/rebalances',
    summary: 'Lists every rebalance of a run with its changes, turnover and cost.',
    params,
    query: z.strictObject(runQuery),
    view: { name: 'rebalances', needs: [] },
    success: { status: 200, description: 'The rebalances.', schema: RebalanceList },
    errors,
  },
  getRebalance: {
    ...commonRoute,
    path: '/analytics/{index_id}/rebalances/{date}',
    summary: 'Returns one rebalance of a run by security: weights before and after, and trades.',
    params: defineObject(() => ({
      index_id: Id,
      date: IsoDate.meta({
        description: 'Date of the rebalance. The response describes the latest rebalance on or before this day.',
      }),
    })),
    query: z.strictObject(runQuery),
    view: { name: 'rebalance', needs: [] },
    success: { status: 200, description: 'The rebalance.', schema: RebalanceView },
    errors: [...errors, 'NO_DATA_AT_DATE'],
  },
  getIndexActions: {
    ...commonRoute,
    path: '/indices/{index_id}/actions',
    summary:
      'Returns the effects of past and coming corporate actions on an index: weight, shares and divisor before and after.',
    description:
      'Past actions are applied to the holdings of the latest run. Later actions that were announced on or before its last date are pro forma. Actions that await a decision are marked.',
    params,
    query: defineObject(() => ({
      ...runQuery,
      from: IsoDate.optional().meta({ description: 'First ex-date. Default: the first date of the run.' }),
      to: IsoDate.optional().meta({ description: 'Last ex-date.' }),
      table: z.enum(['actions', 'constituents']).optional().meta({
        description:
          'Table of a CSV file: the actions (default), or the whole index before and after each coming action, with weight and shares of each security, for every choice of the action. Refused with JSON.',
      }),
    })),
    view: { name: 'actions', needs: ['window', 'market', 'outside-mergers'] },
    success: { status: 200, description: 'The actions.', schema: ActionsView, media: ['text/csv'] },
    errors: [...errors, 'VALIDATION_FAILED', 'STORE_MISMATCH', 'NO_DATA_SOURCE', 'INVALID_RANGE'],
  },
  getDividendPoints: {
    ...commonRoute,
    path: '/analytics/{index_id}/dividend-points',
    summary: 'Returns ordinary dividends in index points by session and year, the yield, and announced dividends.',
    description:
      'The points of a security are its weight at the previous close x level at that close x dividend / price, with dividend and price in the currency of the index.',
    params,
    query: defineObject(() => ({ ...runQuery, ...window })),
    view: { name: 'dividend-points', needs: ['window', 'market'] },
    success: { status: 200, description: 'The points.', schema: DividendPointsView },
    errors: [
      ...errors,
      'STORE_MISMATCH',
      'NO_DATA_SOURCE',
      'INVALID_RANGE',
      'NO_DATA_IN_RANGE',
      'VARIANT_NOT_AVAILABLE',
    ],
  },
  getExposures: {
    ...commonRoute,
    path: '/analytics/{index_id}/exposures',
    summary: 'Returns weights by group and averages of datapoints over time, with concentration and turnover.',
    description: `Groups and datapoints are as known on each date. BETA is computed as in rules, against the equally weighted universe of the index on the date. A benchmark is run from its definition and must have holdings on every date. A CSV or Arrow file contains one \`table\`:\n\n${formatTableLines(EXPOSURE_TABLES)}`,
    params,
    query: defineObject(() => ({
      ...runQuery,
      by: z.string().min(1).max(64).optional().meta({
        description:
          'Reference column to group by. Default: SECTOR. Securities without the column are UNCLASSIFIED; IDENTIFIER groups by security.',
      }),
      groups: z
        .int()
        .min(1)
        .max(GROUPS_MAX)
        .default(20)
        .meta({ description: 'Maximum number of groups. All other groups are combined as OTHERS.' }),
      interval: z
        .enum(EXPOSURE_INTERVALS)
        .default('native')
        .meta({ description: 'Dates of the rows: every date, or the last date of each week or month.' }),
      fields: z.array(z.string().min(1).max(LIMITS.MAX_EXPRESSION_LENGTH)).max(FIELDS_MAX).default([]).meta({
        description:
          'Numeric datapoints, such as DIVIDEND_YIELD, BETA and MARKET_CAP, or expressions over datapoints. Cross-sectional functions cover the securities that the run holds.',
      }),
      benchmark: BenchmarkName.optional(),
      table: z.enum(EXPOSURE_TABLE_NAMES).optional().meta({
        description:
          'Table of a CSV, Arrow, Parquet or Excel file. Refused with JSON. Default: `fields` if fields are requested, otherwise `groups`.',
      }),
      ...window,
    })),
    view: { name: 'exposures', needs: ['window', 'exposures'] },
    success: {
      status: 200,
      description: 'The exposures.',
      schema: ExposuresView,
      media: FILE_MEDIA,
    },
    errors: [
      ...errors,
      ...compositionErrors,
      'BENCHMARK_NOT_FOUND',
      'NOT_SUPPORTED',
      'NO_COMMON_DATES',
      'STORE_MISMATCH',
      'NO_DATA_SOURCE',
      'INVALID_RANGE',
      'NO_DATA_IN_RANGE',
    ],
  },
  getLimits: {
    ...commonRoute,
    path: '/analytics/{index_id}/limits',
    summary: 'Checks a published concentration rule on every session, and returns headroom, breaches and their causes.',
    description: `A security without a value in the reference column ISSUER is a separate issuer. A finding reports this. ${limitsAsFile}`,
    params,
    query: defineObject(() => ({
      ...runQuery,
      rule: z
        .enum(LIMIT_RULE_NAMES)
        .optional()
        .meta({
          description: `Default: the rule that triggers rebalances of the index, or ${DEFAULT_LIMIT_RULE} if there is none. ${ruleHelp}`,
        }),
      by: z
        .string()
        .min(1)
        .max(64)
        .default('ISSUER')
        .meta({ description: 'Reference column of the issuer. With IDENTIFIER, each security is a separate issuer.' }),
      table: limitTable,
      ...window,
    })),
    view: { name: 'limits', needs: ['window', 'issuers'] },
    success: limitsSuccess,
    errors: [...errors, 'VALIDATION_FAILED', 'STORE_MISMATCH', 'NO_DATA_SOURCE', 'INVALID_RANGE', 'NO_DATA_IN_RANGE'],
  },
  watchLimits: {
    ...commonRoute,
    method: 'POST',
    path: '/analytics/{index_id}/limits',
    summary: 'Checks constraints on every session of a run.',
    description: `Constraints can refer to holdings and their datapoints. Constraints on a parent index, trades or forecast risk are refused. Datapoints are as known on each session. ${limitsAsFile}`,
    params,
    query: defineObject(() => ({ ...runQuery, table: limitTable, ...window })),
    body: {
      schema: LimitsRequest,
      example: { rows: [{ id: 'cap', type: 'PositionBounds', params: { upper: 0.08 } }] },
    },
    view: { name: 'limits', needs: ['window', 'watched-rows'] },
    success: limitsSuccess,
    errors: [...errors, 'VALIDATION_FAILED', 'STORE_MISMATCH', 'NO_DATA_SOURCE', 'INVALID_RANGE', 'NO_DATA_IN_RANGE'],
  },
  runScenarios: {
    ...commonRoute,
    method: 'POST',
    path: '/analytics/{index_id}/scenarios',
    summary:
      'Returns the return of the composition of a run in historical windows and under shocks, by security and group. Nothing is stored.',
    params,
    description: `A CSV, Arrow, Parquet or Excel file contains one \`table\`:\n\n${formatTableLines(SCENARIO_TABLES)}`,
    query: defineObject(() => ({ ...runQuery, table: scenarioTable })),
    body: {
      schema: ScenarioRequest,
      example: {
        scenarios: [
          { name: 'Spring 2020', window: { start: '2020-02-20', end: '2020-03-23' } },
          { name: 'Energy down', shocks: { 'SECTOR:Energy': -0.2 } },
        ],
      },
    },
    view: { name: 'scenarios', needs: ['scenarios'] },
    success: { status: 200, description: 'A result for each scenario.', schema: ScenariosView, media: FILE_MEDIA },
    errors: [...errors, 'VALIDATION_FAILED', 'STORE_MISMATCH', 'NO_DATA_SOURCE', 'NO_DATA_AT_DATE', 'FX_MISSING'],
  },
});
