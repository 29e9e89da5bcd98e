import { Refusal } from '#domain/base/refusals.js';
import { createJobSystem } from '#jobs/job-system.js';
import type { Completion, JobKind, JobSystem } from '#jobs/port/job-kind.js';
import { isTerminal } from '#jobs/port/life-cycle.js';
import { createLocalQueue } from '#jobs/local/queue.js';
import type { ArtifactRef } from '#store/port.js';
import { createArtifacts, createClock, createPool, createStore, writeFile } from './simulation/ports.js';
import { createWitness, type Witness } from './simulation/witness.js';
import { createWorld, readToken, type Fault, type Payload, type World } from './simulation/world.js';
import { RETRIES_AT_ONCE } from './retries-at-once.js';

/**
 * Options of a simulation of the job system on its queue. One seed determines every delay, failure, crash and request,
 * so the same seed gives the same events. Time, disk and threads are simulated. Engine and queue are those of the
 * product. The disk keeps committed writes; a crash loses everything else. Messages of a process that has ended are
 * dropped. The simulation checks invariants after every event.
 */
export interface SimulationOptions {
  readonly seed: number;
  /** Number of events with faults. After them faults stop, and every job has to end. */
  readonly events: number;
  /** The only call to a port that fails. */
  readonly fault?: Fault;
}

export interface SimulationReport {
  readonly events: number;
  readonly restarts: number;
  readonly submissions: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Number of calls to the ports. A loop uses it to make each call fail in turn. */
  readonly calls: number;
}

const IDENTS = ['a', 'b', 'c', 'd'];
const JOB_IDS = IDENTS.map((ident) => `backtest:${ident}`);
const BUDGET = 100;
const LIMITS = {
  getRetryPolicy: RETRIES_AT_ONCE,
  queueMax: 3,
  ownerQueueMax: 1000,
  endedMax: 1000,
  jobBytesMax: BUDGET,
  leaseMs: 5000,
  runningMax: { heavy: 2, light: 1 },
  ownerRunningMax: 1000,
  memoryBytes: BUDGET,
  jobMsMax: 20_000,
  cancelGraceMs: 2000,
  queryMsMax: 10_000,
};
/** Maximum number of events after the last fault. By then the simulation must be idle. */
const REST_EVENTS_MAX = 100_000;

export async function simulate({ seed, events, fault }: SimulationOptions): Promise<SimulationReport> {
  const world = createWorld(seed, fault);
  const witness = createWitness(world, JOB_IDS, { ...LIMITS, runningMax: LIMITS.runningMax.heavy });
  const service = createService(world, witness);
  const clients = createClients(world, witness, service);

  await service.boot();
  for (; world.done < events || !(await service.isQuiet()); world.done++) {
    if (world.done === events) world.isKind = true;
    if (world.done > events + REST_EVENTS_MAX) world.say('the world does not come to rest');
    if (world.done < events) clients.act();
    else if (!world.agenda.runNext()) break;
    await new Promise((resolve) => setImmediate(resolve));
    if (world.failure !== undefined) throw world.failure;
    if (world.mustRestart) {
      world.mustRestart = false;
      await service.boot();
    }
    await checkAll(world, witness, service);
  }
  checkEnd(world);
  const endedStatuses = [...witness.seen.values()];
  const count = (state: string): number => endedStatuses.filter(({ status }) => status === state).length;
  return {
    events: world.done,
    restarts: service.restarts,
    submissions: clients.submissions,
    calls: world.calls,
    succeeded: count('succeeded'),
    failed: count('failed'),
    cancelled: count('cancelled'),
  };
}

async function checkAll(world: World, witness: Witness, service: Service): Promise<void> {
  if (world.isDiskChanged) witness.checkDisk();
  for (const jobId of JOB_IDS) {
    const status = service.isUp ? await service.engine.get(jobId) : undefined;
    if (status !== undefined) witness.checkStatus(status);
  }
}

/** Checks the invariants that must be true after all jobs have ended. */
function checkEnd(world: World): void {
  const storedTexts = [...world.disk.values()].join('\n');
  for (const [name, owner] of world.files)
    if (owner === world.process && !storedTexts.includes(name)) world.say(`the artifact ${name} was left behind`);
  for (const { job_id: jobId, status } of JOB_IDS.flatMap((id) => world.recordOnDisk(id) ?? []))
    if (!isTerminal(status)) world.say(`${jobId} stayed ${status}`);
}

/** The simulated service: a sequence of processes. */
interface Service {
  readonly engine: JobSystem;
  readonly kind: JobKind<Payload>;
  /** True if the process responds to requests. */
  readonly isUp: boolean;
  readonly restarts: number;
  /** Ends the running process and starts the next one. */
  boot(): Promise<void>;
  /** Gives up all jobs and ends the process, as after a signal. */
  stop(): void;
  isQuiet(): Promise<boolean>;
}

