import type { Finding, ScenarioResult, ScenariosView } from '#clients/typescript/divisor.js';
import { createTrouble } from '../../state/service.js';
import { formatMessageAt } from '../../words/findings.js';
import { formatLabel } from '../../words/labels.js';
import type { JsonObject } from '../../words/paths.js';

/** Results of the scenarios that the service accepted, and errors of the other scenarios. */
export interface ScenarioAnswer {
  /** Scenarios of the page to which the answer belongs. */
  readonly scenarios: readonly JsonObject[];
  /** Response; null if the service refused every scenario. Its findings have the positions of the page. */
  readonly view: ScenariosView | null;
  /** Positions of the accepted scenarios, in the order of the results. */
  readonly accepted: readonly number[];
  /** Errors of refused scenarios. Their paths have the positions of the page. */
  readonly errors: readonly Finding[];
}

/**
 * Requests results. If the service refuses some scenarios, repeats the request without them.
 * @param scenarios scenarios of the page
 * @param positions positions of the scenarios to compute
 * @throws the error of the service if it is not about a scenario
 */
export async function requestScenarios(
  scenarios: readonly JsonObject[],
  positions: readonly number[],
  send: (scenarios: readonly JsonObject[]) => Promise<ScenariosView>,
): Promise<ScenarioAnswer> {
  const errors: Finding[] = [];
  let accepted = positions;
  while (accepted.length > 0) {
    const sentPositions = accepted;
    const renumber = (finding: Finding) => renumberScenarios(finding, sentPositions);
    try {
      const view = await send(selectScenarios(scenarios, sentPositions));
      return { scenarios, view: { ...view, findings: view.findings.map(renumber) }, accepted, errors };
    } catch (thrown) {
      const refusals = createTrouble(thrown)
        .findings.filter(({ severity }) => severity === 'error')
        .map(renumber);
      const refusedPositions = new Set(refusals.map(getScenarioPosition));
      accepted = sentPositions.filter((position) => !refusedPositions.has(position));
      if (accepted.length === sentPositions.length) throw thrown;
      errors.push(...refusals.filter((finding) => getScenarioPosition(finding) !== null));
    }
  }
  return { scenarios, view: null, accepted, errors };
}

/** Returns the scenarios at the given positions. */
export const selectScenarios = (
  scenarios: readonly JsonObject[],
  positions: readonly number[],
): readonly JsonObject[] => scenarios.filter((_, position) => positions.includes(position));

/** Matches the position of a scenario in a path or a message. */
const POSITION = /\bscenarios\[(\d+)\]/g;

/** Replaces the positions of the request by those of the page. */
function renumberScenarios(finding: Finding, positions: readonly number[]): Finding {
  const renumberText = (text: string) =>
    text.replaceAll(POSITION, (_, k: string) => `scenarios[${positions[Number(k)] ?? k}]`);
  const message = renumberText(finding.message).replace(/ scenarios\[\d+\]\.name/, ' another scenario');
  return { ...finding, path: renumberText(finding.path), message };
}

/** Returns the position of the scenario to which a finding belongs; null if it belongs to none. */
function getScenarioPosition({ path }: Pick<Finding, 'path'>): number | null {
  const [, position] = /^scenarios\[(\d+)\]/.exec(path) ?? [];
  return position === undefined ? null : Number(position);
}

/** Result and errors of a scenario of the page. */
export interface AnsweredScenario {
  readonly result: ScenarioResult | undefined;
  readonly errors: readonly Finding[];
}

/**
 * Returns the part of an answer for a scenario of the page. The page may have changed since the request, so that the
 * scenario has another position.
 */
export function findAnswered(
  answer: ScenarioAnswer | undefined,
  scenario: JsonObject,
  position: number,
): AnsweredScenario {
  const text = JSON.stringify(scenario);
  const isSame = (other: JsonObject | undefined) => JSON.stringify(other) === text;
  const scenarios = answer?.scenarios ?? [];
  const own = isSame(scenarios[position]) ? position : scenarios.findIndex(isSame);
  const rank = answer?.accepted.indexOf(own) ?? -1;
  return {
    result: rank < 0 ? undefined : answer?.view?.scenarios[rank],
    errors: own < 0 ? [] : (answer?.errors ?? []).filter((finding) => getScenarioPosition(finding) === own),
  };
}

/** Returns the name of a scenario; of a scenario without a name, its number, which counts from 1. */
export const formatScenarioName = ({ name }: JsonObject, position: number): string =>
  typeof name === 'string' && name !== '' ? name : `Scenario ${position + 1}`;

/**
 * Formats the message of a finding about a scenario without its name: `scenarios[8].window.end is 2020-01-01` becomes
 * `End is 2020-01-01`.
 */
export function formatScenarioError(finding: Pick<Finding, 'path' | 'message'>): string {
  const [, member = 'scenario'] = /^scenarios\[\d+\]\.(?:window\.)?([^.]+)/.exec(finding.path) ?? [];
  return formatMessageAt(finding, member, formatLabel(member));
}

/** Formats a finding with the name of its scenario in front, for a list of the findings of several scenarios. */
export function nameScenario(finding: Finding, scenarios: readonly JsonObject[]): Finding {
  const position = getScenarioPosition(finding);
  // Other warnings contain the name of their scenario.
  if (position === null || (finding.severity !== 'error' && !finding.message.startsWith(finding.path))) return finding;
  const name = formatScenarioName(scenarios[position] ?? {}, position);
  return { ...finding, message: `${name}: ${formatScenarioError(finding)}` };
}
