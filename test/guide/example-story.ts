import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import {
  createExampleRequest,
  type ExampleRequest,
  listOperations,
  type Operation,
} from '#views/documentation/reference.js';
import { openLiveService, type Answer, type LiveService } from '../real/live.js';
import { getApiDocument } from '../contract/api-document.js';
import { createFrame } from '../table-frame.js';

export const OPERATIONS: ReadonlyMap<string, Operation> = new Map(
  listOperations(getApiDocument()).map((operation) => [operation.operationId, operation]),
);

/**
 * Operations that create the market and the index of the examples. They are sent before the operations that read them.
 */
const FIRST = ['generateSynthetic', 'importStore', 'createStore', 'updateStore', 'createIndex', 'startBacktest'];
/** Operations that change or delete what other operations read. A record is deleted before its index. */
const LAST = ['refreshStore', 'syncData', 'activateStore', 'deleteRecord', 'deleteIndex'].filter((id) =>
  OPERATIONS.has(id),
);

const getMethod = (id: string) => OPERATIONS.get(id)!.method;
const otherOperations = [...OPERATIONS.keys()].filter((id) => !FIRST.includes(id) && !LAST.includes(id));
const isWrite = (id: string) => getMethod(id) === 'PUT' || getMethod(id) === 'POST';
const isDeletion = (id: string) => getMethod(id) === 'DELETE';

/**
 * Operation ids in an order in which every example succeeds. The position of a new operation follows from its method.
 */
export const STORY: readonly string[] = [
  ...FIRST.filter((id) => OPERATIONS.has(id)),
  ...otherOperations.filter(isWrite),
  ...otherOperations.filter((id) => !isWrite(id) && !isDeletion(id)),
  ...LAST.filter((id) => !isDeletion(id)),
  ...otherOperations.filter(isDeletion),
  ...LAST.filter(isDeletion),
];

export const openStoryService = (): Promise<LiveService> => openLiveService(['--approvals', 'restate=2']);

/** Stores of operations whose example needs another kind of store than the document names. */
const OTHER_STORES: Readonly<Record<string, string>> = {
  refreshStore: 'market',
  listDataVersions: 'market',
  diffDataVersions: 'market',
  repairStore: 'doubtful',
  overridePrice: 'vendor',
};

/** Session after the end of the market. The day of the schedule waits for prices and does not affect other examples. */
const LATER_DAY = '2025-01-02';
/** Operations whose response depends on earlier requests for this day. */
const OF_A_DAY = ['waiveScheduleCheck', 'skipScheduleDay', 'backfillSchedule', 'getScheduleDay', 'listScheduleDays'];

const OF_DELIVERED_DAY = ['getScheduleFile', 'listDayDeliveries'];

/** Returns daily prices of a security with a three-for-one split that is not reported. */
function removeItsSplit() {
  const days = Array.from({ length: 150 }, (_, i) => new Date(Date.UTC(2011, 3, 1 + i)))
    .filter((day) => day.getUTCDay() % 6 !== 0)
    .map((day) => day.toISOString().slice(0, 10));
  const data = days.map((day, i) => [
    'CSX',
    day,
    Number(((day < '2011-06-16' ? 75 : 25) * (1 + 0.01 * Math.sin(i))).toFixed(2)),
  ]);
  return createFrame(['identifier', 'date', 'CLOSE'], data);
}

/** Index that the examples need in addition to their own. */
const EQUAL_100 = {
  id: 'EQUAL-100',
  name: 'Equal hundred',
  calendar: 'XNYS',
  base_date: '2019-01-02',
  pipeline: { weighting: { type: 'EqualWeight' } },
};

export interface ExampleRunner {
  /** Sends the example of an operation, and waits for the end of its job. */
  run(id: string): Promise<Outcome>;
}

export interface Outcome {
  readonly answer: Answer<unknown>;
  /** Job that the example started, after its end. */
  readonly job: JobStatus | undefined;
}

