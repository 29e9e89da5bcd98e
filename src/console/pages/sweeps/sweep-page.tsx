import './sweeps.css';
import { useMemo, useState } from 'preact/hooks';
import type {
  BacktestMetrics,
  IndexDocumentBody,
  SeriesPayload,
  StoredRun,
  SweepFoldsView,
  SweepRequest,
  SweepRow,
  SweepView,
} from '#clients/typescript/divisor.js';
import { Chart, isLogarithmic, ScaleChoice } from '../../components/chart/chart.js';
import type { Line } from '../../components/chart/series.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { LinkButton } from '../../components/controls/button.js';
import { Select } from '../../components/controls/choice.js';
import { Answered, Banner, FiguresSkeleton } from '../../components/feedback.js';
import { useSchemas } from '../../components/form/schema-form.js';
import { JobState } from '../../components/jobs.js';
import { SidePanel } from '../../components/layout/dialog.js';
import { Facts, Metrics } from '../../components/layout/facts.js';
import { Page, Section } from '../../components/layout/page.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { tryAction, type OnRefusal, runIndex, submitJob } from '../../state/actions.js';
import { getJob } from '../../state/live.js';
import {
  formatAddress,
  getParameter,
  navigate,
  type PageProps,
  parseJsonParameter,
  setParameters,
} from '../../state/location.js';
import { may, notifyChange, service, useAnswer, useResource } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatJobAddress } from '../../words/jobs.js';
import { formatLabel } from '../../words/labels.js';
import {
  countValues,
  formatChange,
  formatCount,
  formatDecimal,
  formatPercent,
  getSignClass,
} from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { formatTerms, getRunTerms, readNewestRun } from '../index/run-settings.js';
import { NewSweepPage, formatChance, SweepVerdict } from './sweeps-page.js';
import { useParameterLabels } from './parameters.js';
import {
  createReferenceLine,
  createScale,
  findCapacity,
  findShownVariant,
  FIRST_COLOUR,
  getColourAt,
  type HiddenParameter,
  listHiddenParameters,
  listValues,
  type MapAxes,
  type ReferenceRun,
  REFERENCE_COLOUR,
  type Scale,
  selectDifferentTerms,
  createCostFigure,
  describeVariant,
  findBest,
  findDates,
  formatMetric,
  formatPatch,
  formatWithUnit,
  getGrid,
  getSweepTerms,
  listSettings,
  nameVariant,
  type ParameterLabels,
} from './variants.js';

const QUANTILE_LABELS: Readonly<Record<string, string>> = { '0': 'Lowest', '0.5': 'Median', '1': 'Highest' };

/** Shares of the variants that are drawn: the lowest level, the median and the highest level. */
const DRAWN_SHARES: readonly number[] = [0, 0.5, 1];

/** Grey of the quantiles. Only the first variant and the index have other colours. */
const QUANTILE_COLOUR = 12;

/** Widths of lines in pixels: of the first variant, and of others. The dashes of the index are drawn on top of both. */
const FIRST_WIDTH = 2.75;
const OTHER_WIDTH = 2;

/** Number of variants from which interpolated quantiles are drawn. */
const INTERPOLATED_MIN = 10;

type FanView = NonNullable<SweepView['fan']>;
type Rows = SweepView['rows'];

interface FanProps {
  readonly fan: FanView;
  readonly rows: Rows;
  readonly labels: ParameterLabels;
  /** Newest run of the index; null if there is none, or until it is loaded. */
  readonly reference: ReferenceRun | null;
}

/**
 * Renders the levels over time of each variant if there are few, otherwise their quantiles on each date. The newest run
 * of the index is drawn for comparison.
 */
function Fan({ fan, rows, labels, reference }: FanProps) {
  const { levels = [] } = fan;
  // The labels come from documents that do not change while the page is open.
  const lines = useMemo(
    () => [
      ...(levels.length > 0 ? createVariantLines(levels, rows, labels) : createQuantileLines(fan, rows, labels)),
      ...createReferenceLine(fan.index, reference),
    ],
    [fan, rows, reference],
  );
  const isLog = isLogarithmic(lines, 0, fan.index.length - 1);
  return (
    <Section
      title="Levels of the variants"
      aside={
        <>
          {levels.length === 0 && 'quantiles of each date, '}
          {formatCount(fan.index.length)} dates, first date = 100 <ScaleChoice isLog={isLog} />
        </>
      }
    >
      <Chart label="Levels of the variants" dates={fan.index} lines={lines} isLog={isLog} height={320} />
    </Section>
  );
}

const formatFirst = (row: Rows[number] | undefined, labels: ParameterLabels): string =>
  ['First by rank', row === undefined ? '' : nameVariant(row.patch, labels)].filter(Boolean).join(': ');

