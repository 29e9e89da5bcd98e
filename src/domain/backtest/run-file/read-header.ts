import { decodeUtf8 } from '#base/text/utf8.js';
import { Refusal } from '../../refusals/refusal.js';
import { ONE_BASE_VERSION, SEGMENTS_VERSION, WHOLE_VERSION, type BlockPosition, type RunHeader } from './header.js';
import { MAGIC, PREAMBLE_BYTES } from './block-placement.js';
import type { BlockName } from './schema.js';
import type { RangeReader } from './segments.js';

/**
 * Reads the header of a run file in the current form.
 * @throws Refusal DOCUMENT_UNREADABLE if the bytes are not a run, or were written by a later version
 */
export function readHeader(rangeReader: RangeReader): RunHeader {
  const preamble = rangeReader(0, PREAMBLE_BYTES);
  const isRun = preamble.length === PREAMBLE_BYTES && decodeUtf8(preamble.subarray(0, MAGIC.length)) === MAGIC;
  if (!isRun) throw createUnreadableError('it does not begin like a run file');
  const length = new DataView(preamble.buffer, preamble.byteOffset).getUint32(8, true);
  try {
    // `createColumns` of this or an earlier version wrote the header.
    const header = JSON.parse(decodeUtf8(rangeReader(PREAMBLE_BYTES, PREAMBLE_BYTES + length))) as
      | RunHeader
      | OneBaseHeader;
    if (isOneBase(header)) return upgradeHeader(header);
    if (header.version === SEGMENTS_VERSION || header.version === WHOLE_VERSION) return header;
    throw createUnreadableError(
      `its version is ${String(header.version)}; the highest supported version is ${SEGMENTS_VERSION}`,
    );
  } catch (cause) {
    throw cause instanceof Refusal ? cause : createUnreadableError('its header is damaged', cause);
  }
}

type OneBaseBlock = Omit<BlockPosition, 'begins'> & {
  readonly begins?: { readonly offset: number; readonly length: number };
};

/** Header of a file that continues exactly one earlier file, as version 2 wrote it. */
interface OneBaseHeader extends Omit<RunHeader, 'version' | 'blocks' | 'begun'> {
  readonly version: typeof ONE_BASE_VERSION;
  readonly base: string;
  readonly blocks: Readonly<Record<BlockName, OneBaseBlock | undefined>>;
}

function isOneBase(header: RunHeader | OneBaseHeader): header is OneBaseHeader {
  return header.version === ONE_BASE_VERSION;
}

function upgradeHeader({ base, blocks, ...header }: OneBaseHeader): RunHeader {
  const list = Object.entries(blocks).map(([name, block]) => [
    name,
    block && { ...block, begins: block.begins && [block.begins.offset, block.begins.length] },
  ]);
  return { ...header, begun: [base], blocks: Object.fromEntries(list) as RunHeader['blocks'] }; // block names are unchanged
}

export function createUnreadableError(why: string, cause?: unknown): Refusal {
  return new Refusal(
    'DOCUMENT_UNREADABLE',
    `The stored run cannot be read: ${why}.`,
    null,
    cause === undefined ? {} : { cause },
  );
}
