import type { NextName, OptimisationRunResult } from '#clients/typescript/divisor.js';
import { Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { formatSecurityAddress } from '../../words/addresses.js';
import { formatPercent } from '../../words/numbers.js';
import type { ChangeScale } from './measures.js';

interface NextSecuritiesProps {
  readonly run: OptimisationRunResult;
  readonly scale: ChangeScale;
  /** Data store of the index; undefined for the served store. */
  readonly store: string | undefined;
}

/** Renders the securities that would enter next. Renders nothing if the run has none. */
export function NextSecurities({ run: { next_names: names = [] }, scale, store }: NextSecuritiesProps) {
  if (names.length === 0) return null;
  return (
    <Section title="Next securities to enter" aside="excluded only by their lower bound of 0">
      <Table
        label="next securities to enter"
        columns={createSecurityColumns(scale)}
        rows={names}
        getKey={({ identifier }) => identifier}
        formatAddress={({ identifier }) => formatSecurityAddress(identifier, store)}
        height={360}
      />
    </Section>
  );
}

const createSecurityColumns = ({ unit, format, slope }: ChangeScale): readonly Column<NextName>[] => [
  { id: 'name', title: 'Security', width: 100, grow: 2, value: ({ identifier }) => identifier },
  createNumericColumn({
    id: 'marginal',
    title: `Marginal${unit} per 1%`,
    help: 'Change of the objective per percentage point of weight in the security, by its slope',
    width: 130,
    of: ({ marginal }) => slope(marginal * 0.01),
    write: format,
  }),
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
