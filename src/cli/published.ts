import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { readCommandLine, type Grammar } from './command-line.js';
import { runWithService, CONNECTION_HELP, EXIT } from './connection.js';
import { formatTable } from './terminal.js';
import { writeWhole } from './write-whole.js';

const GRAMMAR: Grammar = {
  words: [{ name: 'INDEX', help: 'Id of an index, even if the index was deleted.' }],
  flags: {
    start: { type: 'string', value: 'DATE', help: 'First date.' },
    end: { type: 'string', value: 'DATE', help: 'Last date.' },
  },
};

/** Media type of the log. Each line is one entry. */
const LOG_MEDIA = 'application/x-ndjson';

export const PUBLISHED_HELP = [
  'divisor published: Write the published log of an index, one entry per line, for verify-published.\n',
  'Usage: divisor published INDEX [flags]\n',
  `Flags\n${formatTable([
    ...Object.entries(GRAMMAR.flags).map(([flag, { value, help }]) => [`--${flag} ${value!}`, help]),
    ['--out FILE', 'File to write; it appears only when it is complete. Default: standard output.'],
    ...CONNECTION_HELP.map((row) => [...row]),
  ])}`,
  `Examples\n${formatTable([['divisor published CORE-100 --out log.ndjson'], ['divisor published CORE-100 | tail -n 1']])}`,
].join('\n');

/** Runs `divisor published`: writes the signed log of an index to a file or to standard output. */
export async function publish(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { words, flags, common } = readCommandLine('published', GRAMMAR, argv);
  return runWithService(common, environment, async (client) => {
    const { bytes } = await client.stream('getPublished', LOG_MEDIA, {
      params: { index_id: words[0]! }, // the grammar requires one word
      query: { start: flags.text('start'), end: flags.text('end') },
    });
    if (common.out === undefined) await pipeline(Readable.from(bytes), process.stdout, { end: false });
    else await writeWhole(common.out, bytes);
    return EXIT.done;
  });
}
