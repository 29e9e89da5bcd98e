import { createContributionLink } from '#domain/analytics/attribution.js';
import { computeReturns } from '#domain/analytics/series.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { formatDay } from '#domain/time/days.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import type { PanelRows } from '../panel-rows.js';
import { readWindow, type WindowSpan } from '../run-window.js';
import { createCheck, type RowPass } from './check.js';

/** Number of windows that are checked in addition to the whole run. The length of the run determines the windows. */
const WINDOWS = 5;
/** Maximum length of a window in sessions. */
const WINDOW_SESSIONS_MAX = 504;

/**
 * Checks the linked contributions of all securities, over the whole run and over several windows.
 * @param weights reported panel of weights
 */
export function createContributionPass(columns: RunColumns, weights: PanelRows): RowPass {
  const level = columns.f64('level');
  const days = columns.i32('days');
  const last = level.length - 1;
  if (last < 1) return { see: () => {}, checks: () => [] };
  const returns = computeReturns(level);
  const names = columns.header.names.length + (columns.header.parts?.length ?? 0);
  const spans = [
    { from: 0, to: last, name: 'contributions' },
    ...listRandomWindows(last).map((span) => ({
      ...span,
      name: `contributions ${formatDay(days[span.from]!)} to ${formatDay(days[span.to]!)}`,
    })),
  ];
  // Contributions in a window with a total loss cannot be linked.
  const linkableSpans = spans.filter(({ from, to }) => returns.subarray(from, to).every((r) => r > -1));
  const links = linkableSpans.map(({ from, to, name }) => ({
    from,
    to,
    name,
    link: createContributionLink({
      securityCount: names,
      returns: returns.subarray(from, to),
      days: days.subarray(from + 1, to + 1),
    }),
  }));
  const window = readWindow(columns, { from: 0, to: last }, { weights, follow: false });
  const parts = new Float64Array(names);
  return {
    see(period) {
      if (period === last) return;
      parts.set(window.computeContributions(period));
      parts.set(window.getParts(period), columns.header.names.length);
      for (const { from, to, link } of links) if (period >= from && period < to) link.add(period - from, parts);
    },
    checks: () =>
      links.map(({ name, link: { totalReturn, residual } }) =>
        createCheck({
          name,
          meaning: 'The linked contributions of all securities and of the parts of an overlay sum to the total return.',
          left: totalReturn - residual(),
          right: totalReturn,
        }),
      ),
  };
}

function listRandomWindows(last: number): WindowSpan[] {
  const random = createCounterRandom({ seed: last, stream: 0 });
  return Array.from({ length: WINDOWS }, () => {
    const from = Math.min(last - 1, Math.floor(random.uniform() * last));
    const sessionsMax = Math.min(WINDOW_SESSIONS_MAX, last - from);
    return { from, to: from + 1 + Math.min(sessionsMax - 1, Math.floor(random.uniform() * sessionsMax)) };
  });
}
