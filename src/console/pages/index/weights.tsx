import type { ExposuresView, OverviewView } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import { COLOUR_COUNT, type Line, PERCENT_UNIT } from '../../components/chart/series.js';
import { Select } from '../../components/controls/choice.js';
import { ExportMenu } from '../../components/controls/menu.js';
import { Answered } from '../../components/feedback.js';
import { Metrics } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { chooseRange, findChosenRange, RangeBar } from '../../components/controls/range.js';
import { getParameter, setParameters } from '../../state/location.js';
import { useFieldsOfRun } from '../../state/market.js';
import { service, useAnswer, useList, useResource } from '../../state/service.js';
import { formatRunKey, readShownRun } from '../../state/runs.js';
import { formatDecimal, formatPercent } from '../../words/numbers.js';
import { listGroupColumns, NoGroupColumn } from '../../components/securities.js';
import { Field } from '../../components/form/field.js';
import type { RunPartProps } from './run-tabs.js';

/** Maximum number of groups with their own colour, and maximum number of securities with their own colour. */
const GROUPS_MAX = COLOUR_COUNT - 1;
const NAMES_MAX = 5;

/** Renders weights over time, by sector or another column, and for the largest securities. */
export function Weights({ id, run }: RunPartProps) {
  const fields = useFieldsOfRun(run);
  const columns = listGroupColumns(fields.data);
  const by = getParameter('by') ?? columns?.[0] ?? null;
  const range = findChosenRange();
  const query = {
    ...readShownRun(),
    ...(range === null ? {} : { start: range.from, end: range.to }),
    interval: computeYears(range ?? { from: run.start, to: run.end }) > 2 ? ('weekly' as const) : ('native' as const),
  };
  const key = `${formatRunKey(id)} ${range?.from} ${range?.to}`;
  const ask = (what: string | null, groups: number) => (signal: AbortSignal) =>
    service.value.call('getExposures', {
      params: { index_id: id },
      query: { ...query, by: what ?? undefined, groups },
      signal,
    });
  const groups = useResource(by === null ? null : `exposures ${by} ${key}`, ask(by, GROUPS_MAX), { keeps: true });
  const names = useResource(`exposures names ${key}`, ask('IDENTIFIER', NAMES_MAX), { keeps: true });
  return (
    <div class="stack gap-4 index-part">
      <RangeBar start={run.start} end={run.end} />
      {names.data !== undefined && <WeightFigures names={names.data} groups={groups.data} />}
      <Section
        title="Weights by group"
        aside={
          <>
            {by !== null && (
              <Select
                label="Group by"
                options={[...new Set([...(columns ?? []), by])].map((value) => ({ value, text: value.toLowerCase() }))}
                value={by}
                onChoose={(column) => setParameters({ by: column === columns?.[0] ? null : column })}
              />
            )}
            <ExportMenu id={id} table="weights" />
          </>
        }
      >
        {columns?.length === 0 && by === null ? (
          <NoGroupColumn purpose="weights by group" />
        ) : (
          <Answered resource={groups} what="the weights by group">
            {(view) => <Stack view={view} label={`Weights of ${id} by ${(by ?? '').toLowerCase()}`} />}
          </Answered>
        )}
      </Section>
      <Section
        title="Largest constituents on average"
        aside={`average of the range${canPoint ? '; pointing at a label emphasises its line' : ''}`}
      >
        <Answered resource={names} what="the weights of names">
          {(view) => <Largest view={view} id={id} />}
        </Answered>
      </Section>
      <Section title="Effective number of constituents" aside="1 over the sum of squared weights">
        <Answered resource={names} what="the concentration">
          {(view) => <Effective view={view} />}
        </Answered>
      </Section>
      <Exposures id={id} run={run} query={query} />
    </div>
  );
}

/** True if there is a pointer that can be on an element without a press. */
const canPoint = matchMedia('(hover: hover)').matches;

interface WeightFiguresProps {
  readonly names: ExposuresView;
  /** Exposures by group; undefined before they are loaded, or without a column. */
  readonly groups: ExposuresView | undefined;
}

