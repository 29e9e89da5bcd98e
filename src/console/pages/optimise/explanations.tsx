import type { ConstraintCost, NextName, OptimisationRunResult, SensitivityRow } from '#clients/typescript/divisor.js';
import { Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { nameAddress } from '../../words/addresses.js';
import { figure, percent } from '../../words/numbers.js';

/** What the rows cost, what giving way would bring, and who would come in next; nothing of runs that lack it. */
export function Explanations({ run }: { readonly run: OptimisationRunResult }) {
  const { sensitivities = [], constraint_costs: costs = [], next_names: names = [] } = run;
  return (
    <>
      {sensitivities.length > 0 && (
        <Section title="What giving way would bring" aside="each bound one step further out, the problem solved again">
          <Table
            label="bounds one step further out"
            columns={SENSITIVITIES}
            rows={sensitivities}
            keyOf={({ index, parameter }) => `${index} ${parameter}`}
            height={320}
          />
          <Sentences label="The same in words" rows={sensitivities} />
        </Section>
      )}
      {costs.length > 0 && (
        <Section title="What each row costs" aside="the problem without it">
          <Table
            label="what each row costs"
            columns={COSTS}
            rows={costs}
            keyOf={({ index }) => String(index)}
            sort={{ column: 'cost', direction: 'desc' }}
            height={320}
          />
          <Sentences label="What each row costs, in words" rows={costs} />
        </Section>
      )}
      {names.length > 0 && (
        <Section title="Names that would come in next" aside="kept out by nothing but their lower bound of 0">
          <Table
            label="names that would come in next"
            columns={NAMES}
            rows={names}
            keyOf={({ identifier }) => identifier}
            addressOf={({ identifier }) => nameAddress(identifier)}
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
}

function Sentences({ label, rows }: SentencesProps) {
  return (
    <ul class="explained" aria-label={label}>
      {rows.map(({ index, sentence }) => (
        <li key={`${index} ${sentence}`}>{sentence}</li>
      ))}
    </ul>
  );
}

const rowName = ({ id, index, type }: { readonly id: string; readonly index: number; readonly type: string }) => (
  <span title={type}>{id === '' ? `row ${index + 1}, ${type}` : id}</span>
);

const SENSITIVITIES: readonly Column<SensitivityRow>[] = [
  { id: 'row', title: 'Row', width: 110, grow: 2, value: ({ index }) => index, show: rowName },
  { id: 'parameter', title: 'Bound', width: 84, value: ({ parameter }) => parameter },
  {
    id: 'step',
    title: 'Moved',
    help: 'A fraction by a percentage point, a count by one, others by a hundredth',
    width: 130,
    priority: 2,
    align: 'right',
    value: ({ change }) => change,
    show: ({ from, to }) => `${figure(from)} → ${figure(to)}`,
  },
  {
    id: 'effect',
    title: 'Effect',
    help: 'Change of the objective value',
    width: 110,
    align: 'right',
    value: ({ effect }) => effect,
    show: ({ effect }) => figure(effect),
  },
  {
    id: 'price',
    title: 'Shadow price',
    help: 'Change of the objective value per unit of the bound, for a small change',
    width: 116,
    priority: 3,
    align: 'right',
    value: (row) => Math.abs(row.shadow_price),
    show: (row) => figure(row.shadow_price),
  },
];

const COSTS: readonly Column<ConstraintCost>[] = [
  { id: 'row', title: 'Row', width: 110, grow: 2, value: ({ index }) => index, show: rowName },
  { id: 'type', title: 'Class', width: 130, grow: 1, priority: 3, value: ({ type }) => type },
  {
    id: 'cost',
    title: 'Cost',
    help: 'How much worse the objective value is with the row',
    width: 110,
    align: 'right',
    value: ({ cost }) => cost,
    show: ({ cost }) => figure(cost),
  },
  {
    id: 'without',
    title: 'Without it',
    help: 'The objective value without the row',
    width: 116,
    priority: 2,
    align: 'right',
    value: (row) => row.objective_without,
    show: (row) => figure(row.objective_without),
  },
];

const NAMES: readonly Column<NextName>[] = [
  { id: 'name', title: 'Name', width: 100, grow: 2, value: ({ identifier }) => identifier },
  {
    id: 'marginal',
    title: 'Marginal',
    help: 'Change of the objective value per unit of weight in the name',
    width: 110,
    align: 'right',
    value: ({ marginal }) => marginal,
    show: ({ marginal }) => figure(marginal),
  },
  {
    id: 'expected',
    title: 'Expected return',
    help: 'Annualised, by the model of the run',
    width: 126,
    priority: 2,
    align: 'right',
    value: (row) => row.expected_return,
    show: (row) => percent(row.expected_return),
  },
  {
    id: 'entry',
    title: 'Enters from',
    help: 'Expected return from which on it is held',
    width: 110,
    align: 'right',
    value: (row) => row.entry_return,
    show: (row) => percent(row.entry_return),
  },
];
