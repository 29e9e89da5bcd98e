import { SPARE_WAIT_MS } from '#market/process/process-pool.js';

/** A variable of the environment that benches read. */
export interface Declared {
  /** What it is without the variable, by words of the path of each bench that reads it; '' where it is absent then. */
  readonly of: Readonly<Record<string, number | string>>;
  /** Of a number, 1 unless given. */
  readonly least?: number;
  /** A number must be a multiple of it. */
  readonly step?: number;
}

/** Until what begins after a start has ended. */
export const SETTLED_MS = 3000;

/** Names of the smallest index of many. */
export const FEWEST_NAMES = 20;

/** Numbers of names that the variants of a sweep hold: each cap of a grid is tried with all of them. */
export const SWEEP_COUNTS = 20;

const OBJECTIVES = 'optimisation/objectives';
const TAILS = 'optimisation/tails';
const PAIRS = 'optimisation/class-pairs';
const LOAD = 'postgres/load';
const SHARED_SWEEP = 'postgres/shared-sweep';

/** Every variable that a bench reads; `npm run bench -- --help` prints them. */
export const VARIABLES = {
  BENCH_PEERS: {
    of: { 'http/peers': '', 'optimisation/peers': '', 'workers/estimate-risk-model': '', [OBJECTIVES]: '' },
  },
  BENCH_PYTHON: { of: { 'clients/import-frame': 'python3', [OBJECTIVES]: 'python3', [TAILS]: 'python3' } },
  BENCH_OLD_JOBS: { of: { 'postgres/shared-queue': 100_000 }, least: 0 },
  EVERY_VERSION: { of: { 'market/data-versions': '' } },
  GROWTH_TURNS: { of: { 'http/growth': 5 } },
  GROWTH_SIZES: { of: { 'http/growth': Infinity } },
  LOAD_SECONDS: { of: { [LOAD]: 15 } },
  LOAD_JOBS_PER_MINUTE: { of: { [LOAD]: 10_000 } },
  LOAD_WORKERS: { of: { [LOAD]: 300 } },
  LOAD_OLD_JOBS: { of: { [LOAD]: 100_000 }, least: 0 },
  LOAD_WORK_MS: { of: { [LOAD]: 500 }, least: 0 },
  LOAD_PROCESSES: { of: { [LOAD]: 4 } },
  LOAD_LISTENERS: { of: { [LOAD]: 'on' } },
  MANY_INDICES: { of: { 'http/many-indices': 1000 } },
  MANY_NAMES: { of: { 'http/many-indices': 500 }, least: FEWEST_NAMES + 1 },
  OBJECTIVES: { of: { [OBJECTIVES]: '' } },
  PAIRS_NAMES: { of: { [PAIRS]: 500 } },
  PAIRS_CLASSES: { of: { [PAIRS]: '' } },
  PAIRS_WITH: { of: { [PAIRS]: '' } },
  PAIRS_PART: { of: { [PAIRS]: '1/1' } },
  PAIRS_SECONDS: { of: { [PAIRS]: Infinity } },
  PAIRS_RESULTS: { of: { [PAIRS]: '' } },
  PAIRS_AGAIN: { of: { [PAIRS]: '' } },
  PEERS: { of: { [OBJECTIVES]: '', [TAILS]: '' } },
  PEER_SECONDS: { of: { [OBJECTIVES]: 60, [TAILS]: 60 } },
  /** 0: as many as the service starts by itself. */
  PEERS_WORKERS: { of: { 'http/peers': 0 }, least: 0 },
  ROUNDS: { of: { [OBJECTIVES]: 3, [TAILS]: 3 } },
  SIZES: {
    of: { [OBJECTIVES]: '134,334,667,1334', [TAILS]: '134x1000,334x2000,500x5000,134x500d,500x504ds,500x100000' },
  },
  START_TURNS: { of: { 'cli/start': 7 } },
  START_IDLE_MS: { of: { 'cli/start': SPARE_WAIT_MS + SETTLED_MS }, least: 0 },
  SWEEP_VARIANTS: { of: { 'workers/sweep': 1000, [SHARED_SWEEP]: 200 }, least: SWEEP_COUNTS, step: SWEEP_COUNTS },
  SWEEP_ROUNDS: { of: { [SHARED_SWEEP]: 3 } },
} as const satisfies Readonly<Record<string, Declared>>;

export type VariableName = keyof typeof VARIABLES;

/** The same with one type for all. */
export const DECLARED: ReadonlyMap<string, Declared> = new Map(Object.entries(VARIABLES));

/** By which a bench learns of `--json`. */
export const KEEPS = 'BENCH_KEEPS';

/** Variables that benches give to processes of their own. */
export const INNER = ['BENCH_LIMITS', 'BARE_BODY', 'BARE_HEADERS', KEEPS];

/** The declared variables of a bench by the path of its file, as `NAME=default`. */
export function variablesOf(file: string): readonly string[] {
  return [...DECLARED].flatMap(([name, { of }]) =>
    Object.entries(of).flatMap(([word, otherwise]) =>
      file.includes(word) ? [otherwise === '' ? name : `${name}=${otherwise === Infinity ? 'all' : otherwise}`] : [],
    ),
  );
}
