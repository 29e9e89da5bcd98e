import { waitForJob, readProcessorTime, type Measurement, type PythonPeer, type RunningService } from '../service.js';

/** Panels that both sides read: a folder of float64 files, and the store of the service with the same values. */
export interface SharedMarket {
  readonly folder: string;
  readonly names: number;
  readonly sessions: number;
  /** ISO dates of the sessions, ascending. */
  readonly dates: readonly string[];
}

/** Work that both service and peer do, from the same inputs to results that must agree. */
export interface ComparedWork {
  readonly name: string;
  /** Number of timed turns of either side. */
  readonly pairs: number;
  /** Number of untimed turns at the start, in which both sides compile and fill their caches. */
  readonly untimed: number;
  /** Maximum ratio of the processor time of the service to the processor time of the peer; null for no limit. */
  readonly limit: number | null;
  /** Maximum processor and wall-clock time on two free cores, ms. Default: no limit. */
  readonly goal?: { readonly processor?: number; readonly wall?: number };
  /** Maximum relative difference between a result of the service and the result of the peer. */
  readonly tolerance: number;
  /** Python module that the peer requires. */
  readonly needs: 'numpy' | 'pandas' | 'cvxopt';
  /** Creates the documents that the work needs, and returns the request for the peer. */
  prepare(service: RunningService, market: SharedMarket): Promise<object>;
  /**
   * Changes the inputs before a turn, so that the result is new. This is not timed. Returns the members of the peer's
   * request that change.
   */
  vary?(service: RunningService, market: SharedMarket, turn: number): Promise<object>;
  /** Runs the work once, from submission to completion. */
  run(service: RunningService): Promise<void>;
  answer(service: RunningService): Promise<readonly number[]>;
}

/**
 * Returns the cost of the work in the service, including every thread of its process.
 * @param isRead true if the result is read afterwards
 */
export async function measureService(
  work: ComparedWork,
  service: RunningService,
  isRead: boolean,
): Promise<Measurement> {
  const [processor, wall] = [readProcessorTime(service), performance.now()];
  await work.run(service);
  const measurement = { wall: performance.now() - wall, processor: readProcessorTime(service) - processor };
  return { ...measurement, answer: isRead ? await work.answer(service) : [] };
}

export function measurePeer(
  peer: PythonPeer,
  { folder, names, sessions }: SharedMarket,
  request: object,
): Promise<Measurement> {
  return peer.ask({ folder, names, sessions, ...request });
}

export async function get<T>({ url }: RunningService, path: string): Promise<T> {
  return requireOk<T>(await fetch(url + path));
}

export async function send<T>({ url }: RunningService, method: string, path: string, body: unknown): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  return requireOk<T>(await fetch(url + path, { method, headers, body: JSON.stringify(body) }));
}

/** Sends a request that creates a job and waits for its success. */
export async function runJob(service: RunningService, path: string, body: unknown): Promise<void> {
  const { job_id: id } = await send<{ readonly job_id: string }>(service, 'POST', path, body);
  await waitForJob(service, id);
}

