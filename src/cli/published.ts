import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { readCommandLine, type Grammar } from './command-line.js';
import { connected, CONNECTION_HELP, EXIT } from './connection.js';
import { table } from './terminal.js';
import { writeWhole } from './write-whole.js';

const GRAMMAR: Grammar = {
  words: [{ name: 'INDEX', help: 'Id of an index, also of one that is deleted.' }],
  flags: {
    start: { type: 'string', value: 'DATE', help: 'Entries of this date and after it.' },
    end: { type: 'string', value: 'DATE', help: 'Entries of this date and before it.' },
  },
};

/** An entry a line. */
const LOG_MEDIA = 'application/x-ndjson';

export const PUBLISHED_HELP = [
  'divisor published: Write the published log of an index, an entry a line, as verify-published reads it.\n',
  'Usage: divisor published INDEX [flags]\n',
  `Flags\n${table([
    ...Object.entries(GRAMMAR.flags).map(([flag, { value, help }]) => [`--${flag} ${value!}`, help]),
    ['--out FILE', 'Write to a file, which is there when it is whole; to standard output otherwise.'],
    ...CONNECTION_HELP.map((row) => [...row]),
  ])}`,
  `Examples\n${table([['divisor published CORE-100 --out log.ndjson'], ['divisor published CORE-100 | tail -n 1']])}`,
].join('\n');

/** `divisor published`: the log of an index as it is signed, to a file or to standard output. */
export async function published(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { words, flags, common } = readCommandLine('published', GRAMMAR, argv);
  return connected(common, environment, async (client) => {
    const { bytes } = await client.stream('getPublished', LOG_MEDIA, {
      params: { index_id: words[0]! }, // the grammar has one
      query: { start: flags.text('start'), end: flags.text('end') },
    });
    if (common.out === undefined) await pipeline(Readable.from(bytes), process.stdout, { end: false });
    else await writeWhole(common.out, bytes);
    return EXIT.done;
  });
}
