import { parseArgs } from 'node:util';
import { formatCount } from '#domain/base/numbers.js';
import { verifyBundleWith } from '#engine/verify-bundle.js';
import { isSigned } from '#store/history/signing.js';
import { readFirstSentence, UsageError } from '../usage.js';
import { HASH, readInputFile, readKeys } from './logs.js';

export const VERIFY_BUNDLE_HELP = `divisor verify-bundle FILE [--key FILE] [--head HASH] [--json]

Recomputes every published close of a bundle from its inputs, without a service, and verifies its hashes, its log and its
signatures. FILE is what \`divisor bundle INDEX\` writes.

  --key   Response of GET /analytics/INDEX/published/keys, from a source that you trust. Default: the keys of the bundle.
  --head  Expected hash of the last entry.
  --json  Write the whole verdict as JSON.

Exit statuses: 0 every close was recomputed bit for bit; 1 a close differs, and each fault is printed with its date and security; 64 wrong
usage, or a file that cannot be read.
`;

const EXIT_DIFFERENT = 1;

/** Runs `divisor verify-bundle`: verifies a bundle with the inputs that it contains. */
export async function verifyBundleFile(argv: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(argv);
  const [file] = positionals;
  if (file === undefined || positionals.length > 1) throw new UsageError('verify-bundle requires one FILE');
  if (values.head !== undefined && !HASH.test(values.head))
    throw new UsageError(`--head takes the hash of an entry, 64 hexadecimal digits, not ${values.head}`);
  const keys = values.key === undefined ? undefined : { keys: [...(await readKeys(values.key)).values()] };
  const verdict = await verifyBundleWith(await readInputFile(file), {
    ...(keys !== undefined && { keys }),
    ...(values.head !== undefined && { head: values.head.toLowerCase() }),
    isSigned: async (signed, key) => isSigned(signed, key),
  });
  if (values.json === true) process.stdout.write(`${JSON.stringify(verdict)}\n`);
  else {
    for (const { message } of verdict.faults) process.stdout.write(`${message}\n`);
    const { index_id: index, closes, first, last, head, key_ids: ids } = verdict;
    if (verdict.ok)
      process.stdout.write(
        `${index}: ${formatCount(closes, 'close')} from ${first} to ${last} recomputed bit for bit; the log ends with ${head}, signed by ${ids.join(', ')}.\n`,
      );
    else if (verdict.published_by !== null && verdict.published_by !== verdict.engine)
      process.stdout.write(
        `The bundle is from version ${verdict.published_by}; this is ${verdict.engine}, whose bits may differ.\n`,
      );
  }
  return verdict.ok ? 0 : EXIT_DIFFERENT;
}

function readArguments(argv: readonly string[]) {
  const options = { key: { type: 'string' }, head: { type: 'string' }, json: { type: 'boolean' } } as const;
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true });
  } catch (thrown) {
    throw new UsageError(readFirstSentence(thrown, Object.keys(options)), { cause: thrown });
  }
}
