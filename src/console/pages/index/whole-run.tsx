import type { OverviewView } from '#clients/typescript/divisor.js';
import { findChosenRange } from '../../state/range.js';

/** Ids of the tabs that show the selected date range. */
const RANGE_TABS: ReadonlySet<string> = new Set(['performance', 'weights', 'attribution', 'risk', 'limits', 'actions']);

interface WholeRunProps {
  readonly tab: string;
  readonly run: OverviewView;
}

/** Renders a note if the open tab ignores the selected date range. */
export function WholeRun({ tab, run: { start, end } }: WholeRunProps) {
  const range = findChosenRange();
  if (range === null || RANGE_TABS.has(tab)) return null;
  return (
    <p class="quiet">
      The range {range.from} to {range.to} does not apply here: this part covers the whole run, {start} to {end}.
    </p>
  );
}
