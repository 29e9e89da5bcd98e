import { useMemo } from 'preact/hooks';
import type { Finding, LevelsView, OverviewView, PerformanceView, RebalanceRow } from '#clients/typescript/divisor.js';
import { Chart, isLogarithmic, ScaleChoice } from '../../components/chart/chart.js';
import type { Band } from '../../components/chart/plot.js';
import { layerCovered, limitToRange, type Line, type Mark, type ValueRange } from '../../components/chart/series.js';
import { Button, Popover } from '../../components/controls/button.js';
import { AddSelect, Choice, type Option, Select } from '../../components/controls/choice.js';
import { ExportMenu } from '../../components/controls/menu.js';
import { chooseRange, findChosenRange } from '../../components/controls/range.js';
import { Section } from '../../components/layout/page.js';
import { addQuery, getParameter, setParameters } from '../../state/location.js';
import { formatRunKey, formatShownRunPath, readShownRun } from '../../state/runs.js';
import { createTrouble, service, useList, useResource } from '../../state/service.js';
import { formatRebalanceAddress } from '../../words/addresses.js';
import { addReturn } from '../../words/labels.js';
import { countValues } from '../../words/numbers.js';

/** Returns the warnings about rebalances that were not executed. Their first date is that of the rebalance. */
export const listHeldRebalances = (findings: readonly Finding[]): readonly Finding[] =>
  findings.filter(({ code }) => code === 'REBALANCE_HELD');

/** Returns the date of the last rebalance of the run, executed or not. */
export const findLastScheduled = (
  rebalances: readonly RebalanceRow[],
  findings: readonly Finding[],
): string | undefined =>
  [...rebalances.map(({ date }) => date), ...listHeldRebalances(findings).flatMap(({ last_date: date }) => date ?? [])]
    .toSorted()
    .at(-1);

/** Renders how many rebalances were not executed, and their dates. Renders nothing if all were executed. */
function HeldRebalances({ findings }: { readonly findings: readonly Finding[] }) {
  const held = listHeldRebalances(findings);
  if (held.length === 0) return null;
  const dates = held.flatMap(({ first_date: date }) => date ?? []);
  return (
    <p class="quiet">
      {countValues(held.length, 'rebalance')} {held.length === 1 ? 'was' : 'were'} not executed, and the previous
      weights stayed: {dates.slice(0, DATES_MAX).join(', ')}
      {dates.length > DATES_MAX && ` and ${countValues(dates.length - DATES_MAX, 'more date')}`}.{' '}
      <a href={addQuery({ tab: 'rebalances' })}>Reasons</a>
    </p>
  );
}

/** Maximum number of dates in the sentence. */
const DATES_MAX = 6;

/** Maximum number of other indices in the chart. */
const OTHERS_MAX = 6;

/** Value of the parameter `with` after the user removed the underlying index of an overlay. */
const NO_OTHERS = 'none';

/**
 * Returns the other indices in the chart. The default for an overlay is the index below it, unless that is already the
 * benchmark.
 */
function listOthers(underlying: string | null, performance: PerformanceView | null): readonly string[] {
  const chosenText = getParameter('with');
  if (chosenText !== null)
    return chosenText === NO_OTHERS ? [] : chosenText.split(',').filter(Boolean).slice(0, OTHERS_MAX);
  return underlying === null || performance === null || performance.benchmark === underlying ? [] : [underlying];
}

/** Removes one of the other indices from the chart. */
function removeOther(others: readonly string[], removed: string): void {
  const remainingIds = others.filter((other) => other !== removed);
  setParameters({ with: remainingIds.length === 0 ? NO_OTHERS : remainingIds.join(',') });
}

/** Renders a selector that adds another index with a run. */
function OtherIndices({ id, others }: { readonly id: string; readonly others: readonly string[] }) {
  const runs = useList('backtests', {
    isLater: true,
  });
  const free = (runs.data?.backtests ?? []).filter(({ index_id: one }) => one !== id && !others.includes(one));
  if (free.length === 0 || others.length >= OTHERS_MAX) return null;
  return (
    <AddSelect
      label="Add an index"
      prompt="+ Index"
      options={free.map(({ index_id: one }) => ({ value: one, text: one }))}
      onAdd={(one) => setParameters({ with: [...others, one].join(','), unit: null })}
    />
  );
}

