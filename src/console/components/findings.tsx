import type { Finding } from '#clients/typescript/divisor.js';
import { isMissing, formatMessage } from '../words/findings.js';
import { findFindingField, focusField } from '../state/finding-fields.js';
import { Badge } from './badge.js';
import { Button } from './button.js';
import './findings.css';

const BADGE_KINDS = { error: 'bad', warning: 'warning', info: 'info' } as const;

interface FindingsProps {
  readonly findings: readonly Finding[];
  /** Maximum number of visible findings; further findings are folded. */
  readonly shown?: number;
  /** Returns the address of the form with the field of a finding; null if no form has the field. */
  readonly formatAddress?: ((path: string) => string | null) | undefined;
  /** True for a form that is still being filled in, where a missing value is not yet an error. */
  readonly isOpenForm?: boolean | undefined;
}

/** Renders findings with the labels of their fields. The code and path of each finding are under "Details". */
export function Findings({ findings, shown = 8, formatAddress, isOpenForm }: FindingsProps) {
  const rest = findings.slice(shown);
  return (
    <div class="findings">
      <FindingList findings={findings.slice(0, shown)} formatAddress={formatAddress} isOpenForm={isOpenForm} />
      {rest.length > 0 && (
        <details>
          <summary>{rest.length} more</summary>
          <FindingList findings={rest} formatAddress={formatAddress} isOpenForm={isOpenForm} />
        </details>
      )}
    </div>
  );
}

function FindingList({ findings, formatAddress, isOpenForm = false }: Omit<FindingsProps, 'shown'>) {
  return (
    <ul class="finding-list">
      {findings.map((finding) => (
        <li key={`${finding.code} ${finding.path} ${finding.message}`}>
          {isOpenForm && isMissing(finding) ? (
            <Badge>to fill in</Badge>
          ) : (
            <Badge kind={BADGE_KINDS[finding.severity]}>{finding.severity}</Badge>
          )}
          <div>
            <FindingText finding={finding} hasAddress={formatAddress?.(finding.path) != null} />
            <FindingDetails finding={finding} address={formatAddress?.(finding.path) ?? null} />
          </div>
        </li>
      ))}
    </ul>
  );
}

interface FindingTextProps {
  readonly finding: Finding;
  /** True if the address of the form with the field is shown next to the text. */
  readonly hasAddress?: boolean;
}

/** Renders the message of a finding with the label of its field, linked to the field if the field is on the page. */
export function FindingText({ finding, hasAddress = false }: FindingTextProps) {
  const field = findFindingField(finding);
  return (
    <>
      {formatMessage(finding, field)}
      {field !== undefined && !hasAddress && (
        <>
          {' '}
          <Button kind="bare" onClick={() => focusField(field)}>
            Go to {field.label}
          </Button>
        </>
      )}
    </>
  );
}

interface FindingDetailsProps {
  readonly finding: Finding;
  readonly address: string | null;
}

function FindingDetails({ finding: { code, path }, address }: FindingDetailsProps) {
  return (
    <>
      {address !== null && (
        <>
          {' '}
          <a href={address}>Edit the field</a>
        </>
      )}
      <details>
        <summary>Details</summary>
        <code>{code}</code>
        {path !== '' && (
          <>
            {' at '}
            <code>{path}</code>
          </>
        )}
      </details>
    </>
  );
}
