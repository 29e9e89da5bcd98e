import type { Finding } from '#clients/typescript/divisor.js';
import { Badge } from './badge.js';
import './findings.css';

const KINDS = { error: 'bad', warning: 'warning', info: 'info' } as const;

interface FindingsProps {
  readonly findings: readonly Finding[];
  /** Findings shown before the rest is folded away. */
  readonly shown?: number;
  /** Where the field of a finding is edited; null where it is not. */
  readonly addressOf?: ((path: string) => string | null) | undefined;
}

/** Findings as the service words them, each with its field. */
export function Findings({ findings, shown = 8, addressOf }: FindingsProps) {
  const rest = findings.slice(shown);
  return (
    <div class="findings">
      <FindingList findings={findings.slice(0, shown)} addressOf={addressOf} />
      {rest.length > 0 && (
        <details>
          <summary>{rest.length} more</summary>
          <FindingList findings={rest} addressOf={addressOf} />
        </details>
      )}
    </div>
  );
}

function FindingList({ findings, addressOf }: Pick<FindingsProps, 'findings' | 'addressOf'>) {
  return (
    <ul class="finding-list">
      {findings.map((finding) => (
        <li key={`${finding.code} ${finding.path} ${finding.message}`}>
          <Badge kind={KINDS[finding.severity]}>{finding.severity}</Badge>
          <div>
            {finding.message}
            <span class="quiet">
              {' '}
              <code>{finding.code}</code>
              {finding.path !== '' && (
                <>
                  {' at '}
                  <FieldPath path={finding.path} address={addressOf?.(finding.path) ?? null} />
                </>
              )}
            </span>
          </div>
        </li>
      ))}
    </ul>
  );
}

interface FieldPathProps {
  readonly path: string;
  readonly address: string | null;
}

function FieldPath({ path, address }: FieldPathProps) {
  const written = <code>{path}</code>;
  return address === null ? written : <a href={address}>{written}</a>;
}
