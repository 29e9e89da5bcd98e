import type { PublicationEntry } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Badge } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import { Facts } from '../../../components/facts.js';
import { Section } from '../../../components/page.js';
import { Wait } from '../../../components/wait.js';
import '../../../components/json-document.css';
import { attempt } from '../../../state/actions.js';
import { copyText } from '../../../state/clipboard.js';
import { saveFile } from '../../../state/files.js';
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
        isWide
        facts={[
          ['State', <State verdict={found?.head === last.hash ? found.verdict : null} />],
          ['Head', <code style={{ overflowWrap: 'anywhere' }}>{last.hash}</code>],
          ['Signed by', <code>{last.key_id}</code>],
        ]}
      />
      <CommandLine id={id} />
    </Section>
  );
}

/** Media type of the downloaded log. The command that verifies logs reads it. */
const LOG_MEDIA = 'application/x-ndjson';

/** Renders the two files that a verification without a browser needs, and its command. */
function CommandLine({ id }: { readonly id: string }) {
  const params = { index_id: id };
  const save = (name: string, read: () => Promise<Uint8Array>) => () =>
    void attempt(async () => saveFile(`${id}-${name}`, await read()));
  const command = `divisor verify-published ${id}-log.ndjson --key ${id}-keys.json`;
  return (
    <>
      <p>To verify without a browser, download both files and run the command in their folder.</p>
      <pre class="json-document" tabIndex={0} aria-label="Command of the verification" role="group">
        {command}
      </pre>
      <div class="form-actions">
        <Button aria-label="Copy the command" onClick={() => void copyText(command, 'the command')}>
          Copy
        </Button>
        <Button onClick={save('log.ndjson', () => service.value.download('getPublished', LOG_MEDIA, { params }))}>
          Download the log
        </Button>
        <Button
          onClick={save('keys.json', () => service.value.download('getPublishedKeys', 'application/json', { params }))}
        >
          Public keys
        </Button>
      </div>
    </>
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