/** Creates one line per variant, by rank. Variants with identical levels have one line. */
const createVariantLines = (
  levels: NonNullable<FanView['levels']>,
  rows: Rows,
  labels: ParameterLabels,
): readonly Line[] =>
  rows
    .flatMap((row) => {
      const data = levels.find(({ variant }) => variant === row.variant)?.data;
      return data === undefined ? [] : [{ row, data }];
    })
    .map(({ row, data }, k) => ({
      id: String(row.variant),
      label: row.rank === 1 ? formatFirst(row, labels) : nameVariant(row.patch, labels),
      values: data,
      colour: k === 0 ? FIRST_COLOUR : REFERENCE_COLOUR + k,
      width: k === 0 ? FIRST_WIDTH : OTHER_WIDTH,
    }));

/** Returns the quantiles from the highest to the lowest. With few variants, each is the level of a variant. */
const selectQuantiles = ({ quantiles, variants }: FanView): FanView['quantiles'] =>
  quantiles
    .filter(({ share }) => DRAWN_SHARES.includes(share))
    .filter(({ share }) => variants >= INTERPOLATED_MIN || Number.isInteger(share * (variants - 1)))
    .toReversed();

const createQuantileLines = (fan: FanView, rows: Rows, labels: ParameterLabels): readonly Line[] => [
  ...(fan.first === null
    ? []
    : [
        {
          id: 'first',
          label: formatFirst(findBest({ rows }), labels),
          values: fan.first,
          colour: FIRST_COLOUR,
          width: FIRST_WIDTH,
        },
      ]),
  ...selectQuantiles(fan).map(({ share, data }) => ({
    id: String(share),
    label: QUANTILE_LABELS[String(share)] ?? String(share),
    values: data,
    colour: QUANTILE_COLOUR,
    isDashed: share === 0 || share === 1,
    ...(share === 0.5 && { width: OTHER_WIDTH }),
  })),
];

interface SweepMapProps {
  readonly rows: readonly SweepRow[];
  readonly pointers: readonly string[];
  readonly rankBy: keyof BacktestMetrics;
  readonly told: ParameterLabels;
  readonly identical: readonly (readonly number[])[];
  /** Names a variant by the values that it sets. */
  nameOf(variant: number): string;
  onOpen(variant: number): void;
}

const METRICS = [
  'sharpe_ratio',
  'annualised_return',
  'volatility',
  'max_drawdown',
  'total_return',
] as const satisfies readonly (keyof BacktestMetrics)[];

/**
 * Renders a metric over two parameters. Each other parameter has a fixed value; if it has none, a cell shows its best
 * variant.
 */
