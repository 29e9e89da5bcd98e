import type { RunRecord } from '../record/schema.js';
import { POOLS, type StoredNumbers } from '../record/places.js';
import { readPacked } from '../record/read.js';
import { unreadable } from './read-header.js';
import type { RunColumns } from './read.js';
import { isBlockName, type BlockName } from './schema.js';

/** The record of a stored run. @throws Refusal DOCUMENT_UNREADABLE when the file has none */
export function readRecord(columns: RunColumns): RunRecord {
  return readPacked(columns.u8('record'), storedNumbers(columns));
}

/** The numbers of a stored run, as its record refers to them. */
export function storedNumbers(columns: RunColumns): StoredNumbers {
  const {
    header: { dates, names, blocks },
  } = columns;
  return {
    dates,
    names,
    f64: (block, from, to) => columns.f64(known(block), from, to),
    i32: (block, from, to) => columns.i32(known(block), from, to),
    u8: (block, from, to) => columns.u8(known(block), from, to),
    poolLength: (type) => blocks[POOLS[type]]?.length ?? 0,
  };
}

function known(name: string): BlockName {
  if (!isBlockName(name)) throw unreadable(`its record refers to the block ${name}, which no run has`);
  return name;
}
