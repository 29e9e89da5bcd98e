import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** SHA-256 computed by threads of the file system. Node's own SHA-256 blocks the calling thread. */
export interface SystemSha256 {
  /**
   * Adds a copy of bytes. Resolves when earlier bytes have been hashed; calls must not overlap.
   * @cost a copy, and 5 us
   */
  add(bytes: Uint8Array): Promise<void>;
  /**
   * Adds bytes without a copy. They must not change before `hex` resolves. Without pending bytes, their hash starts at
   * once, also if the thread does not return to its event loop.
   */
  begin(bytes: Uint8Array): void;
  /** Returns the hash of all added bytes as hexadecimal text. Must be called once, at the end. */
  hex(): Promise<string>;
}

/** Size of the hash state of the library, with a margin. */
const STATE_BYTES = 256;
const DIGEST_BYTES = 32;

interface Library {
  readonly begin: (state: Uint8Array) => number;
  readonly add: HashUpdate;
  readonly end: (digest: Uint8Array, state: Uint8Array) => number;
}

interface HashUpdate {
  (state: Uint8Array, bytes: Uint8Array, length: number): number;
  async(
    state: Uint8Array,
    bytes: Uint8Array,
    length: number,
    done: (failure: Error | null, isAdded: number) => void,
  ): void;
}

let library: Library | null | undefined;

/** Creates a hash computed by OpenSSL. @returns undefined if the process has no OpenSSL or no koffi */
export function loadSystemSha256(): SystemSha256 | undefined {
  if (library === undefined) library = findOpenSsl(); // The library is searched for only once.
  return library === null ? undefined : createSha256(library);
}

/** Returns the functions of OpenSSL, which Node exports; null if they are missing or give a wrong hash. */
function findOpenSsl(): Library | null {
  try {
    const system = (require('koffi') as typeof import('koffi')).load(null);
    const openSsl: Library = {
      begin: system.func('int SHA256_Init(void *)') as unknown as Library['begin'], // The prototypes in C match the types.
      add: system.func('int SHA256_Update(void *, const void *, size_t)') as unknown as HashUpdate,
      end: system.func('int SHA256_Final(void *, void *)') as unknown as Library['end'],
    };
    return hasValidHash(openSsl) ? openSsl : null;
  } catch {
    return null; // koffi is an optional package, and a Node build may export other functions.
  }
}

function hasValidHash({ begin, add, end }: Library): boolean {
  const [state, digest, bytes] = [new Uint8Array(STATE_BYTES), new Uint8Array(DIGEST_BYTES), new Uint8Array(1000)];
  begin(state);
  add(state, bytes, 100);
  add(state, bytes.subarray(100), 900);
  end(digest, state);
  return createHash('sha256').update(bytes).digest().equals(digest);
}

function createSha256({ begin: beginState, add, end }: Library): SystemSha256 {
  const state = new Uint8Array(STATE_BYTES);
  beginState(state);
  let buffer = new Uint8Array(0);
  let lastHash = Promise.resolve();
  let pendingCount = 0;

  const hash = (bytes: Uint8Array): Promise<void> =>
    new Promise((resolve, reject) => {
      add.async(state, bytes, bytes.length, (failure, isAdded) => {
        pendingCount--;
        if (failure === null && isAdded === 1) resolve();
        else reject(failure ?? new Error(`${bytes.length} bytes could not be hashed`));
      });
    });

  function begin(bytes: Uint8Array): void {
    const isIdle = pendingCount++ === 0;
    lastHash = isIdle ? hash(bytes) : lastHash.then(() => hash(bytes));
    lastHash.catch(() => {}); // The next call throws this error.
  }

  return {
    async add(bytes) {
      await lastHash;
      if (buffer.length < bytes.length) buffer = new Uint8Array(bytes.length);
      buffer.set(bytes);
      begin(buffer.subarray(0, bytes.length));
    },
    begin,
    async hex() {
      await lastHash;
      const digest = Buffer.alloc(DIGEST_BYTES);
      end(digest, state);
      return digest.toString('hex');
    },
  };
}
