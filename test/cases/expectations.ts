/** Answer of a request, a command or a script. */
export interface Answer {
  /** HTTP status or exit status. */
  readonly status: number;
  readonly text: string;
  /** Parsed body; null if it is no JSON. */
  readonly json: unknown;
}

/** Expectation of one answer, or lists of expectations in `any`: all of one list must hold. */
export type Expectation =
  | { readonly any: readonly (readonly Expectation[])[] }
  | {
      readonly of: string;
      readonly at?: string;
      readonly value?: number;
      readonly tolerance?: number;
      readonly between?: readonly [number, number];
      readonly is?: unknown;
      readonly count?: number;
      readonly absent?: boolean;
      readonly status?: number | readonly number[];
      readonly status_not?: readonly number[];
      readonly ended?: string;
      readonly says?: string;
      readonly never_says?: string;
      readonly finding?: readonly string[];
      readonly no_finding?: readonly string[];
    };

/** @returns a sentence for each member that does not hold, with the value that came */
export function findUnmet(expectation: Expectation, answers: ReadonlyMap<string, Answer>): string[] {
  if ('any' in expectation) {
    const unmet = expectation.any.map((all) => all.flatMap((one) => findUnmet(one, answers)));
    return unmet.some((sentences) => sentences.length === 0)
      ? []
      : [`none of: ${unmet.map((list) => list.join(' and ')).join(' | ')}`];
  }
  const answer = answers.get(expectation.of)!;
  const came = expectation.at === undefined ? undefined : pick(answer.json, expectation.at);
  const report = (holds: boolean, wanted: string, value: unknown = came) =>
    holds ? [] : [`${expectation.of} ${expectation.at ?? ''}: ${wanted}, not ${JSON.stringify(value)}`];
  const { value, tolerance = 0, between, is, count, absent, status, status_not: statusNot, ended } = expectation;
  return [
    ...(value === undefined ? [] : report(Math.abs(Number(came ?? NaN) - value) <= tolerance, `${value}`)),
    ...(between === undefined
      ? []
      : report(typeof came === 'number' && came >= between[0] && came <= between[1], `in ${between.join(' to ')}`)),
    ...('is' in expectation ? report(JSON.stringify(came) === JSON.stringify(is), JSON.stringify(is)) : []),
    ...(count === undefined ? [] : report(Array.isArray(came) && came.length === count, `${count} entries`)),
    ...(absent === undefined ? [] : report((came === undefined) === absent, 'absent')),
    ...(status === undefined
      ? []
      : report([status].flat().includes(answer.status), `status ${String(status)}`, answer.status)),
    ...(statusNot === undefined
      ? []
      : report(!statusNot.includes(answer.status), `no status ${String(statusNot)}`, answer.status)),
    ...(ended === undefined
      ? []
      : report(pick(answer.json, 'status') === ended, `ended ${ended}`, answer.text.slice(0, 500))),
    ...findUnmetText(expectation, answer),
  ];
}

function findUnmetText(
  expectation: {
    says?: string;
    never_says?: string;
    finding?: readonly string[];
    no_finding?: readonly string[];
    of: string;
  },
  answer: Answer,
): string[] {
  const { says, never_says: never, finding, no_finding: noFinding, of } = expectation;
  const hasFinding = (patterns: readonly string[]) =>
    listFindings(answer).some((text) => patterns.every((pattern) => toRegex(pattern).test(text)));
  const start = answer.text.slice(0, 1500);
  return [
    ...(says === undefined || toRegex(says).test(answer.text) ? [] : [`${of} does not say ${says}: ${start}`]),
    ...(never !== undefined && toRegex(never).test(answer.text) ? [`${of} says ${never}: ${start}`] : []),
    ...(finding === undefined || hasFinding(finding) ? [] : [`${of} has no finding ${finding.join(' ')}: ${start}`]),
    ...(noFinding !== undefined && hasFinding(noFinding) ? [`${of} has the finding ${noFinding.join(' ')}`] : []),
  ];
}

/** The patterns are written for Python, whose group `(?-i:` regards case. */
const toRegex = (pattern: string) =>
  new RegExp(pattern.replaceAll('(?-i:', '(?:'), pattern.includes('(?-i:') ? '' : 'i');

/** Texts of the findings and errors of an answer: objects with a message, or lines of a command. */
function listFindings({ json, text }: Answer): string[] {
  if (json === null) return text.split('\n');
  const found: string[] = [];
  const visit = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    if ('message' in value && typeof value.message === 'string') found.push(spaceOut(value));
    for (const member of Object.values(value)) visit(member);
  };
  visit(json);
  return found;
}

/** Writes JSON with a space after each colon and comma, as the patterns expect it. */
export function spaceOut(json: unknown): string {
  if (Array.isArray(json)) return `[${json.map(spaceOut).join(', ')}]`;
  if (typeof json !== 'object' || json === null) return JSON.stringify(json);
  return `{${Object.entries(json)
    .map(([key, value]) => `${JSON.stringify(key)}: ${spaceOut(value)}`)
    .join(', ')}}`;
}

interface Table {
  readonly index?: readonly unknown[];
  readonly columns: readonly string[];
  readonly data: readonly (readonly unknown[])[];
}

/**
 * Reads a place of an answer, such as `accounts[0].tax`, `assets[identifier=A].weight` or `prices@2024-01-02.CLOSE`. An
 * `@` selects the row of a table by its index or its first column. @returns undefined if there is no such place
 */
function pick(json: unknown, at: string): unknown {
  let value = json;
  for (const [, name, n, field, wanted, key] of at.matchAll(/([^.[\]@]+)|\[(\d+)\]|\[([^=\]]+)=([^\]]+)\]|@([^.]+)/g)) {
    if (value === undefined || value === null) return undefined;
    if (n !== undefined) value = (value as unknown[])[Number(n)];
    else if (field !== undefined)
      value = (value as Record<string, unknown>[]).find((row) => String(row[field]) === wanted);
    else if (key !== undefined) value = pickRow(value as Table, key);
    else value = (value as Record<string, unknown>)[name!];
  }
  return value;
}

function pickRow({ index, columns, data }: Partial<Table>, key: string): Record<string, unknown> | undefined {
  if (columns === undefined || data === undefined) return undefined; // an error
  const byIndex = index?.indexOf(key) ?? -1;
  const row = byIndex >= 0 ? data[byIndex] : data.find(([first]) => first === key);
  return row && Object.fromEntries(columns.map((column, i) => [column, row[i]]));
}
