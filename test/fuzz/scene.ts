import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { start, stop } from '#cli/commands/serve.js';
import { readSettings } from '#cli/settings/settings.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { OPEN_ACCESS, openTeams, type Client } from './clients.js';
import { SPARE_IDS } from './request-arbitrary.js';
import type { Vocabulary } from './schema-arbitrary.js';

/** Text that marks documents which limited clients must not receive. */
export const KEPT_NAME = 'kept-from-others';

/** A service in this process with a small market, indices, runs and documents of every kind. */
export interface Scene {
  /** Clients of the service, used in turn. */
  readonly clients: readonly Client[];
  readonly url: string;
  readonly vocabulary: Vocabulary;
  /** Restores everything that requests may have changed or deleted, and ends all jobs. */
  restore(): Promise<void>;
  /** Defects that the service has logged so far. */
  readonly defects: readonly string[];
  close(): Promise<void>;
}

const INDICES = ['ALPHA', 'BETA', 'CHILD'] as const;
const DAYS = ['2022-06-01', '2023-01-03', '2023-06-30', '2023-12-29', '2024-03-15', '2024-06-28'];

const SCENE = { store_id: 'scene', seed: 1, assets: 12, start: '2022-01-03', end: '2024-06-28' };

const FLAGS = ['--port', '0', '--workers', '2', '--drain-ms', '0', '--warm-up', 'off'];

/**
 * Starts the service and creates its documents.
 * @param access kind of the clients: anybody on this machine, or teams with keys, tokens and browser sessions
 */