/** Renders the largest weight, the largest group and the effective number on the last date. */
function WeightFigures({ names: { concentration, dates, groups: securities }, groups }: WeightFiguresProps) {
  const [largest, effective] = [concentration.largest.at(-1), concentration.effective.at(-1)];
  if (largest === undefined || effective === undefined) return null;
  const heaviest = groups === undefined ? undefined : sortByLatest(groups.groups)[0];
  const holder = securities.find(({ weights }) => Math.abs((weights.at(-1) ?? 0) - largest) < SAME_MAX);
  return (
    <Metrics
      label="Figures of the weights"
      metrics={[
        { term: 'Largest weight', value: formatPercent(largest), note: holder?.group },
        ...(heaviest === undefined
          ? []
          : [{ term: 'Largest group', value: formatPercent(heaviest.weights.at(-1) ?? 0), note: heaviest.group }]),
        { term: 'Effective number', value: formatDecimal(effective, 1), note: `on ${dates.at(-1)}` },
      ]}
    />
  );
}

/** Maximum difference of two numbers that are the same weight, in rounded and unrounded form. */
const SAME_MAX = 1e-9;

/** Sorts groups by their latest weight, the largest first, with the other groups last. */
const sortByLatest = (groups: ExposuresView['groups']): ExposuresView['groups'] =>
  groups.toSorted(
    (a, b) =>
      Number(a.group === 'OTHERS') - Number(b.group === 'OTHERS') || (b.weights.at(-1) ?? 0) - (a.weights.at(-1) ?? 0),
  );

const computeYears = ({ from, to }: { readonly from: string; readonly to: string }): number =>
  (Date.parse(to) - Date.parse(from)) / (365.25 * 86_400_000);

const createLines = (groups: ExposuresView['groups']): readonly Line[] =>
  groups.map(({ group, weights }, k) => ({
    id: group,
    label: group === 'OTHERS' ? 'Others' : group,
    values: weights,
    colour: group === 'OTHERS' ? COLOUR_COUNT : (k % GROUPS_MAX) + 1,
  }));

/** Half of the last digit that a percentage shows. */
const SHOWN_MIN = 5e-5;

/** Returns the line of the weight that is not invested. Returns none if the weight would be shown as zero. */
function createCashLines({ dates, groups }: ExposuresView): readonly Line[] {
  const heldWeights = dates.map((_, t) => groups.reduce((sum, { weights }) => sum + (weights[t] ?? 0), 0));
  const cash = heldWeights.map((sum) => (sum === 0 ? 0 : 1 - sum)); // nothing is held before the first composition
  return cash.some((value) => value > SHOWN_MIN)
    ? [{ id: 'cash', label: 'Cash', values: cash.map((value) => Math.max(0, value)), colour: COLOUR_COUNT - 1 }]
    : [];
}

/** Renders stacked areas. If a group has short positions, renders lines. */
function Stack({ view, label }: { readonly view: ExposuresView; readonly label: string }) {
  const lines = useMemo(() => [...createLines(sortByLatest(view.groups)), ...createCashLines(view)], [view]);
  const isShort = view.groups.some(({ weights }) => weights.some((weight) => weight < 0));
  return (
    <Chart
      label={label}
      dates={view.dates}
      lines={lines}
      isStacked={!isShort}
      height={320}
      sync="weights"
      onRange={chooseRange}
      unit={PERCENT_UNIT}
    />
  );
}

/** Renders lines of the weights. A line has gaps where the security is not held. */
function Largest({ view, id }: { readonly view: ExposuresView; readonly id: string }) {
  const lines = useMemo(
    () =>
      createLines(view.groups)
        .filter(({ id: group }) => group !== 'OTHERS')
        .map((line): Line => ({ ...line, values: line.values.map((weight) => weight || null), hasGaps: true })),
    [view],
  );
  return (
    <Chart
      label={`Largest constituents of ${id}`}
      dates={view.dates}
      lines={lines}
      height={300}
      sync="weights"
      onRange={chooseRange}
      unit={PERCENT_UNIT}
    />
  );
}

function Effective({ view }: { readonly view: ExposuresView }) {
  const lines = useMemo<readonly Line[]>(
    () => [{ id: 'effective', label: 'Effective number', values: view.concentration.effective, colour: 1 }],
    [view],
  );
  return (
    <Chart
      label="Effective number of constituents"
      dates={view.dates}
      lines={lines}
      height={140}
      sync="weights"
      onRange={chooseRange}
      unit={{ of: 'number', digits: 1 }}
    />
  );
}

interface ExposuresProps {
  readonly id: string;
  readonly run: OverviewView;
  /** Date range and interval selected on the page. */
  readonly query: { readonly start?: string; readonly end?: string; readonly interval: 'native' | 'weekly' };
}

/**
 * Renders the weighted average of a datapoint over time, for the index and, if selected, a benchmark. Also renders
 * turnover and concentration.
 */
function Exposures({ id, run, query }: ExposuresProps) {
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
  const view = useAnswer('getExposures', { params: { index_id: id }, query: request }, { keeps: true });
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