export function createExampleRunner(service: LiveService): ExampleRunner {
  /** Ids that the service assigned to objects of the examples. */
  const outcome: Record<string, string> = {};

  async function finish({ job_id }: JobStatus): Promise<JobStatus> {
    let job: JobStatus;
    do job = await service.ok<JobStatus>('GET', `/jobs/${job_id}?wait=30`);
    while (job.status === 'pending' || job.status === 'running');
    const result = (job.result ?? {}) as Record<string, unknown>;
    if (job_id.startsWith('differences:')) return job; // its result names the run that it compared
    for (const name of ['run_id', 'render_id']) if (typeof result[name] === 'string') outcome[name] = result[name];
    return job;
  }

  /** Functions that create what an example requires and no other example creates, by operation. */
  const preparations: Record<string, () => Promise<unknown>> = {
    createStore: async () => {
      await mkdir(join(service.folder, 'us-large'));
      await writeFile(
        join(service.folder, 'us-large', 'market.csv'),
        'identifier,date,CLOSE\nA,2024-01-02,100\nA,2024-01-03,101\n',
      );
    },
    async overridePrice() {
      const location = join(service.folder, 'vendor');
      await mkdir(location);
      const rows = 'NECZ,2024-12-30,46.02\nNECZ,2024-12-31,462.7\n';
      await writeFile(join(location, 'market.csv'), `identifier,date,CLOSE\n${rows}`);
      await service.ok('POST', '/data/stores', { store_id: 'vendor', name: 'Vendor', kind: 'folder', location });
    },
    repairStore: () => service.ok('POST', '/data/import', { name: 'Doubtful', tables: { market: removeItsSplit() } }),
    startBacktests: () => service.ok('PUT', '/indices/EQUAL-100', EQUAL_100),
    compareRuns: async () => {
      await service.ok('PUT', '/indices/EQUAL-100', EQUAL_100);
      await finish(await service.ok<JobStatus>('POST', '/analytics/EQUAL-100/backtest', {}));
    },
    startBatch: async () => {
      const estimator = { index_id: 'LARGE-100', estimator: 'statistical', factors: 5, start: '2024-09-02' };
      await finish(await service.ok<JobStatus>('POST', '/risk-models/factors/estimate', estimator));
    },
    backtestAccount: async () => {
      const [start, end] = ['2024-09-02', '2024-11-29'];
      type ListedSecurity = { readonly identifier: string; readonly start: string; readonly end: string };
      const all = await service.ok<{ identifiers: ListedSecurity[] }>('GET', '/data/identifiers?limit=1000');
      // The index held different securities before its last date.
      const listedIdentifiers = all.identifiers.filter((security) => security.start <= start && security.end >= end);
      const identifiers = listedIdentifiers.map(({ identifier }) => identifier);
      const window = { identifiers, estimator: 'statistical', factors: 5, start, end };
      await finish(await service.ok<JobStatus>('POST', '/risk-models/early-factors/estimate', window));
    },
    diffRuns: listRuns,
    ...Object.fromEntries(OF_DELIVERED_DAY.map((id) => [id, createDeliveredDay])),
    decideApproval: requestRestatement,
    decideAction: findAction,
    ...Object.fromEntries(OF_A_DAY.map((id) => [id, waitForSettledDay])),
    deleteStore: async () => finish(await service.ok<JobStatus>('POST', '/data/stores/market/activate')),
  };

  /** Creates a day of another schedule whose files a client has received. */
  async function createDeliveredDay(): Promise<void> {
    await service.ok('PUT', '/indices/EQUAL-100', EQUAL_100);
    await finish(await service.ok<JobStatus>('POST', '/analytics/EQUAL-100/backtest', {}));
    await service.ok('PUT', '/clients/ACME', { name: 'Acme', entitlements: [{}] });
    const steps = [
      { type: 'export', files: [{ table: 'closing' }] },
      { type: 'deliver', clients: ['ACME'] },
    ];
    await service.ok('PUT', '/schedules/files', {
      name: 'Files',
      enabled: false,
      indices: ['EQUAL-100'],
      calendar: 'XNYS',
      at: '18:00',
      steps,
    });
    await service.ok('POST', '/schedules/files/days/2024-06-21/run', {});
    await service.ok('GET', '/schedules/files/days/2024-06-21?wait=60');
  }

  /** Requests a restatement of published closes. A second person must approve it. */
  async function requestRestatement(): Promise<void> {
    const publish = (body: object) => service.ask('POST', '/analytics/RESTATED/publish', body);
    for (const base_value of [1000, 100]) {
      await service.ok('PUT', '/indices/RESTATED', { ...EQUAL_100, id: 'RESTATED', name: 'Restated', base_value });
      await finish(await service.ok<JobStatus>('POST', '/analytics/RESTATED/backtest', { end: '2019-01-31' }));
      await publish({ restate: true, reason: 'The base value was wrong.' });
    }
    await service.ok('DELETE', '/indices/RESTATED');
  }

  async function findAction(): Promise<void> {
    const { actions } = await service.ok<{ readonly actions: readonly { readonly action_id: string }[] }>(
      'GET',
      '/actions?from=2024-01-01&limit=1',
    );
    outcome['action_id'] = actions[0]!.action_id;
  }

  async function waitForSettledDay(): Promise<void> {
    await service.ok('GET', `/schedules/close/days/${LATER_DAY}?wait=60`);
  }

  /** Ids of the runs that the comparison example names. */
  let runs: readonly string[] = [];
  async function listRuns(): Promise<void> {
    const { runs: listed } = await service.ok<{ readonly runs: readonly { readonly run_id: string }[] }>(
      'GET',
      '/analytics/LARGE-100/runs',
    );
    runs = listed.map(({ run_id: id }) => id);
  }

  /**
   * Changes an example that contains something of its reader, such as a private folder or a store that can be
   * refreshed.
   */
  function adaptRequest(id: string, request: ExampleRequest): ExampleRequest {
    if (id === 'diffRuns') return { ...request, body: { from: runs.at(-1), to: runs[0] } };
    if (id === 'inspectData') return { ...request, body: { location: join(service.folder, 'us-large') } };
    if (id === 'createStore')
      return {
        ...request,
        body: { ...(request.body as object), location: join(service.folder, 'us-large'), activate: false },
      };
    // the default is an hour
    if (id === 'followJobs') return { ...request, path: `${request.path}?seconds=0` };
    // other examples read the estimated model
    if (id === 'importRiskModel') return { ...request, path: request.path.replace(/[^/]+(?=[/]import$)/, 'vendor') };
    if (id.endsWith('ScheduleDay') || id === 'waiveScheduleCheck')
      return { ...request, path: request.path.replace('2024-06-21', LATER_DAY) };
    if (OF_DELIVERED_DAY.includes(id))
      return { ...request, path: request.path.replace('/close/', '/files/').replace('LARGE-100_', 'EQUAL-100_') };
    const store = OTHER_STORES[id];
    if (store !== undefined) return { ...request, path: request.path.replace('two-names', store) };
    return request;
  }

  return {
    async run(id) {
      await preparations[id]?.();
      const { method, path, body } = adaptRequest(id, createExampleRequest(OPERATIONS.get(id)!, outcome));
      const answer = await service.ask(method, path, body);
      const { backtests = [] } = answer.body as { readonly backtests?: readonly { readonly job?: JobStatus | null }[] };
      for (const { job } of backtests) if (job) await finish(job);
      return { answer, job: answer.status === 202 ? await finish(answer.body as JobStatus) : undefined };
    },
  };
}
