import type { ScenarioResult } from '#clients/typescript/divisor.js';
import { Bars } from '../../components/bars.js';
import { Section } from '../../components/page.js';
import { addPoints, addSign } from '../../components/signed.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { awaitNames } from '../../components/name-column.js';
import { useNames } from '../../state/names.js';
import { countValues, formatPercent, formatPoints } from '../../words/numbers.js';
import { useNameAddress } from './use-name-address.js';

const LISTED_MAX = 12;

interface OpenedScenarioProps {
  readonly result: ScenarioResult | undefined;
  readonly by: string;
  readonly asOf: string;
}

type NameRow = ScenarioResult['by_name'][number] & { readonly company: string | null };

/** Renders the contributions to the return of one scenario. */
export function OpenedScenario({ result, by, asOf }: OpenedScenarioProps) {
  const facts = useNames(result?.by_name.map(({ identifier }) => identifier) ?? [], asOf);
  const formatNameAddress = useNameAddress();
  if (result === undefined) return null;
  const { name, by_name: names, by_group: groups, proxied } = result;
  if (result.return === null) return <p class="quiet">{name} has no return: the store does not cover its dates.</p>;
  const affectedNames = names.filter(({ contribution }) => contribution !== 0);
  const rows = affectedNames.map((row): NameRow => ({ ...row, company: facts.get(row.identifier)?.name ?? null }));
  const affectedGroups = groups.filter(({ contribution }) => contribution !== 0);
  const isEstimated = names.some(({ standard_error: error }) => error !== null);
  return (
    <>
      <Section title={`Scenario ${name}: contributions by ${by.toLowerCase()}`} aside="worst first">
        <Bars
          label={`Contributions to ${name}`}
          bars={affectedGroups
            .slice(0, LISTED_MAX)
            .map(({ group, contribution }) => ({ label: group, value: contribution }))}
          format={formatPoints}
        />
        {affectedGroups.length < groups.length && (
          <p class="quiet">
            Without an effect:{' '}
            {groups
              .filter(({ contribution }) => contribution === 0)
              .map(({ group }) => group)
              .join(', ')}
          </p>
        )}
      </Section>
      <Section
        title={`Scenario ${name}: contributions by security`}
        aside={
          proxied.length > 0 &&
          `${countValues(proxied.length, 'security', 'securities')} without prices: ${proxied.length === 1 ? 'its group’s returns are' : 'the returns of their groups are'} used`
        }
      >
        <Table
          label={`names in ${name}`}
          columns={awaitNames(
            isEstimated ? SECURITY_COLUMNS : SECURITY_COLUMNS.filter(({ id }) => id !== 'error'),
            facts,
            ['company'],
          )}
          rows={rows}
          getKey={({ identifier }) => identifier}
          formatAddress={({ identifier }) => formatNameAddress(identifier)}
          searchIn={({ identifier, company }) => `${identifier} ${company ?? ''}`}
          sort={{ column: 'contribution', direction: 'asc' }}
          height={360}
        />
        {affectedNames.length < names.length && (
          <p class="quiet">
            Without an effect: {countValues(names.length - affectedNames.length, 'security', 'securities')}
          </p>
        )}
      </Section>
    </>
  );
}

const SECURITY_COLUMNS: readonly Column<NameRow>[] = [
  { id: 'name', title: 'Security', width: 86, grow: 1, value: ({ identifier }) => identifier },
  { id: 'company', title: 'Company', width: 120, grow: 2, priority: 3, value: ({ company }) => company },
  createNumericColumn({
    id: 'weight',
    adds: true,
    title: 'Weight',
    width: 84,
    of: ({ weight }) => weight,
    write: formatPercent,
  }),
  createNumericColumn({ id: 'return', title: 'Return', width: 90, of: (row) => row.return, write: addSign }),
  createNumericColumn({
    id: 'contribution',
    adds: true,
    title: 'Contribution',
    width: 104,
    of: ({ contribution }) => contribution,
    write: addPoints,
  }),
  createNumericColumn({
    id: 'error',
    title: 'Error',
    help: 'Standard error of a response by regression',
    width: 84,
    priority: 2,
    of: (row) => row.standard_error,
    write: formatPercent,
  }),
];
