import type { OptimisationRunResult } from '#clients/typescript/divisor.js';
import { Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { formatBindingBounds, formatOtherExcesses, removeExceeded, type ExceededLimit } from './bounds.js';
import type { ChangeFormats, Measure } from './measures.js';
import { formatRow, parseRowLabel } from './row-labels.js';

interface BindingSummaryProps {
  readonly labels: readonly string[];
  readonly exceeded: readonly ExceededLimit[];
  readonly costliest: string | null;
}

/** Renders in words which bounds of the constraints are binding or violated, and which constraint costs most. */
export function BindingSummary({ labels, exceeded, costliest }: BindingSummaryProps) {
  const binding = formatBindingBounds(removeExceeded(labels, exceeded), labels);
  const excesses = formatOtherExcesses(exceeded, labels);
  return (
    <>
      {excesses !== null && <p class="excess">Soft limits exceeded: {excesses}.</p>}
      {binding !== '' && (
        <p>
          {costliest !== null && <>Costliest constraint: {costliest}. </>}
          <span class="quiet">Binding: {binding}.</span>
        </p>
      )}
    </>
  );
}

interface BindingConstraintsProps {
  readonly run: OptimisationRunResult;
  readonly measure: Measure;
  readonly changes: ChangeFormats;
}

/** Renders the binding bounds. Each shows how much is gained if it is relaxed. */
export function BindingConstraints({ run, measure, changes }: BindingConstraintsProps) {
  const rows = listBindingRows(run);
  return (
    <Section title="Binding constraints" aside="what hinders a better solution">
      <Table
        label="binding constraints"
        columns={createBindingColumns(
          changes,
          rows.map(({ label }) => label),
        )}
        rows={rows}
        getKey={({ label }) => label}
        sort={{ column: 'price', direction: 'desc' }}
        height={320}
      />
      <p class="quiet">
        The gain is the size of the shadow price, without its sign: the improvement of {measure.name} if the bound is
        relaxed by one basis point
        {run.binding.some((row) => row?.['unit'] !== 'fraction') && ' (by 1 for a bound that is not a fraction)'}. It
        holds for small changes.
      </p>
    </Section>
  );
}

interface BindingRow {
  readonly label: string;
  readonly type: string;
  readonly side: string;
  readonly unit: string;
  readonly price: number;
}

/** Returns the binding bounds of a run. */
export function listBindingRows({ binding }: OptimisationRunResult): readonly BindingRow[] {
  return binding
    .flatMap((row) => (row === null ? [] : [row]))
    .map(({ label = '', type = '', side = '', unit = '', shadow_price: price = '0' }) => ({
      label,
      type,
      side,
      unit,
      price: Number(price),
    }));
}

/**
 * Returns the change of a bound to which a shadow price refers. This is one basis point for a fraction, otherwise 1.
 */
const chooseStep = (unit: string): number => (unit === 'fraction' ? 0.0001 : 1);

const createBindingColumns = ({ slope }: ChangeFormats, rows: readonly string[]): readonly Column<BindingRow>[] => [
  {
    id: 'label',
    title: 'Constraint',
    width: 120,
    grow: 3,
    value: ({ label }) => formatRow(label, rows),
    show: ({ label }) => <span title={formatRow(label, rows)}>{parseRowLabel(label, rows).constraint}</span>,
  },
  {
    id: 'subject',
    title: 'Of',
    help: 'Security or group that the row limits',
    width: 76,
    grow: 1,
    value: ({ label }) => parseRowLabel(label).subject,
  },
  { id: 'side', title: 'Side', width: 72, priority: 2, value: ({ side }) => (side === 'eq' ? 'equal' : side) },
  {
    id: 'price',
    title: 'Gain if relaxed',
    help: 'Shadow price: improvement of the objective, by its slope, if the bound is relaxed by one basis point (or by 1)',
    width: 132,
    align: 'right',
    value: ({ price, unit }) => Math.abs(price * chooseStep(unit)),
    copy: ({ price, unit }) => price * chooseStep(unit),
    show: ({ price, unit }) => `${slope(Math.abs(price * chooseStep(unit)))} per ${unit === 'fraction' ? 'bp' : '1'}`,
  },
];
