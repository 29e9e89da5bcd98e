import type { Finding, InspectResult } from '#clients/typescript/divisor.js';
import { Badge, type Kind } from '../../components/badge.js';
import { Choice } from '../../components/choice.js';
import { FindingTable } from '../../components/finding-table.js';
import { Section } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { Wait } from '../../components/wait.js';
import type { Latest } from '../../state/one-at-a-time.js';
import type { Trouble } from '../../state/service.js';
import { counted } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { MappingForm } from './mapping-form.js';
import '../designer/designer.css';

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
  /** What another mapping than the proposed one comes to. */
  readonly checked: Latest<InspectResult>;
  /** What an import said of the mapping. */
  readonly findings: readonly Finding[];
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
export function Inspection({ inspected, isLooking, mapping, checked, findings: refused, onChange }: InspectionProps) {
  const result = inspected?.result ?? null;
  if (isLooking) return <Wait what="the service, which looks at the files" />;
  if (result === null) return inspected?.trouble ? <Problem trouble={inspected.trouble} /> : null;
  const { confidence, recognised_as: vendor } = result;
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
          <MappingForm
            mapping={mapping}
            unsure={result.unsure}
            findings={[...refused, ...(checked.trouble?.findings ?? [])]}
            onChange={onChange}
          />
          <Read proposed={result} checked={checked} />
        </>
      )}
    </Section>
  );
}

/** The bars that the mapping reads: as proposed, or as it was changed to. */
function Read({ proposed, checked }: { readonly proposed: InspectResult; readonly checked: Latest<InspectResult> }) {
  const { data, trouble, isBehind } = checked;
  const { rows_read: rows, preview, findings } = data ?? proposed;
  const elsewhere = trouble?.findings.filter(({ path }) => !path.startsWith('mapping.')) ?? [];
  return (
    <div class={isBehind ? 'live-answer is-behind' : 'live-answer'} aria-busy={isBehind}>
      {isBehind && <Wait what="the bars that the mapping reads" />}
      {trouble !== null && (trouble.findings.length === 0 || elsewhere.length > 0) && (
        <Problem trouble={{ ...trouble, findings: elsewhere }} />
      )}
      {trouble === null && (
        <>
          <p class="quiet">
            {counted(rows, 'bar')} read with the mapping{data === undefined ? ' as proposed' : ' as it is now'}.
          </p>
          <Preview frame={preview} />
          {findings.length > 0 && <FindingTable label="What reading with the mapping found" findings={findings} />}
        </>
      )}
    </div>
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
