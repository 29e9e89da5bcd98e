import type { ExportFormat } from '#domain/exports/formats.js';
import { SCENARIO_TABLES, type ScenarioTable } from '#domain/exports/scenario-tables.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { ScenarioResult } from '#domain/scenarios/holdings.js';
import { createRowTableFile, type TableCells } from '../exports/row-table.js';

/** Scenarios of a run as in the response. */
export interface ListedScenarios {
  readonly index_id: string;
  readonly as_of: string;
  readonly by: string;
  readonly scenarios: readonly ScenarioResult[];
  readonly findings: readonly Finding[];
}

/** Returns a table of scenarios as a complete file. It has the same rows as the JSON response. */
export function createScenariosFile(
  { index_id: runId, scenarios, findings }: ListedScenarios,
  table: ScenarioTable,
  format: Exclude<ExportFormat, 'json'>,
): Promise<Uint8Array> {
  const rows = scenarios.flatMap((result, position) => {
    const ownFindings = findings.filter(({ path }) => path.startsWith(`scenarios[${position}]`));
    return ROWS[table](result, ownFindings).map((row) => ({ scenario: result.name, ...row }));
  });
  return createRowTableFile({ runId, name: table, columns: SCENARIO_TABLES[table].columns, rows }, format);
}

const ROWS: Readonly<
  Record<ScenarioTable, (result: ScenarioResult, findings: readonly Finding[]) => readonly TableCells[]>
> = {
  scenarios: ({ return: total, standard_error, covered_weight, window, r_squared, observations }, findings) => [
    {
      return: total,
      standard_error,
      covered_weight,
      start: window && window.start,
      end: window && window.end,
      r_squared,
      observations,
      finding: findings.length === 0 ? null : findings.map(({ message }) => message).join(' '),
    },
  ],
  names({ by_name: names, proxied }) {
    const proxies = new Map(proxied.map(({ identifier, proxy }) => [identifier, proxy]));
    return names.map((row) => ({ ...row, proxy: proxies.get(row.identifier) ?? null }));
  },
  groups: ({ by_group: groups }) => groups,
  sessions: ({ worst_sessions: sessions }) => sessions.map((session) => ({ ...session })),
};