async function requireOk<T>(answer: Response): Promise<T> {
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.url} answers ${answer.status}: ${text}`);
  return JSON.parse(text) as T; // type of the service's response
}

const INDEX = 'BENCH';
const CAP = 0.02;
/** Difference between the caps of two turns, so that each backtest has a different result from the stored run. */
const CAP_STEP = 1e-6;
const COST_BPS = 10;

/** One basis point. */
const BPS = 1e-4;

const TURNS = { pairs: 7, untimed: 5 };

const SHORT_TURNS = { pairs: 21, untimed: 10 };

/** Turns of a work that takes the peer seconds. */
const SLOW_TURNS = { pairs: 2, untimed: 1 };

/** Relative tolerance; the two sides sum in different order. */
const TOLERANCE = 1e-9;

/** Relative tolerance of the largest figures of an ill-conditioned matrix. */
const EIGENVALUE_TOLERANCE = 1e-6;

/** Relative tolerance of a volatility. cvxopt solves with its default tolerance. */
const OPTIMUM_TOLERANCE = 1e-6;

/** Comparisons in the order of their execution. */
export const WORKS: readonly ComparedWork[] = [
  createBacktest('quarterly', 2.2, { processor: 150, wall: 120 }),
  createBacktest('monthly', 2.2),
  createRepeatedBacktest('monthly'),
  createSessionBacktest('quarterly'),
  sweep(24),
  createRiskModel(500, 2520, 2.5),
  createFrontier(500, 1260),
];

function createBacktest(
  frequency: 'quarterly' | 'monthly',
  limit: number,
  goal: ComparedWork['goal'] = {},
): ComparedWork {
  return {
    name: `backtest, ${frequency}`,
    ...TURNS,
    limit,
    goal,
    tolerance: TOLERANCE,
    needs: 'numpy',
    async prepare(service, market) {
      await defineIndex(service, market, frequency);
      await this.run(service);
      return { work: 'backtest', costs: [COST_BPS * BPS], cap: CAP, rebalances: await readRebalances(service, market) };
    },
    async vary(service, market, turn) {
      const cap = CAP - CAP_STEP * (turn + 1);
      await defineIndex(service, market, frequency, cap);
      return { cap };
    },
    run: (service) => runJob(service, `/analytics/${INDEX}/backtest`, { transaction_cost_bps: COST_BPS }),
    answer: readGrowths,
  };
}

/** Returns a backtest with the same outcome as the stored run. */
function createRepeatedBacktest(frequency: 'monthly'): ComparedWork {
  const { vary: _, ...repeatedWork } = createBacktest(frequency, 2.2);
  return { ...repeatedWork, name: `backtest, ${frequency}, repeated` };
}

/**
 * Returns the backtest as a loop over sessions, as a notebook would have it. It computes only the index and the
 * portfolio.
 */
function createSessionBacktest(frequency: 'quarterly'): ComparedWork {
  const vectorisedWork = createBacktest(frequency, 1);
  return {
    ...vectorisedWork,
    name: `backtest, ${frequency}, session by session`,
    ...SLOW_TURNS,
    needs: 'pandas',
    prepare: async (service, market) => ({
      ...(await vectorisedWork.prepare(service, market)),
      work: 'backtest_by_session',
    }),
  };
}

interface Series {
  readonly data: readonly number[];
}

/** Returns the growth of the index and of the portfolio after costs, over the whole run. */
async function readGrowths(service: RunningService): Promise<readonly number[]> {
  const path = `/analytics/${INDEX}/performance`;
  const { level, index_level: index } = await get<{ level: Series; index_level: Series }>(service, path);
  return [index, level].map(({ data }) => data.at(-1)! / data[0]!);
}

/**
 * Returns a sweep of variants that differ in costs. The peer simulates each variant. The service also does so, except
 * for variants that are known to hold the same portfolio.
 */
function sweep(variants: number): ComparedWork {
  const costs = Array.from({ length: variants }, (_, bps) => bps);
  return {
    name: `sweep of ${variants} costs`,
    ...TURNS,
    limit: 1,
    tolerance: TOLERANCE,
    needs: 'numpy',
    async prepare(service, market) {
      await defineIndex(service, market, 'quarterly');
      await runJob(service, `/analytics/${INDEX}/backtest`, {});
      const sessions = await readRebalances(service, market);
      return { work: 'sweep', costs: costs.map((bps) => bps * BPS), cap: CAP, rebalances: sessions };
    },
    run: (service) =>
      runJob(service, '/analytics/sweeps', {
        sweep_id: 'SWEEP',
        index_id: INDEX,
        grid: { '/request/transaction_cost_bps': costs },
      }),
    async answer(service) {
      type Row = { readonly variant: number; readonly metrics: { readonly total_return: number } };
      const { result } = await get<{ result: { rows: Row[] } }>(service, '/jobs/sweep:SWEEP');
      return result.rows.toSorted((a, b) => a.variant - b.variant).map(({ metrics }) => 1 + metrics.total_return);
    },
  };
}

function createRiskModel(names: number, sessions: number, limit: number): ComparedWork {
  let body: object;
  return {
    name: `risk model of ${names} names, ${sessions} returns`,
    ...SHORT_TURNS,
    limit,
    goal: { wall: 60 },
    tolerance: EIGENVALUE_TOLERANCE,
    needs: 'numpy',
    async prepare(_service, market) {
      const from = market.sessions - 1 - sessions;
      const identifiers = Array.from({ length: names }, (_, i) => `N${String(i).padStart(5, '0')}`);
      body = { identifiers, start: market.dates[from], end: market.dates.at(-1) };
      return { work: 'risk_model', names_used: names, from, to: market.sessions - 1 };
    },
    run: (service) => runJob(service, '/risk-models/MODEL/estimate', body),
    async answer(service) {
      const { diagnostics } = await get<{ diagnostics: Record<string, number> }>(service, '/risk-models/MODEL');
      const { average_correlation, condition_number, smallest_eigenvalue } = diagnostics;
      return [average_correlation!, condition_number!, smallest_eigenvalue!];
    },
  };
}

/**
 * Returns the frontier of an optimisation that has an exclusion and a limit on turnover. The work includes the
 * sensitivities and the costs of the rows.
 */
function createFrontier(names: number, sessions: number): ComparedWork {
  const LIMIT = 0.05;
  const EVERY = 17;
  let body: object;
  let runId = '';
  type Result = {
    readonly start: string;
    readonly end: string;
    readonly weights: readonly { readonly identifier: string; readonly index_weight: number }[];
    readonly frontier: {
      readonly points: readonly { readonly expected_return: number; readonly volatility: number }[];
    };
  };
  const readResult = (service: RunningService) => get<Result>(service, `/optimise/runs/${runId}`);
  return {
    name: `frontier of 21 points, ${names} names, Exclude and Turnover`,
    ...SLOW_TURNS,
    limit: 1,
    goal: { wall: 400 },
    tolerance: OPTIMUM_TOLERANCE,
    needs: 'cvxopt',
    async prepare(service, market) {
      await defineIndex(service, market, 'quarterly');
      await runJob(service, `/analytics/${INDEX}/backtest`, {});
      const heldNames = Array.from({ length: names }, (_, i) => `N${String(i).padStart(5, '0')}`);
      const excludedNames = heldNames.filter((_, i) => i % EVERY === 5);
      const constraints = [
        { type: 'Exclude', params: { identifiers: excludedNames } },
        { type: 'Turnover', params: { limit: LIMIT * 2 } },
      ];
      await send(service, 'POST', '/optimise/constraint-sets', { id: 'LIMITS', name: 'Limits', constraints });
      body = { index_id: INDEX, constraint_set_id: 'LIMITS', start: market.dates[market.sessions - 1 - sessions] };
      await this.run(service);
      const { start, end, weights, frontier: found } = await readResult(service);
      const indexWeights = new Map(weights.map(({ identifier, index_weight: weight }) => [identifier, weight]));
      return {
        work: 'frontier',
        names_used: names,
        from: market.dates.indexOf(start),
        to: market.dates.indexOf(end),
        index: heldNames.map((name) => indexWeights.get(name) ?? 0),
        excluded: excludedNames.map((name) => heldNames.indexOf(name)),
        turnover: LIMIT * 2,
        returns: found.points.map(({ expected_return }) => expected_return),
      };
    },
    async run(service) {
      const { job_id: id } = await send<{ readonly job_id: string }>(service, 'POST', '/optimise/runs', body);
      await waitForJob(service, id);
      runId = id.replace('optimise:', '');
    },
    answer: async (service) => (await readResult(service)).frontier.points.map(({ volatility }) => volatility),
  };
}

async function defineIndex(
  service: RunningService,
  { dates }: SharedMarket,
  frequency: string,
  cap = CAP,
): Promise<void> {
  await send(service, 'PUT', `/indices/${INDEX}`, {
    id: INDEX,
    name: 'Bench',
    calendar: 'XNYS',
    base_date: dates[0],
    rebalance: { frequency },
    // The peers reinvest a dividend in the security that paid it.
    pipeline: {
      treatment: { dividends: 'total', reinvestment: 'constituent' },
      weighting: { type: 'MarketCapWeight', cap },
    },
  });
}

/** Returns the position of each rebalance session, so that the peer need not compute the schedule. */
async function readRebalances(service: RunningService, { dates }: SharedMarket): Promise<readonly number[]> {
  const view = await get<{ rebalances: { date: string }[] }>(service, `/analytics/${INDEX}/rebalances`);
  const row = new Map(dates.map((date, i) => [date, i]));
  return view.rebalances.map(({ date }) => row.get(date)!);
}
