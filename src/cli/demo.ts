import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { JobStatus } from '#jobs/status.js';
import { createClient, type Client } from './client.js';
import { createLog } from './log.js';
import { start, stop } from './serve.js';
import { readSettings } from './settings.js';
import { UsageError } from './usage-error.js';
import { decimal, percent, right, screenOf, step, table, whole, type Screen } from './terminal.js';

export const DEMO_HELP = `divisor demo: the main job end to end on a generated market

Usage: divisor demo [--once]

Starts the service on a throw-away home, generates a market, defines an index, previews, backtests and analyses it over
HTTP, writes what it made to ./demo and keeps serving until Ctrl-C.

  --once  stop when done, with status 0
`;

/** `divisor demo`: the main job end to end over the service's own HTTP API, on a market it generates. Resolves with the exit status. */
export async function demo(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const once = onceFlag(argv);
  const home = await mkdtemp(join(tmpdir(), 'divisor-demo-'));
  const { settings } = readSettings(['--home', home, '--port', environment['PORT'] ?? '0', '--drain-ms', '0'], withoutKeys(environment));
  const running = await start(settings, createLog('error'));
  const screen = screenOf(process.stdout);
  try {
    const client = createClient({ url: running.server.url });
    screen.write(`\nDivisor demo, serving ${running.server.url}\n\n`);
    const files = await tour(client, screen);
    screen.write(`\nFiles written\n${table(files.map(({ path, what }) => [path, what]))}\n`);
    if (once) return 0;
    screen.write(`Still serving ${running.server.url} (Ctrl-C stops). Try:\n${tryThese(running.server.url)}\n`);
    await new Promise<void>((done) => process.once('SIGINT', () => done()).once('SIGTERM', () => done()));
    return 0;
  } finally {
    await stop({ ...running, drainMs: 0 });
    await rm(home, { recursive: true, force: true });
  }
}

function onceFlag(argv: readonly string[]): boolean {
  try {
    return parseArgs({ args: [...argv], options: { once: { type: 'boolean', default: false } }, strict: true }).values.once;
  } catch (cause) {
    throw new UsageError('divisor demo takes only --once.', { cause });
  }
}

/** The demo serves its throw-away home on loopback without keys, whatever the environment says of the real service. */
function withoutKeys(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { DIVISOR_API_KEYS: _keys, HOST: _host, DIVISOR_HOME: _home, ...rest } = environment;
  return rest;
}

interface WrittenFile {
  readonly path: string;
  readonly what: string;
}

const STORE = { store_id: 'demo', name: 'Demo market', seed: 42, assets: 150, start: '2014-01-01', end: '2024-12-31' };

const INDEX = {
  id: 'DEMO-50',
  name: 'Demo 50 capped, total return',
  description: 'The fifty largest liquid names, none above 5 %, rebalanced quarterly.',
  calendar: 'XNYS',
  base_date: '2016-01-04',
  base_value: 1000,
  universe: { kind: 'named', id: 'SYNTH' },
  rebalance: { frequency: 'quarterly', anchor: 'third_friday', effective_lag: 5 },
  pipeline: {
    selection: [
      { id: 'seasoned', type: 'HistoryFilter', params: { sessions: 252, coverage: 0.95 } },
      { id: 'liquid', type: 'LiquidityFilter', params: { minimum: 1_000_000, window: 60 } },
      { id: 'largest', type: 'BufferedTopN', params: { field: 'MARKET_CAP', count: 50 } },
    ],
    treatment: { dividends: 'total' },
    weighting: { type: 'MarketCapWeight', params: { free_float: true }, cap: 0.05 },
  },
};

const CHILD = {
  id: 'DEMO-50-LITE',
  name: 'Demo 50 lite',
  description: 'The parent followed with at most twenty of its names, none above 10 %.',
  constraints: [
    { id: 'few', type: 'Cardinality', params: { maximum: 20 } },
    { id: 'size', type: 'PositionBounds', params: { upper: 0.1 } },
  ],
};

interface ChildResult {
  readonly rebalances: readonly { readonly weights: Record<string, number> }[];
  readonly benchmark: { readonly tracking_error: number; readonly correlation: number };
}

function childOutcome({ rebalances, benchmark }: ChildResult): string {
  const names = Object.keys(rebalances.at(-1)?.weights ?? {}).length;
  return `${names} names follow ${INDEX.id} with ${percent(benchmark.tracking_error)} tracking error`;
}

interface Overview {
  readonly start: string;
  readonly end: string;
  readonly rebalances: number;
  readonly metrics: Record<string, number | null>;
  readonly concentration: { readonly constituents: number; readonly effective_assets: number; readonly largest: number };
}

interface Attribution {
  readonly contributions: readonly { readonly asset_id: string; readonly average_weight: number; readonly contribution: number }[];
  readonly total_return: number;
  readonly residual: number;
  readonly cost_drag: number | null;
  readonly cap_drag: number | null;
}

