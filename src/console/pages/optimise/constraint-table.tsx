import { useMemo } from 'preact/hooks';
import type { OptimisationRunResult } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { formatInUnit } from '../../words/amounts.js';
import { MISSING_TEXT } from '../../words/numbers.js';
import { formatBinding, formatBindingBounds, formatSide, listBindingSiblings } from './bounds.js';
import { listBindingLabels, listConstraintRows, type ConstraintRow } from './constraint-rows.js';
import type { ChangeScale, Measure } from './measures.js';
import { formatRow } from './row-labels.js';

interface ConstraintTableProps {
  readonly run: OptimisationRunResult;
  readonly measure: Measure;
  readonly scale: ChangeScale;
}

/** Renders the use of each constraint, what it costs, and the effect of relaxing it. */
export function ConstraintTable({ run, measure, scale }: ConstraintTableProps) {
  const rows = useMemo(() => listConstraintRows(run), [run]);
  if (rows.length === 0) return null;
  const labels = { all: rows.map(({ label }) => label), binding: listBindingLabels(run) };
  return (
    <Section title="Constraints">
      <p class="quiet">
        Cost: deterioration of {measure.name} caused by the constraint. Effect: its change if the bound is relaxed: a
        fraction by 1 percentage point, a count by 1, another bound by 0.01.
      </p>
      <Table
        label="constraints of the optimisation"
        columns={createConstraintColumns(scale, labels)}
        rows={rows}
        getKey={({ label, relaxed }) => `${label} ${relaxed?.parameter}`}
        sort={{ column: 'cost', direction: 'desc' }}
        height={320}
      />
    </Section>
  );
}

/** Labels of the constraints that name one from the others, and of the binding bounds. */
interface Labels {
  readonly all: readonly string[];
  readonly binding: readonly string[];
}

const createConstraintColumns = (scale: ChangeScale, labels: Labels): readonly Column<ConstraintRow>[] => [
  {
    id: 'label',
    title: 'Constraint',
    width: 130,
    ideal: 240,
    grow: 2,
    priority: 0,
    lines: 2,
    // Without a shared parameter, the bound is that of one security or group, which is named.
    value: ({ label, relaxed }) => formatSide(label, labels.all, relaxed === undefined ? [] : labels.binding),
  },
  createFigureColumn('limit', 'Bound'),
  createFigureColumn('value', 'Value'),
  {
    id: 'headroom',
    title: 'Headroom',
    help: 'Distance from the value to the bound, which is binding at 0',
    width: 90,
    align: 'right',
    priority: 0,
    value: ({ slack, state }) => (state === 'met' ? slack : 0),
    copy: ({ slack, state }) => (state === 'met' ? slack : state),
    show: (row) => <Headroom row={row} binding={labels.binding} />,
  },
  ...createCostColumns(scale),
  {
    id: 'sentence',
    title: 'Explanation',
    width: 260,
    ideal: 700,
    grow: 3,
    priority: 9,
    below: 'nothing',
    value: ({ cost, relaxed }) =>
      formatSentences(
        [cost, relaxed].flatMap((one) => one?.sentence ?? []),
        labels.all,
      ),
  },
];

const createCostColumns = (scale: ChangeScale): readonly Column<ConstraintRow>[] => [
  createNumericColumn({
    id: 'cost',
    title: `Cost${scale.unit}`,
    help: 'Deterioration of the objective caused by the constraint: the problem solved without it',
    width: 80,
    priority: 0,
    of: ({ cost }) => scale.cost(cost?.objective_without),
    write: scale.format,
  }),
  createNumericColumn({
    id: 'effect',
    title: `Effect${scale.unit}`,
    help: 'Change of the objective if the bound is relaxed by one step and the problem solved again: a fraction by one percentage point, a count by 1, other bounds by 0.01',
    width: 80,
    priority: 2,
    of: ({ relaxed }) => scale.step(relaxed?.effect),
    write: scale.format,
  }),
  {
    id: 'price',
    title: `Shadow price${scale.unit} per bp`,
    help: 'Change of the objective by its slope, for each basis point by which the bound is relaxed (for each 1 if it is not a fraction); valid for small changes',
    width: 150,
    priority: 4,
    align: 'right',
    value: (row) => computePrice(row, scale),
    show: (row) => formatPrice(row, scale),
  },
];

const createFigureColumn = (id: 'limit' | 'value', title: string): Column<ConstraintRow> => ({
  id,
  title,
  width: 84,
  priority: 2,
  align: 'right',
  value: (row) => row[id],
  show: (row) => formatFigure(row[id], row),
});

const formatFigure = (figure: number | null, { unit }: ConstraintRow): string =>
  figure === null ? MISSING_TEXT : formatInUnit(figure, unit);

interface HeadroomProps {
  readonly row: ConstraintRow;
  /** Labels of the binding bounds. */
  readonly binding: readonly string[];
}

/** Renders the distance to the bound, or that the bound is binding or exceeded. */
function Headroom({ row, binding }: HeadroomProps) {
  const { state, label, slack } = row;
  if (state === 'met') return <>{formatFigure(slack, row)}</>;
  if (state === 'equality') return <>equality</>;
  return (
    <Badge
      kind={state === 'exceeded' ? 'warning' : 'info'}
      title={formatBindingBounds(listBindingSiblings(label, binding))}
    >
      {state === 'exceeded' ? 'exceeded' : formatBinding(label, binding)}
    </Badge>
  );
}

/** Returns the shadow price for one basis point of a fraction, otherwise for 1. */
function computePrice({ relaxed, unit }: ConstraintRow, { slope }: ChangeScale): number | null {
  if (relaxed === undefined) return null;
  return slope(relaxed.shadow_price * Math.sign(relaxed.change) * (unit === 'fraction' ? 0.0001 : 1));
}

function formatPrice(row: ConstraintRow, scale: ChangeScale): string {
  const price = computePrice(row, scale);
  return `${scale.format(price)}${price === null || row.unit === 'fraction' ? '' : ' per 1'}`;
}

/**
 * Replaces the labels of constraints in sentences with words: `Removing PositionBounds[pos] lowers ...` becomes `Removing
 * position bounds lowers ...`. Returns null if there are none.
 */
const formatSentences = (sentences: readonly string[], labels: readonly string[]): string | null =>
  sentences.length === 0
    ? null
    : sentences.join(' ').replaceAll(/\b[A-Z]\w+\[[^\]]*\]/g, (row) => {
        const words = formatRow(row, labels);
        return words.charAt(0).toLowerCase() + words.slice(1);
      });
