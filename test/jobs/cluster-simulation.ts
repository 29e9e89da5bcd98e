import { Refusal } from '#domain/base/refusals.js';
import type { JobKind } from '#jobs/port/job-kind.js';
import { isTerminal, type JobRecord } from '#jobs/port/life-cycle.js';
import type { ArtifactRef } from '#store/port.js';
import { seeded } from '../seeded.js';
import { createAgenda } from './simulation/agenda.js';
import { createSharedDatabase, type Change, type SharedDatabase } from './simulation/shared-database.js';
import { createNode, type NodeWorld, type SimulatedNode } from './simulation/simulated-node.js';
import { readToken, type Payload } from './simulation/world.js';

/**
 * Result of a simulation in which several nodes run the job system of the product on one database, with random faults:
 * processes end or pause, database connections are cut, outcomes of commits are unknown, clocks are set. One seed
 * determines all events. The simulation checks invariants at every commit. At the end faults stop, and every job has to
 * end.
 */
export interface ClusterReport {
  readonly submissions: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly ends: number;
  readonly cuts: number;
  readonly pauses: number;
  /** Number of times when no node could reach the database. */
  readonly outages: number;
  /** Number of job completions that were refused because they came too late. */
  readonly stale: number;
}

type Counts = { -readonly [K in keyof ClusterReport]: number };

const EMPTY_REPORT: ClusterReport = {
  submissions: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  ends: 0,
  cuts: 0,
  pauses: 0,
  outages: 0,
  stale: 0,
};

/** A possible event with its probability. */
type RandomEvent = readonly [number, () => void];

const IDENTS = ['a', 'b', 'c', 'd', 'e'];
const NODES = ['one', 'two', 'three'];
const REST_EVENTS_MAX = 100_000;

export interface ClusterOptions {
  readonly seed: number;
  readonly events: number;
  /** True if no single process or thread ends, pauses or loses its connection. Then no attempt counts as crashed. */
  readonly isOutagesAlone?: boolean;
}

export async function simulateCluster(options: ClusterOptions): Promise<ClusterReport> {
  const { seed, events, isOutagesAlone = false } = options;
  const random = seeded(seed);
  const agenda = createAgenda();
  const drawBetween = (low: number, high: number): number => low + Math.floor(random() * (high - low));
  const counts: Counts = { ...EMPTY_REPORT };
  let isKind = false;
  let failure: Error | undefined;
  const recordFailure = (message: string): void => void (failure ??= new Error(`${message}\nSEED=${seed}`));
  const submittedTokens = new Set<string>();
  const database = createSharedDatabase(agenda.now, (change) => {
    checkCommit(change, recordFailure);
    if (isOutagesAlone && isEndedEarly(change.after))
      recordFailure(`${change.after!.job_id} crashed or was lost, but nothing ended`);
    if (change.after === undefined) return;
    submittedTokens.add(readToken(change.after));
    const { status } = change.after;
    if (status !== 'pending' && status !== 'running' && status !== change.before?.status) counts[status]++;
  });
  const world: NodeWorld = {
    agenda,
    database,
    files: new Set(),
    random,
    between: drawBetween,
    chance: (probability) => !isKind && random() < probability,
    threadsEnd: !isOutagesAlone,
    makeKind: () => createKind(world.files),
    onStale: () => void counts.stale++,
  };
  const nodes = NODES.map((name) => createNode(world, name));
  const acknowledgedTokens = new Set<string>();
  const createAnyNode = () => nodes[drawBetween(0, nodes.length)]!;

  function submit(): void {
    const ident = IDENTS[drawBetween(0, IDENTS.length)]!;
    const token = `${ident}-${++counts.submissions}`;
    const payload = { ident, token };
    const submission = {
      kind: createKind(world.files),
      payload,
      request: { token },
      estimatedBytes: drawBetween(1, 60),
    };
    const origin = { owner: ident, requestId: token, author: null, note: null, traceId: null, callback: null };
    createAnyNode()
      .system?.submit({ ...submission, origin })
      .then((status) => void (readToken(status) === token && acknowledgedTokens.add(token)), requireRefusal);
  }

  function requireRefusal(thrown: unknown): void {
    if (!(thrown instanceof Refusal)) failure ??= thrown as Error;
  }

  function cancel(): void {
    const request = createAnyNode().system?.cancel(`backtest:${IDENTS[drawBetween(0, IDENTS.length)]!}`);
    request?.then(
      (status) => isTerminal(status.status) || recordFailure(`${status.job_id} lives on after its cancellation`),
      requireRefusal,
    );
  }

  const acts: readonly RandomEvent[] = [
    [0.05, submit],
    [0.01, cancel],
    ...(isOutagesAlone ? [] : listEndings(createAnyNode, counts, drawBetween)),
    [0.002, () => createAnyNode().setClock(drawBetween(-3_600_000, 3_600_000))],
    [0.001, () => loseDatabase(drawBetween(500, 14_000))],
  ];
  function loseDatabase(ms: number): void {
    counts.outages++;
    for (const node of nodes) node.cut(ms);
  }
  function act(): void {
    let dice = random();
    const match = acts.find(([probability]) => (dice -= probability) < 0);
    if (match === undefined) agenda.runNext();
    else match[1]();
  }

  const isQuiet = (): boolean =>
    nodes.every(({ system }) => system !== undefined) &&
    [...database.rows.values()].every(({ status }) => status !== 'pending' && status !== 'running');
  for (let count = 0; count < events || !isQuiet(); count++) {
    isKind = count >= events;
    if (count > events + REST_EVENTS_MAX) recordFailure('the world does not come to rest');
    if (isKind) agenda.runNext();
    else act();
    await new Promise((resolve) => setImmediate(resolve));
    if (failure !== undefined) throw failure;
  }
  for (const token of acknowledgedTokens)
    if (!submittedTokens.has(token)) recordFailure(`${token} was acknowledged and is nowhere`);
  checkArtifacts(database, world.files, recordFailure);
  if (failure !== undefined) throw failure;
  return counts;
}