/** Renders the first line divided by another line. The result is rebased to 100 at the first date of the range. */
function RelativePane({ dates, lines }: { readonly dates: readonly string[]; readonly lines: readonly Line[] }) {
  const range = findChosenRange();
  const other = lines.slice(1).find(({ id }) => id === getParameter('relative'));
  const [own] = lines;
  const ratio = useMemo(() => {
    if (own === undefined || other === undefined) return null;
    const [first] = limitToRange(dates, range);
    const values = own.values.map((value, t) => {
      const base = other.values[t] ?? null;
      return value === null || base === null || base === 0 ? null : value / base;
    });
    return [{ id: 'relative', label: `${own.label} / ${other.label}`, values: rebase(values, first), colour: 5 }];
  }, [own, other, dates, range?.from, range?.to]);
  if (ratio === null || other === undefined) return null;
  return (
    <Chart
      label={`Level relative to ${other.label}`}
      dates={dates}
      lines={ratio}
      height={140}
      sync="index"
      range={range}
      onRange={chooseRange}
    />
  );
}

/**
 * Rebases values to 100 at the first value on or after a position. Only for display: the service computes all figures.
 */
export function rebase(values: readonly (number | null)[], first: number): readonly (number | null)[] {
  const base = values.slice(first).find((value) => value !== null) ?? null;
  return base === null ? values : values.map((value) => (value === null ? null : (100 * value) / base));
}

interface LevelChartProps {
  readonly id: string;
  /** Index tracked by the run. */
  readonly tracked: string;
  /** Index below an overlay; null without an overlay. */
  readonly underlying: string | null;
  readonly run: OverviewView;
  /** Performance of the run. Null until it is loaded; the chart then has no benchmark. */
  readonly performance: PerformanceView | null;
  /** True if the controls do not fit into one row. They are then in a panel, and the chart is lower. */
  readonly isNarrow: boolean;
}

const VARIANTS = [
  { value: 'own', text: 'As defined', help: 'The return variant of the definition' },
  { value: 'price', text: 'Price', help: 'Without dividends' },
  { value: 'total', text: 'Total', help: 'With dividends' },
  { value: 'net', text: 'Net', help: 'With dividends after tax' },
] as const satisfies readonly Option<string>[];
export type Variant = (typeof VARIANTS)[number]['value'];

/** Returns the return variant in the address. */
export const getChosenVariant = (): Variant =>
  VARIANTS.find(({ value }) => value === getParameter('variant'))?.value ?? 'own';

const UNITS = [
  { value: 'rebased', text: 'Rebased', help: 'Every line is 100 at the first date of the range' },
  { value: 'points', text: 'Points', help: 'Index points' },
] as const;

/** Renders the levels of the index, of the portfolio that follows it, of the benchmark, and of other indices. */
export function LevelChart(props: LevelChartProps) {
  const { id, tracked, underlying, performance, isNarrow } = props;
  const variant = getChosenVariant();
  const otherIndices = listOthers(underlying, performance);
  const unit = getParameter('unit') === 'points' ? 'points' : 'rebased';
  const range = findChosenRange();
  const { dates, lines, trouble } = useLines(props, unit, variant, unit === 'points' ? [] : otherIndices);
  const [first, last] = limitToRange(dates, range);
  const isLog = isLogarithmic(lines, first, last);
  const falls = performance?.drawdowns ?? NO_FALLS;
  const bands = useBands(falls);
  const { marks, findings } = useRebalanceMarks(id);
  const controls = (
    <Controls {...{ id, others: otherIndices, unit, variant, isLog, lines }} hasDrawdowns={falls.length > 0} />
  );
  return (
    <Section
      title="Level"
      aside={
        <>
          {isNarrow ? (
            <Popover label="Options of the chart" title="Options">
              {() => <div class="pile gap-3 level-options">{controls}</div>}
            </Popover>
          ) : (
            controls
          )}
          <ExportMenu id={id} table="levels" />
        </>
      }
    >
      {trouble !== null && <p role="alert">{trouble.message}</p>}
      {unit === 'points' && (
        <p class="quiet">
          Points are those of {tracked} alone: {[...otherIndices, 'the portfolio', 'a benchmark'].join(', ')} are drawn
          when rebased.
        </p>
      )}
      <Chart
        label={`Level of ${id}`}
        dates={dates}
        lines={lines}
        height={isNarrow ? 250 : 300}
        isLog={isLog}
        marks={marks}
        marksAre="rebalances"
        sync="index"
        range={range}
        onRange={chooseRange}
        bands={bands}
        subject={id}
        hasBrush
        compares={unit === 'rebased'}
        onRemoveLine={(removed) => removeOther(otherIndices, removed)}
      />
      <HeldRebalances findings={findings} />
      <RelativePane dates={dates} lines={lines} />
    </Section>
  );
}

