import { readFile, stat } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import type { JobStatus } from '#jobs/status.js';
import type { Client } from './client.js';
import { jsonFile, type FlagValues, type JobCommand } from './job-command.js';
import { decimal, percent, whole } from './terminal.js';

/** Commands that submit work to the service and follow it. */
export const JOB_COMMANDS: Readonly<Record<string, JobCommand>> = {
  import: {
    summary: 'Register a folder, or import a workbook or a zip of CSV files, as a data store.',
    words: [{ name: 'PATH', help: 'A folder with market.parquet, .csv or .jsonl; or an .xlsx or .zip file.' }],
    flags: {
      id: { type: 'string', value: 'STORE', help: 'Id of the store; from its name otherwise.' },
      name: { type: 'string', value: 'NAME', help: 'Display name; the file name otherwise.' },
      adjustment: { type: 'string', value: 'none|splits|total', help: 'Price basis of CLOSE.' },
      activate: { type: 'boolean', help: 'Serve it.' },
    },
    examples: ['divisor import ./prices --id desk --activate', 'divisor import book.xlsx --name "Desk book"'],
    submit: (client, [path = ''], flags) => importPath(client, resolve(path), flags),
    rows: (result) => fields(result, ['store_id', 'identifiers', 'start', 'end', 'content_hash']),
  },
  backtest: {
    summary: 'Backtest a stored index, or a document that is stored first.',
    words: [{ name: 'INDEX', help: 'Id of a stored index.' }],
    flags: {
      document: { type: 'string', value: 'FILE', help: 'Index document to store under the id first.' },
      start: { type: 'string', value: 'DATE', help: 'First date; the base date otherwise.' },
      end: { type: 'string', value: 'DATE', help: 'Last date; the latest held otherwise.' },
      capital: { type: 'number', value: 'MONEY', help: 'Initial capital; 1,000,000 otherwise.' },
      'cost-bps': { type: 'number', value: 'BPS', help: 'Cost per trade in basis points of notional.' },
      benchmark: { type: 'string', value: 'ID', help: 'An index id, or identifier:NAME for a market series.' },
    },
    examples: ['divisor backtest CORE-100 --cost-bps 5', 'divisor backtest CORE-100 --document core.json --start 2015-01-02 --out run.json'],
    submit: async (client, [index = ''], flags) => {
      if (flags['document'] !== undefined) await client.call('PUT', `/indices/${index}`, await jsonFile(String(flags['document'])));
      const body = { start: flags['start'], end: flags['end'], initial_capital: flags['capital'], transaction_cost_bps: flags['cost-bps'], benchmark: benchmarkOf(flags['benchmark']) };
      return { job: await client.call<JobStatus>('POST', `/analytics/${index}/backtest`, body) };
    },
    rows: (result) => metricRows(result),
  },
  optimise: {
    summary: 'Optimise the weights of an index under a stored constraint set.',
    words: [{ name: 'INDEX', help: 'Id of the target index.' }, { name: 'CONSTRAINT_SET', help: 'Id of a stored constraint set.' }],
    flags: {
      constraints: { type: 'string', value: 'FILE', help: 'Constraint set document to store under the id first.' },
      'as-of': { type: 'string', value: 'DATE', help: 'Rebalance to target; the latest otherwise.' },
      start: { type: 'string', value: 'DATE', help: 'Start of the risk window.' },
      end: { type: 'string', value: 'DATE', help: 'End of the risk window.' },
    },
    examples: ['divisor optimise CORE-100 limits', 'divisor optimise CORE-100 limits --constraints limits.json --out weights.json'],
    submit: async (client, [index = '', set = ''], flags) => {
      if (flags['constraints'] !== undefined) await client.call('PUT', `/optimise/constraint-sets/${set}`, await jsonFile(String(flags['constraints'])));
      const body = { index_id: index, constraint_set_id: set, as_of: flags['as-of'], start: flags['start'], end: flags['end'] };
      return { job: await client.call<JobStatus>('POST', '/optimise/runs', body) };
    },
    rows: (result) => fields(result, ['run_id', 'converged', 'heuristic', 'holdings', 'iterations', 'tracking_error', 'turnover', 'solver_message']),
  },
  risk: {
    summary: 'Estimate a covariance risk model.',
    words: [{ name: 'MODEL', help: 'Id to store the model under.' }],
    flags: {
      index: { type: 'string', value: 'ID', help: "Take the names from this index's latest run." },
      identifiers: { type: 'string', value: 'A,B,C', help: 'Or name them.' },
      start: { type: 'string', value: 'DATE', help: 'Start of the window.' },
      end: { type: 'string', value: 'DATE', help: 'End of the window.' },
      intensity: { type: 'number', value: '0..1', help: 'Weight on the shrinkage target; from the shape of the panel otherwise.' },
      target: { type: 'string', value: 'NAME', help: 'constant_correlation or scaled_identity.' },
      repair: { type: 'boolean', help: 'Clip negative eigenvalues.' },
    },
    examples: ['divisor risk core --index CORE-100', 'divisor risk pair --identifiers AAPL,MSFT --intensity 0'],
    submit: async (client, [model = ''], flags) => {
      const body = { index_id: flags['index'], identifiers: flags['identifiers'] === undefined ? undefined : String(flags['identifiers']).split(','), start: flags['start'], end: flags['end'], intensity: flags['intensity'], target: flags['target'], repair: flags['repair'] };
      return { job: await client.call<JobStatus>('POST', `/risk-models/${model}/estimate`, body) };
    },
    rows: (result) => Object.entries((result as { diagnostics: Record<string, unknown> }).diagnostics).map(([name, value]) => [name, String(value)]),
  },
  report: {
    summary: 'Render a PDF report.',
    words: [{ name: 'TEMPLATE', help: 'A stored template or a built-in such as FACTSHEET-A4.' }],
    flags: { index: { type: 'string', value: 'ID', help: 'The index of a built-in template.' } },
    examples: ['divisor report FACTSHEET-A4 --index CORE-100 --out factsheet.pdf'],
    submit: async (client, [template = ''], flags) => ({ job: await client.call<JobStatus>('POST', '/reports/render', { template_id: template, index_id: flags['index'] }) }),
    rows: (result) => fields(result, ['render_id', 'template_id', 'name', 'blocks', 'bytes', 'rendered_at']),
    file: (client, result) => client.download(`/reports/renders/${(result as { render_id: string }).render_id}`),
  },
};

