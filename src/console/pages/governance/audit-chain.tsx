import type { AuditLog } from '#clients/typescript/divisor.js';
import { useEffect, useState } from 'preact/hooks';
import { Badge } from '../../components/badge.js';
import { Facts } from '../../components/facts.js';
import { formatMoment } from '../../words/dates.js';
import { formatCount, countValues } from '../../words/numbers.js';
import { canVerify } from '../index/publication/verify-entries.js';
import '../index/publication/publication.css';
import { verifyAudit, type AuditVerdict } from './verify-audit.js';

/**
 * Renders the last hash and the signature of the listed part of the log. Also shows if the browser could verify them.
 */
export function AuditChain({ log }: { readonly log: AuditLog }) {
  const [verdict, setVerdict] = useState<AuditVerdict | null>(null);
  useEffect(() => {
    if (!canVerify()) return undefined;
    let isShown = true;
    void verifyAudit(log).then((found) => isShown && setVerdict(found));
    return () => {
      isShown = false;
    };
  }, [log]);
  const last = log.entries.at(-1);
  if (last === undefined) return null;
  const seal = verdict?.seal ?? log.seals.findLast(({ seq }) => seq <= last.seq);
  return (
    <Facts
      facts={[
        ['Chain', <State verdict={verdict} />],
        ['Last hash', <code style={{ overflowWrap: 'anywhere' }}>{last.hash}</code>],
        [
          'Signed',
          seal && (
            <>
              entry {formatCount(seal.seq)} at {formatMoment(seal.at)} by the key <code>{seal.key_id}</code>
            </>
          ),
        ],
      ]}
    />
  );
}

function State({ verdict }: { readonly verdict: AuditVerdict | null }) {
  if (verdict === null)
    return <>{canVerify() ? 'being verified' : 'a browser can verify only over HTTPS or on this machine'}</>;
  const { sound, seal, isSigned, fault } = verdict;
  if (fault !== null)
    return (
      <>
        <Badge kind="bad">broken</Badge> {fault}
      </>
    );
  const signedText = isSigned
    ? ' and the latest signature'
    : seal === null
      ? '; none of them is the end of a signed part'
      : '';
  return (
    <>
      <Badge kind="good">verified</Badge> the hashes of {countValues(sound, 'entry', 'entries')}
      {signedText}
    </>
  );
}