/** Returns the lines of the chart on the dates of the run. */
function useLines(
  { id, tracked, underlying, run, performance }: LevelChartProps,
  unit: 'rebased' | 'points',
  variant: Variant,
  others: readonly string[],
) {
  const range = findChosenRange();
  const read = useResource(
    `levels ${formatRunKey(id)} ${variant} ${others.join()}`,
    (signal) => readAllLevels(id, others, variant, signal),
    { keeps: true },
  );
  const { levels = NO_LEVELS, refusal = null } = read.data ?? {};
  const { dates, lines } = useMemo(
    () => draw({ id, tracked, underlying, run, performance, levels, unit, range }),
    [id, tracked, underlying, run, performance, levels, unit, range?.from, range?.to],
  );
  return { dates, lines, trouble: read.trouble ?? refusal };
}

const NO_LEVELS: readonly Levels[] = [];

/** Returns a mark for each day on which a rebalance is traded, and the warnings about rebalances. */
function useRebalanceMarks(id: string): { readonly marks: readonly Mark[]; readonly findings: readonly Finding[] } {
  const rebalances = useResource(
    `rebalances ${formatRunKey(id)}`,
    (signal) => service.value.call('listRebalances', { params: { index_id: id }, query: readShownRun(), signal }),
    { isLater: true },
  );
  const marks = useMemo<readonly Mark[]>(
    () =>
      (rebalances.data?.rebalances ?? []).flatMap(({ date, traded_on: day }) =>
        day === null
          ? []
          : [{ date: day, label: `Rebalance ${date}`, address: formatShownRunPath(formatRebalanceAddress(id, date)) }],
      ),
    [id, rebalances.data],
  );
  return { marks, findings: rebalances.data?.findings ?? [] };
}

const NO_FALLS: PerformanceView['drawdowns'] = [];

/** Returns the shaded drawdowns; none unless the address asks for them. */
function useBands(falls: PerformanceView['drawdowns']): readonly Band[] {
  const isShaded = getParameter('shade') === 'drawdowns';
  return useMemo(() => (isShaded ? falls.map(createBand) : []), [isShaded, falls]);
}

/** Returns the period of a drawdown to shade: from its peak to its recovery, or to the last date. */
const createBand = ({ peak, trough, recovery }: PerformanceView['drawdowns'][number]): Band => ({
  from: peak,
  to: recovery ?? '9999-12-31',
  label: `Drawdown, lowest on ${trough}`,
});

interface ControlsProps {
  readonly lines: readonly Line[];
  readonly hasDrawdowns: boolean;
  readonly id: string;
  readonly others: readonly string[];
  readonly unit: 'rebased' | 'points';
  readonly variant: Variant;
  readonly isLog: boolean;
}

function Controls({ id, others, unit, variant, isLog, lines, hasDrawdowns }: ControlsProps) {
  const isShaded = getParameter('shade') === 'drawdowns';
  return (
    <>
      {lines.length > 1 && (
        <div class="level-relative">
          <Select
            label="Relative to"
            options={[
              { value: '', text: 'Relative to …' },
              ...lines.slice(1).map((line) => ({ value: line.id, text: `Relative to ${line.label}` })),
            ]}
            value={getParameter('relative') ?? ''}
            onChoose={(chosen) => setParameters({ relative: chosen === '' ? null : chosen })}
          />
        </div>
      )}
      {hasDrawdowns && (
        <Button
          aria-pressed={isShaded}
          title="Shade the deepest drawdowns of the range"
          onClick={() => setParameters({ shade: isShaded ? null : 'drawdowns' })}
        >
          Drawdowns
        </Button>
      )}
      <OtherIndices id={id} others={others} />
      <Choice
        label="Unit"
        options={UNITS}
        value={unit}
        onChoose={(chosen) => setParameters({ unit: chosen === 'points' ? chosen : null })}
      />
      <Choice
        label="Return"
        options={VARIANTS}
        value={variant}
        onChoose={(chosen) => setParameters({ variant: chosen === 'own' ? null : chosen })}
      />
      <ScaleChoice isLog={isLog} />
    </>
  );
}

interface Levels {
  readonly id: string;
  readonly variant: LevelsView['variant'];
  readonly index: readonly string[];
  readonly data: readonly (number | null)[];
}

/**
 * Reads the levels of a run.
 * @param run query of the run. Default: the latest run
 */
