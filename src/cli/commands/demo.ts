import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type AnyJob,
  type AttributionView,
  type BacktestRunResult,
  createDivisorClient,
  type DivisorClient,
  type IndexDocumentBody,
  type OptimiseRequest,
  type OverviewView,
} from '#clients/typescript/divisor.js';
import {
  alignRight,
  formatTwoDecimals,
  formatPercentCell,
  formatTable,
  formatWhole,
  onStopRequest,
  openScreen,
  type Screen,
  startStep,
} from '../terminal.js';
import { UsageError } from '../usage.js';
import { runWithTemporaryHome } from './serve.js';

export const DEMO_HELP = `divisor demo: demonstrate the main tasks on a generated market

Usage: divisor demo [--once]

Starts the service on a temporary home, generates a market and defines an index. It then previews, backtests and analyses the
index over HTTP, and writes the results to ./demo. The service runs until you press Ctrl-C. If the output is not a terminal,
the command ends after the demonstration.

  --once  end after the demonstration with status 0, also on a terminal
`;

/**
 * Runs `divisor demo`: shows the main tasks on a generated market, over the HTTP API of the service. Resolves with the
 * exit status.
 */
export async function runDemo(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const isOnce = readOnceFlag(argv);
  const screen = openScreen(process.stdout);
  return runWithTemporaryHome({ name: 'demo', port: environment['PORT'] ?? '0', environment }, async (url) => {
    const client = createDivisorClient({ url });
    screen.write(`\nDivisor demo, serving ${url}\n\n`);
    const files = await runTour(client, screen);
    screen.write(`\nFiles written\n${formatTable(files.map(({ path, what }) => [path, what]))}\n`);
    if (isOnce) return 0;
    if (!process.stdout.isTTY) {
      // Without a terminal, Ctrl-C cannot be pressed.
      screen.write('The service of the demonstration ends here, because the output is not a terminal.\n');
      return 0;
    }
    screen.write(`Still serving ${url} (Ctrl-C stops). Try:\n${formatSuggestions(url)}\n`);
    await new Promise((onStop) => void onStopRequest(['SIGINT', 'SIGTERM'], onStop));
    return 0;
  });
}

function readOnceFlag(argv: readonly string[]): boolean {
  try {
    return parseArgs({ args: [...argv], options: { once: { type: 'boolean', default: false } }, strict: true }).values
      .once;
  } catch (cause) {
    throw new UsageError('divisor demo takes only --once.', { cause });
  }
}

interface WrittenFile {
  readonly path: string;
  readonly what: string;
}

const STORE = { store_id: 'demo', name: 'Demo market', seed: 42, assets: 150, start: '2014-01-01', end: '2024-12-31' };

