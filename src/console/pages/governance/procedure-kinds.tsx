import type { Procedure } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Entries, type Entry } from '../../components/entries.js';
import { Section } from '../../components/page.js';
import { formatAddress } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { formatGovernanceAddress } from '../../words/addresses.js';
import { countValues, formatCount } from '../../words/numbers.js';
import { KIND_TEXTS, KINDS, listUncovered } from './open-work.js';
import { isPublished, useGovernance } from './published-logs.js';

interface ProcedureKindsProps {
  readonly procedures: readonly Procedure[];
}

/** Renders each kind of procedure with the published indices to which a procedure of this kind applies. */
export function ProcedureKinds({ procedures }: ProcedureKindsProps) {
  const overview = useGovernance();
  const published = (overview.data?.statements ?? []).filter(isPublished).map(({ index_id: id }) => id);
  return (
    <Section title="Kinds of procedures" aside="of the principles for financial benchmarks">
      <Entries
        label="Kinds of procedures"
        entries={KINDS.map((kind) => createKindEntry(kind, procedures, published))}
      />
    </Section>
  );
}

function createKindEntry(
  kind: Procedure['kind'],
  procedures: readonly Procedure[],
  published: readonly string[],
): Entry {
  const ownProcedures = procedures.filter((one) => one.kind === kind);
  const entry = { key: kind, title: `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`, text: KIND_TEXTS[kind] };
  const [first] = ownProcedures;
  if (first === undefined)
    return {
      ...entry,
      aside: may('write') && <a href={formatAddress(formatGovernanceAddress('procedures', 'new'), { kind })}>Write</a>,
      badge: <Badge kind="warning">missing</Badge>,
    };
  if (published.length === 0)
    return { ...entry, badge: <Badge>{countValues(ownProcedures.length, 'procedure')}</Badge> };
  const uncovered = listUncovered(kind, procedures, published);
  const coverage = `${formatCount(published.length - uncovered.length)} of ${countValues(published.length, 'published index', 'published indices')}`;
  if (uncovered.length === 0) return { ...entry, badge: <Badge kind="good">{coverage}</Badge> };
  return {
    ...entry,
    aside: may('write') && <a href={formatGovernanceAddress('procedures', first.procedure_id)}>Extend</a>,
    badge: <Badge kind="warning">{coverage}</Badge>,
    text: `${KIND_TEXTS[kind]} Missing for ${formatIds(uncovered)}.`,
  };
}

/** Maximum number of indices that an entry names, so that it stays a few lines long. */
const NAMED_MAX = 5;

/** Lists ids, for example `A, B and 3 others`. */
function formatIds(ids: readonly string[]): string {
  const rest = ids.length - NAMED_MAX;
  return rest > 0
    ? `${ids.slice(0, NAMED_MAX).join(', ')} and ${countValues(rest, 'other')}`
    : new Intl.ListFormat('en-GB').format(ids);
}
