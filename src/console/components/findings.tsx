import type { Finding } from '#clients/typescript/divisor.js';
import { isMissing, formatMessage } from '../words/findings.js';
import { findFindingField, focusField } from '../state/finding-fields.js';
import { Badge } from './badge.js';
import { Button } from './button.js';
import './findings.css';

const BADGE_KINDS = { error: 'bad', warning: 'warning', info: 'info' } as const;

interface FindingsProps {
  readonly findings: readonly Finding[];
  /** Maximum number of findings that are visible. Further findings are folded. */
  readonly shown?: number;
  /** Returns the address of the form that contains the field of a finding. Returns null if no form has the field. */
  readonly formatAddress?: ((path: string) => string | null) | undefined;
  /** True for a form that is not complete yet. A missing value is then not an error. */
  readonly isOpenForm?: boolean | undefined;
}

/** Renders findings with the labels of their fields. "Details" contains the code and path of each finding. */
export function Findings({ findings, shown = 8, formatAddress, isOpenForm }: FindingsProps) {
  const hiddenFindings = findings.slice(shown);
  return (
    <div class="findings">
      <FindingList findings={findings.slice(0, shown)} formatAddress={formatAddress} isOpenForm={isOpenForm} />
      {hiddenFindings.length > 0 && (
        <details>
          <summary>{hiddenFindings.length} more</summary>
          <FindingList findings={hiddenFindings} formatAddress={formatAddress} isOpenForm={isOpenForm} />
        </details>
      )}
    </div>
  );
}

function FindingList({ findings, formatAddress, isOpenForm = false }: Omit<FindingsProps, 'shown'>) {
  return (
    <ul class="finding-list">
      {findings.map((finding) => {
        const address = formatAddress?.(finding.path) ?? null;
        const shortFinding = shorten(finding);
        return (
          <li key={`${finding.code} ${finding.path} ${finding.message}`}>
            {isOpenForm && isMissing(finding) ? (
              <Badge>to fill in</Badge>
            ) : (
              <Badge kind={BADGE_KINDS[finding.severity]}>{finding.severity}</Badge>
            )}
            <div>
              <FindingText finding={shortFinding} hasAddress={address !== null} />{' '}
              <FindingDetails finding={finding} address={address} isShortened={shortFinding !== finding} />
            </div>
          </li>
        );
      })}
    </ul>
  );
}

/**
 * Maximum number of characters of a message. Of a longer message, only the first part is shown outside of "Details".
 */
const MESSAGE_MAX = 200;

/** Shortens a long message to its first sentences. If it is one sentence with a list, removes the list. */
function shorten(finding: Finding): Finding {
  const { message } = finding;
  if (message.length <= MESSAGE_MAX) return finding;
  const sentence = message.lastIndexOf('. ', MESSAGE_MAX);
  const end = sentence > 0 ? sentence : message.lastIndexOf(': ', MESSAGE_MAX);
  const [clause = '.'] = (sentence < 0 && /; [^;()]{1,60}$/.exec(message)) || [];
  return end > 0 ? { ...finding, message: message.slice(0, end) + clause } : finding;
}

interface FindingTextProps {
  readonly finding: Finding;
  /** True if the address of the form that contains the field is shown next to the text. */
  readonly hasAddress?: boolean;
}

/**
 * Renders the message of a finding with the label of its field. If the field is on the page, a button moves the focus
 * to it.
 */
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
  /** True if the complete message is not shown outside of the details. */
  readonly isShortened: boolean;
}

function FindingDetails({ finding, address, isShortened }: FindingDetailsProps) {
  const { code, path, message } = finding;
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
        {isShortened && <p>{message}</p>}
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