async function readLevels(id: string, variant: Variant, signal: AbortSignal, run = {}): Promise<Levels> {
  const query = variant === 'own' ? run : { ...run, variant };
  const { levels, variant: statedVariant } = await service.value.call('getLevels', {
    params: { index_id: id },
    query,
    signal,
  });
  return { id, variant: statedVariant, index: levels.index, data: levels.data };
}

/**
 * Reads the levels in the requested return variant. If the prices do not support it, reads them in the variant of the
 * definition.
 */
async function readNearestLevels(id: string, variant: Variant, signal: AbortSignal): Promise<Levels> {
  try {
    return await readLevels(id, variant, signal);
  } catch (thrown) {
    if (createTrouble(thrown).code !== 'VARIANT_NOT_AVAILABLE') throw thrown;
    return readLevels(id, 'own', signal);
  }
}

/** Reads the levels of the displayed run and of other indices. An index that cannot be read is left out. */
async function readAllLevels(id: string, others: readonly string[], variant: Variant, signal: AbortSignal) {
  const levels = [readLevels(id, variant, signal, readShownRun())];
  const all = await Promise.allSettled([...levels, ...others.map((one) => readNearestLevels(one, variant, signal))]);
  const refused = all.find((one) => one.status === 'rejected');
  if (all[0]!.status === 'rejected') throw all[0]!.reason; // the first request is that of the displayed run
  return {
    levels: all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
    refusal: refused === undefined ? null : createTrouble(refused.reason),
  };
}

interface LevelChartInput {
  readonly id: string;
  readonly tracked: string;
  readonly underlying: string | null;
  readonly run: OverviewView;
  readonly performance: PerformanceView | null;
  readonly levels: readonly Levels[];
  readonly unit: 'rebased' | 'points';
  readonly range: ValueRange | null;
}

/** Returns all lines on the dates of the run. On request, they are rebased at the first date of the range. */
function draw({ id, tracked, underlying, run, performance, levels, unit, range }: LevelChartInput): {
  readonly dates: readonly string[];
  readonly lines: readonly Line[];
} {
  const dates = run.level.index;
  const [first] = limitToRange(dates, range);
  const toRebased = (series: Pick<Levels, 'index' | 'data'>) => {
    const valueByDate = new Map(series.index.map((date, t) => [date, series.data[t] ?? null]));
    return dates.map((date) => valueByDate.get(date) ?? null);
  };
  const scaleValues = (values: readonly (number | null)[]) => (unit === 'rebased' ? rebase(values, first) : values);
  const isStrategy = tracked !== id;
  const isOnlyBenchmark = isStrategy && [null, tracked].includes(performance?.benchmark ?? null);
  // Levels of different indices in points cannot be compared. Only the first index is drawn.
  const lines = (unit === 'points' ? levels.slice(0, 1) : levels).map((series, k): Line => ({
    id: series.id,
    label: addReturn(k === 0 ? tracked : series.id, series.variant),
    values: scaleValues(toRebased(series)),
    colour: k > 0 ? k + 3 : isStrategy ? 2 : 1,
    isRemovable: k > 0,
    ...(k > 0 && series.id === underlying && { reference: series.id }),
    ...(k === 0 && isOnlyBenchmark && { reference: tracked }),
  }));
  if (unit === 'points') return { dates, lines };
  // A portfolio without costs has the levels of its index.
  const hasDifference =
    (run.metrics.tracking_error ?? 0) > ROUNDING ||
    (levels[0] !== undefined && levels[0].variant !== run.return_variant);
  if (hasDifference)
    lines.splice(isStrategy ? 0 : 1, 0, {
      id: 'portfolio',
      label: addReturn(isStrategy ? `${id} after costs` : 'Portfolio after costs', run.return_variant),
      values: scaleValues(run.level.data),
      colour: isStrategy ? 1 : 2,
    });
  // The portfolio and the benchmark always have the return variant of the run.
  if (performance === null) return { dates, lines: layerCovered(lines) };
  const { benchmark, benchmark_level: level, benchmark_variant: read } = performance;
  if (benchmark !== null && level !== null && benchmark !== tracked)
    lines.push({
      id: 'benchmark',
      label: addReturn(`Benchmark ${benchmark}`, read),
      values: toRebased(level),
      colour: 3,
      reference: benchmark,
    });
  return { dates, lines: layerCovered(lines) };
}

/** Maximum tracking error that can come from the rounding of doubles. */
const ROUNDING = 1e-9;