export async function openScene(access: 'anybody' | 'teams'): Promise<Scene> {
  const teams = access === 'teams' ? await openTeams() : OPEN_ACCESS;
  const folder = await mkdtemp(join(tmpdir(), 'divisor-fuzz-'));
  const csv = join(folder, 'csv');
  await mkdir(csv);
  await writeFile(
    join(csv, 'market.csv'),
    'identifier,date,CLOSE\nA,2024-01-02,100\nA,2024-01-03,101\nB,2024-01-02,50\nB,2024-01-03,49\n',
  );
  await symlink('/etc', join(folder, 'link'));
  const { settings } = readSettings(
    ['--home', join(folder, 'home'), '--data-roots', folder, ...FLAGS, ...teams.flags],
    teams.environment,
  );
  const defects: string[] = [];
  const log = pino(
    { level: 'warn' },
    { write: (line: string) => void (isDefect(line) && defects.push(line.slice(0, 3000))) },
  );
  const server = await start(settings, log);
  const { url } = server.server;

  async function ask(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const init =
      body === undefined
        ? { method, headers: teams.operator }
        : { method, headers: { 'content-type': 'application/json', ...teams.operator }, body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, init);
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : (JSON.parse(text) as unknown) };
  }

  /** Sends a request. @throws Error if the service refuses it */
  async function requireSuccess(method: string, path: string, body?: unknown): Promise<void> {
    const { status, body: answer } = await ask(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer).slice(0, 800)}`);
  }

  async function finish(path: string, body: unknown = {}): Promise<JobStatus> {
    const submittedAnswer = await ask('POST', path, body);
    if (submittedAnswer.status !== 202) throw new Error(`${path}: ${JSON.stringify(submittedAnswer).slice(0, 500)}`);
    let job = submittedAnswer.body as JobStatus;
    while (job.status === 'pending' || job.status === 'running')
      job = (await ask('GET', `/jobs/${job.job_id}?wait=30`)).body as JobStatus;
    return job;
  }

  async function endJobs(): Promise<void> {
    const { body } = await ask('GET', '/jobs?status=pending&status=running&limit=500');
    await Promise.all(
      (body as { readonly jobs: readonly JobStatus[] }).jobs.map(({ job_id: id }) => ask('DELETE', `/jobs/${id}`)),
    );
  }

  async function removeOthers(): Promise<void> {
    const { body } = await ask('GET', '/data/stores');
    const otherStores = (body as { readonly stores: readonly { readonly store_id: string }[] }).stores.filter(
      ({ store_id: id }) => id !== 'scene' && id !== 'second',
    );
    await Promise.all(otherStores.map(({ store_id: id }) => ask('DELETE', `/data/stores/${id}`)));
  }

  async function putSpares(): Promise<void> {
    for (const id of ['names', ...SPARE_IDS])
      await requireSuccess('PUT', `/data/watchlists/${id}`, { name: 'Names', identifiers: names });
    for (const id of ['own', ...SPARE_IDS])
      await requireSuccess('PUT', `/reports/templates/${id}`, {
        template_id: id,
        name: 'Own',
        blocks: [{ kind: 'text', text: 'A line.' }],
      });
    for (const id of ['limits', ...SPARE_IDS])
      await requireSuccess('PUT', `/optimise/constraint-sets/${id}`, {
        id,
        name: 'Limits',
        constraints: [{ id: 'pos', type: 'PositionBounds', params: { lower: 0, upper: 0.3 } }],
      });
  }

  async function restore(): Promise<void> {
    await endJobs();
    const stores = (await ask('GET', '/data/stores')).body as {
      readonly stores: readonly { readonly store_id: string; readonly active: boolean }[];
    };
    const scene = stores.stores.find(({ store_id: id }) => id === 'scene');
    if (scene === undefined) await finish('/data/synthetic', SCENE);
    if (!stores.stores.some(({ store_id: id }) => id === 'second'))
      await finish('/data/synthetic', {
        store_id: 'second',
        seed: 2,
        assets: 5,
        start: '2024-01-02',
        end: '2024-06-28',
        activate: false,
      });
    if (scene !== undefined && !scene.active) await finish('/data/stores/scene/activate', undefined);
    await removeOthers();
    // Indices and strategies share their ids, so a strategy may have the id of an index.
    for (const id of [...INDICES, ...SPARE_IDS]) await ask('DELETE', `/strategies/${id}`);
    await ask('DELETE', '/indices/plan');
    for (const id of ['ALPHA', 'BETA', ...SPARE_IDS]) {
      if ((await ask('PUT', `/indices/${id}`, createIndexBody(id))).status < 300) continue;
      await ask('DELETE', `/indices/${id}`); // a derived index cannot be replaced by an index with rules
      await requireSuccess('PUT', `/indices/${id}`, createIndexBody(id));
    }
    await ask('POST', '/indices', {
      ...createIndexBody('CHILD'),
      universe: undefined,
      pipeline: null,
      derivation: { source_index_id: 'ALPHA' },
    });
    await finish('/analytics/ALPHA/backtest', { transaction_cost_bps: 5 });
    await finish('/analytics/BETA/backtest', {});
    await finish('/risk-models/small/estimate', { index_id: 'ALPHA' });
    await putSpares();
    await requireSuccess('PUT', '/strategies/plan', {
      id: 'plan',
      name: 'Plan',
      index_id: 'ALPHA',
      transaction_cost_bps: 5,
    });
    const optimisation = await finish('/optimise/runs', { index_id: 'ALPHA', constraint_set_id: 'limits' });
    const run = (optimisation.result as { readonly run_id?: string } | null)?.run_id;
    if (run !== undefined) runs.splice(0, runs.length, run);
    const render = await finish('/reports/render', { template_id: 'own' });
    const renderId = (render.result as { readonly render_id?: string } | null)?.render_id;
    if (renderId !== undefined) renders.splice(0, renders.length, renderId);
  }

  const names: string[] = [];
  const renders: string[] = ['none'];
  const runs: string[] = ['none'];
  await finish('/data/synthetic', SCENE);
  const match = (await ask('GET', '/data/identifiers?limit=50')).body as {
    readonly identifiers?: readonly { readonly identifier: string }[];
  };
  names.push(...(match.identifiers ?? []).map(({ identifier }) => identifier), 'NOPE');
  await restore();

  return {
    url,
    clients: await teams.clients(url),
    vocabulary: createVocabulary({ names, renders, runs, folder }),
    restore,
    defects,
    async close() {
      await endJobs();
      await stop({ ...server, drainMs: 0 });
      await teams.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Returns true if a log line reports a defect of the service. A refused request is not a defect. */
function isDefect(line: string): boolean {
  const { level, msg } = JSON.parse(line) as { readonly level: number | string; readonly msg?: string };
  return (
    msg !== 'request' &&
    msg !== 'refusal with a cause' &&
    (level === 'error' || level === 'fatal' || Number(level) >= 50)
  );
}

const createIndexBody = (id: string) => ({
  id,
  name: id === 'ALPHA' ? KEPT_NAME : id,
  calendar: 'XNYS',
  base_date: '2022-01-03',
  universe: { kind: 'all' },
  rebalance: { frequency: 'quarterly' },
  pipeline: {
    selection: [{ id: 'size', type: 'TopN', params: { field: 'MARKET_CAP', count: 8 } }],
    weighting: { type: 'EqualWeight', cap: 0.3 },
  },
});

/** Sizes of jobs. They are small enough for a hundred thousand requests a day. */
const SIZES = {
  assets: { values: [2, 5, 20], only: true },
  paths: { values: [1, 10, 200], only: true },
  horizon: { values: [1, 5, 21], only: true },
  partitions: { values: [1, 2], only: true },
  wait: { values: [0, 0.01], only: true },
};

const DATE_FIELDS = [
  'start',
  'end',
  'as_of',
  'asof',
  'date',
  'base_date',
  'expiry',
  'expiries',
  'front_expiry',
  'back_expiry',
  'maturity',
];

function createVocabulary({
  names,
  renders,
  runs,
  folder,
}: {
  readonly names: readonly string[];
  readonly renders: readonly string[];
  readonly runs: readonly string[];
  readonly folder: string;
}): Vocabulary {
  const indexIds = { values: ['ALPHA', 'ALPHA', 'ALPHA', ...INDICES, 'ABSENT'] };
  const identifiers = { values: names };
  return {
    index_id: indexIds,
    source_index_id: indexIds,
    benchmark: { values: [...INDICES, ...names.slice(0, 2)] },
    benchmark_id: indexIds,
    ids: indexIds,
    id: { values: [...INDICES, 'NEW', 'NEW-2', ...names.slice(0, 2)] },
    identifier: identifiers,
    identifiers,
    names: identifiers,
    ...Object.fromEntries(DATE_FIELDS.map((name) => [name, { values: DAYS }])),
    calendar: { values: ['XNYS', 'XLON', 'XTKS'] },
    calendars: { values: ['XNYS', 'XLON'] },
    job_id: {
      values: ['backtest:ALPHA', 'backtest:BETA', 'risk:small', 'generate:scene', 'load:scene', 'render:none'],
    },
    before: { values: ['backtest:ALPHA'] },
    after: { values: ['ALPHA', 'A'] },
    model_id: { values: ['small', 'other'] },
    template_id: { values: ['own', 'FACTSHEET-A4', 'REBALANCE-A4'] },
    render_id: {
      get values() {
        return renders;
      },
    },
    store_id: { values: ['scene', 'second', 'extra', 'extra-2'] },
    watchlist_id: { values: ['names', 'others'] },
    strategy_id: { values: ['plan'] },
    constraint_set_id: { values: ['limits', 'limits', 'ABSENT'] },
    sweep_id: { values: ['sweep', 'other'] },
    run_id: {
      get values() {
        return runs;
      },
    },
    location: {
      values: [
        `${folder}/csv`,
        `${folder}/link`,
        '/etc',
        folder,
        `${folder}/csv/../csv`,
        `${folder}/absent`,
        'postgres://u:p@localhost/db',
      ],
    },
    ...SIZES,
    seed: { values: [0, 1, 2] },
  };
}
