import { createRequire } from 'node:module';
import { getHeapStatistics } from 'node:v8';

const require = createRequire(import.meta.url);

/** Minimum growth of a heap since its last collection that justifies another collection. */
const GROWTH_BYTES_MIN = 16 * 2 ** 20;

/** Size of this thread's heap after the last collection here, in bytes. */
let lastHeapBytes = 0;

/** Collects garbage if the heap has at least this size in bytes and has grown since the last collection. */
export async function collectGrownHeap(heapBytesMin: number): Promise<void> {
  if (measureHeap() >= Math.max(heapBytesMin, lastHeapBytes + GROWTH_BYTES_MIN)) await collectGarbage();
}

/**
 * Collects garbage in this thread and returns free heap to the system. V8 lets a heap grow to several times its live
 * data, does not count shared memory, and does not collect in a waiting thread. Does not discard compiled code.
 * @cost 0.1 s for 40 MB of live data, during which this thread is blocked
 */
export async function collectGarbage(): Promise<void> {
  if (!process.features.inspector) return; // Node can be built without the inspector.
  const { Session } = require('node:inspector/promises') as typeof import('node:inspector/promises'); // Loaded on first use.
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.collectGarbage'); // `gc()` does not shrink the young generation, which is 32 MB per thread.
  } finally {
    session.disconnect();
  }
  lastHeapBytes = measureHeap();
}

const measureHeap = (): number => getHeapStatistics().total_heap_size;