function SweepMap({ rows, pointers, rankBy, told, identical, nameOf, onOpen }: SweepMapProps) {
  const acrossPointer = pointers.find((pointer) => pointer === getParameter('across')) ?? pointers[0] ?? '';
  const downPointer = pointers.find((pointer) => pointer === getParameter('down')) ?? pointers[1] ?? '';
  const metric = METRICS.find((one) => one === getParameter('metric')) ?? rankBy;
  const columns = listValues(rows, acrossPointer);
  const lines = listValues(rows, downPointer);
  const knownMetrics = rows.flatMap(({ metrics }) => metrics?.[metric] ?? []);
  const scale = createScale(knownMetrics, metric === 'volatility');
  const write = (value: number | null) => (metric === 'sharpe_ratio' ? formatDecimal(value, 3) : formatPercent(value));
  const fixedValues = parseJsonParameter(getParameter('fixed'));
  const hiddenParameters = listHiddenParameters(rows, pointers, {
    across: acrossPointer,
    down: downPointer,
    fixed: isObject(fixedValues) ? fixedValues : {},
  });
  const equals = new Map(identical.flatMap((group) => group.map((variant) => [variant, group] as const)));
  const findShown = (column: string, line: string) =>
    findShownVariant(rows, { across: acrossPointer, down: downPointer, column, line, hidden: hiddenParameters });
  return (
    <Section
      title={metric === 'sharpe_ratio' ? 'Sharpe ratio, annualised' : formatLabel(metric)}
      aside={<MapChoices {...{ pointers, across: acrossPointer, down: downPointer, metric, told }} />}
    >
      <Hidden {...{ rows, hidden: hiddenParameters, told, rankBy }} />
      <div
        class="frame sweep-map"
        data-part="Map"
        tabIndex={0}
        role="region"
        aria-label={`${formatMetric(metric)} by parameters`}
      >
        <table>
          <MapHead {...{ rows, across: acrossPointer, down: downPointer, columns, told }} />
          <tbody>
            {lines.map((line) => (
              <tr key={line}>
                <th scope="row">{formatValue(rows, downPointer, line, told)}</th>
                {columns.map((column) => {
                  const variant = findShown(column, line);
                  const value = variant?.metrics?.[metric] ?? null;
                  return (
                    <Cell
                      key={column}
                      variant={variant}
                      text={write(value)}
                      colour={getColourAt(value, scale)}
                      name={variant === undefined ? '' : nameVariant(variant.patch, told)}
                      title={variant && listSettings(variant.patch, told)}
                      remark={variant && findRemark(variant, equals.get(variant.variant), nameOf)}
                      onOpen={onOpen}
                    />
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {knownMetrics.length > 0 && <Legend scale={scale} write={write} />}
      <Remarks rows={rows} equals={equals} nameOf={nameOf} />
    </Section>
  );
}

interface MapHeadProps extends MapAxes, Pick<SweepMapProps, 'rows' | 'told'> {
  readonly columns: readonly string[];
}

/** Renders the values of the parameter across. */
const MapHead = ({ rows, across, down, columns, told }: MapHeadProps) => (
  <thead>
    <tr>
      <th scope="col">
        <span class="sweep-axes">
          {`${told(across).label}\u00a0→`}
          <br />
          {`${told(down).label}\u00a0↓`}
        </span>
      </th>
      {columns.map((column) => (
        <th key={column} scope="col">
          {formatValue(rows, across, column, told)}
        </th>
      ))}
    </tr>
  </thead>
);

interface CellProps extends Pick<SweepMapProps, 'onOpen'> {
  /** Variant of the cell; undefined if none is ranked. */
  readonly variant: SweepRow | undefined;
  /** Values of the variant. */
  readonly name: string;
  readonly text: string;
  readonly colour: string;
  readonly title: string | undefined;
  readonly remark: Remark | undefined;
}

function Cell({ variant, name, text, colour, title, remark, onOpen }: CellProps) {
  return (
    <td class={remark?.isInfeasible === true ? 'is-infeasible' : undefined} style={{ backgroundColor: colour }}>
      {variant === undefined ? (
        text
      ) : (
        <button
          type="button"
          title={[title, remark?.text].filter(Boolean).join('. ')}
          aria-label={[`${name}: ${text}`, remark?.text].filter(Boolean).join('. ')}
          onClick={() => onOpen(variant.variant)}
        >
          {remark !== undefined && <span>{remark.isInfeasible ? '× ' : '= '}</span>}
          {text}
        </button>
      )}
    </td>
  );
}

interface Remark {
  readonly text: string;
  readonly isInfeasible: boolean;
}

/** Describes a variant whose levels equal the levels of other variants. Its values have no effect. */
function findRemark(
  { variant, patch }: SweepRow,
  group: readonly number[] | undefined,
  nameOf: (variant: number) => string,
): Remark | undefined {
  if (group === undefined) return undefined;
  const capacity = findCapacity(patch);
  if (capacity !== null && capacity < 1)
    return {
      text: `The cap cannot be kept: all securities at it hold ${formatPercent(capacity, 0)}`,
      isInfeasible: true,
    };
  const otherNames = group.filter((one) => one !== variant).map(nameOf);
  return { text: `Identical levels to ${otherNames.join('; ')}`, isInfeasible: false };
}

interface RemarksProps {
  readonly rows: readonly SweepRow[];
  readonly equals: ReadonlyMap<number, readonly number[]>;
  nameOf(variant: number): string;
}

/** Explains the marks of cells. */
function Remarks({ rows, equals, nameOf }: RemarksProps) {
  const remarks = rows.flatMap((row) => findRemark(row, equals.get(row.variant), nameOf) ?? []);
  const infeasibleRemark = remarks.find(({ isInfeasible }) => isInfeasible);
  return (
    <>
      {infeasibleRemark !== undefined && (
        <p class="quiet">
          × {infeasibleRemark.text} of the index. The weights are then as for the lowest cap that can be kept.
        </p>
      )}
      {remarks.some(({ isInfeasible }) => !isInfeasible) && (
        <p class="quiet">= The levels are identical to those of another variant; both count as one trial.</p>
      )}
    </>
  );
}

/** Positions of the legend steps from the worst value (-1) through the median (0) to the best value (1). */
const COLOUR_STEPS = [-1, -0.5, 0, 0.5, 1] as const;

interface LegendProps {
  readonly scale: Scale;
  write(value: number | null): string;
}

function Legend({ scale, write }: LegendProps) {
  const { worst, median, best } = scale;
  return (
    <p
      class="flow small sweep-legend"
      role="img"
      aria-label={`Colours from the worst, ${write(worst)}, to the best, ${write(best)}; median ${write(median)}`}
    >
      <span class="quiet">worst</span>
      <span class="number">{write(worst)}</span>
      {COLOUR_STEPS.map((step) => (
        <span
          key={step}
          class="sweep-step"
          style={{ background: getColourAt(median + Math.abs(step) * ((step < 0 ? worst : best) - median), scale) }}
        />
      ))}
      <span class="number">{write(best)}</span>
      <span class="quiet">best, median {write(median)}</span>
    </p>
  );
}

interface MapChoicesProps extends MapAxes, Pick<SweepMapProps, 'pointers' | 'told'> {
  readonly metric: string;
}

/** Renders selectors of the two parameters and the metric of the map. */
function MapChoices({ pointers, across, down, metric, told }: MapChoicesProps) {
  const choices = pointers.map((pointer) => ({ value: pointer, text: told(pointer).label }));
  return (
    <>
      <Select
        label="Across"
        isLabelShown
        options={choices}
        value={across}
        onChoose={(chosen) => setParameters({ across: chosen })}
      />
      <Select
        label="Down"
        isLabelShown
        options={choices}
        value={down}
        onChoose={(chosen) => setParameters({ down: chosen })}
      />
      <Select
        label="Metric"
        isLabelShown
        options={METRICS.map((value) => ({ value, text: formatLabel(value) }))}
        value={metric}
        onChoose={(chosen) => setParameters({ metric: chosen })}
      />
    </>
  );
}

interface HiddenProps extends Pick<SweepMapProps, 'rows' | 'told' | 'rankBy'> {
  readonly hidden: readonly HiddenParameter[];
}

/** If the map leaves out parameters, explains the cells. Selectors fix the values of these parameters. */
function Hidden({ rows, hidden, told, rankBy }: HiddenProps) {
  if (hidden.length === 0) return null;
  const openLabels = hidden.filter(({ fixed }) => fixed === null).map(({ pointer }) => told(pointer).label);
  const fixParameter = (pointer: string, value: string) => {
    const chosenValues = hidden.map((one) => [one.pointer, one.pointer === pointer ? value : one.fixed] as const);
    const next = Object.fromEntries(chosenValues.filter(([, one]) => one !== null && one !== ''));
    setParameters({ fixed: Object.keys(next).length === 0 ? null : JSON.stringify(next) });
  };
  return (
    <>
      <p class="quiet">
        {openLabels.length === 0
          ? 'Each cell shows one variant: the other parameters are fixed.'
          : `Each cell shows the variant that ranks first by ${formatMetric(rankBy)} over ${openLabels.join(', ')}. Fix a parameter to see one slice.`}
      </p>
      <div class="wrap gap-3 sweep-fixed">
        {hidden.map(({ pointer, values, fixed }) => (
          <Select
            key={pointer}
            label={`Fix ${told(pointer).label}`}
            isLabelShown
            options={[
              { value: '', text: 'first by rank' },
              ...values.map((value) => ({ value, text: formatValue(rows, pointer, value, told) })),
            ]}
            value={fixed ?? ''}
            onChoose={(value) => fixParameter(pointer, value)}
          />
        ))}
      </div>
    </>
  );
}

function formatValue(rows: readonly SweepRow[], pointer: string, text: string, labels: ParameterLabels): string {
  const value = rows.find(({ patch }) => pointer in patch && formatPatch(patch[pointer]) === text)?.patch[pointer];
  return formatWithUnit(value as Json, labels(pointer).unit); // patch values are plain JSON
}

/** A definition and the terms of its backtests. */
interface Base {
  readonly document: JsonObject;
  readonly request: JsonObject;
}

/**
 * Returns the definition and terms of a variant.
 * @param patch values by JSON pointer (RFC 6901), as in the sweep
 */
export function getPatchBase(base: Base, patch: JsonObject): Base {
  let target: Json = { document: base.document, request: base.request };
  for (const [pointer, value] of Object.entries(patch))
    target = setAtPointer(target, splitPointer(pointer), value ?? null);
  return target as unknown as Base; // only existing members are replaced
}

const splitPointer = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

function setAtPointer(whole: Json | undefined, [step, ...rest]: readonly string[], value: Json): Json {
  if (step === undefined) return value;
  if (Array.isArray(whole)) {
    const items = whole as readonly Json[];
    return items.map((item, k) => (String(k) === step ? setAtPointer(item, rest, value) : item));
  }
  const object = isObject(whole) ? whole : {};
  return { ...object, [step]: setAtPointer(object[step], rest, value) };
}

/** Reads the newest run of an index. Returns null if there is none, or until it is loaded. */
function useReference(indexId: string, terms: JsonObject): ReferenceRun | null {
  const schemas = useSchemas({ isLater: true });
  const newest = useResource(`newest run with levels ${indexId}`, (signal) => readRunWithLevel(indexId, signal), {
    isLater: true,
  });
  if (newest.data == null) return null;
  const { run, level } = newest.data;
  const difference = selectDifferentTerms(getRunTerms(run), terms);
  const text = Object.keys(difference).length === 0 ? '' : formatTerms(difference, 'SweepTerms', schemas.data);
  return { label: text === '' ? `${indexId}, same terms` : `${indexId}, other terms: ${lowerFirst(text)}`, level };
}

const lowerFirst = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);

/** Returns the newest run with the level of its portfolio; null if there is none or it cannot be read. */
async function readRunWithLevel(
  id: string,
  signal: AbortSignal,
): Promise<{ readonly run: StoredRun; readonly level: SeriesPayload } | null> {
  const run = await readNewestRun(id, signal);
  if (run === null) return null;
  return service.value.call('getPerformance', { params: { index_id: id }, signal }).then(
    ({ level }) => ({ run, level }),
    () => null,
  );
}

/** Describes the probability of overfitting, with its colour. */
function rateOverfitting(overfitting: SweepView['overfitting']) {
  if (overfitting === null) return { note: 'needs two variants and enough dates' };
  const kind = { better_than_chance: '', near_chance: 'warning', overfit: 'down' }[
    overfitting.rating ?? 'better_than_chance'
  ];
  return { note: formatChance(overfitting), kind };
}

/** Renders the figures that show how reliable the ranking of a sweep is. Sharpe ratios are annualised. */
function Figures({ view }: { readonly view: SweepView }) {
  const { selection, overfitting, variants, refused } = view;
  const best = findBest(view)?.metrics?.sharpe_ratio ?? null;
  return (
    <Metrics
      label="Figures of the sweep"
      metrics={[
        {
          term: 'Variants',
          value: formatCount(variants),
          note: refused > 0 ? `${refused} refused` : `${selection?.trials ?? 0} different`,
        },
        {
          term: 'Sharpe ratio, first by rank',
          value: formatDecimal(best, 3),
          note: `best by chance ${formatDecimal(annualiseChance(selection, best), 3)}`,
          help: 'Annualised. The best of as many variants is expected to show the second value if every true Sharpe ratio is zero.',
        },
        {
          term: 'Probability of overfitting',
          value: formatPercent(overfitting?.probability, 1),
          ...rateOverfitting(overfitting),
          help: 'Share of the splits of the history in which the best variant of one half ranks no better than the median in the other, and the share of a random choice',
        },
        {
          term: 'Splits with a loss',
          value: formatPercent(overfitting?.probability_of_loss, 1),
          note: 'Sharpe ratio below 0 in the other half',
          help: 'Share of the splits in which the chosen variant has a negative Sharpe ratio in the other half',
        },
        {
          term: 'Deflated Sharpe ratio',
          value: formatPercent(selection?.deflated_sharpe_ratio, 1),
          note: 'tests the return, not the ranking',
          help: 'Probability that the true Sharpe ratio exceeds the best by chance. It does not test whether the first variant is better than the others.',
        },
      ]}
    />
  );
}

/**
 * Returns the annualised Sharpe ratio that the best of all trials should have by chance. The factor between sessions
 * and years comes from the ratio of the first variant; without it, returns null.
 */
function annualiseChance(selection: SweepView['selection'], best: number | null): number | null {
  if (selection === null || best === null || selection.sharpe_ratio === 0) return null;
  return (selection.expected_maximum_sharpe_ratio * best) / selection.sharpe_ratio;
}

type Choice = SweepFoldsView['choices'][number];

interface SweepFoldsProps {
  readonly folds: SweepFoldsView;
  /** Names a variant by the values that it sets. */
  nameOf(variant: number): string;
}

/** Renders how the best variant of a sweep performs out of sample after it was selected. */
function SweepFolds({ folds, nameOf }: SweepFoldsProps) {
  const write = folds.select_by === 'sharpe_ratio' ? (value: number | null) => formatDecimal(value, 3) : formatPercent;
  const outside = folds.over_paths[folds.select_by];
  const metricLabel = formatLabel(folds.select_by);
  return (
    <Section
      title="Out of sample"
      aside={`chosen by ${formatMetric(folds.select_by)}, ${folds.method.replaceAll('_', ' ')}`}
    >
      <Metrics
        label="The choice out of sample"
        metrics={[
          {
            term: `${metricLabel} in sample`,
            value: write(folds.in_sample.mean),
            note: `mean of ${formatCount(folds.choices.length)} splits`,
          },
          {
            term: `${metricLabel} out of sample`,
            value: write(folds.out_of_sample.mean),
            note: `mean of the same ${formatCount(folds.choices.length)} splits`,
          },
          {
            term: `${metricLabel} of the joined ${folds.paths.length === 1 ? 'path' : 'paths'}`,
            value: write(outside.percentiles['0.5'] ?? null),
            note: folds.paths.length === 1 ? 'one path over all tests' : formatRange(folds, write),
            help: 'A path joins the tests of several splits, so that it contains each group once',
          },
          {
            term: 'Paths with a loss',
            value: formatPercent(folds.probability_of_loss, 1),
            note: `of ${countValues(folds.paths.length, 'path')}, by total return`,
          },
          { term: 'Variants chosen', value: formatCount(folds.chosen.length), note: formatChosen(folds, nameOf) },
          {
            term: 'Sessions left out',
            value: `${formatCount(folds.left_before)} before, ${formatCount(folds.left_after)} after`,
            note: 'each test',
          },
        ]}
      />
      <Table
        label="choices by split"
        name="folds"
        columns={createColumns(folds, nameOf, write)}
        rows={folds.choices}
        getKey={({ test }) => test.join('-')}
      />
    </Section>
  );
}

function formatRange(
  { over_paths: over, paths, select_by: metric }: SweepFoldsView,
  write: (value: number | null) => string,
) {
  const { percentiles } = over[metric];
  return `median; ${write(percentiles['0.05'] ?? null)} to ${write(percentiles['0.95'] ?? null)} in 90% of ${formatCount(paths.length)}`;
}

/** Describes the variant that was selected in most folds. */
function formatChosen({ chosen, choices }: SweepFoldsView, nameOf: SweepFoldsProps['nameOf']): string {
  const [first] = chosen;
  return first === undefined
    ? ''
    : `${nameOf(first.variant)} in ${formatCount(first.splits)} of ${formatCount(choices.length)}`;
}

function createColumns(
  { groups }: SweepFoldsView,
  nameOf: SweepFoldsProps['nameOf'],
  write: (value: number | null) => string,
): readonly Column<Choice>[] {
  const listSpans = (positions: readonly number[]): readonly string[] =>
    positions.map((group) => `${groups[group]?.start ?? ''} to ${groups[group]?.end ?? ''}`);
  return [
    {
      id: 'test',
      title: 'Tested on',
      width: 190,
      ideal: 390,
      grow: 1,
      lines: 2,
      value: ({ test }) => listSpans(test).join(', '),
      show: ({ test }) => listSpans(test).map((span, k) => [k > 0 && ', ', <span class="one-line">{span}</span>]),
    },
    { id: 'chosen', title: 'Chosen variant', width: 140, grow: 1, value: ({ variant }) => nameOf(variant) },
    { id: 'inside', title: 'In sample', width: 90, value: (row) => row.in_sample, write },
    { id: 'outside', title: 'Out of sample', width: 110, value: (row) => row.out_of_sample, write },
    {
      id: 'place',
      title: 'Rank',
      help: 'Of the variant among all trials on the test, 1 for the best',
      width: 56,
      align: 'right',
      value: ({ rank }) => rank,
    },
  ];
}

type Shortage = NonNullable<SweepView['folds_shortage']>;

/** Renders the reason why the choice was not tested out of sample. */
const FoldsShortage = ({ observations, needed }: Shortage) => (
  <Section title="Out of sample">
    <p>
      The choice was not tested: the variants have {formatCount(observations)} common returns, but the test needs{' '}
      {formatCount(needed)}.
    </p>
  </Section>
);

interface VariantPanelProps {
  readonly row: SweepRow;
  readonly indexId: string;
  /** Terms of the backtests. */
  readonly request: JsonObject;
  readonly told: ParameterLabels;
  onClose(): void;
}

/** Renders a variant with its changes and figures. A button creates an index from it. */
function VariantPanel({ row, indexId, request, told, onClose }: VariantPanelProps) {
  const { patch, metrics, error, start, end, total_costs: costs } = row;
  return (
    <SidePanel title={nameVariant(patch, told)} onClose={onClose}>
      {error !== null && (
        <Banner kind="bad" title={error.message}>
          <details>
            <summary>Details</summary>
            <code>{error.code}</code>
          </details>
        </Banner>
      )}
      {metrics !== null && (
        <Metrics
          label="Figures of the variant"
          metrics={[
            { term: 'Annualised return', value: formatChange(metrics.annualised_return) },
            { term: 'Volatility', value: formatPercent(metrics.volatility) },
            { term: 'Sharpe ratio', value: formatDecimal(metrics.sharpe_ratio) },
            { term: 'Max drawdown', value: formatPercent(metrics.max_drawdown) },
            { term: 'Total return', value: formatChange(metrics.total_return) },
            createCostFigure(costs, request),
          ]}
        />
      )}
      <Facts
        facts={[
          ...Object.entries(patch).map(([pointer, value]): [string, string] => {
            const { label, unit } = told(pointer);
            return [label, formatWithUnit(value as Json, unit)]; // patch values are plain JSON
          }),
          ['Rank', row.rank === null ? 'refused' : String(row.rank)],
          ['Dates', start === null ? null : `${start} to ${end}`],
        ]}
      />
      {error === null && may('write') && <SaveAs {...{ row, indexId, request, told }} />}
    </SidePanel>
  );
}

function SaveAs({ row: { variant, patch }, indexId, request, told }: Omit<VariantPanelProps, 'onClose'>) {
  const [id, setId] = useState(`${indexId}-V${variant}`);
  const save = (onRefusal: OnRefusal) =>
    tryAction(async () => {
      const document = await service.value.call('getIndex', { params: { index_id: indexId } });
      const base = getPatchBase({ document: document as unknown as JsonObject, request }, patch as JsonObject); // the responses are plain JSON
      const name = `${document.name}, variant ${variant}`;
      const body = { ...base.document, id, name, description: describeVariant(indexId, patch, told) };
      await service.value.call('createIndex', { body: body as unknown as IndexDocumentBody }); // the service created the document
      notifyChange();
      showToast('good', `The index ${id} was saved.`);
      if (may('run')) await runIndex(id, base.request as Parameters<typeof runIndex>[1], onRefusal);
      navigate(formatIndexAddress(id));
    }, onRefusal);
  return (
    <section class="wrap gap-2 variant-save" aria-label="Save as an index">
      <label class="inline-line gap-2 select">
        <span class="quiet">Id</span>
        <input
          class="control"
          aria-label="Id of the index"
          value={id}
          maxLength={64}
          onInput={(event) => setId(event.currentTarget.value)}
        />
      </label>
      <ActionButton kind="main" disabled={id.trim() === ''} act={save}>
        Save as an index
      </ActionButton>
    </section>
  );
}

/** Page of one sweep, or with the id `new` the form of a new sweep. */
export const SweepPage = ({ params: { id = '' } }: PageProps) =>
  id === 'new' ? <NewSweepPage /> : <OneSweep id={id} />;

/** Renders the ranking of a sweep, a map over two parameters, and the reliability of the best variant. */
function OneSweep({ id }: { readonly id: string }) {
  const job = useAnswer('getJob', { params: { job_id: `sweep:${id}` } });
  const view = job.data?.status === 'succeeded' ? (job.data.result as SweepView) : null; // the kind of the job determines the type of its result
  return (
    <Page
      title={view === null ? id : `Sweep of ${view.index_id}`}
      above={[{ address: '/console/sweeps', text: 'Sweeps' }]}
      subtitle={
        view && (
          <>
            <a href={formatIndexAddress(view.index_id)}>{view.index_id}</a>
            <SweepTerms view={view} terms={getSweepTerms(job.data?.request)} />
          </>
        )
      }
      actions={view && may('run') && <ChangeSweep request={job.data?.request} indexId={view.index_id} />}
    >
      <Answered resource={job} what="the sweep">
        {(first) => (
          <>
            <JobState
              job={getJob(`sweep:${id}`) ?? first}
              onAgain={(onRefusal) => repeatSweep(first.request, onRefusal)}
            />
            {view !== null && <Result view={view} terms={getSweepTerms(first.request)} />}
          </>
        )}
      </Answered>
    </Page>
  );
}

function SweepTerms({ view, terms }: { readonly view: SweepView; readonly terms: JsonObject }) {
  const schemas = useSchemas();
  const { start: _, end: __, ...otherTerms } = terms;
  const dates = findDates(view);
  const text = [dates && `${dates.start} to ${dates.end}`, formatTerms(otherTerms, 'SweepTerms', schemas.data)].filter(
    Boolean,
  );
  return <span>{text.join(' · ')}</span>;
}

/** Renders a link to the form with the values of this sweep. A sweep of listed variants has none. */
function ChangeSweep({ request, indexId }: { readonly request: unknown; readonly indexId: string }) {
  const grid = getGrid(request);
  if (grid === null) return null;
  const { rank_by: rank = 'sharpe_ratio', folds = null } = request as SweepRequest; // the request was accepted
  const axes = Object.fromEntries(
    Object.entries(grid).map(([pointer, values]) => [pointer, values.map(formatValueText).join(', ')]),
  );
  const sweep = JSON.stringify({ axes, terms: getSweepTerms(request), rank, folds });
  return (
    <LinkButton href={formatAddress('/console/sweeps/new', { index: indexId, sweep })}>Change and run again</LinkButton>
  );
}

/** Formats a value as it is typed in the form. */
const formatValueText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Submits the sweep again and opens the job. The service may use the id of the earlier job again. */
async function repeatSweep(request: unknown, onRefusal: OnRefusal): Promise<void> {
  const body = request as SweepRequest; // the request was accepted before
  const job = await submitJob(() => service.value.call('startSweep', { body }), onRefusal);
  if (job === undefined) return;
  notifyChange();
  navigate(formatJobAddress(job));
}

interface ResultProps {
  readonly view: SweepView;
  /** Terms of the backtests. */
  readonly terms: JsonObject;
}

function Result({ view, terms }: ResultProps) {
  const { rows, index_id: indexId, identical_variants: identical = [] } = view;
  const pointers = [...new Set(rows.flatMap(({ patch }) => Object.keys(patch)))];
  const labelsOf = useParameterLabels([indexId]);
  const reference = useReference(indexId, terms);
  // The page waits for the rule types, which contain the labels. Otherwise it would show pointers first.
  if (labelsOf === undefined) return <FiguresSkeleton />;
  const labels = labelsOf(indexId);
  const openRow = rows.find(({ variant }) => String(variant) === getParameter('variant'));
  const openVariant = (variant: number) => setParameters({ variant: String(variant) });
  const nameOf = (variant: number): string => {
    const row = rows.find((one) => one.variant === variant);
    return row === undefined ? `variant ${variant}` : nameVariant(row.patch, labels);
  };
  return (
    <>
      <SweepVerdict view={view} />
      <Figures view={view} />
      <div class="wrap gap-5 sweep-first">
        {pointers.length > 1 && (
          <SweepMap
            rows={rows}
            pointers={pointers}
            rankBy={view.rank_by}
            told={labels}
            identical={identical}
            nameOf={nameOf}
            onOpen={openVariant}
          />
        )}
        {view.fan && <Fan fan={view.fan} rows={rows} labels={labels} reference={reference} />}
      </div>
      <Section title="Ranking" aside={`by ${formatMetric(view.rank_by)}`}>
        <Table
          label="variants"
          name="variants"
          columns={createSweepColumns(pointers, labels).filter(({ id }) => id !== 'error' || view.refused > 0)}
          rows={rows}
          getKey={({ variant }) => String(variant)}
          onOpen={({ variant }) => openVariant(variant)}
          openKey={openRow === undefined ? null : String(openRow.variant)}
          sort={{ column: 'rank', direction: 'asc' }}
        />
      </Section>
      {view.folds && <SweepFolds folds={view.folds} nameOf={nameOf} />}
      {view.folds_shortage && <FoldsShortage {...view.folds_shortage} />}
      {openRow !== undefined && (
        <VariantPanel
          key={openRow.variant}
          row={openRow}
          indexId={indexId}
          request={terms}
          told={labels}
          onClose={() => setParameters({ variant: null })}
        />
      )}
    </>
  );
}

function createSweepColumns(pointers: readonly string[], labels: ParameterLabels): readonly Column<SweepRow>[] {
  const variedColumns = pointers.map((pointer): Column<SweepRow> => ({
    id: pointer.replaceAll(/\W/g, '-'),
    title: labels(pointer).label,
    help: pointer,
    width: 130,
    grow: 1,
    value: ({ patch }) => {
      const value = patch[pointer];
      return typeof value === 'number' ? value : value === undefined ? null : formatPatch(value);
    },
    show: ({ patch }) => pointer in patch && formatWithUnit(patch[pointer] as Json, labels(pointer).unit), // patch values are plain JSON
  }));
  return [
    { id: 'rank', title: 'Rank', width: 56 },
    ...variedColumns,
    SHARPE_COLUMN,
    ...METRIC_COLUMNS,
    {
      id: 'error',
      title: 'Refused',
      width: 90,
      priority: 6,
      value: ({ error }) => error?.message ?? null,
      show: ({ error }) => error && <span title={error.message}>{error.code}</span>,
    },
  ];
}

const SHARPE_COLUMN: Column<SweepRow> = {
  id: 'sharpe',
  title: 'Sharpe',
  help: 'Sharpe ratio, annualised',
  width: 76,
  value: ({ metrics }) => metrics?.sharpe_ratio ?? null,
  write: (value) => formatDecimal(value, 3),
};

const METRIC_COLUMNS: readonly Column<SweepRow>[] = [
  {
    id: 'annual',
    title: 'Annualised',
    width: 96,
    priority: 2,
    align: 'right',
    value: ({ metrics }) => metrics?.annualised_return ?? null,
    show: ({ metrics }) => (
      <span class={getSignClass(metrics?.annualised_return)}>{formatChange(metrics?.annualised_return)}</span>
    ),
  },
  {
    id: 'volatility',
    title: 'Volatility',
    width: 88,
    priority: 3,
    value: ({ metrics }) => metrics?.volatility ?? null,
    write: formatPercent,
  },
  {
    id: 'drawdown',
    title: 'Drawdown',
    width: 90,
    priority: 4,
    value: ({ metrics }) => metrics?.max_drawdown ?? null,
    write: formatPercent,
  },
  {
    id: 'dsr',
    title: 'Deflated',
    help: 'Deflated Sharpe ratio',
    width: 84,
    priority: 5,
    value: (row) => row.deflated_sharpe_ratio,
    write: formatPercent,
  },
];
