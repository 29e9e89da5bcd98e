import type { DividendPointsView } from '#clients/typescript/divisor.js';
import { Bars } from '../../components/bars.js';
import type { Metric } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { findChosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { readShownRun, formatRunKey } from '../../state/shown-run.js';
import { countValues, formatDecimal, formatPercent } from '../../words/numbers.js';

/**
 * Reads the ordinary dividends in index points. If the prices of a run include dividends, the service refuses the
 * request.
 */
export function useDividendPoints(id: string) {
  const range = findChosenRange();
  const query = { ...readShownRun(), ...(range === null ? {} : { start: range.from, end: range.to }) };
  return useResource(
    `dividend points ${formatRunKey(id)} ${range?.from} ${range?.to}`,
    (signal) => service.value.call('getDividendPoints', { params: { index_id: id }, query, signal }),
    { keeps: true },
  );
}

/** Returns the dividends of twelve months, their yield, and the announced dividends, in index points. */
export function listDividendFigures(view: DividendPointsView): readonly Metric[] {
  const { trailing, announced, as_of: asOf, withholding_tax: tax } = view;
  const formatNet = (points: number): string => (tax === 0 ? '' : `, ${formatDecimal(points)} after tax`);
  return [
    {
      term: 'Dividends, 12 months',
      value: formatDecimal(trailing.points),
      note: `points up to ${asOf}${formatNet(trailing.net_points)}`,
    },
    {
      term: 'Dividend yield',
      value: formatPercent(trailing.yield),
      note: 'of the last price level',
      help: 'Points over the level without dividends on the last date of the run',
    },
    {
      term: 'Announced dividends',
      value: announced.dividends_total === 0 ? 'none' : formatDecimal(announced.points),
      note:
        announced.dividends_total === 0
          ? `after ${asOf}`
          : `points of ${countValues(announced.dividends_total, 'dividend')} after ${asOf}${formatNet(announced.net_points)}`,
    },
  ];
}

/** Renders the dividends in index points by year. Renders nothing if the prices of the run include dividends. */
export function DividendYears({ id }: { readonly id: string }) {
  const view = useDividendPoints(id);
  if (view.data === undefined && view.trouble?.code === 'VARIANT_NOT_AVAILABLE') return null;
  return (
    <Section
      title="Dividends in index points"
      aside={`ordinary dividends by ex-date${view.data?.withholding_tax === 0 ? ', no withholding tax' : ''}`}
    >
      <Answered resource={view} what="the dividend points">
        {({ years, withholding_tax: tax }) => (
          <Bars
            label="Dividends by year, index points"
            {...(tax === 0 ? {} : { heads: ['Before withholding tax', 'After tax'] })}
            bars={years.map(({ year, points, net_points: net }) => ({
              label: String(year),
              value: points,
              ...(tax === 0 ? {} : { cells: [formatDecimal(net)] }),
            }))}
            isPlain
            format={(value) => formatDecimal(value)}
          />
        )}
      </Answered>
    </Section>
  );
}
