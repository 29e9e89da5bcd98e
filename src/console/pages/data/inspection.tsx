import type { InspectResult } from '#clients/typescript/divisor.js';
import { Badge, type Kind } from '../../components/badge.js';
import { Choice } from '../../components/choice.js';
import { FindingTable } from '../../components/finding-table.js';
import { Field } from '../../components/form/field.js';
import { Section } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { Wait } from '../../components/wait.js';
import type { Trouble } from '../../state/service.js';
import { counted } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';

/** What the service says of files before they are imported. */
export interface Inspected {
  readonly result: InspectResult | null;
  readonly trouble: Trouble | null;
}

interface InspectionProps {
  readonly inspected: Inspected | null;
  readonly isLooking: boolean;
  /** How the market is read; null as the tables are. */
  readonly mapping: JsonObject | null;
  onChange(mapping: JsonObject | null): void;
}

const CONFIDENCE: Readonly<Record<InspectResult['confidence'], Kind>> = {
  sure: 'good',
  likely: 'info',
  unsure: 'warning',
};

const WAYS = [
  { value: 'plain', text: 'As the tables are', help: 'Columns identifier, date, CLOSE and others by their own names' },
  { value: 'mapped', text: 'By a mapping', help: 'Columns, dates and numbers as their vendor writes them' },
] as const;

/** How files would be read: what they are like, the mapping that is proposed, what is not certain, the first bars. */
export function Inspection({ inspected, isLooking, mapping, onChange }: InspectionProps) {
  const result = inspected?.result ?? null;
  if (isLooking) return <Wait what="the service, which looks at the files" />;
  if (result === null) return inspected?.trouble ? <Problem trouble={inspected.trouble} /> : null;
  const { confidence, recognised_as: vendor, questions, rows_read: rows, preview, findings } = result;
  const proposed = result.mapping as unknown as JsonObject; // A document of JSON.
  return (
    <Section
      title="How they are read"
      aside={
        <>
          <Badge kind={CONFIDENCE[confidence]}>{vendor === null ? confidence : `${confidence}: ${vendor}`}</Badge>
          <Choice
            label="How they are read"
            options={WAYS}
            value={mapping === null ? 'plain' : 'mapped'}
            onChoose={(way) => onChange(way === 'plain' ? null : proposed)}
          />
        </>
      }
    >
      {mapping !== null && (
        <>
          {questions.length > 0 && (
            <ul class="notes">
              {questions.map((question) => (
                <li key={question}>
                  <Badge kind="warning">open</Badge> {question}
                </li>
              ))}
            </ul>
          )}
          <Field
            spec={{
              name: 'mapping',
              label: 'Mapping',
              kind: 'json',
              help: 'As proposed; what is written here is taken.',
            }}
            value={mapping}
            findings={[]}
            onChange={(value) => onChange((value ?? proposed) as JsonObject)}
          />
          <p class="quiet">{counted(rows, 'bar')} read with the mapping as proposed.</p>
          <Preview frame={preview} />
          {findings.length > 0 && <FindingTable label="What reading with the mapping found" findings={findings} />}
        </>
      )}
    </Section>
  );
}

function Preview({ frame: { columns, data } }: { readonly frame: InspectResult['preview'] }) {
  if (data.length === 0) return null;
  return (
    <div class="finding-table" role="group" aria-label="First bars" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.map((row, k) => (
            <tr key={k}>
              {columns.map((column, at) => (
                <td key={column}>{row[at] === null ? '–' : String(row[at])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Whether files are written otherwise than the tables are, so that they are read by the mapping that is proposed. */
export function needsMapping({ mapping }: InspectResult): boolean {
  const { columns, layout, identifier_from: from, date_format: format, decimal, skip_rows: skipped } = mapping;
  return (
    Object.keys(columns).length > 0 ||
    layout !== 'long' ||
    (from !== null && from !== 'column') ||
    format !== null ||
    decimal !== '.' ||
    skipped > 0 ||
    mapping.adjusted_close !== null
  );
}
