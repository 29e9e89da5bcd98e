import type { Finding } from '#clients/typescript/divisor.js';
import { Badge } from './badge.js';
import './findings.css';

const KINDS = { error: 'bad', warning: 'warning', info: 'info' } as const;

interface FindingsProps {
  readonly findings: readonly Finding[];
  /** Findings shown before the rest is folded away. */
  readonly shown?: number;
}

/** Findings as the service words them, each with its field. */
export function Findings({ findings, shown = 8 }: FindingsProps) {
  const rest = findings.slice(shown);
  return (
    <div class="findings">
      <FindingList findings={findings.slice(0, shown)} />
      {rest.length > 0 && (
        <details>
          <summary>{rest.length} more</summary>
          <FindingList findings={rest} />
        </details>
      )}
    </div>
  );
}

function FindingList({ findings }: { readonly findings: readonly Finding[] }) {
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
                  <code>{finding.path}</code>
                </>
              )}
            </span>
          </div>
        </li>
      ))}
    </ul>
  );
}
