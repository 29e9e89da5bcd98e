import { join } from 'node:path';
import { type DayDocument, ScheduleDocument, type StepType } from '#domain/outputs/daily-plans.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createLiveCalendars } from '#domain/calendars/exchange-calendars.js';
import { followClosures } from '#services/indices/calendars.js';
import type { Performer, StepContext } from '#services/daily-plans/steps.js';
import { createDayRunner, type DayRunner, type Performers } from '#services/daily-plans/runner.js';
import { createDays, type Days } from '#services/daily-plans/days.js';
import { createSchedules } from '#services/daily-plans/schedules.js';
import { createStoredDays, type StoredDays } from '#services/daily-plans/stored-days.js';
import type { Context } from '#services/shared/context.js';
import { openHome } from '#store/home/home.js';
import { openStore } from '#store/open-store.js';
import type { DocumentStore } from '#store/port.js';
import { createTemporaryFolder } from '../../store/temporary-folder.js';
import { createTestContext } from '../context.js';
import { createEqualIndex } from '../../equal-index.js';

/** Completed work of steps, in order, such as `run CORE 2026-11-23`. */
export type CompletedSteps = string[];

/** Function that is called in a step for an index. If it throws, the step fails for this index. */
export type Fault = (step: StepType, indexId: string, date: string) => Promise<void> | void;

/** Processes that run days over one store. Their steps only record that they were called. */
export interface RunnerWorld {
  readonly documents: DocumentStore;
  readonly days: StoredDays;
  /** Days as people change them by decisions. */
  readonly people: Days;
  readonly done: CompletedSteps;
  /** Current time in milliseconds since 1970. */
  now: number;
  /** Returns the reason why the author of the schedule may not perform a day. */
  authorFault: () => string | undefined;
  put(change?: object, id?: string): Promise<void>;
  runner(fault?: Fault): DayRunner;
  /** Returns the runner of a process. If its fault does not return, the process never responds again. */
  doomedRunner(fault: Fault): DayRunner;
  day(date: string, id?: string): Promise<DayDocument | undefined>;
  close(): Promise<void>;
}

const rejectUnused = () => Promise.reject(new Error('not part of this test'));
/** Settings without second persons, waiting clients or files. */
const NO_PARTICIPANTS = {
  artifacts: { stream: rejectUnused },
  approvals: {
    getRule: () => undefined,
    guarded: (_by, work) =>
      work({ admit: async () => ({ approval_id: null, approved_by: [] }), foresee: rejectUnused }),
  },
} satisfies { artifacts: Partial<Context['artifacts']>; approvals: Partial<Context['approvals']> };
const FAMILY = ['CORE', 'EVEN', 'CORE-FEE'];

export async function openRunnerWorld(start: string): Promise<RunnerWorld> {
  const base = await createTemporaryFolder();
  const home = await openHome(join(base, 'home'));
  const store = await openStore({ home, onFailure: () => {} });
  const { documents } = store;
  const calendars = followClosures(documents, createLiveCalendars(openCalendars()), () => {});
  const completedSteps: CompletedSteps = [];
  const openRunners: DayRunner[] = [];
  const world = {
    now: Date.parse(start),
    authorFault: (): string | undefined => undefined,
  };
  const readTime = (): number => world.now;
  const context = createTestContext({ documents, calendars, now: readTime, ...NO_PARTICIPANTS });
  const days = createStoredDays(context, true);
  const scheduledDays = { schedules: createSchedules(context), days };
  const people = createDays(context, scheduledDays, { watch: () => ({ next: rejectUnused }) }, () => {});
  const rebalance = { frequency: 'monthly' };
  const createRule = (id: string) => createEqualIndex(id, { base_date: '2020-01-02', rebalance });
  const overlay = {
    id: 'CORE-FEE',
    name: 'CORE-FEE',
    calendar: 'XNYS',
    base_date: '2020-01-02',
    kind: 'overlay',
    source_index_id: 'CORE',
    overlay: { type: 'decrement', percent: 0.05 },
  };
  await documents.transaction(async (tx) => {
    for (const document of [createRule('CORE'), createRule('EVEN'), overlay])
      await tx.put('index', document.id, document);
  });

  /** Returns a step that does not repeat completed work. The real steps behave the same way. */
  const createPerformer =
    (type: StepType, fault: Fault): Performer<never> =>
    async ({ waves, isOpen, item, put, day }: StepContext<unknown>) => {
      for (const wave of waves)
        for (const id of wave.filter(isOpen)) {
          if (item(id)?.state === 'done') continue;
          try {
            await fault(type, id, day().date);
            completedSteps.push(`${type} ${id} ${day().date}`);
            await put(id, id, { state: 'done', message: 'done' });
          } catch (thrown) {
            if (!(thrown instanceof BlockedError)) throw thrown;
            await put(id, id, { state: 'blocked', message: thrown.message, code: thrown.code });
          }
        }
      return { state: 'done', message: `${type} is done` };
    };

  return {
    documents,
    days,
    people,
    done: completedSteps,
    get now() {
      return world.now;
    },
    set now(ms) {
      world.now = ms;
    },
    set authorFault(fault: () => string | undefined) {
      world.authorFault = fault;
    },
    async put(change = {}, id = 'close') {
      const plan = {
        name: 'Close',
        indices: FAMILY,
        calendar: 'XNYS',
        at: '18:30',
        starts_on: '2026-11-23',
        steps: [{ type: 'refresh' }, { type: 'run' }, { type: 'publish' }],
        ...change,
      };
      await documents.transaction(async (tx) => void (await tx.put('schedule', id, ScheduleDocument.parse(plan))));
    },
    runner(fault = () => {}) {
      const runner = begin(fault);
      openRunners.push(runner);
      return runner;
    },
    doomedRunner: begin,
    day: (date, id = 'close') => days.get(id, date),
    async close() {
      for (const runner of openRunners) await runner.close();
      await store.close();
      await home.close();
    },
  };

  function begin(fault: Fault): DayRunner {
    const types: StepType[] = ['refresh', 'run', 'publish', 'export', 'render'];
    // one performer per step type
    const performers = Object.fromEntries(
      types.map((type) => [type, createPerformer(type, fault)]),
    ) as unknown as Performers;
    const clock = { now: readTime, monotonicMs: readTime, after: () => () => {} };
    return createDayRunner(context, scheduledDays, {
      performers,
      authorFault: () => world.authorFault(),
      clock,
      log: { info() {}, warn() {}, error() {} },
    });
  }
}

/** Failure that blocks only its index. */
export class BlockedError extends Error {
  readonly code: string | null;
  constructor(message: string, code: string | null = null) {
    super(message);
    this.code = code;
  }
}