async function tour(client: Client, screen: Screen): Promise<WrittenFile[]> {
  const run = <T>(name: string, submit: () => Promise<JobStatus>, outcome: (result: T) => string) => job(client, screen, { name, submit, outcome });

  await run<{ identifiers: number; start: string; end: string }>(
    'Generate a market',
    () => client.call('POST', '/data/synthetic', STORE),
    (store) => `${whole(store.identifiers)} names, ${store.start} to ${store.end}`,
  );
  await said(screen, 'Define an index', () => client.call('PUT', `/indices/${INDEX.id}`, INDEX), () => `${INDEX.id}: ${INDEX.description}`);
  await said(
    screen,
    'Preview it',
    () => client.call<{ steps: { remaining: number }[]; weights: Record<string, number>; resolved_date: string }>('POST', `/indices/${INDEX.id}/preview`, { as_of: '2020-03-20' }),
    (preview) => `${preview.steps.map((rung) => rung.remaining).join(' > ')} names on ${preview.resolved_date}`,
  );
  await run<{ metrics: { total_return: number }; total_costs: number }>(
    'Backtest it with costs',
    () => client.call('POST', `/analytics/${INDEX.id}/backtest`, { transaction_cost_bps: 5 }),
    (result) => `total return ${percent(result.metrics.total_return)}, costs ${whole(result.total_costs)} on 1,000,000`,
  );
  const overview = await said(screen, 'Read the overview', () => client.call<Overview>('GET', `/analytics/${INDEX.id}/overview`), (view) => `${view.start} to ${view.end}, ${view.rebalances} rebalances`);
  const attribution = await said(
    screen,
    'Attribute the return',
    () => client.call<Attribution>('GET', `/analytics/${INDEX.id}/attribution`),
    (view) => `${view.contributions.length} contributions sum to ${percent(view.total_return)}, residual ${view.residual.toExponential(0)}`,
  );

  await said(
    screen,
    'Derive an optimised child',
    () => client.call('POST', `/indices/${INDEX.id}/optimise`, CHILD),
    () => `${CHILD.id}: ${CHILD.description}`,
  );
  await run<ChildResult>(
    'Backtest it against its parent',
    () => client.call('POST', `/analytics/${CHILD.id}/backtest`, { transaction_cost_bps: 5, benchmark: { id: INDEX.id, kind: 'index' } }),
    childOutcome,
  );
  await run<{ diagnostics: { assets: number; observations: number; condition_number: number } }>(
    'Estimate a risk model',
    () => client.call('POST', `/risk-models/${INDEX.id}/estimate`, { index_id: INDEX.id, start: '2022-01-03' }),
    ({ diagnostics }) => `${diagnostics.assets} names, ${diagnostics.observations} returns, condition ${diagnostics.condition_number.toExponential(1)}`,
  );
  await said(
    screen,
    'Price a future on it',
    () => client.call<{ fair_value: number; basis: number; expiry: string }>('POST', '/derivatives/futures/price', { index_id: INDEX.id, expiry: '2025-03-21', risk_free_rate: 0.045, dividend_yield: 0.018 }),
    (future) => `${future.expiry} at ${decimal(future.fair_value)}, basis ${decimal(future.basis)}`,
  );
  const render = await run<{ render_id: string; bytes: number }>(
    'Render the factsheet',
    () => client.call('POST', '/reports/render', { template_id: 'FACTSHEET-A4', index_id: INDEX.id }),
    ({ bytes }) => `${whole(bytes)} bytes of PDF`,
  );

  screen.write(`\n${INDEX.name}\n${summary(overview)}\nLargest contributions\n${contributions(attribution)}`);
  return write(client, render.render_id);
}

/** Writes what the service made into ./demo. */
async function write(client: Client, renderId: string): Promise<WrittenFile[]> {
  const folder = resolve('demo');
  await mkdir(folder, { recursive: true });
  const files = [
    { name: `${INDEX.id}.factsheet.pdf`, from: `/reports/renders/${renderId}`, what: 'the factsheet' },
    { name: `${INDEX.id}.record.json`, from: `/analytics/${INDEX.id}/record`, what: 'the stored record: levels, weights, rebalances, trades' },
  ];
  return Promise.all(
    files.map(async ({ name, from, what }) => {
      const path = join(folder, name);
      await writeFile(path, await client.download(from));
      return { path, what };
    }),
  );
}

async function job<T>(client: Client, screen: Screen, { name, submit, outcome }: { name: string; submit: () => Promise<JobStatus>; outcome: (result: T) => string }): Promise<T> {
  const line = step(screen, name);
  const result = await client.finish<T>(await submit(), ({ progress, message }) => line.progress(progress, message));
  line.done(outcome(result));
  return result;
}

async function said<T>(screen: Screen, name: string, ask: () => Promise<T>, outcome: (answer: T) => string): Promise<T> {
  const line = step(screen, name);
  const answer = await ask();
  line.done(outcome(answer));
  return answer;
}

function summary({ metrics, concentration }: Overview): string {
  const shown = (name: string) => percent(metrics[name] ?? null);
  return table([
    ['total return', right(shown('total_return')), 'volatility', right(shown('volatility'))],
    ['annualised', right(shown('annualised_return')), 'Sharpe ratio', right(decimal(metrics['sharpe_ratio'] ?? 0))],
    ['largest drawdown', right(shown('max_drawdown')), 'tracking error', right(shown('tracking_error'))],
    ['constituents', right(whole(concentration.constituents)), 'effective names', right(decimal(concentration.effective_assets))],
  ]);
}

function contributions({ contributions: rows, cost_drag, cap_drag }: Attribution): string {
  const shown = [...rows.slice(0, 3), ...rows.slice(-2)];
  return table([
    ...shown.map((row) => [row.asset_id, right(percent(row.contribution)), right(`${percent(row.average_weight)} held on average`)]),
    ['costs', right(percent(cost_drag))],
    ['cap', right(percent(cap_drag))],
  ]);
}

function tryThese(url: string): string {
  return [`curl ${url}/analytics/${INDEX.id}/weights`, `curl '${url}/analytics/${INDEX.id}/attribution?start=2020-02-19&end=2020-03-23'`, `curl ${url}/openapi.json`]
    .map((line) => `  ${line}\n`)
    .join('');
}
