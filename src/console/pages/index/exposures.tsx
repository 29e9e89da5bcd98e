import type { ExposuresView, OverviewView } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import { type Line, PERCENT_UNIT } from '../../components/chart/series.js';
import { Field } from '../../components/form/field.js';
import { Section } from '../../components/layout/page.js';
import { Answered } from '../../components/feedback.js';
import { getParameter, setParameters } from '../../state/location.js';
import { chooseRange } from '../../components/controls/range.js';
import { useFieldsOfRun } from '../../state/market.js';
import { service, useList, useResource } from '../../state/service.js';
import { readShownRun } from '../../state/runs.js';
import { formatPercent } from '../../words/numbers.js';

export interface ExposuresProps {
  readonly id: string;
  readonly run: OverviewView;
  /** Date range and interval selected on the page. */
  readonly query: { readonly start?: string; readonly end?: string; readonly interval: 'native' | 'weekly' };
}

/**
 * Renders the weighted average of a datapoint over time, for the index and, if selected, a benchmark. Also renders
 * turnover and concentration.
 */
export function Exposures({ id, run, query }: ExposuresProps) {
  const fields = useFieldsOfRun(run);
  const numericFields = fields.data?.fields.map(({ name }) => name) ?? [];
  const field = getParameter('field') ?? 'DIVIDEND_YIELD';
  const benchmark = getParameter('benchmark');
  const request = {
    ...readShownRun(),
    ...query,
    fields: [field],
    groups: 1,
    ...(benchmark === null ? {} : { benchmark }),
  };
  const view = useResource(
    `exposures of ${id} ${JSON.stringify(request)}`,
    (signal) => service.value.call('getExposures', { params: { index_id: id }, query: request, signal }),
    { keeps: true },
  );
  const indices = useList('indices');
  const findText = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null);
  return (
    <>
      <Section title="Exposure">
        <div class="pile field-grid">
          <Field
            spec={{
              name: 'field',
              label: 'Datapoint',
              kind: 'datapoint',
              help: 'Weighted by the holdings, with values known on each date.',
            }}
            value={field}
            findings={[]}
            datapoints={numericFields}
            onChange={(value) => setParameters({ field: findText(value) })}
          />
          <Field
            spec={{
              name: 'benchmark',
              label: 'Benchmark',
              kind: 'text',
              help: 'An index (computed from its definition), or a security of the market.',
              suggestions: (indices.data?.indices ?? []).map(({ id: other }) => other).filter((other) => other !== id),
            }}
            value={benchmark ?? undefined}
            findings={[]}
            onChange={(value) => setParameters({ benchmark: findText(value) })}
          />
        </div>
        <Answered resource={view} what="the exposures">
          {(found) => <Datapoint view={found} field={field} />}
        </Answered>
      </Section>
      <Answered resource={view} what="the concentration">
        {(found) => <Concentration view={found} />}
      </Answered>
    </>
  );
}

/** Returns how many decimals values of this size need. */
const countDigits = (values: Line['values']): number => {
  const size = Math.max(...values.map((value) => Math.abs(value ?? 0)));
  return size < 1 ? 4 : size < 1000 ? 2 : 0;
};

function Datapoint({ view, field }: { readonly view: ExposuresView; readonly field: string }) {
  const firstField = view.fields[0];
  const lines = useMemo<readonly Line[]>(
    () =>
      firstField === undefined
        ? []
        : [
            { id: 'mean', label: 'Weighted mean', values: firstField.mean, colour: 1 },
            { id: 'p25', label: '25th percentile', values: firstField.percentiles.p25, colour: 3, isDashed: true },
            { id: 'p75', label: '75th percentile', values: firstField.percentiles.p75, colour: 5, isDashed: true },
            ...(firstField.benchmark === null
              ? []
              : [
                  {
                    id: 'benchmark',
                    label: view.benchmark ?? 'Benchmark',
                    values: firstField.benchmark.mean,
                    colour: 2,
                  },
                ]),
          ],
    [view],
  );
  if (firstField === undefined) return null;
  return (
    <>
      <Chart
        label={`${field} of what is held`}
        dates={view.dates}
        lines={lines}
        height={240}
        sync="weights"
        onRange={chooseRange}
        unit={field.endsWith('_YIELD') ? PERCENT_UNIT : { of: 'number', digits: countDigits(firstField.mean) }}
      />
      <p class="quiet">
        Known for {formatPercent(firstField.coverage.at(-1))} of the weight on {view.dates.at(-1)}.
      </p>
    </>
  );
}

function Concentration({ view }: { readonly view: ExposuresView }) {
  const { concentration, turnover, active_share: active } = view;
  const lines = useMemo<readonly Line[]>(
    () => [
      { id: 'largest', label: 'Largest weight', values: concentration.largest, colour: 1 },
      { id: 'turnover', label: 'Turnover', values: turnover.map((value) => value || null), colour: 4, isBars: true },
      ...(active === null ? [] : [{ id: 'active', label: 'Active share', values: active, colour: 2 }]),
    ],
    [view],
  );
  return (
    <Section
      title="Concentration and turnover"
      aside={
        active === null
          ? 'choose a benchmark under Exposure to see the active share'
          : `active share against ${view.benchmark}`
      }
    >
      <Chart
        label="Largest weight, turnover and active share"
        dates={view.dates}
        lines={lines}
        height={200}
        hasZero
        sync="weights"
        onRange={chooseRange}
        unit={PERCENT_UNIT}
      />
    </Section>
  );
}
