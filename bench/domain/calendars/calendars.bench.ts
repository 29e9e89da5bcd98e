import { performance } from 'node:perf_hooks';
import { dayFrom } from '#domain/days.js';
import { RebalanceSpec } from '#domain/documents/rebalance-spec.js';
import { rebalanceDates } from '#domain/schedule/schedule.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import { createCalendarViews } from '#services/indices/calendars.js';

const LOOK_UPS = 2_000_000;
const REPEATS = 20;
let sink = 0; // Read at the end, or the optimiser may drop the work we time.

function timed(work: () => number): number {
  const start = performance.now();
  sink += work();
  return performance.now() - start;
}

function report(name: string, ms: readonly number[], limitMs: number): void {
  const ascending = ms.toSorted((a, b) => a - b);
  const median = ascending[ascending.length >>> 1]!;
  console.log(
    `${name.padEnd(58)} min ${ascending[0]!.toFixed(3)}  median ${median.toFixed(3)}  max ${ascending.at(-1)!.toFixed(3)} ms  (limit ${limitMs} ms)`,
  );
}

// First in the process on purpose: nothing is compiled yet.
report('open the folder, first time in the process', [timed(() => openCalendars().list().length)], 30);
report(
  'first use of a calendar, first in the process (XNYS)',
  [timed(() => openCalendars().get('XNYS')!.sessions.length)],
  30,
);
const codes = openCalendars()
  .list()
  .map(({ code }) => code);
report(
  `first use of each of ${codes.length} codes, folder opened anew`,
  codes.map((code) => timed(() => openCalendars().get(code)!.sessions.length)),
  30,
);
report(
  'first use of all codes together',
  [
    timed(() => {
      const calendars = openCalendars();
      return codes.reduce((count, code) => count + calendars.get(code)!.sessions.length, 0);
    }),
  ],
  114 * 30,
);

const views = createCalendarViews({
  calendars: openCalendars(),
  scheduleOf() {
    throw new Error('the list needs no index');
  },
  today: () => 0,
});
report(
  'list of calendars as JSON',
  Array.from({ length: REPEATS }, () => timed(() => JSON.stringify(views.list()).length)),
  3,
);

const { isSession, coverage, sessions } = openCalendars().get('XNYS')!;
const span = coverage.to - coverage.from + 1;
const lookUps = Array.from({ length: REPEATS }, () =>
  timed(() => {
    let count = 0;
    for (let i = 0, day = coverage.from; i < LOOK_UPS; i++) {
      if (isSession(day)) count++;
      day += 4099; // a prime stride, so that neighbours do not share a word
      if (day > coverage.to) day -= span;
    }
    return count;
  }),
);
report(`${LOOK_UPS / 1e6} million session look-ups`, lookUps, (LOOK_UPS * 0.5) / 1000);

const calendar = openCalendars().get('XNYS')!;
const monthly = RebalanceSpec.parse({ frequency: 'monthly', anchor: 'third_friday', effective_lag: 5 });
const window = { calendar, baseDay: coverage.from, from: dayFrom('2000-01-01'), to: dayFrom('2025-12-31') };
report(
  'monthly third Fridays of 26 years',
  Array.from({ length: REPEATS }, () => timed(() => rebalanceDates({ rebalance: monthly, ...window }).length)),
  1,
);
console.log(`sink ${sink > 0 && sessions.length > 0}`);
