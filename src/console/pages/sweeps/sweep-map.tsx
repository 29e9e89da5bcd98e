import { useMemo } from 'preact/hooks';
import type { BacktestMetrics, SweepRow, SweepView } from '#clients/typescript/divisor.js';
import { Chart, isLogarithmic, ScaleChoice } from '../../components/chart/chart.js';
import type { Line } from '../../components/chart/series.js';
import { Select } from '../../components/controls/choice.js';
import { Section } from '../../components/layout/page.js';
import { getParameter, parseJson, setParameters } from '../../state/location.js';
import { formatLabel } from '../../words/labels.js';
import { formatCount, formatDecimal, formatPercent } from '../../words/numbers.js';
import { isObject, type Json } from '../../words/paths.js';
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
  type Reference,
  REFERENCE_COLOUR,
  type Scale,
} from './results.js';
import {
  findBest,
  formatMetric,
  formatPatch,
  formatWithUnit,
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
  readonly reference: Reference | null;
}

/**
 * Renders the levels over time of each variant if there are few, otherwise their quantiles on each date. The newest run
 * of the index is drawn for comparison.
 */
export function Fan({ fan, rows, labels, reference }: FanProps) {
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
  /** Groups of variants with identical levels. */
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
export function SweepMap({ rows, pointers, rankBy, told, identical, nameOf, onOpen }: SweepMapProps) {
  const acrossPointer = pointers.find((pointer) => pointer === getParameter('across')) ?? pointers[0] ?? '';
  const downPointer = pointers.find((pointer) => pointer === getParameter('down')) ?? pointers[1] ?? '';
  const metric = METRICS.find((one) => one === getParameter('metric')) ?? rankBy;
  const columns = listValues(rows, acrossPointer);
  const lines = listValues(rows, downPointer);
  const knownMetrics = rows.flatMap(({ metrics }) => metrics?.[metric] ?? []);
  const scale = createScale(knownMetrics, metric === 'volatility');
  const write = (value: number | null) => (metric === 'sharpe_ratio' ? formatDecimal(value, 3) : formatPercent(value));
  const fixedValues = parseJson(getParameter('fixed'));
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
        class="sweep-map"
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

/** Renders the value of a variant as a button that opens the variant. */
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
      class="sweep-legend"
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
      <div class="sweep-fixed">
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

/** Formats a parameter value with its unit. */
function formatValue(rows: readonly SweepRow[], pointer: string, text: string, labels: ParameterLabels): string {
  const value = rows.find(({ patch }) => pointer in patch && formatPatch(patch[pointer]) === text)?.patch[pointer];
  return formatWithUnit(value as Json, labels(pointer).unit); // patch values are plain JSON
}