async function importPath(client: Client, path: string, flags: FlagValues): Promise<{ job: JobStatus } | { result: unknown }> {
  const name = String(flags['name'] ?? basename(path, extname(path)));
  const common = { name, store_id: flags['id'], adjustment: flags['adjustment'], activate: flags['activate'] };
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() ?? true;
  if (isFolder) return { result: await client.call('POST', '/data/stores', { ...common, kind: 'folder', location: path }) };
  const format = extname(path) === '.zip' ? 'csv' : 'xlsx';
  const imported = await client.call<{ store: unknown }>('POST', '/data/import', { ...common, format, content: (await readFile(path)).toString('base64') });
  return { result: imported.store };
}

function benchmarkOf(flag: FlagValues[string]): unknown {
  if (flag === undefined) return undefined;
  const [kind, id] = String(flag).includes(':') ? String(flag).split(':', 2) : ['index', String(flag)];
  return { kind, id };
}

const FRACTIONS = new Set(['total_return', 'annualised_return', 'volatility', 'max_drawdown', 'tracking_error', 'tracking_difference', 'turnover']);

function metricRows(result: unknown): string[][] {
  const { metrics, total_costs: costs } = result as { metrics: Record<string, number | null>; total_costs: number };
  const rows = Object.entries(metrics).map(([name, value]) => [name, value === null ? '-' : FRACTIONS.has(name) ? percent(value) : decimal(value)]);
  return [...rows, ['total_costs', whole(costs)]];
}

function fields(result: unknown, names: readonly string[]): string[][] {
  const record = result as Record<string, unknown>;
  return names.map((name) => {
    const value = record[name];
    return [name, typeof value === 'number' && FRACTIONS.has(name) ? percent(value) : String(value ?? '-')];
  });
}
