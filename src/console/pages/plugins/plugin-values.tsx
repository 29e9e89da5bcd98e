import type { Finding, Operations, PluginPreview } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { Badge, Problem, RowsSkeleton } from '../../components/feedback.js';
import { Facts } from '../../components/layout/facts.js';
import { labelWithName, nameColumn } from '../../components/securities.js';
import { type Column, createNumericColumn } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { type NameFacts, useNames } from '../../state/market.js';
import { useOneAtATime } from '../../state/latest-request.js';
import { createTrouble, service, type Trouble } from '../../state/service.js';
import { formatSecurityAddress } from '../../words/addresses.js';
import { formatMessage } from '../../words/findings.js';
import { formatCount, countValues, formatPercent, MISSING_TEXT } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { createNumberWriter } from '../sql/columns.js';
import { createInputPlugins } from './inputs.js';

type Request = Operations['previewPlugin']['request']['body'];
type Value = PluginPreview['values'][number];

/** Maximum number of values in the list. */
const LISTED_MAX = 1000;

/** Result of computing a draft, or the error. */
export interface PreviewState {
  readonly preview: PluginPreview | null;
  readonly trouble: Trouble | null;
  /** Values of the inputs of a selection; empty for other kinds. */
  readonly inputs: readonly InputColumn[];
}

interface PreviewTerms {
  readonly isAllowed: boolean;
  /** YYYY-MM-DD; null for the latest date of the store. */
  readonly date: string | null;
}

/** Computes a draft on the served store after each change. Returns null until there is a result. */
export function usePreview(document: JsonObject, { isAllowed, date }: PreviewTerms): PreviewState | null {
  const { id: _id, name: _name, description: _text, ...rest } = document;
  const body = { plugin: { name: 'Draft', ...rest }, as_of: date, limit: LISTED_MAX } as unknown as Request; // the service validates the draft
  const isReady = isAllowed && String(rest['source'] ?? '') !== '';
  return (
    useOneAtATime<PreviewState>(isReady ? JSON.stringify([rest, date]) : null, async () => {
      try {
        const preview = await service.value.call('previewPlugin', { body });
        return { preview, trouble: null, inputs: preview.valid ? await readInputs(document, date) : [] };
      } catch (thrown) {
        return { preview: null, trouble: createTrouble(thrown), inputs: [] };
      }
    }).data ?? null
  );
}

/** Values of an input by security. */
interface InputColumn {
  readonly name: string;
  readonly values: ReadonlyMap<string, number>;
}

/** Reads the values that a selection compares, so that they can be shown next to its results. */
const readInputs = (document: JsonObject, date: string | null): Promise<readonly InputColumn[]> =>
  Promise.all(
    createInputPlugins(document).map(async ({ name, plugin }) => {
      const body = { plugin, as_of: date, limit: LISTED_MAX } as unknown as Request; // the service validates the input
      const { values } = await service.value.call('previewPlugin', { body });
      return { name, values: new Map(values.map(({ identifier, value }) => [identifier, value])) };
    }),
  );

interface PluginValuesProps {
  readonly previewed: PreviewState | null;
  /** Maximum height of the table in pixels. */
  readonly height?: number;
  /** Findings that are already shown on the page. */
  readonly shown: readonly Finding[];
  readonly kind: string;
  /** Field of the date; absent for the latest session. */
  readonly children?: ComponentChildren;
}

/** Renders the values of a plug-in on one session of the served store. */
export function PluginValues({ previewed, shown, kind, height = 420, children }: PluginValuesProps) {
  return (
    <section class="stack gap-2 plugin-values" aria-label="Values">
      <header>
        <h2>Values</h2>
        {previewed?.preview?.as_of != null && <span class="quiet date">on {previewed.preview.as_of}</span>}
      </header>
      {children}
      {previewed === null ? (
        <>
          <p role="status" class="quiet">
            Computing the values …
          </p>
          <RowsSkeleton />
        </>
      ) : (
        <Answer {...previewed} {...{ shown, kind, height }} />
      )}
    </section>
  );
}

function Answer({
  preview,
  trouble,
  inputs,
  shown,
  kind,
  height = 0,
}: PreviewState & Pick<PluginValuesProps, 'shown' | 'kind' | 'height'>) {
  const facts = useNames(preview?.values.map(({ identifier }) => identifier) ?? [], preview?.as_of ?? undefined);
  // Findings about the structure of a draft are shown at its fields.
  if (preview === null)
    return trouble === null || trouble.findings.length > 0 ? (
      <p class="quiet">The values are shown once the form is complete.</p>
    ) : (
      <Problem trouble={trouble} />
    );
  const { findings, values, valued, securities, as_of: session } = preview;
  const otherFindings = findings.filter(({ message }) => !shown.some((own) => own.message === message));
  if (findings.length > otherFindings.length)
    return <p class="quiet">The values are shown once the errors are corrected.</p>;
  if (otherFindings.length > 0)
    return (
      <ul class="small field-findings">
        {otherFindings.map((finding) => (
          <li key={`${finding.path} ${finding.message}`} class="down">
            {formatMessage(finding)}
          </li>
        ))}
      </ul>
    );
  if (session === null) return <p class="quiet">Values need a served store with a session on or before the date.</p>;
  return (
    <>
      <Facts facts={createFacts(kind, values, { valued, securities })} />
      {kind !== 'selection' && <Spread values={values} />}
      <Table
        key={kind}
        label="values of the plug-in"
        columns={createColumns(kind, { values, facts, inputs })}
        rows={values}
        getKey={({ identifier }) => identifier}
        formatAddress={({ identifier }) => formatSecurityAddress(identifier)}
        searchIn={({ identifier }) => labelWithName(identifier, facts)}
        {...(kind === 'selection' ? { sort: EXCLUDED_FIRST } : {})}
        height={height}
        empty="No security has a value."
      />
      {valued > values.length && (
        <p class="quiet">
          The largest {formatCount(values.length)} of {formatCount(valued)}.
        </p>
      )}
    </>
  );
}

