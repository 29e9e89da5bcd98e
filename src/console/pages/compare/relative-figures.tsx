import { useMemo } from 'preact/hooks';
import { Section } from '../../components/page.js';
import { TableExport } from '../../components/table-export.js';
import { createNumericColumn, listCells, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { compareWith, type Relative } from '../../words/compared.js';
import { formatDecimal, formatPercent } from '../../words/numbers.js';

interface ComparisonRow extends Relative {
  readonly id: string;
}

const COMPARISON_COLUMNS: readonly Column<ComparisonRow>[] = [
  { id: 'id', title: 'Run', width: 120, grow: 2, value: ({ id }) => id },
  createNumericColumn({ id: 'beta', title: 'Beta', width: 76, of: ({ beta }) => beta, write: formatDecimal }),
  createNumericColumn({
    id: 'correlation',
    title: 'Correlation',
    width: 92,
    of: (row) => row.correlation,
    write: formatDecimal,
  }),
  createNumericColumn({
    id: 'error',
    title: 'Realised TE',
    help: 'Annualised standard deviation of the return differences to the reference',
    width: 92,
    of: (row) => row.trackingErrorAnnual,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'up',
    title: 'Up capture',
    help: "Geometric mean return over the reference's, on its sessions above 0",
    width: 92,
    of: (row) => row.upCapture,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'down',
    title: 'Down capture',
    help: "Geometric mean return over the reference's, on its sessions below 0",
    width: 108,
    of: (row) => row.downCapture,
    write: formatPercent,
  }),
];

export interface RunLevels {
  readonly id: string;
  /** Id, with a mark if the run is stale. */
  readonly label: string;
  readonly levels: readonly (number | null)[];
  /** Returns per year, by which the volatility is annualised. */
  readonly periodsPerYear: number;
}

interface RelativeFiguresProps {
  readonly series: readonly RunLevels[];
  /** Sessions of a year. */
  readonly sessions: number;
  readonly reference: string;
}

/** Renders beta, correlation, tracking error and capture of each run relative to a reference. */
export function RelativeFigures({ series, sessions, reference }: RelativeFiguresProps) {
  const rows = useMemo(() => {
    const base = series.find(({ id }) => id === reference)?.levels ?? [];
    return series
      .filter(({ id }) => id !== reference)
      .map(({ id, levels }): ComparisonRow => ({ id, ...compareWith(levels, base, sessions) }));
  }, [series, reference, sessions]);
  return (
    <Section
      title={`Against ${reference}`}
      aside={
        <>
          daily returns of the range
          <TableExport
            label={`measures against ${reference}`}
            fileName={`measures-against-${reference}`}
            listCells={() => listCells(COMPARISON_COLUMNS, rows)}
          />
        </>
      }
    >
      <Table
        label={`measures against ${reference}`}
        name="against"
        columns={COMPARISON_COLUMNS}
        rows={rows}
        getKey={({ id }) => id}
      />
    </Section>
  );
}