function createService(world: World, witness: Witness): Service {
  const kind = createKind(world, witness);
  const listeners = { onJobWritten: witness.noteStart, onCrash: witness.noteCrash };
  const quietLog = { info: () => {}, warn: () => {}, error: () => {} };
  let engine: JobSystem;
  let isUp = false;
  let restarts = 0;

  async function boot(): Promise<void> {
    const owner = ++world.process;
    restarts++;
    witness.noteRestart();
    const clock = createClock(world, owner);
    engine = createJobSystem({
      queue: createLocalQueue({ store: createStore(world, owner, listeners), clock, limits: LIMITS, log: quietLog }),
      artifacts: createArtifacts(world, owner),
      pool: createPool(world, owner, listeners),
      clock,
      limits: LIMITS,
      log: quietLog,
    });
    engine.register({ [kind.kind]: kind });
    world.removeUnowned([...world.files.keys()]);
    // The service responds after the engine has started. If writes fail during the start, the start is repeated, as a
    // supervisor would do.
    isUp = world.isStopping = false;
    engine.start().then(
      () => (isUp ||= owner === world.process),
      () => world.later(owner, 10, () => void boot()),
    );
  }

  return {
    get engine() {
      return engine;
    },
    kind,
    get isUp() {
      return isUp;
    },
    get restarts() {
      return restarts;
    },
    boot,
    stop() {
      const owner = world.process;
      world.isStopping = true;
      void engine.stop().then(() => (world.mustRestart ||= owner === world.process));
    },
    async isQuiet() {
      const counts = await engine.counts();
      return isUp && counts.pending + counts.running === 0 && world.agenda.isEmpty();
    },
  };
}

/**
 * Creates a job kind that writes two artifacts. Its effect writes three documents. One of them counts how often the
 * effect was executed.
 */
function createKind(world: World, witness: Witness): JobKind<Payload> {
  const { say } = world;
  /** Latest attempt that began, by token. */
  const newestStart = new Map<string, number>();
  let starts = 0;
  return {
    kind: 'backtest',
    key: ({ ident }) => ident,
    decode: (payload) => payload as Payload,
    async run(payload, attempt): Promise<Completion> {
      const finish = witness.checkStart(payload, attempt.signal);
      const { token } = payload;
      const serial = ++starts;
      const owner = world.process;
      const outputs = attempt.outputs(['first', 'second']);
      newestStart.set(token, serial);
      const refs: ArtifactRef[] = [];
      try {
        await attempt.compute('backtest', payload as never);
        if (serial % 3 !== 0) {
          finish(); // from now on other jobs can use the slot and the memory of this job
          attempt.computed();
        }
        for (const name of Object.values(outputs)) refs.push(await writeFile(world, owner, name));
      } finally {
        finish();
      }
      return {
        result: { artifact: refs[0]! },
        async effect(tx) {
          if (newestStart.get(token) !== serial) say(`an attempt of ${token} that was given up wrote its effect`);
          const before = await tx.get('run', token);
          const count = before === undefined || 'unreadable' in before ? 0 : (before.body as { count: number }).count;
          await tx.put('run', token, { count: count + 1, refs });
          await tx.put('render', token, { of: token });
          await tx.put('watchlist', token, { of: token });
        },
      };
    },
  };
}

/** Events caused by clients and by the environment. */
interface Clients {
  readonly submissions: number;
  /** Performs one event: a request, the end of the process, or the next event in the list of future events. */
  act(): void;
}

function createClients(world: World, witness: Witness, service: Service): Clients {
  const { random, between } = world;
  let submissions = 0;

  function submit(): void {
    const ident = IDENTS[between(0, IDENTS.length)]!;
    // Half of the requests repeat an earlier request of the same client.
    const sentStatuses = [...witness.seen.values()];
    const repeatedStatus =
      random() < 0.5 ? sentStatuses.findLast(({ job_id }) => job_id === `backtest:${ident}`) : undefined;
    const token = repeatedStatus === undefined ? `${ident}-${submissions}` : readToken(repeatedStatus);
    submissions++;
    const owner = world.process;
    service.engine
      .submit({
        kind: service.kind,
        payload: { ident, token },
        request: { token },
        estimatedBytes: between(1, BUDGET + 10),
        origin: { owner: ident, requestId: `r${submissions}`, author: null, note: null, traceId: null, callback: null },
      })
      .then((status) => {
        if (owner === world.process && readToken(status) === token) witness.noteSubmitted(status);
      })
      .catch(requireRefusal);
  }

  function cancel(): void {
    const owner = world.process;
    service.engine
      .cancel(JOB_IDS[between(0, IDENTS.length)]!)
      .then((status) => {
        if (owner === world.process) witness.noteCancelled(status);
      })
      .catch(requireRefusal);
  }

  function requireRefusal(thrown: unknown): void {
    if (!(thrown instanceof Refusal) && !world.mustRestart) world.failure ??= thrown;
  }

  return {
    get submissions() {
      return submissions;
    },
    act() {
      const dice = random();
      if (dice < 0.12 && service.isUp) submit();
      else if (dice < 0.16 && service.isUp) cancel();
      else if (dice < 0.165 && world.chance(1)) world.mustRestart = true;
      else if (dice < 0.168 && world.chance(1)) service.stop();
      else world.agenda.runNext();
    },
  };
}
