import type { PublicationEntry } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Badge } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import { Facts } from '../../../components/facts.js';
import { keepWordsWhole } from '../../../components/metrics.js';
import { Section } from '../../../components/page.js';
import { Wait } from '../../../components/wait.js';
import { attempt } from '../../../state/actions.js';
import { service } from '../../../state/service.js';
import { countValues } from '../../../words/numbers.js';
import { canVerify, verifyEntries, type Verdict } from './verify-entries.js';

interface VerificationProps {
  readonly id: string;
  readonly entries: readonly PublicationEntry[];
}

/** Result of a verification, and the hash of the last entry when it was made. */
interface VerificationState {
  readonly head: string;
  readonly verdict: Verdict;
}

/** Renders the verification of the log. The browser needs only the log and the public keys for it. */
export function Verification({ id, entries }: VerificationProps) {
  const [found, setFound] = useState<VerificationState | null>(null);
  const [isBusy, setBusy] = useState(false);
  const last = entries.at(-1)!; // the section is rendered only if there are entries
  const verify = () =>
    attempt(async () => {
      setBusy(true);
      try {
        const { keys } = await service.value.call('getPublishedKeys', { params: { index_id: id } });
        setFound({ head: last.hash, verdict: await verifyEntries(entries, keys) });
      } finally {
        setBusy(false);
      }
    });
  return (
    <Section
      title="Verification"
      aside={
        canVerify() && (
          <Button disabled={isBusy} onClick={() => void verify()}>
            Verify here
          </Button>
        )
      }
    >
      {isBusy && <Wait what="the chain of hashes and its signatures" />}
      <Facts
        facts={[
          ['State', <State verdict={found?.head === last.hash ? found.verdict : null} />],
          ['Head', <code class="hash">{last.hash}</code>],
          ['Signed by', <code>{last.key_id}</code>],
          [
            'Without a browser',
            <code>{keepWordsWhole(`divisor verify-published ${id}-log.ndjson --key ${id}-keys.json`)}</code>,
          ],
        ]}
      />
    </Section>
  );
}

function State({ verdict }: { readonly verdict: Verdict | null }) {
  if (verdict === null)
    return (
      <>
        {canVerify() ? 'not verified in this browser yet' : 'a browser can verify only over HTTPS or on this machine'}
      </>
    );
  const { sound, hasSignatures, fault } = verdict;
  if (fault !== null)
    return (
      <>
        <Badge kind="bad">broken</Badge> entry {sound + 1}: {fault}
      </>
    );
  return (
    <>
      <Badge kind="good">holds</Badge> {countValues(sound, 'entry', 'entries')}:{' '}
      {hasSignatures ? 'hashes and signatures' : 'hashes only; this browser does not support Ed25519 signatures'}
    </>
  );
}
