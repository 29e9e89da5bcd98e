import { attempt } from '../../state/actions.js';
import { copyCells } from '../../state/clipboard.js';
import { pinPart } from '../../state/dashboard.js';
import { getPartName } from '../../state/part.js';
import { Icon } from '../icon.js';
import { Menu } from '../menu.js';
import type { ChartContent } from './chart-file.js';
import { listLineCells } from './series.js';

interface ChartMenuProps {
  readonly label: string;
  /** Returns the chart as it is drawn now; null before it is drawn. */
  drawn(): ChartContent | null;
}

/**
 * Renders a menu that saves a chart as an image, copies the values of the visible range, or adds the chart to the
 * dashboard.
 */
export function ChartMenu({ label, drawn }: ChartMenuProps) {
  const save = (format: 'png' | 'svg') =>
    attempt(async () => {
      const chart = drawn();
      if (chart !== null) await (await import('./chart-file.js')).saveChart(chart, format);
    });
  const copy = () => {
    const chart = drawn();
    if (chart !== null) void copyCells(listLineCells(chart));
  };
  return (
    <Menu label={`Save, copy or pin: ${label}`} title={<Icon name="more" />} kind="bare">
      <li>
        <button type="button" onClick={copy}>
          Copy values
        </button>
      </li>
      <li>
        <button type="button" onClick={() => void save('png')}>
          PNG picture
        </button>
      </li>
      <li>
        <button type="button" onClick={() => void save('svg')}>
          SVG picture
        </button>
      </li>
      <li>
        <button type="button" onClick={() => pinPart(getPartName(label), 2)}>
          Pin to the dashboard
        </button>
      </li>
    </Menu>
  );
}