const EXCLUDED_FIRST = { column: 'stays', direction: 'asc' } as const;

interface Counts {
  readonly valued: number;
  readonly securities: number;
}

function createFacts(kind: string, values: readonly Value[], { valued, securities }: Counts) {
  const groups = [
    'With a value',
    `${formatCount(valued)} of ${countValues(securities, 'security', 'securities')}`,
  ] as const;
  if (kind === 'selection') {
    const stay = values.filter(({ value }) => value !== 0).length;
    return [groups, ['Stay', formatCount(stay)] as const, ['Excluded', formatCount(values.length - stay)] as const];
  }
  if (values.length === 0) return [groups];
  const [largest, smallest] = [values[0]!.value, values.at(-1)!.value]; // values are sorted in descending order
  const median = values[Math.floor(values.length / 2)]!.value;
  const write = createValueWriter(values);
  return [groups, ['Smallest, median, largest', [smallest, median, largest].map(write).join(', ')] as const];
}

/** Returns the function that formats all values. They have the same number of decimals. */
const createValueWriter = (values: readonly Value[]): ((value: number | null) => string) => {
  const write = createNumberWriter(
    'value',
    values.map(({ value }) => value),
  );
  return (value) => (value === null ? MISSING_TEXT : write(value));
};

interface Named {
  readonly values: readonly Value[];
  readonly facts: ReadonlyMap<string, NameFacts>;
  readonly inputs: readonly InputColumn[];
}

function createColumns(kind: string, { values, facts, inputs }: Named): readonly Column<Value>[] {
  const security: Column<Value> = nameColumn(facts);
  const value = createNumericColumn<Value>({
    id: 'value',
    title: 'Value',
    width: 110,
    of: (row) => row.value,
    write: createValueWriter(values),
  });
  if (kind === 'selection')
    return [
      security,
      ...inputs.map(createInputColumn),
      {
        id: 'stays',
        title: 'Selection',
        width: 96,
        value: (row) => (row.value === 0 ? 'excluded' : 'stays'),
        show: (row) => (
          <Badge kind={row.value === 0 ? 'plain' : 'good'}>{row.value === 0 ? 'excluded' : 'stays'}</Badge>
        ),
      },
    ];
  if (kind !== 'weighting') return [security, value];
  const sum = values.reduce((total, row) => total + Math.max(row.value, 0), 0);
  const weight = createNumericColumn<Value>({
    id: 'weight',
    title: 'Weight',
    help: 'Share of the sum, before caps',
    width: 90,
    of: (row) => (sum > 0 ? Math.max(row.value, 0) / sum : null),
    write: (share) => formatPercent(share, 3),
  });
  return [security, value, weight];
}

const createInputColumn = ({ name, values }: InputColumn): Column<Value> => {
  const write = createNumberWriter(name, [...values.values()]);
  return createNumericColumn<Value>({
    id: `input ${name}`,
    title: name,
    help: `Input ${name}`,
    width: 80,
    priority: 2,
    of: ({ identifier }) => values.get(identifier) ?? null,
    write: (value) => (value === null ? MISSING_TEXT : write(value)),
  });
};

/** Number of bars of the distribution, and minimum number of values to show it. */
const BARS = 24;
const SPREAD_MIN = 8;
/** Share of the values that the distribution leaves out on each side. */
const TAIL = 0.02;

/**
 * Draws the distribution of the values without the smallest 2 % and the largest 2 %. The table contains the values as
 * text.
 */
function Spread({ values }: { readonly values: readonly Value[] }) {
  const cut = Math.floor(values.length * TAIL);
  const inner = values.slice(cut, values.length - cut).map(({ value }) => value); // values are sorted
  const [most, least] = [inner[0], inner.at(-1)];
  if (most === undefined || least === undefined || inner.length < SPREAD_MIN || most === least) return null;
  const counts = Array.from({ length: BARS }, () => 0);
  for (const value of inner) counts[Math.min(BARS - 1, Math.floor(((value - least) / (most - least)) * BARS))]!++;
  const highest = Math.max(...counts);
  const write = createValueWriter(values);
  return (
    <figure class="pile gap-1 plugin-spread" aria-hidden="true">
      <div>
        {counts.map((count, k) => (
          <span
            key={k}
            style={{ height: `${(100 * count) / highest}%` }}
            title={countValues(count, 'security', 'securities')}
          />
        ))}
      </div>
      <figcaption class="quiet">
        <span>2nd percentile: {write(least)}</span>
        <span>securities by value</span>
        <span>98th percentile: {write(most)}</span>
      </figcaption>
    </figure>
  );
}
