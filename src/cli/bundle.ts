import { BUNDLE_MEDIA } from '#contract/media-formats.js';
import { readCommandLine, type Grammar } from './command-line.js';
import { runWithService, CONNECTION_HELP, EXIT } from './connection.js';
import { formatTable } from './terminal.js';
import { UsageError } from './usage-error.js';
import { writeWhole } from './write-whole.js';

const GRAMMAR: Grammar = {
  words: [{ name: 'INDEX', help: 'Id of an index with published closes.' }],
  flags: {},
};

export const BUNDLE_HELP = [
  'divisor bundle: Write all inputs of the published closes of an index, for verify-bundle and the page /verify.\n',
  'Usage: divisor bundle INDEX --out FILE [flags]\n',
  `Flags\n${formatTable([
    ['--out FILE', 'File to write; it appears only when it is complete.'],
    ...CONNECTION_HELP.map((row) => [...row]),
  ])}`,
  `Examples\n${formatTable([['divisor bundle CORE-100 --out core-100.tar'], ['divisor verify-bundle core-100.tar']])}`,
].join('\n');

/** Runs `divisor bundle`: writes the bundle of an index to a file. */
export async function runBundle(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { words, common } = readCommandLine('bundle', GRAMMAR, argv);
  const { out } = common;
  if (out === undefined) throw new UsageError('bundle needs --out FILE: it writes an archive, not text');
  return runWithService(common, environment, async (client) => {
    const { bytes } = await client.stream('getPublishedBundle', BUNDLE_MEDIA, { params: { index_id: words[0]! } }); // the grammar requires one word
    await writeWhole(out, bytes);
    return EXIT.done;
  });
}
