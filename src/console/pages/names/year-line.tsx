import { Sparkline } from '../../components/sparkline.js';
import type { YearPrices } from './last-year.js';
import { placeOnAxis } from './year-axis.js';

interface YearLineProps {
  readonly year: YearPrices;
  /** Last date of the time axis, the same for all rows of a table. */
  readonly end: string;
  /** Description of the line for screen readers. */
  readonly label: string;
}

/**
 * Renders the closes of a security on the time axis of a table, which is one year long. A shorter history begins later,
 * and a security that ended before the axis has no line.
 */
export function YearLine({ year, end, label }: YearLineProps) {
  const { closes, positions } = placeOnAxis(year, end);
  return <Sparkline values={closes} positions={positions} label={label} />;
}
