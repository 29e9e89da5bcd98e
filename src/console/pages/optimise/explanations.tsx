import type { ConstraintCost, NextName, OptimisationRunResult, SensitivityRow } from '#clients/typescript/divisor.js';
import { Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { formatSecurityAddress } from '../../words/addresses.js';
import { formatFigure, formatPercent } from '../../words/numbers.js';
import type { ChangeFormats } from './measures.js';
import { createRowLabel, formatRow } from './row-labels.js';

interface ExplanationsProps {
  readonly run: OptimisationRunResult;
  readonly changes: ChangeFormats;
  /** Data store of the index; undefined for the served store. */
  readonly store: string | undefined;
}

/**
 * Renders what constraints cost, what happens if they are relaxed, and which securities would enter next. Renders
 * nothing if the run has no explanations.
 */
export function Explanations({ run, changes, store }: ExplanationsProps) {
  const { sensitivities = [], constraint_costs: costs = [], next_names: names = [] } = run;
  const labels = [...sensitivities, ...costs].map(createRowLabel);
  return (
    <>
      {sensitivities.length > 0 && (
        <Section
          title="Effect of relaxing constraints"
          aside="each bound relaxed by one step and the problem solved again"
        >
          <Table
            label="bounds relaxed by one step"
            columns={createSensitivityColumns(changes, collectFractions(run), labels)}
            rows={sensitivities}
            getKey={({ index, parameter }) => `${index} ${parameter}`}
            height={320}
          />
          <Sentences label="Sentences" rows={sensitivities} labels={labels} />
        </Section>
      )}
      {costs.length > 0 && (
        <Section title="Cost of each constraint" aside="the problem solved without it">
          <Table
            label="cost of each constraint"
            columns={createCostColumns(changes, labels)}
            rows={costs}
            getKey={({ index }) => String(index)}
            sort={{ column: 'cost', direction: 'desc' }}
            height={320}
          />
          <Sentences label="Cost of each constraint, sentences" rows={costs} labels={labels} />
        </Section>
      )}
      {names.length > 0 && (
        <Section title="Next securities to enter" aside="excluded only by their lower bound of 0">
          <Table
            label="next securities to enter"
            columns={createSecurityColumns(changes)}
            rows={names}
            getKey={({ identifier }) => identifier}
            formatAddress={({ identifier }) => formatSecurityAddress(identifier, store)}
            height={360}
          />
        </Section>
      )}
    </>
  );
}

interface SentencesProps {
  readonly label: string;
  readonly rows: readonly { readonly index: number; readonly sentence: string }[];
  /** Labels of all constraints. */
  readonly labels: readonly string[];
}

/**
 * Replaces the labels of constraints in a sentence with words: `Removing PositionBounds[pos] lowers ...` becomes `Removing
 * position bounds lowers ...`.
 */
const formatSentence = (sentence: string, labels: readonly string[]): string =>
  sentence.replaceAll(/\b[A-Z]\w+\[[^\]]*\]/g, (row) => {
    const words = formatRow(row, labels);
    return words.charAt(0).toLowerCase() + words.slice(1);
  });

function Sentences({ label, rows, labels }: SentencesProps) {
  return (
    <ul class="explained" aria-label={label}>
      {rows.map(({ index, sentence }) => (
        <li key={`${index} ${sentence}`}>{formatSentence(sentence, labels)}</li>
      ))}
    </ul>
  );
}

/** Returns the column with the name of the constraint. */
const createRowColumn = (labels: readonly string[]): Column<Parameters<typeof createRowLabel>[0]> => ({
  id: 'row',
  title: 'Constraint',
  width: 110,
  grow: 2,
  value: ({ index }) => index,
  show: (row) => formatRow(createRowLabel(row), labels),
});

/** Returns the positions of the constraints whose bounds are fractions. */
const collectFractions = ({ binding }: OptimisationRunResult): ReadonlySet<number> =>
  new Set(binding.flatMap((row) => (row?.['unit'] === 'fraction' ? [Number(row['index'])] : [])));

const createSensitivityColumns = (
  { step, slope }: ChangeFormats,
  fractions: ReadonlySet<number>,
  labels: readonly string[],
): readonly Column<SensitivityRow>[] => {
  // The change has the sign of the relaxation.
  const computeStep = ({ index, change }: SensitivityRow) => Math.sign(change) * (fractions.has(index) ? 0.0001 : 1);
  return [
    createRowColumn(labels),
    { id: 'parameter', title: 'Bound', width: 84, priority: 2, value: ({ parameter }) => parameter },
    {
      id: 'step',
      title: 'Moved',
      help: 'A fraction by one percentage point, a count by one, other values by 0.01',
      width: 148,
      align: 'right',
      value: ({ change }) => change,
      show: ({ index, from, to }) =>
        fractions.has(index)
          ? `${formatPercent(from)} → ${formatPercent(to)}`
          : `${formatFigure(from)} → ${formatFigure(to)}`,
    },
    createNumericColumn({
      id: 'effect',
      title: 'Effect',
      help: 'Change of the objective, in the unit of the sentences below',
      width: 100,
      of: ({ effect }) => effect,
      write: step,
    }),
    {
      id: 'price',
      title: 'Shadow price',
      help: 'Change of the objective by its slope, for each basis point of the bound (or for 1); valid for small changes. A gain lowers an objective that is minimised, so its sign is then negative.',
      width: 132,
      priority: 3,
      align: 'right',
      value: (row) => Math.abs(row.shadow_price * computeStep(row)),
      copy: (row) => row.shadow_price * computeStep(row),
      show: (row) => `${slope(row.shadow_price * computeStep(row))} per ${fractions.has(row.index) ? 'bp' : '1'}`,
    },
  ];
};

const createCostColumns = (
  { cost, level }: ChangeFormats,
  labels: readonly string[],
): readonly Column<ConstraintCost>[] => [
  createRowColumn(labels),
  {
    id: 'cost',
    title: 'Cost',
    help: 'Deterioration of the objective caused by the constraint, in the unit of the sentences below',
    width: 110,
    align: 'right',
    value: ({ cost }) => cost,
    show: (row) => cost(row.objective_without),
  },
  createNumericColumn({
    id: 'without',
    title: 'Without it',
    help: 'The objective without the constraint (the square root of a variance)',
    width: 116,
    priority: 2,
    of: (row) => row.objective_without,
    write: level,
  }),
];

const createSecurityColumns = ({ slope }: ChangeFormats): readonly Column<NextName>[] => [
  { id: 'name', title: 'Security', width: 100, grow: 2, value: ({ identifier }) => identifier },
  {
    id: 'marginal',
    title: 'Marginal',
    help: 'Change of the objective per percentage point of weight in the security, by its slope',
    width: 130,
    align: 'right',
    value: ({ marginal }) => marginal,
    show: ({ marginal }) => `${slope(marginal * 0.01)} per 1%`,
  },
  createNumericColumn({
    id: 'expected',
    title: 'Expected return',
    help: 'Annualised, by the model of the run',
    width: 126,
    priority: 2,
    of: (row) => row.expected_return,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'entry',
    title: 'Enters from',
    help: 'Expected return above which the security is held',
    width: 110,
    of: (row) => row.entry_return,
    write: formatPercent,
  }),
];
