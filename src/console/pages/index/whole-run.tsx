import type { OverviewView } from '#clients/typescript/divisor.js';
import { findChosenRange } from '../../state/range.js';

/** Parts of a range of dates, which they show. */
const OF_RANGE: ReadonlySet<string> = new Set(['performance', 'weights', 'attribution', 'limits', 'actions']);

interface WholeRunProps {
  readonly tab: string;
  readonly run: OverviewView;
}

/** Renders a note if a range was chosen on another tab and does not apply to this one. */
export function WholeRun({ tab, run: { start, end } }: WholeRunProps) {
  const range = findChosenRange();
  if (range === null || OF_RANGE.has(tab)) return null;
  return (
    <p class="quiet">
      The range {range.from} to {range.to} does not apply here: this part covers the whole run, {start} to {end}.
    </p>
  );
}
