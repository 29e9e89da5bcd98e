import type { ScenarioResult } from '#clients/typescript/divisor.js';
import { Section } from '../../components/page.js';
import { addSign } from '../../components/signed.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Toggles } from '../../components/toggles.js';
import { usePhone } from '../../components/use-phone.js';
import { Answered } from '../../components/wait.js';
import { getParameter, setParameters } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { service, createTrouble } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';
import { requestScenarios } from './scenario-answer.js';
import { createBody } from './scenario-request.js';

interface ScenarioMatrixProps {
  readonly id: string;
  /** Results of the displayed index. */
  readonly own: readonly ScenarioResult[];
  readonly asked: readonly JsonObject[];
}

/** Number of other indices at first, and maximum number. */
const OTHERS_USUAL = 3;
const OTHERS_MAX = 11;

/** Returns of another index by scenario. They are empty if the service refused the index. */
interface IndexReturns {
  readonly returns: ReadonlyMap<string, number | null>;
  /** Reason of the refusal; null without a refusal. */
  readonly refusal: string | null;
}

interface Row {
  readonly name: string;
  readonly returns: ReadonlyMap<string, number | null>;
}

/** Renders the returns of several indices under the same scenarios. Each scenario is a row, and each index a column. */
export function ScenarioMatrix({ id, own, asked }: ScenarioMatrixProps) {
  const runs = useResource('backtests', (signal) => service.value.call('listBacktests', { signal }));
  const freeIds = (runs.data?.backtests ?? []).map(({ index_id: one }) => one).filter((one) => one !== id);
  const otherIds = (getParameter('beside') ?? freeIds.slice(0, OTHERS_USUAL).join())
    .split(',')
    .filter((one) => freeIds.includes(one))
    .slice(0, OTHERS_MAX);
  const results = useResource(
    otherIds.length === 0 ? null : `scenarios of ${otherIds.join()} ${JSON.stringify(asked)}`,
    async (signal) =>
      new Map(await Promise.all(otherIds.map(async (one) => [one, await readReturns(one, asked, signal)] as const))),
    { keeps: true },
  );
  if (freeIds.length === 0) return null;
  return (
    <Section title="Indices by scenarios" aside="each with its newest holdings">
      <Toggles
        label="Other indices"
        values={freeIds.slice(0, 40)}
        chosen={otherIds}
        onChoose={(next) => setParameters({ beside: next.slice(0, OTHERS_MAX).join() })}
      />
      {otherIds.length > 0 && (
        <Answered resource={results} what="the scenarios of the other indices">
          {(all) => (
            <>
              <Matrix
                ids={[id, ...otherIds]}
                scenarios={own.map(({ name, return: earned }) => ({
                  name,
                  returns: new Map([
                    [id, earned],
                    ...otherIds.map((one) => [one, all.get(one)?.returns.get(name) ?? null] as const),
                  ]),
                }))}
              />
              {otherIds.map((one) => {
                const refusal = all.get(one)?.refusal ?? null;
                return (
                  refusal !== null && (
                    <p key={one} class="quiet">
                      {one} has no returns. {refusal}
                    </p>
                  )
                );
              })}
            </>
          )}
        </Answered>
      )}
    </Section>
  );
}

interface MatrixProps {
  readonly ids: readonly string[];
  readonly scenarios: readonly Row[];
}

/**
 * Renders the returns with indices as columns. On a phone, ids of indices are too long for columns, so indices are
 * rows.
 */
function Matrix({ ids, scenarios }: MatrixProps) {
  const isPhone = usePhone();
  const rows: readonly Row[] = isPhone
    ? ids.map((id) => ({
        name: id,
        returns: new Map(scenarios.map(({ name, returns }) => [name, returns.get(id) ?? null])),
      }))
    : scenarios;
  return (
    <Table
      key={String(isPhone)}
      label="returns of indices by scenarios"
      name="matrix"
      columns={createColumns(isPhone ? 'Index' : 'Scenario', isPhone ? scenarios.map(({ name }) => name) : ids)}
      rows={rows}
      getKey={({ name }) => name}
    />
  );
}

/**
 * Reads the returns of an index by scenario. A scenario that the service refuses has none, for example a shock to a
 * group that is not held. If the service refuses the index, the other indices keep their returns.
 */
async function readReturns(
  id: string,
  requestedScenarios: readonly JsonObject[],
  signal: AbortSignal,
): Promise<IndexReturns> {
  const positions = requestedScenarios.map((_, position) => position);
  try {
    const { view } = await requestScenarios(requestedScenarios, positions, (scenarios) =>
      service.value.call('runScenarios', {
        params: { index_id: id },
        body: createBody(scenarios, null),
        signal,
      }),
    );
    return { returns: new Map(view?.scenarios.map(({ name, return: earned }) => [name, earned])), refusal: null };
  } catch (thrown) {
    const { message, code, findings, retrySeconds } = createTrouble(thrown);
    // The request is repeated if the service is busy or cannot be reached.
    if (code === null || retrySeconds !== null) throw thrown;
    return { returns: new Map(), refusal: findings[0]?.message ?? message };
  }
}

const createColumns = (title: string, ids: readonly string[]): readonly Column<Row>[] => [
  { id: 'name', title, width: 150, grow: 2, value: ({ name }) => name },
  ...ids.map((id, k) =>
    createNumericColumn<Row>({
      id,
      title: id,
      width: Math.max(92, CHARACTER * id.length),
      grow: 1,
      priority: k,
      of: ({ returns }) => returns.get(id) ?? null,
      write: addSign,
    }),
  ),
];

/** Width of a character of a title, in pixels. */
const CHARACTER = 9;