const INDEX: IndexDocumentBody = {
  id: 'DEMO-50',
  name: 'Demo 50 capped, total return',
  description: 'The fifty largest liquid securities, capped at 5%, rebalanced quarterly.',
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

const CHILD: OptimiseRequest = {
  id: 'DEMO-50-LITE',
  name: 'Demo 50 lite',
  description: 'Tracks its parent with at most twenty of its constituents, capped at 10%.',
  constraints: [
    { id: 'few', type: 'Cardinality', params: { maximum: 20 } },
    { id: 'size', type: 'PositionBounds', params: { upper: 0.1 } },
  ],
};

function formatChildOutcome({ rebalances, benchmark }: BacktestRunResult): string {
  const names = Object.keys(rebalances.at(-1)?.weights ?? {}).length;
  return `${names} constituents track ${INDEX.id} with ${formatPercentCell(benchmark?.tracking_error ?? null)} tracking error`;
}

async function runTour(client: DivisorClient, screen: Screen): Promise<WrittenFile[]> {
  const narration = createNarrator(client, screen);
  const { overview, attribution } = await runIndexTour(client, narration);
  await runChildTour(client, narration);
  const render = await narration.job(
    'Render the factsheet',
    () => client.call('renderReport', { body: { template_id: 'FACTSHEET-A4', index_id: INDEX.id } }),
    ({ bytes }) => `${formatWhole(bytes)} bytes of PDF`,
  );

  screen.write(
    `\n${INDEX.name}\n${formatSummary(overview)}\nLargest contributions\n${formatContributions(attribution)}`,
  );
  return write(client, render.render_id);
}

type Narration = ReturnType<typeof createNarrator>;

/** Generates a market, defines an index on it and analyses its performance. */
async function runIndexTour(client: DivisorClient, { job, said }: Narration) {
  const index = { index_id: INDEX.id };

  await job(
    'Generate a market',
    () => client.call('generateSynthetic', { body: STORE }),
    (store) => `${formatWhole(store.identifiers ?? 0)} securities, ${store.start} to ${store.end}`,
  );
  await said(
    'Define an index',
    () => client.call('putIndex', { params: index, body: INDEX }),
    () => `${INDEX.id}: ${INDEX.description}`,
  );
  await said(
    'Preview it',
    () => client.call('previewIndex', { params: index, body: { as_of: '2020-03-20' } }),
    (preview) =>
      `${(preview.steps ?? []).map((step) => step.remaining).join(' > ')} securities on ${preview.resolved_date}`,
  );
  await job(
    'Backtest it with costs',
    () => client.call('startBacktest', { params: index, body: { transaction_cost_bps: 5 } }),
    (result) =>
      `total return ${formatPercentCell(result.metrics.total_return)}, costs ${formatWhole(result.total_costs)} on 1,000,000`,
  );
  const overview = await said(
    'Read the overview',
    () => client.call('getOverview', { params: index }),
    (view) => `${view.start} to ${view.end}, ${view.rebalances} rebalances`,
  );
  const attribution = await said(
    'Attribute the return',
    () => client.call('getAttribution', { params: index }),
    (view) =>
      `${view.contributions.length} contributions sum to ${formatPercentCell(view.total_return)}, residual ${view.residual.toExponential(0)}`,
  );
  return { overview, attribution };
}

/** Derives an index that optimises the first one, estimates its risk and prices a future on it. */
async function runChildTour(client: DivisorClient, { job, said }: Narration): Promise<void> {
  await said(
    'Derive an optimised child',
    () => client.call('optimiseIndex', { params: { index_id: INDEX.id }, body: CHILD }),
    () => `${CHILD.id}: ${CHILD.description}`,
  );
  await job(
    'Backtest it against its parent',
    () =>
      client.call('startBacktest', {
        params: { index_id: CHILD.id },
        body: { transaction_cost_bps: 5, benchmark: { id: INDEX.id, kind: 'index' } },
      }),
    formatChildOutcome,
  );
  await job(
    'Estimate a risk model',
    () =>
      client.call('estimateRiskModel', {
        params: { model_id: INDEX.id },
        body: { index_id: INDEX.id, start: '2022-01-03' },
      }),
    ({ diagnostics }) =>
      `${diagnostics.assets} securities, ${diagnostics.observations} returns, condition ${diagnostics.condition_number.toExponential(1)}`,
  );
  await said(
    'Price a future on it',
    () =>
      client.call('priceFutures', {
        body: { index_id: INDEX.id, expiry: '2025-03-21', risk_free_rate: 0.045, dividend_yield: 0.018 },
      }),
    (future) => `${future.expiry} at ${formatTwoDecimals(future.fair_value)}, basis ${formatTwoDecimals(future.basis)}`,
  );
}

/** Writes the results of the service into ./demo. */
async function write(client: DivisorClient, renderId: string): Promise<WrittenFile[]> {
  const folder = resolve('demo');
  await mkdir(folder, { recursive: true });
  const files = [
    {
      name: `${INDEX.id}.factsheet.pdf`,
      bytes: client.call('getRender', { params: { render_id: renderId } }),
      what: 'the factsheet',
    },
    {
      name: `${INDEX.id}.record.json`,
      bytes: client.download('getRecord', 'application/json', { params: { index_id: INDEX.id } }),
      what: 'the stored record: levels, weights, rebalances, trades',
    },
  ];
  return Promise.all(
    files.map(async ({ name, bytes, what }) => {
      const path = join(folder, name);
      await writeFile(path, await bytes);
      return { path, what };
    }),
  );
}

/** Creates a narrator. It prints each step while the step runs, and then its result. */
function createNarrator(client: DivisorClient, screen: Screen) {
  return {
    async job<R>(
      name: string,
      submit: () => Promise<AnyJob & { readonly result: R | null }>,
      outcome: (result: R) => string,
    ): Promise<R> {
      const line = startStep(screen, name);
      const result: R = await client.waitForJob(await submit(), {
        onProgress: ({ progress, message }) => line.progress(progress, message),
      });
      line.done(outcome(result));
      return result;
    },
    async said<T>(name: string, ask: () => Promise<T>, outcome: (answer: T) => string): Promise<T> {
      const line = startStep(screen, name);
      const answer = await ask();
      line.done(outcome(answer));
      return answer;
    },
  };
}

function formatSummary({ metrics, concentration }: OverviewView): string {
  const formatMetric = (name: keyof typeof metrics) => formatPercentCell(metrics[name]);
  return formatTable([
    ['total return', alignRight(formatMetric('total_return')), 'volatility', alignRight(formatMetric('volatility'))],
    [
      'annualised',
      alignRight(formatMetric('annualised_return')),
      'Sharpe ratio',
      alignRight(formatTwoDecimals(metrics.sharpe_ratio)),
    ],
    [
      'largest drawdown',
      alignRight(formatMetric('max_drawdown')),
      'tracking error',
      alignRight(formatMetric('tracking_error')),
    ],
    [
      'constituents',
      alignRight(formatWhole(concentration.constituents)),
      'effective names',
      alignRight(formatTwoDecimals(concentration.effective_assets)),
    ],
  ]);
}

function formatContributions({ contributions: rows, cost_drag, cap_drag }: AttributionView): string {
  const contributionPayloads = [...rows.slice(0, 3), ...rows.slice(-2)];
  return formatTable([
    ...contributionPayloads.map((row) => [
      row.asset_id,
      alignRight(formatPercentCell(row.contribution)),
      alignRight(`${formatPercentCell(row.average_weight)} held on average`),
    ]),
    ['costs', alignRight(formatPercentCell(cost_drag))],
    ['cap', alignRight(formatPercentCell(cap_drag))],
  ]);
}

function formatSuggestions(url: string): string {
  return [
    `curl ${url}/analytics/${INDEX.id}/weights`,
    `curl '${url}/analytics/${INDEX.id}/attribution?start=2020-02-19&end=2020-03-23'`,
    `curl ${url}/openapi.json`,
  ]
    .map((line) => `  ${line}\n`)
    .join('');
}