/** Returns the possible events of a single node. */
function listEndings(
  anyNode: () => SimulatedNode,
  counts: Counts,
  between: (low: number, high: number) => number,
): readonly RandomEvent[] {
  return [
    [0.002, () => (counts.ends++, anyNode().kill())],
    [0.001, () => anyNode().restart()],
    [0.003, () => (counts.cuts++, anyNode().cut(between(500, 14_000)))],
    [0.003, () => (counts.pauses++, anyNode().pause(between(500, 14_000)))],
  ];
}

/** Checks that the objects exist that runs reference. */
function checkArtifacts(
  { documents }: SharedDatabase,
  files: ReadonlySet<string>,
  say: (message: string) => void,
): void {
  for (const [key, body] of documents) {
    if (!key.startsWith('run/')) continue;
    const { refs } = body as { refs: readonly ArtifactRef[] }; // written by the simulated job kind
    for (const { name } of refs) if (!files.has(name)) say(`the artifact ${name} of ${key} is gone`);
  }
}

/** Checks the invariants of every commit, whatever code wrote it. */
function checkCommit({ puts, before, after }: Change, say: (message: string) => void): void {
  const effects = [...puts].filter(([key, body]) => key.startsWith('run/') && body !== undefined);
  const isSame = before !== undefined && before.sequence === after?.sequence;
  const isSuccess = after?.status === 'succeeded' && isSame && before.status === 'running';
  if (effects.length > 0 !== isSuccess) say(`an effect and the success of ${after?.job_id} came apart`);
  for (const [key, body] of effects) {
    if ((body as { count: number }).count !== 1) say(`the effect ${key} happened twice`);
    if (key !== `run/${readToken(after!)}`) say(`${key} is not the effect of ${after!.job_id}`);
  }
  if (!isSame || after === undefined) {
    if (before !== undefined && after !== undefined && !isTerminal(before.status))
      say(`${before.job_id} was replaced alive`);
    return;
  }
  if (isTerminal(before.status)) say(`${before.job_id} was ${before.status} and changed`);
  if (after.attempt - before.attempt > 1 || after.attempt < before.attempt) say(`${after.job_id} skipped an attempt`);
  if (after.status === 'running' && before.status !== 'pending') say(`${after.job_id} began twice`);
  if (after.crashes > 3) say(`${after.job_id} began again after ${after.crashes} crashes`);
}

const isEndedEarly = (job: JobRecord | undefined): boolean => job !== undefined && job.crashes + job.losses > 0;

/** Returns a job kind that writes one artifact. Its effect counts how often it was executed. */
function createKind(files: Set<string>): JobKind<Payload> {
  return {
    kind: 'backtest',
    key: ({ ident }) => ident,
    decode: (payload) => payload as Payload,
    async run(payload, attempt) {
      const { first } = attempt.outputs(['first']);
      await attempt.compute('backtest', payload as never);
      files.add(first);
      const ref = { name: first, bytes: 1, sha256: '' };
      return {
        result: { artifact: ref },
        async effect(tx) {
          const storedRun = await tx.get('run', payload.token);
          const count =
            storedRun === undefined || 'unreadable' in storedRun ? 0 : (storedRun.body as { count: number }).count;
          await tx.put('run', payload.token, { count: count + 1, refs: [ref] });
        },
      };
    },
  };
}
